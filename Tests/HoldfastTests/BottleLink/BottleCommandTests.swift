import Foundation
import Glibc
import HoldfastTestKit
import Testing

/// `holdfast bottle` with the real program on both ends of a radio on a Unix socket.
@Suite(.timeLimit(.minutes(2)))
struct BottleCommandTests {
  /// A virtual bottle that is typed to.
  private struct Bottle {
    let process: LabProcess
    private let lines: LineReader

    init(_ scratch: Scratch, _ words: [String] = []) throws {
      process = try CommandProcess.start(
        [
          "bottle", "virtual", "--socket", "\(scratch.path)/radio", "--flash",
          "\(scratch.path)/flash", "--interactive", "--json",
        ] + words)
      lines = LineReader(process.lines)
    }

    func act(_ actions: String...) { for action in actions { process.send(action) } }

    /// Returns when it is in a state.
    func reaches(_ state: String) async throws {
      while true {
        let line = await lines.next()
        guard !line.isEmpty else { throw PeerFailed(errors: ["the bottle has ended"]) }
        let event: [String: Any] = try .reading(line)
        if event["state"] as? String == state { return }
      }
    }

    func quit() async -> Int32 {
      act("quit")
      return await process.exit()
    }
  }

  /// A run of a command that prints events.
  private struct Phone {
    let process: LabProcess
    private let lines: LineReader

    init(_ scratch: Scratch, _ words: [String] = ["watch"]) throws {
      process = try CommandProcess.start(
        ["bottle"] + words + [
          "--radio", "\(scratch.path)/radio", "--data", "\(scratch.path)/data", "--json",
        ])
      lines = LineReader(process.lines)
    }

    /// Returns the next event that `pick` accepts.
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

    /// Stops it, and returns the drinks that it had still to print.
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

  private static func stored(_ scratch: Scratch) async throws -> [Int] {
    let outcome = try await CommandProcess.run(
      "bottle", "drinks", "--data", "\(scratch.path)/data", "--json")
    return try outcome.output.compactMap { line in
      let event: [String: Any] = try .reading(line)
      return event["id"] as? Int
    }
  }

  /// Returns when the running phone has noted everything that it printed.
  private static func confirmed(_ scratch: Scratch) async throws {
    while true {
      let outcome = try await CommandProcess.run(
        "bottle", "status", "--data", "\(scratch.path)/data", "--json")
      let event: [String: Any] = try .reading(outcome.output.first ?? "{}")
      if event["unshown"] as? Int == 0 { return }
    }
  }

  @Test func `a phone finds a bottle that wakes, and prints its drinks as they come`() async throws
  {
    let scratch = try Scratch()
    let bottle = try Bottle(scratch)
    let phone = try Phone(scratch)
    let first = try await phone.next { event -> [String]? in
      event["status"] as? String == "scanning" ? event["outstanding"] as? [String] : nil
    }
    #expect(first == ["scan", "queued-scan"])
    bottle.act("move", "still", "pour 250")
    // A burst that finds it connects; after the burst the queued connect does, and leaves that out.
    try await phone.reaches("connected")
    let drink = try await phone.next { $0["event"] as? String == "drink" ? $0 : nil }
    #expect(drink["amountML"] as? Int == 250)
    #expect(drink["via"] as? String == "sync")
    #expect(Set(drink.keys) == ["at", "event", "id", "amountML", "time", "via"])
    bottle.act("pour 40")
    // The drink, and that the bottle knows that it is stored.
    var (live, state): ([String: Any], [String: Any]) = ([:], [:])
    while live.isEmpty || state.isEmpty {
      let event = try await phone.next { event -> [String: Any]? in event }
      if event["event"] as? String == "drink" { live = event }
      if event["levelML"] as? Int == 310, event["unsynced"] as? Int == 0 { state = event }
    }
    #expect(live["via"] as? String == "live")
    #expect(live["time"] as? String != nil, "the clock was set on connecting")
    #expect(try await phone.end().status == 0)
    #expect(await bottle.quit() == 0)
    #expect(try await Self.stored(scratch) == [1, 2])
  }

  @Test func `a phone that is killed between storing and acknowledging prints each drink once`()
    async throws
  {
    let scratch = try Scratch()
    let bottle = try Bottle(scratch, ["--mtu", "65"])  // 4 records a chunk
    bottle.act("deaf", "move", "still")
    for _ in 1...6 { bottle.act("pour 40") }
    let first = try Phone(scratch)
    var printed: [Int] = []
    // The first chunk is stored and printed; its acknowledgement does not arrive.
    for _ in 1...4 { printed.append(try await first.drink()) }
    try await Self.confirmed(scratch)
    printed += try await first.end(SIGKILL).drinks
    bottle.act("hear", "move")
    let second = try Phone(scratch)
    while printed.count < 6 { printed.append(try await second.drink()) }
    try await second.next { $0["unsynced"] as? Int == 0 ? () : nil }
    printed += try await second.end().drinks
    #expect(printed == [1, 2, 3, 4, 5, 6])
    #expect(try await Self.stored(scratch) == [1, 2, 3, 4, 5, 6])
    let third = try Phone(scratch)
    try await third.reaches("connected")
    #expect(try await third.end().drinks == [])
    #expect(await bottle.quit() == 0)
  }

  @Test func `a bottle that restarts in the middle gives every drink once`() async throws {
    let scratch = try Scratch()
    let bottle = try Bottle(scratch, ["--mtu", "65"])
    bottle.act("deaf", "move", "still")
    for _ in 1...6 { bottle.act("pour 40") }
    let phone = try Phone(scratch)
    var printed = [try await phone.drink()]
    bottle.act("restart", "hear", "move")
    while printed.count < 6 { printed.append(try await phone.drink()) }
    try await phone.next { $0["unsynced"] as? Int == 0 ? () : nil }
    printed += try await phone.end().drinks
    #expect(printed == [1, 2, 3, 4, 5, 6])
    #expect(await bottle.quit() == 0)
  }

  @Test func `a bottle that is killed keeps its records and is found again`() async throws {
    let scratch = try Scratch()
    let bottle = try Bottle(scratch)
    bottle.act("move", "pour 40")
    let phone = try Phone(scratch)
    #expect(try await phone.drink() == 1)
    bottle.process.signal(SIGKILL)
    _ = await bottle.process.exit()
    try await phone.reaches("disconnected")
    let again = try Bottle(scratch)
    again.act("move", "pour 50")
    #expect(try await phone.drink() == 2)
    #expect(try await phone.end().status == 0)
    #expect(await again.quit() == 0)
  }

  @Test func `out of range and back, it reconnects within about 8 seconds`() async throws {
    let scratch = try Scratch()
    let bottle = try Bottle(scratch)
    bottle.act("move", "still")
    let phone = try Phone(scratch)
    try await phone.reaches("connected")
    bottle.act("gone")
    let outstanding = try await phone.next { event -> [String]? in
      event["status"] as? String == "disconnected" ? event["outstanding"] as? [String] : nil
    }
    #expect(outstanding == ["queued-connect", "timer"])
    bottle.act("back", "move")
    let start = ContinuousClock.now
    try await phone.reaches("connected")
    #expect(start.duration(to: .now) < .seconds(8))
    #expect(try await phone.end().status == 0)
    #expect(await bottle.quit() == 0)
  }

  @Test func `commands end with what the bottle answered`() async throws {
    let scratch = try Scratch()
    let bottle = try Bottle(scratch)
    bottle.act("move", "still", "pour 250")
    for (words, result) in [
      (["refresh"], "synced 1"), (["refresh"], "already-synced"), (["ping"], "done"),
      (["set-time"], "done"), (["delete", "1"], "done"), (["tare"], "done"),
      (["settings", "no-shake"], "done"), (["configure", "412.5", "2500"], "done"),
      (["calibrate", "start"], "done"),
    ] {
      let phone = try Phone(scratch, words)
      let word = try await phone.next { $0["result"] as? String }
      #expect(word == result, "\(words)")
      #expect(try await phone.rest().status == 0)
    }
    #expect(await bottle.quit() == 0)
  }

  @Test func `a bottle that is not there ends a command with 6, and what is not valid with 2`()
    async throws
  {
    let scratch = try Scratch()
    let ping = try Phone(scratch, ["ping", "--set", "establish.openTimeout=1s"])
    let word = try await ping.next { $0["result"] as? String }
    #expect(word == "bottle-asleep")
    #expect(try await ping.rest().status == 6)
    for words in [["configure", "99", "2500"], ["configure", "400", "999"], ["delete", "x"]] {
      let outcome = try await CommandProcess.run(["bottle"] + words + ["--radio", "r"])
      #expect(outcome.status == 2, "\(words)")
    }
  }

  @Test func `status tells what a watch waits for, and that none runs`() async throws {
    let scratch = try Scratch()
    let data = "\(scratch.path)/data"
    let phone = try Phone(scratch)
    try await phone.reaches("scanning")
    try await phone.reaches("disconnected")
    var running = ""
    while !running.contains("queued-scan") {
      let outcome = try await CommandProcess.run("bottle", "status", "--data", data, "--json")
      let event: [String: Any] = try .reading(outcome.output.first ?? "")
      running = event["running"] as? String ?? ""
    }
    #expect(running.hasPrefix("disconnected"))
    #expect(try await phone.end().status == 0)
    let after = try await CommandProcess.run("bottle", "status", "--data", data)
    #expect(
      after.output == [
        "bottle: none found yet", "running: no; nothing is outstanding", "drinks: none",
      ])
  }

  @Test func `a script is read as a whole before the bottle begins`() async throws {
    let scratch = try Scratch()
    let file = "\(scratch.path)/script"
    try Data("move # wake it\n\nafter 10ms pour 250\nafter 1s jump\n".utf8).write(
      to: URL(filePath: file))
    let outcome = try await CommandProcess.run(
      "bottle", "virtual", "--socket", "\(scratch.path)/radio", "--script", file)
    #expect(outcome.status == 2)
    #expect(outcome.errors.first?.contains("line 4 is not valid") == true)
    #expect(outcome.errors.contains { $0.contains("ML is 1 to 1000") })
  }

  @Test func `a script may end its lines as other systems do`() async throws {
    let scratch = try Scratch()
    let file = "\(scratch.path)/script"
    try Data("move\r\nafter 10ms pour 250\r\n# end\r\nquit\r\n".utf8).write(
      to: URL(filePath: file))
    let outcome = try await CommandProcess.run(
      "bottle", "virtual", "--socket", "\(scratch.path)/radio", "--script", file, "--json")
    #expect(outcome.status == 0)
    #expect(outcome.output.contains { $0.contains(#""amountML":250"#) })
  }

  @Test func `a radio that is no socket is told at once`() async throws {
    let scratch = try Scratch()
    let file = "\(scratch.path)/file"
    try Data().write(to: URL(filePath: file))
    for (words, status, said) in [
      (["ping", "--radio", file], 1, "\(file) is no socket"),
      (["watch", "--radio", scratch.path], 1, "\(scratch.path) is no socket"),
      (["ping", "--radio", "\(file)/radio"], 1, "\(file)/radio: Not a directory"),
      (["virtual", "--socket", file], 1, "\(file): File exists"),
      (["virtual", "--name", String(repeating: "x", count: 65)], 2, "1 to 64 bytes"),
      (["virtual", "--name", ""], 2, "1 to 64 bytes"),
    ] {
      let outcome = try await CommandProcess.run(["bottle"] + words)
      #expect(outcome.status == Int32(status), "\(words)")
      #expect(outcome.errors.first?.contains(said) == true, "\(outcome.errors)")
    }
  }

  @Test func `a drink is not lost where a bottle without a clock has lost its memory`() async throws
  {
    let scratch = try Scratch()
    let bottle = try Bottle(scratch)
    let phone = try Phone(scratch)
    bottle.act("move", "still", "pour 250")
    #expect(try await phone.drink() == 1)
    bottle.act("erase", "still", "pour 150")
    #expect(try await phone.drink() == 1)
    #expect(try await phone.end().status == 0)
    #expect(await bottle.quit() == 0)
    #expect(try await Self.stored(scratch) == [1, 1])
  }

  @Test func `the deletion of a record that is not stored says so`() async throws {
    let scratch = try Scratch()
    let bottle = try Bottle(scratch)
    bottle.act("move", "still")
    let outcome = try await CommandProcess.run(
      "bottle", "delete", "77", "--radio", "\(scratch.path)/radio", "--data",
      "\(scratch.path)/data")
    #expect(outcome.output == ["done"])
    #expect(outcome.errors.first?.contains("no stored drink has the id 77") == true)
    #expect(await bottle.quit() == 0)
  }

  @Test func `one bottle at a time has a socket`() async throws {
    let scratch = try Scratch()
    let bottle = try Bottle(scratch)
    bottle.act("move")
    try await bottle.reaches("advertising")
    let outcome = try await CommandProcess.run(
      "bottle", "virtual", "--socket", "\(scratch.path)/radio")
    #expect(outcome.status == 1)
    #expect(await bottle.quit() == 0)
  }
}
