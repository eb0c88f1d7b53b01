import Dispatch
import Glibc
import HoldfastCommandKit
import HoldfastCore
import HoldfastPorts

/// A monitor of the network path that `holdfast lab` gives to its apps through a named pipe.
///
/// Each line of the pipe is the name of a path, `none`, or `portal` for a login page.
struct PathPipe: ReachabilityMonitor {
  private static let variable = "HOLDFAST_NETWORK_PATH"
  private static let longestLine = 256

  private let file: String

  /// The monitor that the environment selects; `nil` for that of the system.
  static func named(by call: Invocation) -> (any ReachabilityMonitor)? {
    call.environment(variable).map { PathPipe(file: $0) }
  }

  /// The current path, and each change.
  func changes() -> AsyncStream<Reachability> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: Reachability.self, bufferingPolicy: .bufferingNewest(16))
    // The pipe is open for writing as well, so a read waits even if the lab has ended.
    let descriptor = unsafe open(file, O_RDWR | O_CLOEXEC)
    // A read blocks, and nothing waits for its end.
    DispatchQueue(label: "holdfast.command.path").async {
      defer { continuation.finish() }
      var line: [UInt8] = []
      var byte: UInt8 = 0
      while true {
        let count = unsafe read(descriptor, &byte, 1)
        if count < 0, errno == EINTR { continue }
        guard count == 1 else { return }
        if byte != UInt8(ascii: "\n") {
          if line.count < Self.longestLine { line.append(byte) }
          continue
        }
        continuation.yield(Self.reachability(String(decoding: line, as: UTF8.self)))
        line = []
      }
    }
    return stream
  }

  private static func reachability(_ name: String) -> Reachability {
    switch name {
    case "none": .unreachable
    case "portal": .captivePortal
    case "cell": .reachable(path: PathID(name), traits: [.cellular, .expensive])
    case _: .reachable(path: PathID(name))
    }
  }
}
