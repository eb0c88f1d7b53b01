public import HoldfastCore
public import HoldfastRelayData

/// A token and its hash. The token is sent once to its owner and never stored.
public struct RelaySecret: Sendable, Hashable, Codable, CustomStringConvertible {
  /// The token: at least 128 random bits, as text.
  public var text: String
  /// The SHA-256 hash of the token.
  public var hash: TokenHash

  /// Creates a secret. The caller guarantees that `hash` is the hash of `text`.
  public init(text: String, hash: TokenHash) {
    self.text = text
    self.hash = hash
  }

  /// A description without the secret.
  public var description: String { "a secret" }
}

/// A request that a phone sends over HTTP instead of its socket.
public enum RelayPull: Sendable, Hashable, Codable {
  /// `POST /relay/lease`: requests questions, up to a maximum number.
  case lease(LeaseRequest)
  /// `POST /relay/results`: sends an answer or a part of one.
  case result(LeasedResult)
  /// `POST /relay/push`: sets the push address of the phone.
  case push(PushAddress)
  /// `POST /relay/assistants`: optionally removes some of the phone's assistants, and lists the
  /// remaining ones.
  case assistants(AssistantsOrder)
  /// `POST /relay/sync`: sets the user whose synced samples answer while the phone is away.
  ///
  /// `from` is the phone's address; an IPv6 address is reduced to its /64 prefix.
  case synced(SyncedChoice, from: String)
}

/// The reply to a pull.
public enum RelayReply: Sendable, Hashable, Codable {
  /// The questions that are leased to the phone.
  case leased(LeasedQuestions)
  /// The answer or its part was accepted, now or earlier.
  case taken
  /// The push address is stored.
  case registered
  /// The phone's assistants.
  case assistants(PairedAssistants)
  /// The user whose synced samples answer from now on, or `nil` for none.
  case synced(user: String?)
  /// The pull was refused.
  case refused(PullRefusal)
}

/// The reason why a pull was refused.
public enum PullRefusal: Error, Sendable, Hashable, Codable {
  /// The resume token is missing or no longer valid. The phone must connect and pair again.
  case notSignedIn
  /// The phone was not asked this question.
  case unknownQuestion
  /// No assistant with this id is paired with the phone.
  case unknownAssistant
  /// The question does not have this lease, or the lease has expired. The phone must lease the
  /// question again.
  case leaseExpired
  /// No client waits for the answer any more.
  case notWanted
  /// The message is not a valid answer to the question.
  case malformed(reason: String)
  /// The answer exceeds the backend's limit.
  case tooLarge(limit: Int)
  /// The backend cannot store data that the pull requires.
  case storeFailed(retryAfter: Duration)
  /// The backend is stopping or overloaded.
  case busy(retryAfter: Duration)
  /// No user of health sync has the secret.
  case unknownSecret
  /// This phone or its address sent too many wrong secrets.
  case lockedOut(retryAfter: Duration)
}

extension PullRefusal {
  /// The HTTP status code (RFC 9110 section 15).
  package var status: Int {
    switch self {
    case .notSignedIn: 401
    case .unknownSecret: 403
    case .unknownQuestion, .unknownAssistant: 404
    case .leaseExpired: 409
    case .notWanted: 410
    case .lockedOut: 429
    case .malformed: 400
    case .tooLarge: 413
    case .storeFailed, .busy: 503
    }
  }
}
