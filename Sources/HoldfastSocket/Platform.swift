public import LinkCore
public import LinkDriver

#if os(Linux)
  import CurlNetwork
  import LifecycleSystem
  import NetworkCost
  import ReachabilityNetlink
#endif

/// This platform's own adapters, put together.
public enum Platform {
  #if os(Linux)
    /// Dials and speaks REST through the system's HTTP library.
    ///
    /// - Parameters:
    ///   - authorities: a PEM file of certificate authorities trusted beside the system's.
    ///   - proxy: a proxy's URL; `nil` reads the environment, "" means none.
    ///   - allowsPlaintext: whether `http` may leave this device.
    /// - Throws: `.local` when the process has no descriptors or threads left.
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
    /// Opens sockets and sends requests; this platform has no adapter for it yet.
    public static func network(
      authorities: String? = nil, proxy: String? = nil, allowsPlaintext: Bool = false
    ) throws(LinkFailure) -> any SocketDialer & HTTPClient {
      throw .local(detail: "this platform has no network adapter yet")
    }
  #endif

  /// Returns why nothing can ever be reached at a URL of a WebSocket or of HTTP; `nil` if it is one.
  package static func problem(ofURL url: String) -> String? {
    guard ServerURL.hasHost(url) else { return "It has no host, or a character that no URL has." }
    #if os(Linux)
      return CurlNetwork.problem(ofURL: url)
    #else
      return nil
    #endif
  }

  /// The network for an app that brings none.
  ///
  /// - Throws: `.local` as `network` does, and where this platform has no adapter for it.
  package static func ownNetwork() throws(LinkFailure) -> any SocketDialer & HTTPClient {
    #if os(Linux)
      return try network()
    #else
      throw .local(
        detail: "Holdfast has no network adapter for this platform yet; set `network` to a type of "
          + "your own that conforms to SocketDialer and HTTPClient")
    #endif
  }

  /// Secrets in files of a directory that only their owner can read.
  public static func secrets(in directory: String) -> any SecretStore {
    SecretFiles(in: directory)
  }

  /// Time after the app left the foreground: without a limit where the system ends no app for it.
  public static func backgroundTime() -> any BackgroundTime { UnlimitedTime() }

  /// Wakes for tasks while the process lives.
  public static func wakes() -> any WakeSource { TimerWakes() }

  /// Watches the way to a host.
  public static func reachability(of host: String) -> any ReachabilityMonitor {
    #if os(Linux)
      CostedReachability(NetlinkReachability(target: NetlinkReachability.Target(host: host)))
    #else
      AlwaysReachable()
    #endif
  }

  /// Watches the app's lifecycle by signals and, where there is one, the system's login manager.
  ///
  /// - Parameters:
  ///   - hangup: whether SIGHUP asks for another try; it ends the process otherwise.
  ///   - note: told once when a source is not there.
  public static func lifecycle(
    hangup: Bool = false, note: @escaping @Sendable (String) -> Void = { _ in }
  ) -> any LifecycleMonitor {
    #if os(Linux)
      SystemLifecycle(hangup: hangup, note: note)
    #else
      // An app gets signals of its own; it tells the front door when it is turned.
      AlwaysForeground()
    #endif
  }
}

/// Says that there is a way out, where no monitor exists yet.
public struct AlwaysReachable: ReachabilityMonitor {
  public init() {}

  /// One element: reachable.
  public func changes() -> AsyncStream<Reachability> {
    AsyncStream { $0.yield(.reachable(path: PathID("unknown"))) }
  }
}

/// Says nothing: the app is in front until it says otherwise itself.
public struct AlwaysForeground: LifecycleMonitor {
  public init() {}

  /// Nothing, for ever.
  public func changes() -> AsyncStream<LifecycleEvent> {
    AsyncStream { _ in }
  }
}
