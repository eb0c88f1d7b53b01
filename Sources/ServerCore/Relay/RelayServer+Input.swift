public import LinkCore
public import LinkStorage
public import LinkWire

extension RelayServer {
  /// Everything that can happen to the relay.
  ///
  /// `wall` is the wall clock when the input arrived: it judges and stamps what is kept.
  public enum Input: Sendable, Hashable, Codable {
    /// What the store held when the process began; said once, before anything else.
    case restored(StoredRelay, wall: Timestamp)

    /// A well-formed upgrade of a phone arrived.
    case phoneOpened(ConnectionID, Arrival, wall: Timestamp)
    /// Any byte came from a phone's socket.
    case heard(ConnectionID)
    /// A phone sent a message.
    case phoneSaid(ConnectionID, PhoneMessage)
    /// A phone sent what is no message.
    case phoneUnreadable(ConnectionID, RelayWireError)
    /// The send queue of a phone's socket passed its bound.
    case overflowed(ConnectionID)
    /// A phone's connection is gone, with the code by which it ended (RFC 6455 section 7.1.5; 1006
    /// when it broke). Said once for every connection, whoever ended it.
    case phoneGone(ConnectionID, code: UInt16, wall: Timestamp)

    /// An assistant wants something; `from` is its address, an IPv6 one cut to its /64.
    case ask(AskID, RelayAsk, bearer: TokenHash?, from: String, wall: Timestamp)
    /// It left before the outcome.
    case abandoned(AskID)
    /// A phone in background came for its questions, with an answer, or with an address.
    case pull(RequestID, RelayPull, bearer: TokenHash?, wall: Timestamp)

    /// What was asked for by `mint`.
    case minted(Minted)
    /// The store made a change durable, or failed to.
    case stored(StoreToken, failure: StoreFailure?)
    /// What became of a push to an address.
    case pushed(PhoneID, to: PushAddress, PushOutcome)
    /// Go away politely; phones are told to spread their return over `within`.
    case drain(within: Duration)
  }

  /// The client of an upgrade request.
  public struct Arrival: Sendable, Hashable, Codable {
    /// The header `Holdfast-Device`; a phone without it is a plain one, which cannot resume.
    public var device: UUID128?
    /// The hash of the header `Holdfast-Resume`.
    public var resume: TokenHash?
    /// The client's address, an IPv6 one cut to its /64.
    public var address: String

    /// An arrival from its parts.
    public init(device: UUID128? = nil, resume: TokenHash? = nil, address: String) {
      self.device = device
      self.resume = resume
      self.address = address
    }
  }

  /// What a secure generator drew.
  public enum Minted: Sendable, Hashable, Codable {
    /// For a phone that came: its name, its resume token and its first pair.
    case phone(ConnectionID, PhoneID, RelaySecret, RelayPair)
    /// For a phone whose pair was used or has expired.
    case pair(PhoneID, RelayPair)
    /// For an assistant that paired.
    case access(AskID, RelaySecret)
  }
}

/// A token and its hash; the token is said once to whom it is for, and never kept.
public struct RelaySecret: Sendable, Hashable, Codable, CustomStringConvertible {
  /// At least 128 random bits, as text.
  public var text: String
  /// Its SHA-256.
  public var hash: TokenHash

  /// A token with its hash; that they belong together is the caller's promise.
  public init(text: String, hash: TokenHash) {
    self.text = text
    self.hash = hash
  }

  /// Without the secret.
  public var description: String { "a secret" }
}

/// What a phone comes for without a socket.
public enum RelayPull: Sendable, Hashable, Codable {
  /// `POST /relay/lease`: at most so many questions.
  case lease(LeaseOrder)
  /// `POST /relay/results`: an answer, or a part of one.
  case result(LeasedResult)
  /// `POST /relay/push`: where it is woken from now on.
  case push(PushAddress)
  /// `POST /relay/assistants`: lists the phone's assistants, after some were ended.
  case assistants(AssistantsOrder)
}

/// What a pull is answered.
public enum RelayReply: Sendable, Hashable, Codable {
  /// The questions, which are the phone's until the lease expires.
  case leased(LeasedQuestions)
  /// The answer, or its part, was taken; now or before.
  case taken
  /// The address is kept.
  case registered
  /// The phone's assistants.
  case assistants(PairedAssistants)
  /// Not done.
  case refused(PullRefusal)
}

/// Why a pull was not served.
public enum PullRefusal: Error, Sendable, Hashable, Codable {
  /// No resume token, or one that is worth nothing any more: connect and pair again.
  case notSignedIn
  /// No such question was asked of this phone.
  case unknownQuestion
  /// No assistant of this id is paired with this phone.
  case unknownAssistant
  /// The question was asked, but not under this lease, or its lease expired: lease again.
  case leaseExpired
  /// No client waits for the answer any more.
  case notWanted
  /// It is no answer to the question.
  case malformed(reason: String)
  /// The answer is longer than the backend carries.
  case tooLarge(limit: Int)
  /// The backend cannot write down what it must keep.
  case storeFailed(retryAfter: Duration)
  /// The backend goes away, or holds as much as it can.
  case busy(retryAfter: Duration)
}

extension PullRefusal {
  /// The HTTP status code (RFC 9110 section 15).
  package var status: Int {
    switch self {
    case .notSignedIn: 401
    case .unknownQuestion, .unknownAssistant: 404
    case .leaseExpired: 409
    case .notWanted: 410
    case .malformed: 400
    case .tooLarge: 413
    case .storeFailed, .busy: 503
    }
  }
}
