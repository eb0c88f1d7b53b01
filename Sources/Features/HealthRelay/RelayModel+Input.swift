public import LinkCore
public import LinkHealth
public import LinkWire

extension RelayModel {
  /// Everything that can happen to a relay.
  public enum Input: Sendable, Equatable, Codable {
    // The user.
    /// Connect; also after an error.
    case start
    /// End it, and with it the pairing.
    case stop
    /// The token of an earlier process, which the next connect presents; ignored once there is one.
    case resume(Secret)

    // The device.
    case reachability(Reachability)
    case lifecycle(Lifecycle)
    case woke

    // The socket.
    case opened(AttemptID)
    case message(AttemptID, Message)
    /// A ping of the backend.
    case ping(AttemptID)
    case pong(AttemptID, UInt64)
    /// A message over the limit was dropped unread.
    case oversized(AttemptID, bytes: UInt64)
    case lost(AttemptID, LinkFailure)
    /// The socket did not take what was to be sent.
    case unsent(AttemptID)
    /// The goodbye to an attempt that was closed is over.
    case closed(AttemptID)

    // The health data.
    /// An answer is ready to be sent.
    case prepared(WorkID, Prepared)
  }

  /// What a message of the backend turned out to be.
  public enum Message: Sendable, Equatable, Codable {
    case paired(Welcome)
    case asked(RelayRequestID, HealthQuestion)
    case cancelled(RelayRequestID)
    case unknown(type: String, RelayRequestID?)
    case malformed(RelayWireError)

    /// What was read; codes and tokens become secrets here.
    public init(_ message: BackendMessage) {
      switch message {
      case .connectionCode(let code):
        self = .paired(
          Welcome(
            pair: RelayPair(
              code: Secret(code.code), word: Secret(code.word), message: Secret(code.message),
              expiresIn: code.expiresIn),
            resume: Self.resume(code.resumeToken), isResumed: code.resumed,
            acceptsParts: code.acceptsParts))
      case .question(let id, let question): self = .asked(id, question)
      case .cancel(let id): self = .cancelled(id)
      case .unknown(let type, let id): self = .unknown(type: type, id)
      }
    }

    /// A token that can stand in a header field (RFC 9110 section 5.5); any other is not kept.
    private static func resume(_ token: String?) -> Secret? {
      guard let token, !token.isEmpty, token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
        return nil
      }
      return Secret(token)
    }
  }

  /// What came with a code: the only proof of a connection.
  public struct Welcome: Sendable, Hashable, Codable {
    /// What an assistant logs in with.
    public var pair: RelayPair
    /// What to show when coming back; `nil` from a backend that cannot resume.
    public var resume: Secret?
    /// Whether the backend knows this phone again and kept its pairings.
    public var isResumed: Bool
    /// Whether it takes long answers in parts.
    public var acceptsParts: Bool

    /// A plain backend resumes nothing and takes no parts.
    public init(
      pair: RelayPair, resume: Secret? = nil, isResumed: Bool = false, acceptsParts: Bool = false
    ) {
      self.pair = pair
      self.resume = resume
      self.isResumed = isResumed
      self.acceptsParts = acceptsParts
    }
  }

  /// An answer as far as the model must know it: health data stays outside.
  public struct Prepared: Sendable, Hashable, Codable {
    /// Messages that it is sent in; at least 1.
    public var parts: Int
    /// What the answer says of itself.
    public var content: Content

    /// A success or a failure.
    public enum Content: Sendable, Hashable, Codable {
      case points(Int, isTruncated: Bool)
      /// The question cannot be answered as it is.
      case refused(reason: String)
      /// The store does not answer.
      case unreadable(reason: String)
    }

    /// An answer of one or several messages.
    public init(parts: Int, content: Content) {
      self.parts = parts
      self.content = content
    }
  }

  mutating func take(_ input: Input, _ step: inout Step) {
    switch input {
    case .start: start(&step)
    case .stop: stop(&step)
    case .resume(let token): resume = resume ?? token
    case .reachability(let reachability): drive(.reachability(reachability), &step)
    case .lifecycle(let next):
      lifecycle = next
      drive(.lifecycle(next), &step)
    case .woke: drive(.trigger(.woke), &step)
    case .opened(let attempt): opened(attempt, &step)
    case .message(let attempt, let message): received(message, attempt, &step)
    case .ping(let attempt): drive(.heard(attempt), &step)
    case .pong(let attempt, let id):
      drive(.pong(attempt, id), &step)
      confirm(attempt, id, &step)
    case .oversized(let attempt, let bytes): oversized(bytes, attempt, &step)
    case .lost(let attempt, let failure): drive(.lost(attempt, failure), &step)
    case .unsent(let attempt):
      drive(.reject(attempt, .local(detail: "the socket takes no more")), &step)
    case .closed(let attempt): closed(attempt)
    case .prepared(let work, let prepared): takePrepared(work, prepared, &step)
    }
  }
}

/// Names the reading for one answer.
public struct WorkID: NumberedID {
  /// Counted from the start of the model.
  public let number: UInt64

  /// The name that stands for a number.
  public init(_ number: UInt64) { self.number = number }
}

extension RelayModel.Input: LinkInput {
  public init(_ event: LinkEvent, at wall: Timestamp) {
    switch event {
    case .device(.reachability(let change)): self = .reachability(change)
    case .device(.lifecycle(let lifecycle)): self = .lifecycle(lifecycle)
    case .device(.woke): self = .woke
    case .device(.again): self = .start
    case .ping(let attempt): self = .ping(attempt)
    case .pong(let attempt, let id): self = .pong(attempt, id)
    case .oversized(let attempt, let bytes): self = .oversized(attempt, bytes: bytes)
    case .lost(let attempt, let failure): self = .lost(attempt, failure)
    }
  }
}
