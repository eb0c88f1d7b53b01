import HoldfastSocket
public import HoldfastCore
public import HoldfastFeaturePorts
public import HoldfastPorts
import HoldfastSession

/// The configuration of a session, and the ports that it uses.
public struct SessionConfiguration: Sendable {
  /// The URL of the server: `wss://host[:port]/path`, or `ws://` for this device.
  public var url: String
  /// A closure that returns the key. It is called at the start and again after each refusal.
  ///
  /// If the server requests a proof of the key instead, the key never leaves the process.
  public var key: @Sendable () async throws(LinkFailure) -> String
  /// The rules for connecting and for handling failures.
  public var policy = LinkPolicy.session
  /// The time limit for an answer from a server without idempotency keys. It is at least 1 s.
  ///
  /// After this time, the state of the prompt is `unsure`. The default is 5 minutes, as in the
  /// original app.
  public var answerTimeout = SessionSettings.usualAnswerTimeout
  /// The default conversation of prompts, a lower-case UUID.
  ///
  /// `nil` selects the most recently used conversation or, if there is none, a new one.
  public var conversation: String?
  /// The store of data that must not be lost. Only one session may use it at a time.
  public var store: any ClientSessionStore
  /// The path of a journal that records every decision for `holdfast replay`, or `nil` for no
  /// journal.
  ///
  /// The journal contains no keys.
  public var journal: String?

  /// The network that opens sockets. `nil` selects the platform's network.
  public var network: (any SocketDialer & HTTPClient)?
  /// The monitor that reports reachability and the network path. `nil` selects the platform's
  /// monitor.
  public var reachability: (any ReachabilityMonitor)?
  /// The monitor that reports whether the app is in the foreground and when the device sleeps.
  public var lifecycle: any LifecycleMonitor = AlwaysForeground()
  /// The clock of the session.
  public var clock: any LinkClock = BootClock()

  public init(
    _ url: String, store: any ClientSessionStore,
    key: @escaping @Sendable () async throws(LinkFailure) -> String
  ) {
    (self.url, self.store, self.key) = (url, store, key)
  }
}
