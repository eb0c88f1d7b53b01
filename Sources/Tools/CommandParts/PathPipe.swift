import Dispatch
import Glibc
package import HoldfastCommandKit
package import HoldfastCore
package import HoldfastPorts
import Synchronization

/// A network path that the lab tells an app. The raw values are the lines of a named pipe.
package enum LabNetworkPath: String, Sendable {
  case wifi
  case cellular = "cell"
  case unreachable = "none"
  case loginPage = "portal"

  /// The environment variable with the path of the pipe.
  package static let variable = "HOLDFAST_NETWORK_PATH"
}

/// A monitor of the network path that `holdfast lab` gives to its apps through a named pipe.
///
/// Each line of the pipe is a `LabNetworkPath`. Other lines are ignored.
package struct PathPipe: ReachabilityMonitor {
  private let file: String

  /// The monitor that the environment selects; `nil` for that of the system.
  package static func named(by call: Invocation) -> (any ReachabilityMonitor)? {
    call.environment(LabNetworkPath.variable).map { PathPipe(file: $0) }
  }

  /// The current path, and each change.
  package func changes() -> AsyncStream<Reachability> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: Reachability.self, bufferingPolicy: .bufferingNewest(16))
    // The pipe is open for writing as well, so it does not end with the lab.
    let descriptor = unsafe open(file, O_RDWR | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else {
      continuation.finish()
      return stream
    }
    let lines = PipeLines(descriptor)
    let watch = PipeWatch(descriptor) {
      for line in lines.next() {
        if let path = LabNetworkPath(rawValue: line) { continuation.yield(path.reachability) }
      }
    }
    continuation.onTermination = { _ in watch.cancel() }
    return stream
  }
}

/// A watch of a descriptor, which is closed after `cancel`.
private final class PipeWatch: Sendable {
  private let source: Mutex<any DispatchSourceRead>

  init(_ descriptor: Int32, handler: @escaping @Sendable () -> Void) {
    let source = DispatchSource.makeReadSource(
      fileDescriptor: descriptor, queue: DispatchQueue(label: "holdfast.command.path"))
    source.setEventHandler { handler() }
    source.setCancelHandler { close(descriptor) }
    source.activate()
    self.source = Mutex(source)
  }

  func cancel() { source.withLock { $0.cancel() } }
}

/// The lines of a descriptor that does not block.
private final class PipeLines: Sendable {
  private static let longest = 256

  private let descriptor: Int32
  /// The line that is not complete yet.
  private let line = Mutex<[UInt8]>([])

  init(_ descriptor: Int32) { self.descriptor = descriptor }

  /// Returns the lines that are complete since the last call. Long ones are cut off.
  func next() -> [String] {
    var found: [String] = []
    var bytes = [UInt8](repeating: 0, count: 1_024)
    line.withLock { line in
      while true {
        let count = unsafe read(descriptor, &bytes, bytes.count)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return }
        for byte in bytes[..<count] {
          if byte == UInt8(ascii: "\n") {
            found.append(String(decoding: line, as: UTF8.self))
            line = []
          } else if line.count < Self.longest {
            line.append(byte)
          }
        }
      }
    }
    return found
  }
}

extension LabNetworkPath {
  fileprivate var reachability: Reachability {
    switch self {
    case .wifi: .reachable(path: PathID(rawValue))
    case .cellular: .reachable(path: PathID(rawValue), traits: [.cellular, .expensive])
    case .unreachable: .unreachable
    case .loginPage: .captivePortal
    }
  }
}
