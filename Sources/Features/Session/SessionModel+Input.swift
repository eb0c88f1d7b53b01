public import LinkCore
public import LinkStorage
public import LinkWire

extension SessionModel.Input: LinkInput {
  public init(_ event: LinkEvent, at wall: Timestamp) { self = .link(event, at: wall) }
  public var event: LinkEvent? { if case .link(let event, _) = self { event } else { nil } }
}

extension SessionModel {
  /// Everything that can happen to a session. Times are the device's wall clock.
  public enum Input: Sendable, Equatable, Codable {
    // The user.
    /// What earlier runs left; the first input. The conversation is the one that prompts belong to;
    /// `nil` for the one that was used last, or a new one.
    case restored(ClientSessionSnapshot, conversation: String?, at: Timestamp)
    /// Connect; also after an error, and without waiting for the next try.
    case start
    /// Close when what is under way is stored and acknowledged, and what was handed to the user is
    /// confirmed, or after 2 s.
    case stop
    case prompt(String, conversation: String?, at: Timestamp)
    /// Send a failed prompt again.
    case retry(UUID128)
    /// Forget a failed prompt.
    case discard(UUID128)
    /// Cancel what runs in a conversation.
    case cancel(conversation: String)
    /// Follow this conversation from now on; prompts without one belong to it.
    case follow(conversation: String)
    /// News up to this number were shown, and are not shown again by any run.
    case shown(through: UInt64)

    case link(LinkEvent, at: Timestamp)
    case credentials(HeldLink.CredentialsEvent)
    /// A check for a login page was made.
    case probed(isPortal: Bool)

    // The socket of an attempt.
    case opened(AttemptID)
    case frame(AttemptID, SessionServerMessage, bytes: Int, at: Timestamp)
    case malformed(AttemptID, detail: String)
    /// The socket is not read while the app leaves too much unread; or is read again.
    case reading(AttemptID, isPaused: Bool)
    /// The socket did not take what was to be sent.
    case unsent(AttemptID)

    // The store.
    case committed(SessionCommitID, [NumberedSessionNews])
    case commitFailed(SessionCommitID, StoreFailure)
  }

  /// Everything a session can ask for; carried out in order.
  public enum Effect: Sendable, Equatable, Codable {
    case open(AttemptID)
    /// Close the socket with a code of RFC 6455 section 7.4.
    case close(AttemptID, code: UInt16)
    /// Send `connect`: with the signature of its `signedText` if there is a challenge, else with
    /// the key. The message here holds neither.
    case connect(AttemptID, SessionConnect, challenge: String?)
    case send(AttemptID, SessionClientMessage)
    /// Read the key again.
    case refreshCredentials
    /// Ask for a page of the server, and tell whether a login page came; within this time.
    case probe(within: Duration)
    case commit(SessionCommitID, ClientSessionChange)
    case update(SessionUpdate)
  }
}

/// Names one change that the store was given.
public struct SessionCommitID: NumberedID {
  /// Counted from the start of the model.
  public let number: UInt64

  public init(_ number: UInt64) { self.number = number }
}
