public import HoldfastCore
public import HoldfastMessageData

extension StreamModel {
  /// An input of a stream.
  public enum Input: Sendable, Equatable, Codable {
    // Inputs from the user.
    /// The shop's screen appeared.
    case open(at: Timestamp)
    /// The user left the screen.
    case close
    /// Real-time messaging was switched on or off in the settings.
    case realtime(Bool)
    /// The user pulled to refresh.
    case refresh
    /// The app left so many updates unread that messages must wait, or reads updates again.
    case reader(isBehind: Bool)
    /// The user scrolled to the top, so older messages are shown.
    case loadOlder
    /// The user wrote a message. `id` identifies its entry in the outbox.
    case send(
      id: UUID128, text: String, parent: MessageID?, at: Timestamp, image: OutboxImage? = nil)
    /// The user changed the text of a message. `id` identifies the edit's entry in the outbox. If
    /// `keepsImages` is true, the new text has the message's references to images unless it has
    /// others.
    case edit(id: UUID128, MessageID, text: String, at: Timestamp, keepsImages: Bool? = nil)
    /// The user deleted a message. `id` identifies the deletion's entry in the outbox.
    case delete(id: UUID128, MessageID, at: Timestamp)
    /// Resend a failed entry.
    case retry(UUID128)
    /// Discard an entry.
    case discard(UUID128)

    /// An event of the device or of the socket, with the device's wall-clock time.
    case link(LinkEvent, at: Timestamp)
    case credentials(HeldLink.CredentialsEvent)
    /// The user of the credentials, who is the author of sent messages.
    case user(String)

    // Inputs from the socket.
    /// The socket is open. `head` is the newest position at the time when the server began to send,
    /// if the server reported it. If `after` is set, the server first sends all messages after that
    /// position. `events` is true if the server sends edits and deletions as events.
    case opened(
      AttemptID, head: ShopPosition?, after: ShopPosition? = nil, events: Bool? = nil)
    case frame(AttemptID, Frame)

    // Inputs from REST.
    case fetched(FetchID, Page)
    case fetchFailed(FetchID, LinkFailure)
    case posted(UUID128, ShopMessage)
    /// The server accepted an edit. The message is `nil` if the response does not contain it, as
    /// that of a plain server.
    case edited(UUID128, ShopMessage?)
    /// The server accepted a deletion. It is `nil` if the response does not contain it, as that of
    /// a plain server.
    case deleted(UUID128, ShopDeletion?)
    /// The image of an entry is on the server. The time is that of the upload.
    case uploaded(UUID128, url: String, at: Timestamp)
    /// The image of an entry cannot be uploaded.
    case uploadRefused(UUID128, try: TryID, reason: String)
    /// The failure of one attempt to send an entry or to upload its image.
    case postFailed(UUID128, try: TryID, LinkFailure)

    // Inputs from the store.
    case loaded(TimelineSnapshot)
    case loadFailed(StoreFailure)
    case committed(CommitID, TimelineCommit)
    case commitFailed(CommitID, StoreFailure)
    /// The stored messages before the oldest shown message, oldest first.
    case older([ShopMessage])
    case olderFailed(StoreFailure)
  }

  /// The content of a text frame.
  public enum Frame: Sendable, Equatable, Codable {
    case message(ShopMessage)
    /// A message that was edited, in its new version.
    case edited(ShopMessage)
    case deleted(ShopDeletion)
    case draining(within: Duration)
    case unknown(type: String)
    case malformed(MessageError)
  }
}

/// The ID of one request for a page.
public struct FetchID: NumberedID {
  /// The number, counted from the start of the model.
  public let number: UInt64

  public init(_ number: UInt64) { self.number = number }
}

/// The ID of one change passed to the store.
public struct CommitID: NumberedID {
  /// The number, counted from the start of the model.
  public let number: UInt64

  public init(_ number: UInt64) { self.number = number }
}

extension StreamModel.Input: LinkInput {
  public init(_ event: LinkEvent, at wall: Timestamp) { self = .link(event, at: wall) }
  public var event: LinkEvent? { if case .link(let event, _) = self { event } else { nil } }
}

extension StreamModel {
  /// An effect of a stream. Effects are carried out in order.
  public enum Effect: Sendable, Equatable, Codable {
    /// Open a socket. If `after` is set, ask the server to first send all messages after that
    /// position.
    case open(AttemptID, after: ShopPosition? = nil)
    /// Close the socket with a code of RFC 6455 section 7.4.
    case close(AttemptID, HeldLink.CloseReason)
    case ping(AttemptID, UInt64)
    case refreshCredentials
    case fetch(FetchID, PageQuery)
    /// Send a message, an edit or a deletion.
    case post(OutboxEntry, try: TryID)
    /// Upload the image of an entry. If it has a URL, upload it only if the server does not have it
    /// any more.
    case upload(OutboxEntry, try: TryID)
    /// Read the newest `limit` messages and all other stored data.
    case load(limit: Int)
    case commit(CommitID, TimelineChange)
    /// Read up to `limit` stored messages before `key`.
    case readOlder(TimelineKey, limit: Int)
    case update(StreamUpdate)
  }
}

extension StreamModel: Journaled {
  public static var journalName: String { "message-stream" }

  /// The values from which a stream is created: its shop and its policy. All other settings have
  /// their defaults.
  public struct Birth: Codable, Sendable, Hashable {
    var policy: LinkPolicy
    var extra: Extra

    struct Extra: Codable, Hashable {
      var shop: ShopID
      /// `nil` in journals of versions that had no such setting and always fetched.
      var sendsOnly: Bool?
      /// `nil` in journals of versions that did not ask for edits and deletions.
      var wantsEvents: Bool?
    }

    public init(
      shop: ShopID, policy: LinkPolicy, sendsOnly: Bool = false, wantsEvents: Bool = false
    ) {
      self.policy = policy
      extra = Extra(
        shop: shop, sendsOnly: sendsOnly ? true : nil, wantsEvents: wantsEvents ? true : nil)
    }
  }

  public init(_ birth: Birth, seed: UInt64) {
    var settings = StreamSettings(shop: birth.extra.shop, policy: birth.policy)
    settings.sendsOnly = birth.extra.sendsOnly ?? false
    settings.wantsEvents = birth.extra.wantsEvents ?? false
    self.init(settings: settings, seed: seed)
  }
}
