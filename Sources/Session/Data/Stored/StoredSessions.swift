public import HoldfastCore

// The data that the session server stores about clients, prompts and conversations. The rules
// decide which data to store, and a store writes it. The server's key is not included.

/// The number of a prompt on its server. An earlier prompt has a smaller number.
public struct SessionPromptID: NumberedID {
  /// The number that the server assigned when the prompt arrived. It is never reused.
  public var number: UInt64

  /// Creates an ID from its number.
  public init(_ number: UInt64) {
    self.number = number
  }
}

/// A client, with the numbers of the messages and prompts that were exchanged with it.
public struct StoredSessionClient: Sendable, Hashable, Codable {
  /// The ID that the client sends in `connect`.
  public var id: String
  /// The number of the newest message to the client; 0 if there was none.
  public var lastNumber: UInt64
  /// The number of the client's newest prompt; `nil` if the client does not number prompts.
  public var lastPrompt: UInt64?
  /// The number of the newest message that was removed before the client acknowledged it.
  public var lost: UInt64?
  /// The time at which the client was last connected.
  public var seenAt: Timestamp

  /// Creates a client.
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
  /// The ID that the client acknowledges.
  public var message: String
  /// The number of the answer among all messages to the client.
  public var number: UInt64
  /// The result of the prompt.
  public var result: SessionResponse.Result
  /// The time at which the prompt ended.
  public var at: Timestamp
  /// Whether the client has acknowledged the answer, or the answer was removed without an
  /// acknowledgement.
  public var isTaken: Bool

  /// Creates an answer.
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
    /// The prompt's handler has not started.
    case accepted
    /// The prompt's handler has started. If the server restarts now, the prompt is interrupted.
    case started
    case ended(StoredSessionAnswer)
  }

  /// The ID of the prompt.
  public var id: SessionPromptID
  /// The client that receives the answer.
  public var client: String
  /// The prompt in the form in which the client sent it.
  public var prompt: SessionPrompt
  /// The time at which the prompt arrived.
  public var at: Timestamp
  /// The phase of the prompt.
  public var stage: Stage

  /// Creates a prompt.
  public init(
    id: SessionPromptID, client: String, prompt: SessionPrompt, at: Timestamp,
    stage: Stage = .accepted
  ) {
    (self.id, self.client, self.prompt) = (id, client, prompt)
    (self.at, self.stage) = (at, stage)
  }
}

/// The newest messages of a conversation, without gaps.
public struct StoredConversation: Sendable, Hashable, Codable {
  /// The signature of the first message that the conversation ever had, in the form `length:id`.
  public var signature: String
  /// The messages, in order. Their `position` is the sequence number, which counts from 1 in each
  /// conversation.
  public var entries: [SessionEntry]

  /// Creates a conversation.
  public init(signature: String, entries: [SessionEntry] = []) {
    (self.signature, self.entries) = (signature, entries)
  }

  /// Adds a message in the order of sequence numbers, or replaces the one with the same number.
  mutating func add(_ entry: SessionEntry) {
    // A message whose first write failed is stored after later ones.
    guard let index = entries.lastIndex(where: { $0.place <= entry.place }) else {
      return entries.insert(entry, at: 0)
    }
    if entries[index].place == entry.place {
      entries[index] = entry
    } else {
      entries.insert(entry, at: index + 1)
    }
  }

  /// Removes the messages below a sequence number.
  mutating func prune(below place: UInt64) {
    // Most calls remove one message of a long conversation.
    let kept = entries.firstIndex { $0.place >= place } ?? entries.endIndex
    entries.removeSubrange(..<kept)
  }
}

extension SessionEntry {
  /// The sequence number of a stored message.
  fileprivate var place: UInt64 { position ?? 0 }
}

/// A change of the session server's stored data.
///
/// A change of an item that is not stored has no effect.
public enum SessionChange: Sendable, Hashable, Codable {
  /// Store a client, or replace it.
  case client(StoredSessionClient)
  case endClient(String)
  /// Store a prompt, or replace the prompt with the same number.
  case prompt(StoredSessionPrompt)
  /// The handler of a prompt is about to start.
  case started(SessionPromptID)
  case answered(SessionPromptID, StoredSessionAnswer)
  /// The client acknowledged the answer to a prompt.
  case taken(SessionPromptID)
  case endPrompt(SessionPromptID)
  /// Begin a conversation with this signature. If the conversation already has this signature, it
  /// stays unchanged.
  case conversation(String, signature: String)
  /// Append a message to its conversation, if the conversation is stored.
  case entry(SessionEntry)
  /// Remove the messages of a conversation below this sequence number.
  case prune(String, below: UInt64)
  case endConversation(String)
}

/// All data that the session server stores.
public struct StoredSessions: Sendable, Hashable, Codable {
  /// The clients by ID.
  public var clients: [String: StoredSessionClient]
  /// The prompts by number.
  public var prompts: [SessionPromptID: StoredSessionPrompt]
  /// The conversations by ID.
  public var conversations: [String: StoredConversation]

  /// Creates a value, which is empty by default.
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
    case .entry(let entry): conversations[entry.conversation]?.add(entry)
    case .prune(let id, let place):
      conversations[id]?.prune(below: place)
    case .endConversation(let id): conversations[id] = nil
    }
  }
}

extension StoredSessionPrompt {
  /// Marks the answer as acknowledged by the client.
  fileprivate mutating func take() {
    guard case .ended(var answer) = stage else { return }
    answer.isTaken = true
    stage = .ended(answer)
  }
}
