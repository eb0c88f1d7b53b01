public import HoldfastSocket
public import LinkCore
public import LinkRuntime
import Session

/// The configuration of a session, and the ports that it uses.
public struct SessionConfiguration: Sendable {
  /// The URL of the server: `wss://host[:port]/path`, or `ws://` to this device.
  public var url: String
  /// Returns the key, at the start and again after each refusal.
  ///
  /// The key never leaves the process if the server requests a proof of it instead.
  public var key: @Sendable () async throws(LinkFailure) -> String
  /// The rules for connecting and for handling failures.
  public var policy = LinkPolicy.session
  /// The longest wait for an answer from a server without idempotency keys, at least 1 s.
  ///
  /// After it, the state of the prompt is `unsure`. The default is 5 minutes, as in the original
  /// app.
  public var answerTimeout = SessionSettings.usualAnswerTimeout
  /// The default conversation of prompts, a lower-case UUID.
  ///
  /// `nil` selects the most recently used conversation, or a new one.
  public var conversation: String?
  /// The store of data that must not be lost. Only one session uses it at a time.
  public var store: any ClientSessionStore
  /// The path of a journal that records every decision for `holdfast replay`; `nil` for none.
  ///
  /// The journal contains no keys.
  public var journal: String?

  /// The network that opens sockets; `nil` for the platform's own.
  public var network: (any SocketDialer & HTTPClient)?
  /// The monitor that reports reachability and the network path; `nil` for the platform's own.
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
