public import HoldfastCore
public import HoldfastSessionData

/// An update that a session reports to its user. Updates are reported in order.
public enum SessionUpdate: Sendable, Hashable, Codable {
  case status(LinkStatus)
  /// The quality of the connection. It is reported when it changes and after a connection's first
  /// round trip.
  case quality(LinkQuality, roundTrip: Duration?)
  /// The prompts that an earlier run left unanswered. They are reported at the start, if there are
  /// any.
  case pending([StoredPrompt])
  /// The state of a prompt changed. `news` is the number to mark as shown if the prompt ended;
  /// `nil` otherwise.
  case prompt(SessionPromptState, news: UInt64?)
  /// A message that no run has marked as shown. The user must mark its number.
  case message(SessionEntry, via: SessionVia, news: UInt64)
  /// A piece of an incomplete response. The whole response follows as a message.
  case part(conversation: String, key: String, index: Int, text: String)
  /// Messages that this client will not receive.
  case gap(conversation: String?, SessionGap)
  /// The end of a connection or of an attempt.
  case record(SessionRecord)
  case notice(SessionNotice)
}

/// A prompt and its state.
public struct SessionPromptState: Sendable, Hashable, Codable {
  /// The idempotency key.
  public var key: UUID128
  /// The conversation's ID.
  public var conversation: String
  /// The text of the prompt.
  public var text: String
  /// The state of the prompt.
  public var state: State
  /// The human-readable reason for the state.
  public var reason: String?
  /// The answer to a prompt that is answered; `nil` if an earlier run received it.
  ///
  /// It is also reported as a message, or was reported as a message of the history.
  public var answer: SessionEntry?

  /// The states of a prompt.
  public enum State: String, Sendable, Hashable, Codable, CaseIterable {
    /// The prompt is stored and waits to be sent.
    case queued
    /// The prompt was passed to a connection.
    case sent
    /// The server has accepted the prompt.
    case accepted
    case answered, failed, interrupted
    /// The server may have the prompt but did not report its outcome.
    case unsure
  }

  public init(
    key: UUID128, conversation: String, text: String, state: State, reason: String? = nil,
    answer: SessionEntry? = nil
  ) {
    (self.key, self.conversation, self.text) = (key, conversation, text)
    (self.state, self.reason, self.answer) = (state, reason, answer)
  }

  init(_ prompt: StoredPrompt, _ state: State, _ reason: String? = nil) {
    self.init(
      key: prompt.id, conversation: prompt.conversation, text: prompt.text, state: state,
      reason: reason)
  }

  init(_ ending: SessionEnding, answer: SessionEntry? = nil) {
    let state: State =
      switch ending.outcome {
      case .answered: .answered
      case .failed: .failed
      case .interrupted: .interrupted
      case .unsure: .unsure
      }
    self.init(
      key: ending.key, conversation: ending.conversation, text: ending.text, state: state,
      reason: ending.reason, answer: answer)
  }
}

/// The reason why messages are missing.
public enum SessionGap: String, Sendable, Hashable, Codable, CaseIterable {
  /// The server removed older messages.
  case pruned
  /// The server has fewer messages than this client stored. The client starts over.
  case clientAhead
  /// The server replaced the conversation's file.
  case replaced
  /// The server left out messages without giving a reason.
  case hole
  /// The server dropped messages that this client had not acknowledged.
  case notRecovered
}

/// One connection, from the start of its attempt to its end.
public struct SessionRecord: Sendable, Hashable, Codable {
  /// The attempt of the connection.
  public var attempt: AttemptID
  /// The start of the attempt, by the client's wall clock.
  public var startedAt: Timestamp
  /// The end of the connection, by the client's wall clock.
  public var endedAt: Timestamp
  /// The time from the start of the attempt to the connection; `nil` if none was established.
  public var connecting: Duration?
  /// The duration of the connection; `nil` if none was established.
  public var connected: Duration?
  /// The network path of the device, if known.
  public var network: String?
  /// The most recent round trip.
  public var roundTrip: Duration?
  /// The reason why the connection ended.
  public var reason: Reason

  /// The reason why a connection ended.
  public enum Reason: Sendable, Hashable, Codable {
    case failure(LinkFailure)
    case closed(HeldLink.CloseReason)
  }

  package init(
    attempt: AttemptID, startedAt: Timestamp, endedAt: Timestamp, connecting: Duration?,
    connected: Duration?, network: String?, roundTrip: Duration?, reason: Reason
  ) {
    (self.attempt, self.startedAt, self.endedAt) = (attempt, startedAt, endedAt)
    (self.connecting, self.connected, self.network) = (connecting, connected, network)
    (self.roundTrip, self.reason) = (roundTrip, reason)
  }
}

extension SessionRecord.Reason {
  /// The failure, or the failure that the close reason represents.
  var failure: LinkFailure {
    switch self {
    case .failure(let failure): failure
    case .closed(.timeout): .timeout(.establish)
    case .closed(let reason): .local(detail: reason.rawValue)
    }
  }

  /// Whether the connection was lost rather than closed by this client.
  var isLoss: Bool {
    switch self {
    case .failure(let failure):
      failure.failureClass == .silent || failure.failureClass == .reset
        || failure.failureClass == .ended
    case .closed(let reason): reason == .silent
    }
  }
}

/// A condition that is worth logging but has no further effect.
public enum SessionNotice: Sendable, Hashable, Codable {
  /// The server has not accepted a prompt for 60 s.
  case stale(UUID128)
  /// A frame could not be decoded and was left out.
  case malformed(String)
  /// The server refused a message other than a prompt.
  case refused(SessionError)
  /// A message over the size limit was dropped. The history will contain it.
  case oversized(bytes: UInt64)
  /// The server will stop soon.
  case draining(retryAfter: Duration)
  /// The server's clock differs from this device's clock by more than 30 s. The value is positive
  /// if the server's clock is ahead.
  case clockSkew(Duration)
  /// The maximum message size that the server is asked to use has changed, in units of 1,024 bytes.
  case payload(kilobytes: Int)
  case store(StoreFailure)
  case storeRecovered
  /// The session was stopped before this number of prompts was answered. The next run continues
  /// with them.
  case unanswered(count: Int)
}
