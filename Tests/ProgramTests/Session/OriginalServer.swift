import Foundation
import Glibc
import HoldfastRigs
import HoldfastTestKit

/// The session server of the original in Python, which makes the selected mistakes.
struct OriginalServer {
  static let key = "untethered-0123456789abcdef0123456789abcdef"

  let process: LabProcess
  let port: UInt16
  private let lines: LineReader
  var url: String { "ws://127.0.0.1:\(port)/" }

  /// Runs `body` with a server, and stops the server afterwards.
  static func run(
    _ arguments: [String] = [], _ body: (OriginalServer) async throws -> Void
  ) async throws {
    let script = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "Peers/original_server.py").path
    let process = try LabProcess(
      [Maker.python ?? "python3", script, "0", key] + arguments,
      environment: ["PYTHONDONTWRITEBYTECODE": "1"])
    let lines = LineReader(process.lines)
    let first: [String: Any] = try .reading(await lines.next())
    guard let port = (first["port"] as? Int).map({ UInt16($0) }) else {
      throw PeerFailed(errors: ["the original's server did not start"])
    }
    do {
      try await body(OriginalServer(process: process, port: port, lines: lines))
    } catch {
      process.signal(SIGKILL)
      throw error
    }
    process.signal(SIGKILL)
    _ = await process.exit()
  }

  /// Ends the server, and returns all the events that it reported.
  func seen() async throws -> [[String: Any]] {
    process.signal(SIGKILL)
    var events: [[String: Any]] = []
    while case let line = await lines.next(), !line.isEmpty { events.append(try .reading(line)) }
    return events
  }
}

/// A run of the session client of the original, in Python.
struct OriginalClient {
  /// The exit status.
  let status: Int32
  let events: [[String: Any]]

  /// Runs the client until it ends.
  init(_ url: String, key: String, in scratch: Scratch, _ arguments: [String]) async throws {
    try scratch.write(key.utf8, to: "client-key")
    let script = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "Peers/original_client.py").path
    let process = try LabProcess(
      [Maker.python ?? "python3", script, url, scratch("client-key")] + arguments,
      environment: ["PYTHONDONTWRITEBYTECODE": "1"])
    let outcome = await CommandProcess.outcome(of: process)
    guard outcome.errors == [] else { throw PeerFailed(errors: outcome.errors) }
    status = outcome.status
    events = try outcome.output.map { try [String: Any].reading($0) }
  }

  private var messages: [[String: Any]] { events.compactMap { $0["message"] as? [String: Any] } }

  /// The types of all received messages, in order.
  var types: [String] { messages.compactMap { $0["type"] as? String } }
  /// Whether the connection was compressed.
  var isCompressed: Bool? { events.first?["compressed"] as? Bool }
  /// The close code of the connection.
  var code: Int? { events.last?["code"] as? Int }

  /// Returns the messages of a type.
  func all(_ type: String) -> [[String: Any]] { messages.filter { $0["type"] as? String == type } }

  /// Returns one member of each message of a type.
  func texts(_ member: String, of type: String) -> [String] {
    all(type).compactMap { $0[member] as? String }
  }
}
