import Foundation
import Glibc
import HoldfastTestKit

/// The original's session server with some of its mistakes, in Python.
struct OriginalServer {
  static let key = "untethered-0123456789abcdef0123456789abcdef"

  let process: LabProcess
  let port: UInt16
  var url: String { "ws://127.0.0.1:\(port)/" }

  /// Runs `body` against a server that is stopped behind it.
  static func run(
    _ words: [String] = [], _ body: (OriginalServer) async throws -> Void
  ) async throws {
    let script = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "Peers/original_server.py").path
    let process = try LabProcess(
      [Maker.python ?? "python3", script, "0", key] + words,
      environment: ["PYTHONDONTWRITEBYTECODE": "1"])
    var port: UInt16?
    for await line in process.lines {
      port = (try [String: Any].reading(line)["port"] as? Int).map { UInt16($0) }
      break
    }
    guard let port else { throw PeerFailed(errors: ["the original's server did not start"]) }
    do {
      try await body(OriginalServer(process: process, port: port))
    } catch {
      process.signal(SIGKILL)
      throw error
    }
    process.signal(SIGKILL)
    _ = await process.exit()
  }
}
