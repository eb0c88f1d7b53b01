public import HoldfastPorts

#if os(Linux)
  import Foundation
  public import HoldfastCore
  import HoldfastDriver
  import HoldfastLinuxEvents
  import Synchronization

  /// A monitor that adds the cost of the network path to the reports of another monitor.
  ///
  /// The cost results from NetworkManager's `Metered` and the type of its primary connection.
  /// Without NetworkManager, no cost is added. The first report may precede the cost.
  public struct CostedReachability: ReachabilityMonitor {
    private let monitor: any ReachabilityMonitor
    private let address: String?

    /// Creates a monitor.
    ///
    /// - Parameters:
    ///   - monitor: The monitor that reports whether there is a network path.
    ///   - address: A D-Bus address; `nil` for the system bus.
    public init(_ monitor: any ReachabilityMonitor, address: String? = nil) {
      (self.monitor, self.address) = (monitor, address)
    }

    /// Returns the current state, and then each change of the path or of its cost.
    public func changes() -> AsyncStream<Reachability> {
      let (stream, continuation) = AsyncStream.makeStream(
        of: Reachability.self, bufferingPolicy: .bufferingNewest(64))
      let known = CombinedPath { continuation.yield($0) }
      let paths = monitor.changes()
      let task = Task {
        for await path in paths { known.note(path) }
        continuation.finish()
      }
      let stop = StopSignal()
      continuation.onTermination = { _ in
        task.cancel()
        stop.send()
      }
      let address = address
      // sd-bus objects belong to one thread. This thread sleeps until a message arrives from the
      // bus.
      let thread = Thread {
        try? BusWatch(address: address, Self.properties).listen(until: stop) {
          known.note(Self.traits(of: $0))
        }
      }
      thread.name = "network cost"
      thread.start()
      return stream
    }

    private static let service = "org.freedesktop.NetworkManager"
    private static let path = "/org/freedesktop/NetworkManager"
    private static let metered = BusProperty(service, path, service, "Metered", .number)
    private static let type = BusProperty(
      service, path, service, "PrimaryConnectionType", .text)
    static let properties = [metered, type]
    /// The values `NM_METERED_YES` and `NM_METERED_GUESS_YES`.
    private static let costs: Set<UInt32> = [1, 3]

    /// Converts the values of the properties to traits of the path.
    static func traits(of values: [BusProperty: BusValue]) -> PathTraits {
      var traits: PathTraits = []
      if case .number(let level)? = values[metered], costs.contains(level) {
        traits.insert(.expensive)
      }
      switch values[type] {
      case .text("gsm"), .text("cdma"): traits.formUnion([.cellular, .expensive])
      case .text, .number, .boolean, nil: break
      }
      return traits
    }
  }

  /// The combination of the newest path and the newest cost.
  private final class CombinedPath: Sendable {
    private struct State {
      var path: Reachability?
      var traits: PathTraits = []
      var reported: Reachability?
    }

    private let state = Mutex(State())
    private let report: @Sendable (Reachability) -> Void

    init(_ report: @escaping @Sendable (Reachability) -> Void) { self.report = report }

    func note(_ path: Reachability) { change { $0.path = path } }

    func note(_ traits: PathTraits) { change { $0.traits = traits } }

    /// Applies a change, and reports the state under the lock, so that the newest state is reported
    /// last.
    private func change(_ change: (inout State) -> Void) {
      state.withLock { state in
        change(&state)
        guard let path = state.path?.with(state.traits), path != state.reported else { return }
        state.reported = path
        report(path)
      }
    }
  }

  extension Reachability {
    fileprivate func with(_ traits: PathTraits) -> Reachability {
      switch self {
      case .reachable(let path, _): .reachable(path: path, traits: traits)
      case .unreachable, .captivePortal: self
      }
    }
  }
#endif
