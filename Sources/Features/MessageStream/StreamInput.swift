public import LinkCore
public import LinkStorage
public import LinkWire

extension StreamModel {
  /// Everything that can happen to a stream.
  public enum Input: Sendable, Equatable, Codable {
    // The user.
    /// The shop's screen appears.
    case open(at: Timestamp)
    /// The user leaves it.
    case close
    /// Real-time messaging was switched on or off in the settings.
    case realtime(Bool)
    /// Pulled to refresh.
    case refresh
    /// Leaves so many updates unread that messages must wait, or reads them again.
    case reader(isBehind: Bool)
    /// Scrolled to the top: show older messages.
    case loadOlder
    case send(text: String, parent: MessageID?, at: Timestamp)
    /// Try to send a failed entry again.
    case retry(UUID128)
    /// Give an entry up.
    case discard(UUID128)

    /// An event of the device or of the socket, and the wall clock of the device.
    case link(LinkEvent, at: Timestamp)
    case credentials(HeldLink.CredentialsEvent)
    /// The user that the credentials name, who is the author of sent messages.
    case user(String)

    // The socket.
    /// Open; `head` is the newest position when the server began to send, if it said so, and all
    /// that lies after `after` comes first, if it was asked to.
    case opened(AttemptID, head: Position?, after: Position? = nil)
    case frame(AttemptID, Frame)

    // REST.
    case fetched(FetchID, Page)
    case fetchFailed(FetchID, LinkFailure)
    case posted(UUID128, Message)
    /// The answer to one try of an entry.
    case postFailed(UUID128, try: TryID, LinkFailure)

    // The store.
    case loaded(TimelineSnapshot)
    case loadFailed(StoreFailure)
    case committed(CommitID, TimelineCommit)
    case commitFailed(CommitID, StoreFailure)
    /// Kept messages before the oldest shown one, oldest first.
    case older([Message])
    case olderFailed(StoreFailure)
  }

  /// What a text frame turned out to be.
  public enum Frame: Sendable, Equatable, Codable {
    case message(Message)
    case draining(within: Duration)
    case unknown(type: String)
    case malformed(MessageError)
  }
}

/// Names one request for a page.
public struct FetchID: NumberedID {
  /// Counted from the start of the model.
  public let number: UInt64

  public init(_ number: UInt64) { self.number = number }
}

/// Names one change that the store was given.
public struct CommitID: NumberedID {
  /// Counted from the start of the model.
  public let number: UInt64

  public init(_ number: UInt64) { self.number = number }
}

extension StreamModel.Input: LinkInput {
  public init(_ event: LinkEvent, at wall: Timestamp) { self = .link(event, at: wall) }
  public var event: LinkEvent? { if case .link(let event, _) = self { event } else { nil } }
}

extension StreamModel {
  /// Everything a stream can ask for; carried out in order.
  public enum Effect: Sendable, Equatable, Codable {
    /// Open a socket; the server is asked to send first what lies after a position.
    case open(AttemptID, after: Position? = nil)
    /// Close the socket with a code of RFC 6455 section 7.4.
    case close(AttemptID, code: UInt16)
    case ping(AttemptID, UInt64)
    case refreshCredentials
    case fetch(FetchID, PageQuery)
    case post(OutboxEntry, try: TryID)
    /// Read what is kept: the newest `limit` messages and all beside them.
    case load(limit: Int)
    case commit(CommitID, TimelineChange)
    /// Read up to `limit` kept messages before `key`.
    case readOlder(TimelineKey, limit: Int)
    case update(StreamUpdate)
  }
}

extension StreamModel: Journaled {
  public static var journalName: String { "message-stream" }

  /// The shop and the policy of a stream; its other settings are their defaults.
  public struct Birth: Codable, Sendable, Hashable {
    var policy: LinkPolicy
    var extra: Extra

    struct Extra: Codable, Hashable {
      var shop: ShopID
      /// `nil` in journals of versions that always fetched.
      var sendsOnly: Bool?
    }

    public init(shop: ShopID, policy: LinkPolicy, sendsOnly: Bool = false) {
      self.policy = policy
      extra = Extra(shop: shop, sendsOnly: sendsOnly ? true : nil)
    }
  }

  public init(_ birth: Birth, seed: UInt64) {
    var settings = StreamSettings(shop: birth.extra.shop, policy: birth.policy)
    settings.sendsOnly = birth.extra.sendsOnly ?? false
    self.init(settings: settings, seed: seed)
  }
}
