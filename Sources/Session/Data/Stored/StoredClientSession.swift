public import HoldfastCore

/// All data that a client of a session stores, as a value.
public struct StoredClientSession: Sendable, Hashable {
  /// An entry of a conversation. The user's own entries are not news.
  struct Entry: Sendable, Hashable {
    var entry: SessionEntry
    var via: SessionVia
    var isOwn: Bool
  }

  private var client: UUID128?
  private var prompts: [UUID128: StoredPrompt] = [:]
  private var conversations: [KnownConversation] = []
  private var lastPrompt: UInt64 = 0
  private var received: UInt64 = 0
  private var shown: UInt64 = 0
  /// The numbers of single messages above `shown` that were shown.
  private var marked: Set<UInt64> = []
  private var lastNews: UInt64 = 0
  /// The messages by number.
  private var entries: [UInt64: Entry] = [:]
  /// The endings that have not been shown, by number.
  private var endings: [UInt64: SessionEnding] = [:]
  private var numbers: [String: UInt64] = [:]
  /// The IDs of messages that ended a prompt.
  private var ends: Set<String> = []
  private var dayTable: [Int: SessionDay] = [:]

  /// Creates an empty value.
  public init() {}

  /// Returns the stored data. If the store has no client, it is assigned to `new`.
  public mutating func open(as new: UUID128) -> ClientSessionSnapshot {
    let client = self.client ?? new
    self.client = client
    var snapshot = ClientSessionSnapshot(client: client)
    snapshot.prompts = prompts.values.sorted { $0.number < $1.number }
    snapshot.conversations = conversations.suffix(ClientSessionSnapshot.conversationLimit)
    (snapshot.lastPrompt, snapshot.received) = (lastPrompt, received)
    snapshot.unshown = unshown
    return snapshot
  }

  /// Applies a change. Returns the news items that were not stored before.
  public mutating func commit(_ change: ClientSessionChange) -> [NumberedSessionNews] {
    for prompt in change.prompts { put(prompt) }
    for key in change.rolledBack { rollBack(key) }
    let added = change.news.flatMap { add($0) }
    ends.formUnion(change.ends)
    for key in change.forgotten { prompts[key] = nil }
    for conversation in change.conversations {
      conversations.removeAll { $0.id == conversation.id }
      conversations.append(conversation)
    }
    received = change.received ?? received
    noteShown(change.marked)
    if let through = change.shown { noteShown(through) }
    for day in change.days {
      dayTable[day.day, default: SessionDay(day: day.day)].add(day)
    }
    return added
  }

  /// Returns up to `limit` entries of a conversation before a number, oldest first. Without a
  /// number, returns the newest entries.
  public func history(
    of conversation: String, before number: UInt64?, limit: Int
  ) -> [NumberedSessionNews] {
    let found = entries.filter {
      $0.value.entry.conversation == conversation && $0.key < number ?? .max
    }
    return found.keys.sorted().suffix(max(0, limit)).compactMap { number in
      entries[number].map {
        NumberedSessionNews(number: number, news: .message($0.entry, via: $0.via))
      }
    }
  }

  /// The connection statistics of each day, oldest first.
  public var days: [SessionDay] { dayTable.values.sorted { $0.day < $1.day } }

  private var unshown: [NumberedSessionNews] {
    let messages = entries.filter {
      $0.key > shown && !$0.value.isOwn && !marked.contains($0.key)
    }.map {
      NumberedSessionNews(number: $0.key, news: .message($0.value.entry, via: $0.value.via))
    }
    let ends = endings.map { NumberedSessionNews(number: $0.key, news: .ended($0.value)) }
    return (messages + ends).sorted { $0.number < $1.number }
  }

  private mutating func put(_ prompt: StoredPrompt) {
    if prompts[prompt.id] != nil {
      prompts[prompt.id] = prompt
      return
    }
    // The prompt has ended, but its entry remains.
    if let number = numbers[prompt.id.description], entries[number]?.isOwn == true { return }
    lastPrompt = max(lastPrompt, prompt.number)
    prompts[prompt.id] = prompt
    guard numbers[prompt.id.description] == nil else { return }
    let entry = SessionEntry(
      id: prompt.id.description, role: .user, text: prompt.text,
      conversation: prompt.conversation, timestamp: prompt.createdAt)
    store(entry, via: .live, isOwn: true)
  }

  private mutating func rollBack(_ key: UUID128) {
    guard let number = numbers[key.description], entries[number]?.isOwn == true else { return }
    numbers[key.description] = nil
    entries[number] = nil
  }

  private mutating func add(_ news: SessionNews) -> [NumberedSessionNews] {
    switch news {
    case .message(let entry, let via):
      guard numbers[entry.id] == nil else { return [] }
      store(entry, via: via, isOwn: false)
    case .ended(let ending):
      if let message = ending.message, !ends.insert(message).inserted { return [] }
      guard prompts[ending.key] != nil else { return [] }
      // The prompt stays stored until it is resent or discarded.
      if ending.outcome.isRetained {
        prompts[ending.key]?.state = .failed(reason: ending.reason ?? ending.outcome.rawValue)
      } else {
        prompts[ending.key] = nil
      }
      lastNews += 1
      endings[lastNews] = ending
    }
    return [NumberedSessionNews(number: lastNews, news: news)]
  }

  private mutating func store(_ entry: SessionEntry, via: SessionVia, isOwn: Bool) {
    lastNews += 1
    numbers[entry.id] = lastNews
    entries[lastNews] = Entry(entry: entry, via: via, isOwn: isOwn)
  }

  private mutating func noteShown(_ numbers: [UInt64]) {
    for number in numbers {
      endings[number] = nil
      if number > shown, entries[number] != nil { marked.insert(number) }
    }
  }

  private mutating func noteShown(_ through: UInt64) {
    shown = max(shown, min(through, lastNews))
    let upTo = shown
    endings = endings.filter { $0.key > upTo }
    marked = marked.filter { $0 > upTo }
  }
}

// The data that a client of a session stores. The model decides which data to store, and a store
// writes it.

/// A prompt in a client's outbox.
public struct StoredPrompt: QueuedItem, Codable {
  /// The idempotency key, which is created once and sent with every attempt.
  public var id: UUID128
  /// The ID of the prompt's conversation.
  public var conversation: String
  /// The text of the prompt.
  public var text: String
  /// The number among all prompts of this client, counted from 1.
  public var number: UInt64
  /// The time at which the user entered the prompt, by the client's wall clock. It is displayed but
  /// never determines the order.
  public var createdAt: Timestamp
  /// The send state: queued or failed.
  public var state: SendState
  /// Whether the server has confirmed the prompt, or may have confirmed it.
  public var isAccepted: Bool
  /// The lowest position that the prompt's message can have in the conversation on a server without
  /// keys.
  ///
  /// It is `nil` until the prompt was sent to such a server.
  public var floor: UInt64?
  /// Whether the history of a server without keys contains the prompt's message before `floor`.
  public var isSeen: Bool

  public init(
    id: UUID128, conversation: String, text: String, number: UInt64, createdAt: Timestamp,
    state: SendState = .queued(tries: 0), isAccepted: Bool = false, floor: UInt64? = nil,
    isSeen: Bool = false
  ) {
    (self.id, self.conversation, self.text, self.number) = (id, conversation, text, number)
    (self.createdAt, self.state) = (createdAt, state)
    (self.isAccepted, self.floor, self.isSeen) = (isAccepted, floor, isSeen)
  }

  /// The conversation. Each conversation has at most one prompt in progress.
  public var orderingKey: String { conversation }
}

/// The progress of a client in a conversation.
public struct KnownConversation: Sendable, Hashable, Codable {
  public var id: String
  /// The prompt that opened the conversation (`new_session_id`); `nil` until one was accepted.
  public var openedBy: UUID128?
  /// The last stored sequence number (version 0.4).
  public var sequence: UInt64
  /// The offset after the last stored entry (version 0.5).
  public var offset: UInt64
  /// The signature of the file to which the offset belongs (version 0.5).
  public var signature: String?
  /// The number of turns of other clients and of abandoned prompts that may still be in progress.
  ///
  /// On a server without keys, these are the turns that are not followed by assistant text.
  public var openTurns: Int
  /// The ID of the message that ended this client's last prompt on a server without keys.
  ///
  /// The ID is stored until the history contains the message or the prompt. It is empty if the
  /// message had no ID.
  public var lastEnd: String?

  public init(
    id: String, openedBy: UUID128? = nil, sequence: UInt64 = 0, offset: UInt64 = 0,
    signature: String? = nil, openTurns: Int = 0, lastEnd: String? = nil
  ) {
    (self.id, self.openedBy, self.sequence) = (id, openedBy, sequence)
    (self.offset, self.signature, self.openTurns) = (offset, signature, openTurns)
    self.lastEnd = lastEnd
  }
}

/// The way in which a message reached a client.
public enum SessionVia: String, Sendable, Hashable, Codable, CaseIterable {
  case live, replay, history
}

/// The end of a prompt.
public struct SessionEnding: Sendable, Hashable, Codable {
  /// The idempotency key of the prompt.
  public var key: UUID128
  /// The conversation's ID.
  public var conversation: String
  /// The text of the prompt.
  public var text: String
  /// The outcome of the prompt.
  public var outcome: Outcome
  /// The human-readable reason why the prompt was not answered.
  public var reason: String?
  /// The ID of the message that ended this prompt and no other; `nil` if the prompt was ended by
  /// its key.
  public var message: String?

  /// The outcomes of a prompt.
  public enum Outcome: String, Sendable, Hashable, Codable, CaseIterable {
    case answered, failed, interrupted
    /// The server may have received the prompt but did not report an outcome.
    case unsure

    /// Whether the prompt stays stored until it is resent or discarded.
    public var isRetained: Bool { self == .failed || self == .unsure }
  }

  public init(
    key: UUID128, conversation: String, text: String, outcome: Outcome, reason: String? = nil,
    message: String? = nil
  ) {
    (self.key, self.conversation, self.text) = (key, conversation, text)
    (self.outcome, self.reason, self.message) = (outcome, reason, message)
  }
}

/// A news item, which is shown to the user once, even across restarts.
public enum SessionNews: Sendable, Hashable, Codable {
  case message(SessionEntry, via: SessionVia)
  /// The first end of a prompt, by a message that has ended no other prompt. A prompt that failed
  /// or has an unknown outcome stays stored, with the reason in its state.
  case ended(SessionEnding)
}

/// A stored news item. Numbers increase and are never reused.
public struct NumberedSessionNews: Sendable, Hashable, Codable {
  public var number: UInt64
  /// The news item.
  public var news: SessionNews

  public init(number: UInt64, news: SessionNews) {
    (self.number, self.news) = (number, news)
  }
}

/// The connection statistics of one day (UTC).
public struct SessionDay: Sendable, Hashable, Codable {
  /// The number of days since 1970-01-01.
  public var day: Int
  /// The number of attempts.
  public var tries = 0
  /// The number of attempts that connected.
  public var connects = 0
  /// The number of lost connections after which the link reconnected.
  public var reconnects = 0
  /// The total time spent reconnecting.
  public var reconnecting = Duration.zero
  /// The number of measured round trips.
  public var roundTrips = 0
  /// The sum of the round trips.
  public var roundTripSum = Duration.zero
  /// The longest round trip.
  public var longestRoundTrip = Duration.zero

  public init(day: Int) {
    self.day = day
  }

  /// Adds further statistics of the same day.
  public mutating func add(_ other: SessionDay) {
    tries += other.tries
    connects += other.connects
    reconnects += other.reconnects
    reconnecting += other.reconnecting
    roundTrips += other.roundTrips
    roundTripSum += other.roundTripSum
    longestRoundTrip = max(longestRoundTrip, other.longestRoundTrip)
  }
}

/// A change of a client's session. It is stored completely or not at all.
public struct ClientSessionChange: Sendable, Hashable, Codable {
  /// The prompts to add, or to replace by ID, before all other changes. An added prompt also
  /// becomes an entry of its conversation. The entry has the prompt's key as its ID and is never
  /// news. A prompt that has ended is not added again.
  public var prompts: [StoredPrompt] = []
  /// The prompts to remove after the news items were added.
  public var forgotten: [UUID128] = []
  /// The prompts whose entries are removed from their conversations, since the server rejected
  /// them.
  public var rolledBack: [UUID128] = []
  /// The news items to store, in order. A message whose ID is already stored is not stored again.
  public var news: [SessionNews] = []
  /// The IDs of messages that end a prompt of another client or no prompt. They can no longer end
  /// any other prompt.
  public var ends: [String] = []
  /// The conversations to add, or to replace by ID. The most recently used one comes last.
  public var conversations: [KnownConversation] = []
  /// The number up to which all server messages are stored; `nil` if it does not change.
  public var received: UInt64?
  /// The number up to which news items were shown; `nil` if it does not change.
  public var shown: UInt64?
  /// The numbers of single news items that were shown, although earlier ones may not have been.
  /// Numbers that no item has are ignored.
  public var marked: [UInt64] = []
  /// The statistics to add to the stored ones of the same days.
  public var days: [SessionDay] = []

  /// Creates an empty change.
  public init() {}

  /// Whether there is nothing to store.
  public var isEmpty: Bool { self == ClientSessionChange() }
}

/// The stored data of a client, as read when its store is opened.
public struct ClientSessionSnapshot: Sendable, Hashable, Codable {
  /// The client's own ID.
  public var client: UUID128
  /// The prompts in the order of their numbers.
  public var prompts: [StoredPrompt] = []
  /// The newest 10,000 conversations. The most recently used one comes last.
  public var conversations: [KnownConversation] = []
  /// The highest number of a prompt so far.
  public var lastPrompt: UInt64 = 0
  public var received: UInt64 = 0
  /// The news items that were stored but not shown.
  public var unshown: [NumberedSessionNews] = []

  public init(client: UUID128) {
    self.client = client
  }

  /// The maximum number of conversations whose progress a client reads.
  public static let conversationLimit = 10_000
}
