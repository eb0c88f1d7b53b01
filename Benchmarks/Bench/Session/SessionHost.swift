import Foundation
import HoldfastTestKit

/// A separate process that serves the real backend's sessions.
struct SessionHost: Sendable {
  let process: LabProcess
  let url: String
  /// The file that contains the key of the clients.
  let keyFile: String

  var port: String {
    url.split(separator: ":").last?.split(separator: "/").first.map(String.init) ?? ""
  }

  var key: String {
    get throws { try String(contentsOfFile: keyFile, encoding: .utf8) }
  }

  /// Starts the process with a data directory.
  static func start(_ data: String, _ more: [String] = []) async throws -> SessionHost {
    let process = try Peer.ours("session-server").start(["--data", data] + more)
    var lines = process.lines.makeAsyncIterator()
    guard let url = await lines.next(), let keyFile = await lines.next() else {
      throw Unavailable(await process.diagnostics.reduce("it did not start") { $1 })
    }
    return SessionHost(process: process, url: url, keyFile: keyFile)
  }

  func end() async {
    process.signal(SIGKILL)
    _ = await process.exit()
  }
}
