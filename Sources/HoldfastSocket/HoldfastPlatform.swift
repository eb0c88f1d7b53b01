public import HoldfastCore
import HoldfastDriver
public import HoldfastPorts

#if os(Linux)
  import HoldfastCurlNetwork
  import HoldfastNetlink
#elseif canImport(Darwin)
  import Foundation
  import HoldfastAppleApp
  import HoldfastAppleNetwork
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
  #elseif canImport(Darwin)
    /// Returns a network that opens sockets with `NWConnection` and sends HTTP requests with
    /// `URLSession`.
    ///
    /// The system's certificate authorities are trusted. On a watch, the system lets an app open
    /// sockets only while it streams audio or during a CallKit call (Apple's technical note TN3135);
    /// at other times sockets fail as unreachable, and HTTP requests work.
    ///
    /// - Parameter allowsPlaintext: Whether `ws` and `http` requests to other devices are allowed.
    ///   App Transport Security can forbid the `http` requests nevertheless.
    /// - Throws: Nothing on this platform.
    public static func network(
      allowsPlaintext: Bool = false
    ) throws(LinkFailure) -> any SocketDialer & HTTPClient {
      AppleNetwork(NetworkConfiguration(allowsPlaintext: allowsPlaintext))
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
    #elseif canImport(Darwin)
      return AppleNetwork.problem(ofURL: url)
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
    #if os(Linux) || canImport(Darwin)
      return try network(allowsPlaintext: allowsPlaintext)
    #else
      throw .local(
        detail: "Holdfast has no network adapter for this platform yet; set `network` to a type of "
          + "your own that conforms to SocketDialer and HTTPClient")
    #endif
  }

  /// Returns the store of the secrets that belong to a directory.
  ///
  /// On Linux and on a Mac, it keeps them in the directory, in files that only their owner can read.
  /// A Mac's keychain needs an entitlement that not all programs have; an app that has it sets
  /// `DevicePorts.secrets` to a `Keychain`. On Apple's other platforms, it is the keychain, which keeps
  /// them even if the directory or the app is removed.
  public static func secrets(in directory: String) -> any SecretStore {
    #if canImport(Darwin) && !os(macOS)
      Keychain(
        service: KeychainService.name(
          bundle: Bundle.main.bundleIdentifier, directory: directory))
    #else
      SecretFiles(in: directory)
    #endif
  }

  /// Returns the background time of this process.
  ///
  /// It is unlimited on systems that do not end background apps, such as Linux and macOS. On Apple's
  /// other platforms, the system grants some seconds, also to extensions. An app with an application
  /// object gets more from `AppBackgroundTime`.
  public static func backgroundTime() -> any BackgroundTime {
    #if canImport(Darwin) && !os(macOS)
      ExpiringActivityTime()
    #else
      UnlimitedTime()
    #endif
  }

  /// Returns a source that wakes tasks while the process lives.
  public static func wakes() -> any WakeSource { TimerWakes() }

  /// Returns a monitor of the network path to a host. On Apple's platforms, it is the same for all
  /// hosts.
  public static func reachability(of host: String) -> any ReachabilityMonitor {
    #if os(Linux)
      NetlinkReachability(target: NetlinkReachability.Target(host: host))
    #elseif canImport(Darwin)
      PathReachability()
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
