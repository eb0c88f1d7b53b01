#if canImport(Network)
  import Dispatch
  public import HoldfastCore
  public import HoldfastPorts
  import Network
  import Synchronization

  /// A monitor of the device's connectivity, as `NWPathMonitor` reports it.
  ///
  /// The identifier of a path consists of the first interface, which traffic takes, and the
  /// gateways. Another interface that merely becomes available does not change it. Apple's
  /// frameworks do not report login pages, so `.captivePortal` never occurs. On a watch, the network
  /// counts as unreachable while the system does not let the app open connections (`NetworkDial`).
  public struct PathReachability: ReachabilityMonitor {
    /// Creates a monitor, which observes nothing until `changes()` is called.
    public init() {}

    /// Returns a stream of the current state and each change. Each stream has its own monitor, which
    /// ends with the stream.
    public func changes() -> AsyncStream<Reachability> {
      let (stream, input) = AsyncStream.makeStream(of: Reachability.self)
      let monitor = NWPathMonitor()
      let last = Mutex<Reachability?>(nil)
      monitor.pathUpdateHandler = { path in
        let reachability = Reachability(path)
        let isNew = last.withLock { last in
          defer { last = reachability }
          return last != reachability
        }
        if isNew { input.yield(reachability) }
      }
      input.onTermination = { _ in monitor.cancel() }
      monitor.start(queue: DispatchQueue(label: "holdfast.path"))
      return stream
    }
  }

  extension Reachability {
    init(_ path: NWPath) {
      switch path.status {
      case .satisfied, .requiresConnection:
        self = .reachable(path: PathID(path), traits: PathTraits(path))
      case .unsatisfied: self = .unreachable
      @unknown default: self = .unreachable
      }
    }
  }

  extension PathID {
    fileprivate init(_ path: NWPath) {
      let interface = path.availableInterfaces.first?.name ?? "unknown"
      self.init(([interface] + path.gateways.map(\.debugDescription)).joined(separator: " "))
    }
  }

  extension PathTraits {
    fileprivate init(_ path: NWPath) {
      self = []
      if path.usesInterfaceType(.cellular) { insert(.cellular) }
      if path.isExpensive { insert(.expensive) }
      if path.isConstrained { insert(.constrained) }
      if path.status == .requiresConnection { insert(.onDemand) }
    }
  }
#endif
