public import LinkHealth

/// Body of `POST /relay/lease`: how many questions the phone takes at most.
public struct LeaseOrder: Sendable, Hashable, Codable {
  /// 1 to 100; the bound is ours.
  public var max: Int

  /// An order.
  public init(max: Int) {
    self.max = max
  }
}

/// A question that this phone may answer until its lease expires.
public struct LeasedQuestion: Sendable, Hashable, Codable {
  /// The request.
  public var id: RelayRequestID
  /// What is asked.
  public var question: HealthQuestion
  /// Goes back with the answer; 1 to 128 bytes.
  public var lease: String

  /// A leased question.
  public init(id: RelayRequestID, question: HealthQuestion, lease: String) {
    self.id = id
    self.question = question
    self.lease = lease
  }
}

/// Answer to `POST /relay/lease`.
public struct LeasedQuestions: Sendable, Hashable, Codable {
  /// The questions, oldest first.
  public var questions: [LeasedQuestion]
  /// How long the leases hold.
  public var expiresIn: Duration
  /// Those that this version cannot read; each is to be answered with its error.
  public var rejected: [Rejected]

  /// A request that cannot be read, though its lease can.
  public struct Rejected: Sendable, Hashable, Codable {
    /// Goes back with the error.
    public var lease: String
    /// What is wrong, with the request's id.
    public var error: RelayWireError

    /// A request that cannot be read.
    public init(lease: String, error: RelayWireError) {
      self.lease = lease
      self.error = error
    }
  }

  /// Leased questions, all of them readable by default.
  public init(questions: [LeasedQuestion], expiresIn: Duration, rejected: [Rejected] = []) {
    self.questions = questions
    self.expiresIn = expiresIn
    self.rejected = rejected
  }
}

/// Body of `POST /relay/results`: an answer as on the socket, with its lease.
public struct LeasedResult: Sendable, Hashable, Codable {
  /// The lease under which it was made.
  public var lease: String
  /// The answer; its id is also written as `request_id`.
  public var message: PhoneMessage

  /// A result.
  public init(lease: String, message: PhoneMessage) {
    self.lease = lease
    self.message = message
  }
}
