public import HoldfastHealth

/// The body of `POST /relay/lease`, with the maximum number of questions that the phone accepts.
public struct LeaseRequest: Sendable, Hashable, Codable {
  /// The maximum number of questions, from 1 to 100. The limit is Holdfast's own.
  public var max: Int

  /// Creates the body.
  public init(max: Int) {
    self.max = max
  }
}

/// A question that this phone may answer until its lease expires.
public struct LeasedQuestion: Sendable, Hashable, Codable {
  /// The id of the request.
  public var id: RelayRequestID
  /// The question.
  public var question: HealthQuestion
  /// The lease: 1 to 128 bytes. The phone sends it back with the answer.
  public var lease: String

  /// Creates a leased question.
  public init(id: RelayRequestID, question: HealthQuestion, lease: String) {
    self.id = id
    self.question = question
    self.lease = lease
  }
}

/// The answer to `POST /relay/lease`.
public struct LeasedQuestions: Sendable, Hashable, Codable {
  /// The questions, oldest first.
  public var questions: [LeasedQuestion]
  /// The time until the leases expire.
  public var expiresIn: Duration
  /// The requests that this version cannot read. Each of them must be answered with its error.
  public var rejected: [Rejected]

  /// A request that cannot be read, although its lease can.
  public struct Rejected: Sendable, Hashable, Codable {
    /// The lease. The phone sends it back with the error.
    public var lease: String
    /// The error, with the request's id.
    public var error: RelayWireError

    /// Creates a rejected request.
    public init(lease: String, error: RelayWireError) {
      self.lease = lease
      self.error = error
    }
  }

  /// Creates leased questions. By default, no request is rejected.
  public init(questions: [LeasedQuestion], expiresIn: Duration, rejected: [Rejected] = []) {
    self.questions = questions
    self.expiresIn = expiresIn
    self.rejected = rejected
  }
}

/// The body of `POST /relay/results`: an answer in the form used on the socket, with its lease.
public struct LeasedResult: Sendable, Hashable, Codable {
  /// The lease of the question.
  public var lease: String
  /// The answer. Its id is also written as `request_id`.
  public var message: PhoneMessage

  /// Creates a result.
  public init(lease: String, message: PhoneMessage) {
    self.lease = lease
    self.message = message
  }
}
