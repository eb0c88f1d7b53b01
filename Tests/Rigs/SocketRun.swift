import Foundation
import Glibc
package import HoldfastTestKit

/// A `holdfast socket --json` process and the events that it prints.
package struct SocketRun {
  package let process: LabProcess
  private let lines: LineReader

  /// Options that keep waits, and therefore tests, short.
  package static let brisk = [
    "--set", "retry.first=100ms*1 max 100ms +-0.0 min 100ms xunlimited",
    "--set", "retry.reconnect=100ms*1 max 100ms +-0.0 min 100ms xunlimited",
    "--set", "retry.serverJitter=10ms", "--set", "retry.windows=100/1m",
  ]

  package init(
    _ url: String, _ arguments: [String] = [], environment: [String: String] = [:]
  ) throws {
    process = try CommandProcess.start(
      ["socket", url, "--json"] + Self.brisk + arguments, environment: environment)
    lines = LineReader(process.lines)
  }

  /// Reads events until `pick` returns a value, and returns that value.
  ///
  /// - Throws: `PeerFailed` if the output ends first.
  package func next<Found>(_ pick: ([String: Any]) -> Found?) async throws -> Found {
    while true {
      let line = await lines.next()
      guard !line.isEmpty else { throw PeerFailed(errors: ["the command has ended"]) }
      if let found = pick(try .reading(line)) { return found }
    }
  }

  /// Waits until the command reports a status.
  package func status(_ name: String) async throws {
    try await next { $0["status"] as? String == name ? () : nil }
  }

  /// Returns the next `count` texts that the command prints.
  package func texts(_ count: Int) async throws -> [String] {
    var texts: [String] = []
    while texts.count < count { texts.append(try await next { $0["text"] as? String }) }
    return texts
  }

  /// Interrupts the command like Ctrl-C, and returns its exit status.
  package func interrupt() async -> Int32 {
    process.signal(SIGINT)
    return await process.exit()
  }
}
