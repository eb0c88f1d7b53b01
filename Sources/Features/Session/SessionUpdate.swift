public import LinkCore
public import LinkStorage
public import LinkWire

/// What the user of a session sees happen, in order.
public enum SessionUpdate: Sendable, Hashable, Codable {
  case status(LinkStatus)
  /// How well the server answers, when that changes, and at the first round trip of a connection.
  case quality(LinkQuality, roundTrip: Duration?)
  /// Prompts that an earlier run left unanswered; at the start, if there are any.
  case pending([StoredPrompt])
  /// A prompt came into another state; with a number if it ended.
  case prompt(SessionPromptState, news: UInt64?)
  /// A message that was not shown before, over all runs; its number is to be confirmed.
  case message(SessionEntry, via: SessionVia, news: UInt64)
  /// A piece of a response that is still being made; the whole response follows as a message.
  case part(conversation: String, key: String, index: Int, text: String)
  /// Messages that this client will not get.
  case gap(conversation: String?, SessionGap)
  /// The end of a connection, or of a try of one.
  case record(SessionRecord)
  case notice(SessionNotice)
}

/// Where a prompt stands.
public struct SessionPromptState: Sendable, Hashable, Codable {
  /// The idempotency key.
  public var key: UUID128
  /// The conversation's id.
  public var conversation: String
  /// What was asked.
  public var text: String
  /// How far it came.
  public var state: State
  /// Why, for people.
  public var reason: String?

  /// The states of a prompt.
  public enum State: String, Sendable, Hashable, Codable, CaseIterable {
    /// Stored, and waits for its turn.
    case queued
    /// Handed to a connection.
    case sent
    /// The server has it.
    case accepted
    case answered, failed, interrupted
    /// The server may have it, and did not say what became of it.
    case unsure
  }

  public init(
    key: UUID128, conversation: String, text: String, state: State, reason: String? = nil
  ) {
    (self.key, self.conversation, self.text) = (key, conversation, text)
    (self.state, self.reason) = (state, reason)
  }

  init(_ prompt: StoredPrompt, _ state: State, _ reason: String? = nil) {
    self.init(
      key: prompt.id, conversation: prompt.conversation, text: prompt.text, state: state,
      reason: reason)
  }

  init(_ ending: SessionEnding) {
    let state: State =
      switch ending.outcome {
      case .answered: .answered
      case .failed: .failed
      case .interrupted: .interrupted
      case .unsure: .unsure
      }
    self.init(
      key: ending.key, conversation: ending.conversation, text: ending.text, state: state,
      reason: ending.reason)
  }
}

/// Why messages are missing.
public enum SessionGap: String, Sendable, Hashable, Codable, CaseIterable {
  /// The server removed older ones.
  case pruned
  /// The server has less than this client stored: it begins anew.
  case clientAhead
  /// The server replaced the conversation's file.
  case replaced
  /// The server left out messages and does not say why.
  case hole
  /// The server dropped what this client had not acknowledged.
  case notRecovered
}

/// One connection, from its try to its end.
public struct SessionRecord: Sendable, Hashable, Codable {
  /// The attempt that it was.
  public var attempt: AttemptID
  /// By the client's wall clock.
  public var startedAt: Timestamp
  /// By the client's wall clock.
  public var endedAt: Timestamp
  /// How long it took to be connected; `nil` if it never was.
  public var connecting: Duration?
  /// How long it was connected.
  public var connected: Duration?
  /// The way out of the device, if it is known.
  public var network: String?
  /// The last round trip.
  public var roundTrip: Duration?
  /// Why it ended.
  public var reason: Reason

  /// The end of a connection.
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
  /// The failure that it is or stands for.
  var failure: LinkFailure {
    switch self {
    case .failure(let failure): failure
    case .closed(.timeout): .timeout(.establish)
    case .closed(let reason): .local(detail: reason.rawValue)
    }
  }

  /// Whether the connection broke, rather than being closed by this client.
  var isLoss: Bool {
    switch self {
    case .failure(let failure):
      failure.failureClass == .silent || failure.failureClass == .reset
        || failure.failureClass == .ended
    case .closed(let reason): reason == .silent
    }
  }
}

/// What deserves a line in a log, and changes nothing by itself.
public enum SessionNotice: Sendable, Hashable, Codable {
  /// A prompt was not accepted for 60 s.
  case stale(UUID128)
  /// A frame could not be read and was left out.
  case malformed(String)
  /// The server refused something that is no prompt.
  case refused(SessionError)
  /// A message over the limit was dropped; the history brings it.
  case oversized(bytes: UInt64)
  /// The server stops soon.
  case draining(retryAfter: Duration)
  /// The server's clock differs from this device's by more than 30 s; positive if it is ahead.
  case clockSkew(Duration)
  /// The longest message that the server is asked to send changed, in units of 1,024 bytes.
  case payload(kilobytes: Int)
  case store(StoreFailure)
  case storeRecovered
  /// The session was stopped before these prompts were answered; the next run goes on with them.
  case unanswered(count: Int)
}
