import HoldfastHeldSocket
import HoldfastCore
public import HoldfastPorts

/// The settings of a socket in addition to its policy, and the ports that the socket uses.
public struct SocketOptions: Sendable {
  /// A function that returns the headers of the next attempt.
  ///
  /// The function is called for each attempt and must return quickly. The header values never
  /// appear in failures.
  public var headers: @Sendable () -> [(name: String, value: String)] = { [] }
  /// The source of tokens. A token is renewed before it expires, and once after each refusal.
  ///
  /// Without a source, the socket stops retrying after a 401 response.
  public var tokens: (any TokenSource)?
  /// The location of the token in requests.
  public var placement = TokenPlacement.header
  /// The subprotocols to offer, in order of preference (RFC 6455 section 4.1).
  public var subprotocols: [String] = []
  /// Whether the socket offers compression (RFC 7692).
  public var allowsCompression = true
  /// The functions that describe the app's protocol.
  public var language = SocketProtocol()
  /// The last position recorded by an earlier run; `nil` if there is none.
  public var position: String?
  /// The handling of messages that are sent while there is no connection.
  public var outbox = Outbox.off
  /// The maximum size of a message. The default is 16 MiB, which is also the limit for queued
  /// events.
  ///
  /// A longer message is dropped without being read, and a notice is sent.
  public var maxMessageBytes = 16 << 20
  /// The path of a journal that records every decision for `holdfast replay`; `nil` for no journal.
  ///
  /// The journal contains no message content. An earlier journal at this path is renamed to
  /// FILE.old1, and so on.
  public var journal: String?

  /// The network that opens sockets; `nil` for the platform's network.
  public var network: (any SocketDialer & HTTPClient)?
  /// The monitor that reports reachability and the network path; `nil` for the platform's monitor.
  public var reachability: (any ReachabilityMonitor)?
  /// The monitor that reports whether the app is in the foreground and when the device sleeps or
  /// wakes.
  public var lifecycle: any LifecycleMonitor = AlwaysForeground()
  /// The clock that the socket uses.
  public var clock: any LinkClock = BootClock()

  /// Creates the default options.
  public init() {}

  /// The handling of messages that cannot be sent at once (`SocketSettings.Outbox`).
  ///
  /// In every case, at most 1,000 messages with a total size of 16 MiB can wait. Further messages
  /// are refused with a notice.
  public enum Outbox: Sendable {
    /// Messages are accepted only while connected, and sent at most once.
    case off
    /// Messages wait for a connection, and are sent at most once.
    case waiting
    /// Messages wait until a pong proves their arrival.
    ///
    /// Each message is sent at least once while the process lives.
    case memory
    /// Messages are handled as with `memory`, and are also stored before they are sent.
    case durable(any OutboxStore)
  }

  func settings(_ policy: LinkPolicy) -> SocketSettings {
    var settings = SocketSettings(policy: policy)
    // A valid policy remains valid if its attempts also wait for a token.
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
