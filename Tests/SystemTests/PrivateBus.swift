import Foundation
import Glibc
import HoldfastTestKit
import Testing

/// A `dbus-daemon` on its own socket. It ends when this object is released.
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
    // The daemon prints its address once it accepts connections.
    var lines = daemon.lines.makeAsyncIterator()
    address = try #require(await lines.next())
  }

  /// Kills the daemon with SIGKILL.
  ///
  /// SIGTERM has no effect, because the daemon inherits the signal mask of a dispatch thread.
  func end() async {
    daemon.signal(SIGKILL)
    _ = await daemon.exit()
  }
}
