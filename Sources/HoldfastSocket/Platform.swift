public import LinkCore
public import LinkDriver

#if os(Linux)
  import CurlNetwork
  import LifecycleSystem
  import NetworkCost
  import ReachabilityNetlink
#endif

/// The adapters of this platform.
public enum Platform {
  #if os(Linux)
    /// Returns a network that uses the system's HTTP library for sockets and REST requests.
    ///
    /// - Parameters:
    ///   - authorities: The path of a PEM file of certificate authorities trusted in addition to
    ///     the system's.
    ///   - proxy: The URL of a proxy; `nil` reads the environment, and "" means none.
    ///   - allowsPlaintext: Whether `http` requests may leave this device.
    /// - Throws: `.local` if the process has no descriptors or threads left.
    public static func network(
      authorities: String? = nil, proxy: String? = nil, allowsPlaintext: Bool = false
    ) throws(LinkFailure) -> any SocketDialer & HTTPClient {
      try CurlNetwork(
        CurlConfiguration(
          authorities: authorities, proxy: proxy, allowsPlaintext: allowsPlaintext))
    }
  #else
    @available(
      *, unavailable,
      message: """
        Holdfast has no network adapter for this platform yet; \
        pass a type of your own that conforms to SocketDialer and HTTPClient
        """
    )
    /// Throws an error, since this platform has no network adapter yet.
    public static func network(
      authorities: String? = nil, proxy: String? = nil, allowsPlaintext: Bool = false
    ) throws(LinkFailure) -> any SocketDialer & HTTPClient {
      throw .local(detail: "this platform has no network adapter yet")
    }
  #endif

  /// Returns why a WebSocket or HTTP URL can never be reached; `nil` if it is valid.
  package static func problem(ofURL url: String) -> String? {
    guard ServerURL.hasHost(url) else { return "It has no host, or a character that no URL has." }
    #if os(Linux)
      return CurlNetwork.problem(ofURL: url)
    #else
      return nil
    #endif
  }

  /// Returns the network for an app that passes none.
  ///
  /// - Throws: `.local` as `network` does, and if this platform has no network adapter.
  package static func ownNetwork() throws(LinkFailure) -> any SocketDialer & HTTPClient {
    #if os(Linux)
      return try network()
    #else
      throw .local(
        detail: "Holdfast has no network adapter for this platform yet; set `network` to a type of "
          + "your own that conforms to SocketDialer and HTTPClient")
    #endif
  }

  /// Returns a store that keeps secrets in files of a directory that only their owner can read.
  public static func secrets(in directory: String) -> any SecretStore {
    SecretFiles(in: directory)
  }

  /// Returns unlimited background time, for systems that end no app in the background.
  public static func backgroundTime() -> any BackgroundTime { UnlimitedTime() }

  /// Returns a source of wakes for tasks while the process lives.
  public static func wakes() -> any WakeSource { TimerWakes() }

  /// Returns a monitor of the network path to a host.
  public static func reachability(of host: String) -> any ReachabilityMonitor {
    #if os(Linux)
      CostedReachability(NetlinkReachability(target: NetlinkReachability.Target(host: host)))
    #else
      AlwaysReachable()
    #endif
  }

  /// Returns a monitor of signals and, if there is one, of the system's login manager.
  ///
  /// - Parameters:
  ///   - hangup: Whether SIGHUP requests another attempt; otherwise it ends the process.
  ///   - note: Called once if a source is not available.
  public static func lifecycle(
    hangup: Bool = false, note: @escaping @Sendable (String) -> Void = { _ in }
  ) -> any LifecycleMonitor {
    #if os(Linux)
      SystemLifecycle(hangup: hangup, note: note)
    #else
      // An app handles signals itself, and reports lifecycle changes through `turn(_:)`.
      AlwaysForeground()
    #endif
  }
}

/// A monitor that always reports a network, for platforms without a monitor.
public struct AlwaysReachable: ReachabilityMonitor {
  public init() {}

  /// Returns a sequence of one element: reachable.
  public func changes() -> AsyncStream<Reachability> {
    AsyncStream { $0.yield(.reachable(path: PathID("unknown"))) }
  }
}

/// A monitor without events: the app counts as in the foreground unless it reports otherwise.
public struct AlwaysForeground: LifecycleMonitor {
  public init() {}

  /// Returns a sequence that never yields an element.
  public func changes() -> AsyncStream<LifecycleEvent> {
    AsyncStream { _ in }
  }
}
