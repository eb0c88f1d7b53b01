import HeldSocket
import LinkCore
public import LinkDriver

/// How an app wants its socket, beside the policy, and the ports that it stands on.
public struct SocketOptions: Sendable {
  /// Headers of the next attempt; called for each, and must return quickly. Their values never
  /// appear in failures.
  public var headers: @Sendable () -> [(name: String, value: String)] = { [] }
  /// Gives tokens, which are renewed before they expire and once for each refusal. Without it an
  /// answer of 401 ends the trying.
  public var tokens: (any TokenSource)?
  /// Where requests carry the token.
  public var placement = TokenPlacement.header
  /// Offered in this order (RFC 6455 section 4.1).
  public var subprotocols: [String] = []
  /// Whether compression is offered (RFC 7692).
  public var allowsCompression = true
  /// What the app's protocol needs of a connection.
  public var language = SocketProtocol()
  /// The last position that an earlier run noted.
  public var position: String?
  /// What becomes of messages that are sent while there is no connection.
  public var outbox = Outbox.off
  /// A longer message is dropped unread, with a notice: 16 MiB, as much as may wait for the app.
  public var maxMessageBytes = 16 << 20
  /// A file that records every decision for `holdfast replay`; `nil` for none. It holds no content
  /// of messages. An earlier journal there is kept as FILE.old1, and so on.
  public var journal: String?

  /// Opens sockets; `nil` for this platform's own network.
  public var network: (any SocketDialer & HTTPClient)?
  /// Reports whether and which way the server can be reached; `nil` for this platform's monitor.
  public var reachability: (any ReachabilityMonitor)?
  /// Reports whether the app is in front, and when the device sleeps.
  public var lifecycle: any LifecycleMonitor = AlwaysForeground()
  /// The time.
  public var clock: any LinkClock = BootClock()

  /// Options that ask for nothing.
  public init() {}

  /// What becomes of messages that cannot be sent at once (`SocketSettings.Outbox`). Each kind lets
  /// 1,000 messages of together 16 MiB wait, and refuses more with a notice.
  public enum Outbox: Sendable {
    /// Accepted while connected only; sent at most once.
    case off
    /// Kept until there is a connection; sent at most once.
    case waiting
    /// Kept until a pong proves arrival; sent at least once, while the process lives.
    case memory
    /// The same, stored before it is sent.
    case durable(any OutboxStore)
  }

  func settings(_ policy: LinkPolicy) -> SocketSettings {
    var settings = SocketSettings(policy: policy)
    // A policy stays valid if its tries wait for a token.
    if tokens != nil, let gated = try? policy.setting([("gate.credentials", "true")]) {
      settings.policy = gated
    }
    settings.awaitsConfirmation = language.confirms != nil
    settings.hasPing = language.ping != nil
    settings.position = position.map { Secret($0) }
    switch outbox {
    case .off: settings.outbox = .off
    case .waiting: settings.outbox = .waiting
    case .memory: settings.outbox = .memory
    case .durable: settings.outbox = .durable
    }
    return settings
  }
}
