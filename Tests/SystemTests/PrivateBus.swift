import Foundation
import Glibc
import HoldfastTestKit
import Testing

/// A `dbus-daemon` on its own socket, which ends when this object is released.
final class PrivateBus: Sendable {
  static let works = FileManager.default.isExecutableFile(atPath: "/usr/bin/dbus-daemon")

  let address: String
  private let daemon: LabProcess
  private let scratch: Scratch

  init() async throws {
    scratch = try Scratch()
    let configuration = """
        <busconfig>
        <type>system</type>
        <listen>unix:path=\(scratch("bus"))</listen>
        <auth>EXTERNAL</auth>
        <policy context="default">
          <allow send_destination="*"/> <allow receive_sender="*"/> <allow own="*"/>
        </policy>
      </busconfig>
      """
    try scratch.write(configuration.utf8, to: "bus.conf")
    daemon = try LabProcess([
      "dbus-daemon", "--config-file=\(scratch("bus.conf"))", "--nofork", "--nopidfile",
      "--print-address=1",
    ])
    // The daemon prints its address once it listens.
    var lines = daemon.lines.makeAsyncIterator()
    address = try #require(await lines.next())
  }

  /// Kills the daemon with SIGKILL.
  ///
  /// A child of a dispatch thread inherits its signal mask, which blocks SIGTERM.
  func end() async {
    daemon.signal(SIGKILL)
    _ = await daemon.exit()
  }
}
