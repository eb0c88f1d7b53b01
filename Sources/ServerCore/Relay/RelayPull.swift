public import LinkStorage
public import LinkWire

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
