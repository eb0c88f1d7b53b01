public import HoldfastSocket
public import LinkCore
public import LinkRuntime
import Session

/// What an app tells a session once, and the ports that it stands on.
public struct SessionConfiguration: Sendable {
  /// The server: `wss://host[:port]/path`, or `ws://` to this device.
  public var url: String
  /// Gives the key: at the start, and again after each refusal. It never leaves the process where
  /// the server asks for a proof of it instead.
  public var key: @Sendable () async throws(LinkFailure) -> String
  /// When to connect, and what to do when that fails.
  public var policy = LinkPolicy.session
  /// The longest silence of a server without idempotency keys about a prompt, at least 1 s; then the
  /// state of the prompt is `unsure`. 5 minutes by default, as in the original.
  public var answerTimeout = SessionSettings.usualAnswerTimeout
  /// The conversation of prompts that name none, a lower-case UUID; `nil` for the one that was used
  /// last, or a new one.
  public var conversation: String?
  /// Keeps what must not be lost; one session uses it at a time.
  public var store: any ClientSessionStore
  /// A file that records every decision for `holdfast replay`, without keys; `nil` for none.
  public var journal: String?

  /// Opens sockets; `nil` for this platform's own network.
  public var network: (any SocketDialer & HTTPClient)?
  /// Reports whether and which way the server can be reached; `nil` for this platform's monitor.
  public var reachability: (any ReachabilityMonitor)?
  /// Reports whether the app is in front, and when the device sleeps.
  public var lifecycle: any LifecycleMonitor = AlwaysForeground()
  /// The time.
  public var clock: any LinkClock = BootClock()

  public init(
    _ url: String, store: any ClientSessionStore,
    key: @escaping @Sendable () async throws(LinkFailure) -> String
  ) {
    (self.url, self.store, self.key) = (url, store, key)
  }
}
