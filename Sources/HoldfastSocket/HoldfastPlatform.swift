public import HoldfastCore
import HoldfastDriver
public import HoldfastPorts

#if os(Linux)
  import HoldfastCurlNetwork
  import HoldfastNetlink
#endif

/// The adapters of this platform.
public enum HoldfastPlatform {
  #if os(Linux)
    /// Returns a network that uses the system's HTTP library for sockets and REST requests.
    ///
    /// - Parameters:
    ///   - authorities: The path of a PEM file with certificate authorities that are trusted in
    ///     addition to the system's.
    ///   - proxy: The URL of a proxy. If it is `nil`, the environment determines the proxy; ""
    ///     means no proxy.
    ///   - allowsPlaintext: Whether `http` requests to other devices are allowed.
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
    /// Throws an error, because this platform has no network adapter yet.
    public static func network(
      authorities: String? = nil, proxy: String? = nil, allowsPlaintext: Bool = false
    ) throws(LinkFailure) -> any SocketDialer & HTTPClient {
      throw .local(detail: "this platform has no network adapter yet")
    }
  #endif

  /// Returns the reason why a WebSocket or HTTP URL can never be reached; `nil` if the URL is
  /// valid.
  package static func problem(ofURL url: String) -> String? {
    guard ServerURL.hasHost(url) else { return "It has no host, or a character that no URL has." }
    guard ServerURL.hasPossiblePort(url) else { return "Its port is above \(UInt16.max)." }
    #if os(Linux)
      return CurlNetwork.problem(ofURL: url)
    #else
      return nil
    #endif
  }

  /// Returns the network for an app that supplies none.
  ///
  /// - Throws: `.local` for the same reasons as `network`, or if this platform has no network
  ///   adapter.
  package static func ownNetwork(
    allowsPlaintext: Bool = false
  ) throws(LinkFailure) -> any SocketDialer & HTTPClient {
    #if os(Linux)
      return try network(allowsPlaintext: allowsPlaintext)
    #else
      throw .local(
        detail: "Holdfast has no network adapter for this platform yet; set `network` to a type of "
          + "your own that conforms to SocketDialer and HTTPClient")
    #endif
  }

  /// Returns a store that keeps secrets in a directory, in files that only their owner can read.
  public static func secrets(in directory: String) -> any SecretStore {
    SecretFiles(in: directory)
  }

  /// Returns unlimited background time, for systems that do not end background apps.
  public static func backgroundTime() -> any BackgroundTime { UnlimitedTime() }

  /// Returns a source that wakes tasks while the process lives.
  public static func wakes() -> any WakeSource { TimerWakes() }

  /// Returns a monitor of the network path to a host.
  public static func reachability(of host: String) -> any ReachabilityMonitor {
    #if os(Linux)
      NetlinkReachability(target: NetlinkReachability.Target(host: host))
    #else
      AlwaysReachable()
    #endif
  }
}

/// A monitor that always reports that the network is reachable, for platforms without a monitor.
public struct AlwaysReachable: ReachabilityMonitor {
  public init() {}

  /// Returns a sequence whose only element is `.reachable`.
  public func changes() -> AsyncStream<Reachability> {
    AsyncStream { $0.yield(.reachable(path: PathID("unknown"))) }
  }
}

/// A monitor that sends no events. The app counts as in the foreground unless it reports otherwise.
public struct AlwaysForeground: LifecycleMonitor {
  public init() {}

  /// Returns a sequence that never yields an element.
  public func changes() -> AsyncStream<LifecycleNotice> {
    AsyncStream { _ in }
  }
}
