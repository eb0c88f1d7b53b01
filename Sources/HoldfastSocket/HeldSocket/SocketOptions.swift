import HeldSocket
import LinkCore
public import LinkDriver

/// The settings of a socket besides its policy, and the ports that it uses.
public struct SocketOptions: Sendable {
  /// The headers of the next attempt.
  ///
  /// The function is called for each attempt and must return quickly. The values never appear in
  /// failures.
  public var headers: @Sendable () -> [(name: String, value: String)] = { [] }
  /// The source of tokens, which are renewed before they expire and once for each refusal.
  ///
  /// Without a source, a 401 response ends the retries.
  public var tokens: (any TokenSource)?
  /// The place of the token in requests.
  public var placement = TokenPlacement.header
  /// The offered subprotocols, in order of preference (RFC 6455 section 4.1).
  public var subprotocols: [String] = []
  /// Whether compression is offered (RFC 7692).
  public var allowsCompression = true
  /// The functions that describe the app's protocol.
  public var language = SocketProtocol()
  /// The last position recorded by an earlier run.
  public var position: String?
  /// The treatment of messages that are sent while there is no connection.
  public var outbox = Outbox.off
  /// The maximum size of a message: 16 MiB, the amount that may wait for the app.
  ///
  /// A longer message is dropped unread, with a notice.
  public var maxMessageBytes = 16 << 20
  /// The path of a journal that records every decision for `holdfast replay`; `nil` for none.
  ///
  /// The journal contains no content of messages. An earlier journal at this path is kept as
  /// FILE.old1, and so on.
  public var journal: String?

  /// The network that opens sockets; `nil` for the platform's own.
  public var network: (any SocketDialer & HTTPClient)?
  /// The monitor that reports reachability and the network path; `nil` for the platform's own.
  public var reachability: (any ReachabilityMonitor)?
  /// The monitor that reports whether the app is in the foreground and when the device sleeps.
  public var lifecycle: any LifecycleMonitor = AlwaysForeground()
  /// The clock of the socket.
  public var clock: any LinkClock = BootClock()

  /// Creates the default options.
  public init() {}

  /// The treatment of messages that cannot be sent at once (`SocketSettings.Outbox`).
  ///
  /// In each case up to 1,000 messages of 16 MiB in total wait. Further ones are refused with a
  /// notice.
  public enum Outbox: Sendable {
    /// Messages are accepted only while connected, and sent at most once.
    case off
    /// Messages wait for a connection, and are sent at most once.
    case waiting
    /// Messages wait until a pong proves their arrival.
    ///
    /// They are sent at least once while the process lives.
    case memory
    /// Messages are treated as with `memory`, and stored before they are sent.
    case durable(any OutboxStore)
  }

  func settings(_ policy: LinkPolicy) -> SocketSettings {
    var settings = SocketSettings(policy: policy)
    // The policy stays valid if its attempts wait for a token.
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
