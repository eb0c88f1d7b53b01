import Foundation
import Glibc
import HoldfastRigs
import HoldfastTestKit
import Testing

/// A virtual bottle that is controlled through its standard input.
struct BottleProgram {
  let process: LabProcess
  private let lines: LineReader

  init(_ scratch: Scratch, _ arguments: [String] = []) throws {
    process = try CommandProcess.start(
      [
        "bottle", "virtual", "--socket", "\(scratch.path)/radio", "--flash",
        "\(scratch.path)/flash", "--interactive", "--json",
      ] + arguments)
    lines = LineReader(process.lines)
  }

  func act(_ actions: String...) { for action in actions { process.send(action) } }

  /// Waits until the bottle reports a state.
  func reaches(_ state: String) async throws {
    while true {
      let line = await lines.next()
      guard !line.isEmpty else { throw PeerFailed(errors: ["the bottle has ended"]) }
      let event: [String: Any] = try .reading(line)
      if event["state"] as? String == state { return }
    }
  }

  /// Waits until the bottle has recorded the drink with this id.
  func records(_ id: Int) async throws {
    while true {
      let line = await lines.next()
      guard !line.isEmpty else { throw PeerFailed(errors: ["the bottle has ended"]) }
      let event: [String: Any] = try .reading(line)
      if event["id"] as? Int == id { return }
    }
  }

  /// Runs a command of the phone until it has reached the bottle within its time limits, which a
  /// busy machine may exceed. Returns its result.
  func result(of arguments: [String], in scratch: Scratch) async throws -> String {
    while true {
      let phone = try BottlePhone(scratch, arguments)
      let result = try await phone.next { $0["result"] as? String }
      let status = try await phone.rest().status
      if !Self.late.contains(result) {
        #expect(status == 0, "\(arguments)")
        return result
      }
      act("move", "still")
    }
  }

  /// The results of commands that a time limit has ended.
  private static let late = ["bottle-asleep", "connection-failed", "sync-failed", "unconfirmed"]

  func quit() async -> Int32 {
    act("quit")
    return await process.exit()
  }
}

/// A running `holdfast bottle` command that prints events.
struct BottlePhone {
  let process: LabProcess
  private let lines: LineReader

  init(_ scratch: Scratch, _ arguments: [String] = ["watch"]) throws {
    process = try CommandProcess.start(
      ["bottle"] + arguments + [
        "--radio", "\(scratch.path)/radio", "--data", "\(scratch.path)/data", "--json",
      ])
    lines = LineReader(process.lines)
  }

  /// Reads events until `pick` returns a value, and returns that value.
  func next<Found>(_ pick: ([String: Any]) -> Found?) async throws -> Found {
    while true {
      let line = await lines.next()
      guard !line.isEmpty else { throw PeerFailed(errors: ["the phone has ended"]) }
      if let found = pick(try .reading(line)) { return found }
    }
  }

  func drink() async throws -> Int {
    try await next { $0["event"] as? String == "drink" ? $0["id"] as? Int : nil }
  }

  func reaches(_ status: String) async throws {
    try await next { $0["status"] as? String == status ? () : nil }
  }

  /// Sends a signal to the command. Returns its exit status and the drinks that it printed
  /// afterwards.
  func end(_ signal: Int32 = SIGTERM) async throws -> (status: Int32, drinks: [Int]) {
    process.signal(signal)
    return try await rest()
  }

  func rest() async throws -> (status: Int32, drinks: [Int]) {
    var drinks: [Int] = []
    while true {
      let line = await lines.next()
      if line.isEmpty { break }
      let event: [String: Any] = try .reading(line)
      if event["event"] as? String == "drink", let id = event["id"] as? Int { drinks.append(id) }
    }
    return (await process.exit(), drinks)
  }
}

extension BottlePhone {
  /// Returns the ids of the stored drinks.
  static func stored(_ scratch: Scratch) async throws -> [Int] {
    let outcome = try await CommandProcess.run(
      "bottle", "drinks", "--limit", "2000", "--data", "\(scratch.path)/data", "--json")
    return try outcome.output.compactMap { line in
      let event: [String: Any] = try .reading(line)
      return event["id"] as? Int
    }
  }

  /// Waits until every drink that the running phone printed is marked as shown.
  static func confirmed(_ scratch: Scratch) async throws {
    while true {
      let outcome = try await CommandProcess.run(
        "bottle", "status", "--data", "\(scratch.path)/data", "--json")
      let event: [String: Any] = try .reading(outcome.output.first ?? "{}")
      if event["unshown"] as? Int == 0 { return }
    }
  }
}
