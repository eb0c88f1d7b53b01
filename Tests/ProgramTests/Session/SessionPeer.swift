import Foundation
import Glibc
import HoldfastRigs
import HoldfastTestKit

/// A session server in Python that follows a plan.
struct SessionPeer {
  let process: LabProcess
  let port: Int
  private let lines: LineReader

  static let key = "untethered-" + String(repeating: "0", count: 32)

  /// Runs `body` with a server, and stops the server afterwards.
  ///
  /// - Parameter options: The options in JSON, as `Peers/server.py` describes them.
  static func run(_ options: String, _ body: (SessionPeer) async throws -> Void) async throws {
    let peer = try await SessionPeer(options)
    do {
      try await body(peer)
    } catch {
      await peer.stop()
      throw error
    }
    await peer.stop()
  }

  private init(_ options: String) async throws {
    let script = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "Peers/server.py").path
    process = try LabProcess(
      [Maker.python ?? "python3", script, "0", options],
      environment: ["PYTHONDONTWRITEBYTECODE": "1"])
    lines = LineReader(process.lines)
    let first: [String: Any] = try .reading(await lines.next())
    guard let port = first["port"] as? Int else { throw PeerFailed(errors: ["no port"]) }
    self.port = port
  }

  private func stop() async {
    process.signal(SIGKILL)
    _ = await process.exit()
  }

  /// Ends the server, and returns all the events that it reported.
  func seen() async throws -> [[String: Any]] {
    await stop()
    var events: [[String: Any]] = []
    while true {
      let line = await lines.next()
      if line.isEmpty { return events }
      events.append(try .reading(line))
    }
  }
}

extension [[String: Any]] {
  /// The texts of the prompts that the server ran.
  var ran: [String] { compactMap { $0["event"] as? String == "ran" ? $0["text"] as? String : nil } }
  var connections: Int { count { $0["event"] as? String == "opened" } }

  /// Returns the types of the messages that the server received on a connection.
  func types(of connection: Int) -> [String] {
    compactMap { event in
      guard event["event"] as? String == "got", event["connection"] as? Int == connection else {
        return nil
      }
      return (event["message"] as? [String: Any])?["type"] as? String
    }
  }

  /// The messages that the command showed, as "role text".
  var messages: [String] {
    compactMap { event in
      guard event["event"] as? String == "message", let role = event["role"] as? String,
        let text = event["text"] as? String
      else { return nil }
      return "\(role) \(text)"
    }
  }

  /// Returns the states of a prompt that the command showed, in order.
  func states(of text: String) -> [String] {
    compactMap { event in
      guard event["event"] as? String == "prompt", event["text"] as? String == text else {
        return nil
      }
      return event["state"] as? String
    }
  }
}

/// A running `holdfast session --json` command.
struct SessionRun {
  let process: LabProcess
  private let lines: LineReader

  init(
    port: Int, path: String = "/session", in scratch: Scratch, key: String = SessionPeer.key,
    _ arguments: [String] = ["--once"]
  ) throws {
    let file = "\(scratch.path)/key"
    try Data(key.utf8).write(to: URL(filePath: file))
    process = try CommandProcess.start(
      [
        "session", "--server", "http://127.0.0.1:\(port)\(path)", "--key-file", file, "--data",
        "\(scratch.path)/data", "--json",
      ] + SocketRun.brisk + arguments)
    lines = LineReader(process.lines)
  }

  /// Sends prompts, and then ends the input.
  func prompt(_ texts: String...) {
    for text in texts { process.send(text) }
    process.endInput()
  }

  /// Reads events until `pick` returns a value, and returns that value.
  func next<Found>(_ pick: ([String: Any]) -> Found?) async throws -> Found {
    while true {
      let line = await lines.next()
      guard !line.isEmpty else { throw PeerFailed(errors: ["the command has ended"]) }
      if let found = pick(try .reading(line)) { return found }
    }
  }

  /// Waits for the end of the command, and returns what it printed on standard error.
  func errors() async -> [String] {
    await process.diagnostics.reduce(into: []) { $0.append($1) }
  }

  /// Waits for the end of the command. Returns its exit status and the remaining events.
  func end() async throws -> (status: Int32, events: [[String: Any]]) {
    var events: [[String: Any]] = []
    while true {
      let line = await lines.next()
      if line.isEmpty { break }
      events.append(try .reading(line))
    }
    return (await process.exit(), events)
  }
}
