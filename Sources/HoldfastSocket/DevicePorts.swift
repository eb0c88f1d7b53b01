import HoldfastCore
public import HoldfastPorts

/// The parts of the device that a feature uses. All of them have defaults on Linux and on Apple's
/// platforms; an app for another platform supplies the network.
///
/// Tests replace the network and the clock by those of `HoldfastTestKit`.
public struct DevicePorts: Sendable {
  /// The network that opens sockets and sends HTTP requests; `nil` for the platform's network.
  public var network: (any SocketDialer & HTTPClient)?
  /// The monitor that reports reachability and the network path; `nil` for the platform's monitor.
  public var reachability: (any ReachabilityMonitor)?
  /// The monitor that reports whether the app is in the foreground and when the device sleeps.
  ///
  /// By default, the app reports both itself, with the method `setLifecycle(_:)` of a feature.
  public var lifecycle: any LifecycleMonitor
  /// The clock that provides the time and waits.
  public var clock: any LinkClock
  /// The store of tokens; `nil` for the platform's store: the keychain of a phone, or files in the
  /// directory of each feature.
  ///
  /// All features of an app share the store. Only the relay stores a token at present.
  public var secrets: (any SecretStore)?

  /// Creates the ports. By default, they are those of the platform.
  public init(
    network: (any SocketDialer & HTTPClient)? = nil,
    reachability: (any ReachabilityMonitor)? = nil,
    lifecycle: any LifecycleMonitor = AlwaysForeground(), clock: any LinkClock = BootClock(),
    secrets: (any SecretStore)? = nil
  ) {
    (self.network, self.reachability) = (network, reachability)
    (self.lifecycle, self.clock, self.secrets) = (lifecycle, clock, secrets)
  }

  /// Returns the network, which is created if the app supplies none.
  ///
  /// - Parameter allowsPlaintext: Whether a created network may use plaintext to other devices.
  /// - Throws: `.network` if the process has no descriptors or threads left, or if this platform has
  ///   no network adapter.
  package func openNetwork(
    allowsPlaintext: Bool
  ) throws(OpenError) -> any SocketDialer & HTTPClient {
    if let network { return network }
    do throws(LinkFailure) {
      return try HoldfastPlatform.ownNetwork(allowsPlaintext: allowsPlaintext)
    } catch {
      throw .network(error)
    }
  }

  /// Returns the store of secrets for a feature that stores its data in a directory.
  package func secrets(in directory: String) -> any SecretStore {
    secrets ?? HoldfastPlatform.secrets(in: directory)
  }

  /// Returns the monitor of the network path to a host.
  package func reachability(of host: String) -> any ReachabilityMonitor {
    reachability ?? HoldfastPlatform.reachability(of: host)
  }
}
