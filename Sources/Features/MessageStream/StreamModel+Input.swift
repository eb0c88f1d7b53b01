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

    // The device.
    case reachability(Reachability)
    case lifecycle(Lifecycle, at: Timestamp)
    case woke(at: Timestamp)
    case credentials(HeldLink.CredentialsEvent)
    /// The user that the credentials name, who is the author of sent messages.
    case user(String)

    // The socket.
    /// Open; `head` is the newest position when the server began to send, if it said so, and all
    /// that lies after `after` comes first, if it was asked to.
    case opened(AttemptID, head: Position?, after: Position? = nil)
    case frame(AttemptID, Frame)
    /// A ping of the server.
    case ping(AttemptID)
    case pong(AttemptID, UInt64)
    /// A message over the limit was dropped unread.
    case oversized(AttemptID, bytes: UInt64)
    case lost(AttemptID, LinkFailure)

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
  public init(_ event: LinkEvent, at wall: Timestamp) {
    switch event {
    case .device(.reachability(let change)): self = .reachability(change)
    case .device(.lifecycle(let lifecycle)): self = .lifecycle(lifecycle, at: wall)
    case .device(.woke): self = .woke(at: wall)
    case .device(.again): self = .refresh
    case .ping(let attempt): self = .ping(attempt)
    case .pong(let attempt, let id): self = .pong(attempt, id)
    case .oversized(let attempt, let bytes): self = .oversized(attempt, bytes: bytes)
    case .lost(let attempt, let failure): self = .lost(attempt, failure)
    }
  }
}
