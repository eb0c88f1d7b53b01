public import LinkCore
public import LinkWire

// What the server of sessions stores of clients, prompts and conversations: the rules decide about
// it, and a store writes it. The key of the server is not among it.

/// The number of a prompt on its server; an earlier prompt has a smaller one.
public struct SessionPromptID: NumberedID {
  /// The number that the server assigned when the prompt arrived; never reused.
  public var number: UInt64

  /// Creates an id from a number.
  public init(_ number: UInt64) {
    self.number = number
  }
}

/// A client and the numbers of what it was sent.
public struct StoredSessionClient: Sendable, Hashable, Codable {
  /// The id that the client gives in `connect`.
  public var id: String
  /// The number of the newest message to it; 0 if there was none.
  public var lastNumber: UInt64
  /// The number of its newest prompt; `nil` if it does not number them.
  public var lastPrompt: UInt64?
  /// The number of the newest message that was removed before the client acknowledged it.
  public var lost: UInt64?
  /// The time at which it was last connected.
  public var seenAt: Timestamp

  /// Creates a client from its parts.
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
  /// The result of the prompt.
  public var result: SessionResponse.Result
  /// The time at which the prompt ended.
  public var at: Timestamp
  /// Whether the client acknowledged it, or it was removed without an acknowledgement.
  public var isTaken: Bool

  /// Creates an answer from its parts.
  public init(
    message: String, number: UInt64, result: SessionResponse.Result, at: Timestamp,
    isTaken: Bool = false
  ) {
    (self.message, self.number, self.result) = (message, number, result)
    (self.at, self.isTaken) = (at, isTaken)
  }
}

/// A prompt, which stays stored for some time after its end.
public struct StoredSessionPrompt: Sendable, Hashable, Codable {
  /// The phases of a prompt.
  public enum Stage: Sendable, Hashable, Codable {
    /// Its handler has not started.
    case accepted
    /// Its handler was started. A started prompt is interrupted by a restart.
    case started
    case ended(StoredSessionAnswer)
  }

  /// The id of the prompt.
  public var id: SessionPromptID
  /// The client that receives the answer.
  public var client: String
  /// The prompt as the client sent it.
  public var prompt: SessionPrompt
  /// The time of its arrival.
  public var at: Timestamp
  /// Its phase.
  public var stage: Stage

  /// Creates a prompt from its parts.
  public init(
    id: SessionPromptID, client: String, prompt: SessionPrompt, at: Timestamp,
    stage: Stage = .accepted
  ) {
    (self.id, self.client, self.prompt) = (id, client, prompt)
    (self.at, self.stage) = (at, stage)
  }
}

/// The newest messages of a conversation, without a gap.
public struct StoredConversation: Sendable, Hashable, Codable {
  /// Identifies the first message that the conversation ever had: `length:id`.
  public var signature: String
  /// The messages in order; `place` is the sequence number, from 1 in each conversation.
  public var entries: [SessionEntry]

  /// Creates a conversation from its parts.
  public init(signature: String, entries: [SessionEntry] = []) {
    (self.signature, self.entries) = (signature, entries)
  }
}

/// A change of what the server of sessions stores.
///
/// A change of something that is not stored does nothing.
public enum SessionChange: Sendable, Hashable, Codable {
  /// Store a client, or replace it.
  case client(StoredSessionClient)
  case endClient(String)
  /// Store a prompt, or replace the one with the same number.
  case prompt(StoredSessionPrompt)
  /// The handler of a prompt is about to start.
  case started(SessionPromptID)
  case answered(SessionPromptID, StoredSessionAnswer)
  /// The client acknowledged the answer to a prompt.
  case taken(SessionPromptID)
  case endPrompt(SessionPromptID)
  /// Begin a conversation with this signature; one with the same signature stays as it is.
  case conversation(String, signature: String)
  /// Append a message to its conversation, if that is stored.
  case entry(SessionEntry)
  /// Remove the messages of a conversation below this sequence number.
  case prune(String, below: UInt64)
  case endConversation(String)
}

/// Everything that the server of sessions stores.
public struct StoredSessions: Sendable, Hashable, Codable {
  /// The clients by id.
  public var clients: [String: StoredSessionClient]
  /// The prompts by number.
  public var prompts: [SessionPromptID: StoredSessionPrompt]
  /// The conversations by id.
  public var conversations: [String: StoredConversation]

  /// Creates a value; empty by default.
  public init(
    clients: [String: StoredSessionClient] = [:],
    prompts: [SessionPromptID: StoredSessionPrompt] = [:],
    conversations: [String: StoredConversation] = [:]
  ) {
    (self.clients, self.prompts) = (clients, prompts)
    self.conversations = conversations
  }

  /// Applies a change.
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
  /// Marks the answer as received by the client.
  fileprivate mutating func take() {
    guard case .ended(var answer) = stage else { return }
    answer.isTaken = true
    stage = .ended(answer)
  }
}
