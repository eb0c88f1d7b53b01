public import Foundation
public import HoldfastCore
import HoldfastHeldSocket
public import HoldfastPorts

/// The configuration of a held socket. Only the URL has no default.
///
///     var configuration = SocketConfiguration("wss://example.com/feed")
///     configuration.outbox = .memory
///     let socket = try await HeldSocket(configuration)
public struct SocketConfiguration: Sendable {
  /// The URL of the server: `wss://host[:port]/path`, or a `ws://` URL of this device.
  public var url: String
  /// The policy, which decides when to connect and what to do after a failure.
  ///
  /// If there are `tokens`, attempts also wait for a token, and a close with code 4401 renews the
  /// token, unless the policy has another action than `retry` for `failure.closedUnauthorized`.
  public var policy: LinkPolicy
  /// Whether `ws://` URLs of other devices are allowed. Everyone on the network path can read and
  /// change what is sent over them.
  public var allowsPlaintext = false
  /// A function that returns the headers of the next attempt.
  ///
  /// The function is called for each attempt and must return quickly. The header values never
  /// appear in failures.
  public var headers: @Sendable () -> [(name: String, value: String)] = { [] }
  /// The source of tokens. A token is renewed before it expires, and once after each refusal.
  ///
  /// Without a source, the socket stops retrying after a 401 response.
  public var tokens: TokenSource?
  /// The location of the token in requests.
  public var placement = TokenPlacement.header
  /// The subprotocols to offer, in order of preference (RFC 6455 section 4.1).
  public var subprotocols: [String] = []
  /// Whether the socket offers compression (RFC 7692).
  public var allowsCompression = true
  /// The functions that create and read the messages of the app's protocol.
  public var messages = SocketProtocol()
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
  /// The parts of the device that the socket uses.
  public var ports = DevicePorts()

  /// Creates the default configuration for the URL of a server.
  public init(_ url: String, policy: LinkPolicy = .socket) {
    (self.url, self.policy) = (url, policy)
  }

  /// Creates the default configuration for the URL of a server.
  public init(_ url: URL, policy: LinkPolicy = .socket) {
    self.init(url.absoluteString, policy: policy)
  }

  /// The handling of messages that cannot be sent at once.
  ///
  /// In every case, at most 1,000 messages with a total size of 16 MiB can wait. Further messages
  /// are refused with a notice.
  public enum Outbox: Sendable {
    /// Messages are accepted only while connected, and sent at most once.
    case off
    /// Messages wait for a connection, and are sent at most once.
    case waiting
    /// Messages wait until their arrival is proven, which `.proven` reports. The proof is a pong
    /// or, with `SocketProtocol.messageID`, an acknowledgement.
    ///
    /// Each message is sent at least once while the process lives.
    case memory
    /// Messages are handled as with `memory`, and are also stored before they are sent.
    ///
    /// The app opens the store and closes it, after the socket was closed. Each open socket needs
    /// a store of its own.
    case durable(any OutboxStore)
  }
}

extension SocketConfiguration {
  /// Checks the configuration, and returns the host of the URL.
  ///
  /// - Throws: `.configuration`, with the remedy, if the socket could never work.
  package func host() throws(OpenError) -> String {
    let host = try ServerURL.webSocketHost(url, allowsPlaintext: allowsPlaintext)
    if ports.network == nil, let problem = HoldfastPlatform.problem(ofURL: url) {
      throw .configuration("the URL is not valid: \(problem)")
    }
    try tokens?.check()
    if tokens != nil, placement == .greeting, messages.hello == nil {
      throw .configuration(
        "with `placement = .greeting`, no request contains the token; set `messages.hello`, which "
          + "sends it, or another placement")
    }
    if let problem = messages.problem(with: settings.outbox) { throw .configuration(problem) }
    return host
  }

  /// Returns the messages that a durable outbox contains, and the last number that it used.
  func storedMessages() async throws(OpenError) -> (messages: [OutboxMessage], lastID: UInt64) {
    guard case .durable(let store) = outbox else { return ([], 0) }
    return try await OpenError.wrapping(OpenError.store) { () throws(StoreFailure) in
      (try await store.load(), try await store.lastID())
    }
  }

  /// The settings of the model.
  var settings: SocketSettings {
    var settings = SocketSettings(policy: policyWithTokens)
    settings.awaitsConfirmation = messages.needsConfirmation
    settings.hasPing = messages.ping != nil
    settings.hasAcknowledgements = messages.messageID != nil
    settings.position = position.map { Secret($0) }
    switch outbox {
    case .off: settings.outbox = .off
    case .waiting: settings.outbox = .waiting
    case .memory: settings.outbox = .memory
    case .durable: settings.outbox = .durable
    }
    return settings
  }

  /// The policy, changed for tokens if there are any. A valid policy remains valid.
  private var policyWithTokens: LinkPolicy {
    guard tokens != nil else { return policy }
    var changes = [(key: "gate.credentials", value: "true")]
    // Without tokens, 4401 is one of the application's own codes, and `socket` retries after it.
    if policy.actions[.closedUnauthorized] == .retry {
      changes.append((key: "failure.closedUnauthorized", value: "refresh"))
    }
    return (try? policy.setting(changes)) ?? policy
  }
}
