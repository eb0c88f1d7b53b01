public import LinkCore
public import LinkWire

// What the server of sessions keeps of clients, prompts and conversations. The rules decide it, a
// store writes it down: both use these types. The key of the server is not among them.

/// The number of a prompt on its server; an earlier prompt has a smaller one.
public struct SessionPromptID: NumberedID {
  /// Given by the server when the prompt arrives; never used again.
  public var number: UInt64

  /// The name that stands for a number.
  public init(_ number: UInt64) {
    self.number = number
  }
}

/// A client and the numbers of what it was sent.
public struct StoredSessionClient: Sendable, Hashable, Codable {
  /// As the client names itself in `connect`.
  public var id: String
  /// The number of the newest message to it; 0 if there was none.
  public var lastNumber: UInt64
  /// The number of the newest prompt of it; `nil` if it numbers none.
  public var lastPrompt: UInt64?
  /// The number of the newest message that was removed before the client acknowledged it.
  public var lost: UInt64?
  /// When it was last connected.
  public var seenAt: Timestamp

  /// A client from its parts.
  public init(
    id: String, lastNumber: UInt64 = 0, lastPrompt: UInt64? = nil, lost: UInt64? = nil,
    seenAt: Timestamp
  ) {
    (self.id, self.lastNumber, self.lastPrompt) = (id, lastNumber, lastPrompt)
    (self.lost, self.seenAt) = (lost, seenAt)
  }
}

/// The answer to a prompt.
public struct StoredSessionAnswer: Sendable, Hashable, Codable {
  /// The id to acknowledge.
  public var message: String
  /// The number among all messages to the client.
  public var number: UInt64
  /// What came of the prompt.
  public var result: SessionResponse.Result
  /// When the prompt ended.
  public var at: Timestamp
  /// Whether the client acknowledged it, or it was removed before that.
  public var isTaken: Bool

  /// An answer from its parts.
  public init(
    message: String, number: UInt64, result: SessionResponse.Result, at: Timestamp,
    isTaken: Bool = false
  ) {
    (self.message, self.number, self.result) = (message, number, result)
    (self.at, self.isTaken) = (at, isTaken)
  }
}

/// A prompt, from its arrival to long after its end.
public struct StoredSessionPrompt: Sendable, Hashable, Codable {
  /// The phases of a prompt.
  public enum Stage: Sendable, Hashable, Codable {
    /// Its handler has not started.
    case accepted
    /// Its handler was started; without an answer after a restart, it was interrupted.
    case started
    case ended(StoredSessionAnswer)
  }

  /// Which prompt.
  public var id: SessionPromptID
  /// The client that gets the answer.
  public var client: String
  /// What was asked.
  public var prompt: SessionPrompt
  /// When it arrived.
  public var at: Timestamp
  /// How far it came.
  public var stage: Stage

  /// A prompt from its parts.
  public init(
    id: SessionPromptID, client: String, prompt: SessionPrompt, at: Timestamp,
    stage: Stage = .accepted
  ) {
    (self.id, self.client, self.prompt) = (id, client, prompt)
    (self.at, self.stage) = (at, stage)
  }
}

/// What is left of a conversation: its newest messages, without a hole.
public struct StoredConversation: Sendable, Hashable, Codable {
  /// Names the first message that the conversation ever had: `length:id`.
  public var signature: String
  /// In order; `place` is the sequence number, which counts from 1 in each conversation.
  public var entries: [SessionEntry]

  /// A conversation from its parts.
  public init(signature: String, entries: [SessionEntry] = []) {
    (self.signature, self.entries) = (signature, entries)
  }
}

/// One change of what the server of sessions keeps.
///
/// Changing or ending what is not there changes nothing.
public enum SessionChange: Sendable, Hashable, Codable {
  /// Keep a client, in place of what was kept of it.
  case client(StoredSessionClient)
  case endClient(String)
  /// Keep a prompt, in place of one of the same number.
  case prompt(StoredSessionPrompt)
  /// The handler of a prompt is about to start.
  case started(SessionPromptID)
  case answered(SessionPromptID, StoredSessionAnswer)
  /// The client acknowledged the answer to a prompt.
  case taken(SessionPromptID)
  case endPrompt(SessionPromptID)
  /// Begin a conversation with this signature; one that is there stays as it is.
  case conversation(String, signature: String)
  /// Append a message to its conversation; nothing happens if there is no such conversation.
  case entry(SessionEntry)
  /// Remove the messages of a conversation below this sequence number.
  case prune(String, below: UInt64)
  case endConversation(String)
}

/// Everything that the server of sessions keeps.
public struct StoredSessions: Sendable, Hashable, Codable {
  /// By id.
  public var clients: [String: StoredSessionClient]
  /// By number.
  public var prompts: [SessionPromptID: StoredSessionPrompt]
  /// By id.
  public var conversations: [String: StoredConversation]

  /// Nothing, by default.
  public init(
    clients: [String: StoredSessionClient] = [:],
    prompts: [SessionPromptID: StoredSessionPrompt] = [:],
    conversations: [String: StoredConversation] = [:]
  ) {
    (self.clients, self.prompts) = (clients, prompts)
    self.conversations = conversations
  }

  /// Makes one change.
  public mutating func apply(_ change: SessionChange) {
    switch change {
    case .client(let client): clients[client.id] = client
    case .endClient(let id): clients[id] = nil
    case .prompt(let prompt): prompts[prompt.id] = prompt
    case .started(let id): prompts[id]?.stage = .started
    case .answered(let id, let answer): prompts[id]?.stage = .ended(answer)
    case .taken(let id): prompts[id]?.take()
    case .endPrompt(let id): prompts[id] = nil
    case .conversation(let id, let signature):
      guard conversations[id]?.signature != signature else { return }
      conversations[id] = StoredConversation(signature: signature)
    case .entry(let entry): conversations[entry.conversation]?.entries.append(entry)
    case .prune(let id, let place):
      conversations[id]?.entries.removeAll { ($0.place ?? 0) < place }
    case .endConversation(let id): conversations[id] = nil
    }
  }
}

extension StoredSessionPrompt {
  /// Notes that the client has the answer.
  fileprivate mutating func take() {
    guard case .ended(var answer) = stage else { return }
    answer.isTaken = true
    stage = .ended(answer)
  }
}
