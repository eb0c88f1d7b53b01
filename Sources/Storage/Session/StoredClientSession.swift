public import LinkCore
public import LinkWire

/// What a client of a session keeps, as a value.
public struct StoredClientSession: Sendable, Hashable {
  /// An entry of a conversation; the user's own ones are not news.
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
  private var lastNews: UInt64 = 0
  /// By number; the messages, and the endings that were not shown yet.
  private var entries: [UInt64: Entry] = [:]
  private var endings: [UInt64: SessionEnding] = [:]
  private var numbers: [String: UInt64] = [:]
  /// The ids of messages that ended a prompt.
  private var ends: Set<String> = []
  private var dayTable: [Int: SessionDay] = [:]

  /// Keeps nothing yet.
  public init() {}

  /// Returns what is kept; a store without a client belongs to this one from now on.
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

  /// Makes a change and returns what of its news is new.
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
    if let through = change.shown { noteShown(through) }
    for day in change.days {
      dayTable[day.day, default: SessionDay(day: day.day)].add(day)
    }
    return added
  }

  /// Returns up to `limit` entries of a conversation before a number, or the newest; oldest first.
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

  /// The connections of each day in numbers, the oldest day first.
  public var days: [SessionDay] { dayTable.values.sorted { $0.day < $1.day } }

  private var unshown: [NumberedSessionNews] {
    let messages = entries.filter { $0.key > shown && !$0.value.isOwn }.map {
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
    // The entry of a prompt that has ended is there.
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
      // It stays until it is sent again or discarded.
      if ending.outcome.isKept {
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

  private mutating func noteShown(_ through: UInt64) {
    shown = max(shown, min(through, lastNews))
    let upTo = shown
    endings = endings.filter { $0.key > upTo }
  }
}

// What a client of a session keeps. The model decides it, a store writes it down: both speak these
// words.

/// A prompt in a client's outbox.
public struct StoredPrompt: QueuedItem, Codable {
  /// The idempotency key: made once, sent with every try.
  public var id: UUID128
  /// Where it belongs.
  public var conversation: String
  /// What was asked.
  public var text: String
  /// The number among all prompts of this client, from 1.
  public var number: UInt64
  /// When the user gave it, by the client's wall clock; a hint for people, never for order.
  public var createdAt: Timestamp
  /// Whether it is still tried.
  public var state: SendState
  /// Whether the server said that it has the prompt, or may have said it.
  public var isAccepted: Bool
  /// The first place in its conversation that its message can have, on a server that knows no keys;
  /// `nil` while it was handed to none.
  public var floor: UInt64?
  /// Whether the history of such a server shows its message, before `floor`.
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

  /// The conversation: one prompt of it is under way at a time.
  public var lane: String { conversation }
}

/// How far a conversation is known.
public struct KnownConversation: Sendable, Hashable, Codable {
  public var id: String
  /// The prompt that opened it (`new_session_id`); `nil` while the server has accepted none.
  public var openedBy: UUID128?
  /// The last sequence number that is stored (0.4).
  public var sequence: UInt64
  /// The offset behind the last entry that is stored, and the signature of its file (0.5).
  public var offset: UInt64
  /// The signature of the file that the offset belongs to (0.5).
  public var signature: String?
  /// The number of turns of other clients, and of prompts that were given up, that may not be over
  /// on a server without keys: no text of the assistant follows them.
  public var openTurns: Int
  /// The id of the message that ended the last prompt of this client on such a server, while the
  /// history has shown neither; empty if that end had no id.
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

/// How a message came to a client.
public enum SessionVia: String, Sendable, Hashable, Codable, CaseIterable {
  case live, replay, history
}

/// The end of a prompt.
public struct SessionEnding: Sendable, Hashable, Codable {
  /// The idempotency key of the prompt.
  public var key: UUID128
  /// The conversation's id.
  public var conversation: String
  /// What was asked.
  public var text: String
  /// How it ended.
  public var outcome: Outcome
  /// Why it was not answered, for people.
  public var reason: String?
  /// The id of the message that ended it, which ends no other prompt; `nil` if its key did.
  public var message: String?

  /// The ends of a prompt.
  public enum Outcome: String, Sendable, Hashable, Codable, CaseIterable {
    case answered, failed, interrupted
    /// The server may have it, and did not say what became of it.
    case unsure

    /// Whether the prompt stays stored until it is sent again or discarded.
    public var isKept: Bool { self == .failed || self == .unsure }
  }

  public init(
    key: UUID128, conversation: String, text: String, outcome: Outcome, reason: String? = nil,
    message: String? = nil
  ) {
    (self.key, self.conversation, self.text) = (key, conversation, text)
    (self.outcome, self.reason, self.message) = (outcome, reason, message)
  }
}

/// What the user is shown once, over all runs.
public enum SessionNews: Sendable, Hashable, Codable {
  case message(SessionEntry, via: SessionVia)
  /// The end of a prompt, unless that has ended before, or its message ended one. A prompt that
  /// failed, or of which the end is unsure, stays stored with the reason as its state.
  case ended(SessionEnding)
}

/// News as stored: in the order of their numbers, which count up without repetition.
public struct NumberedSessionNews: Sendable, Hashable, Codable {
  public var number: UInt64
  /// What is new.
  public var news: SessionNews

  public init(number: UInt64, news: SessionNews) {
    (self.number, self.news) = (number, news)
  }
}

/// The connections of one day (UTC) in numbers.
public struct SessionDay: Sendable, Hashable, Codable {
  /// Days since 1970-01-01.
  public var day: Int
  /// Connections that were tried, and those of them that were established.
  public var tries = 0
  /// Those that were connected.
  public var connects = 0
  /// Losses that were made good, and how long that took together.
  public var reconnects = 0
  /// How long reconnecting took, all together.
  public var reconnecting = Duration.zero
  /// Round trips that were measured: how many, their sum and the longest one.
  public var roundTrips = 0
  /// Their sum.
  public var roundTripSum = Duration.zero
  /// The longest of them.
  public var longestRoundTrip = Duration.zero

  public init(day: Int) {
    self.day = day
  }

  /// Adds the numbers of the same day.
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

/// What must become durable together, or not at all.
public struct ClientSessionChange: Sendable, Hashable, Codable {
  /// Prompts to add, or to replace by id, first of all. One that is added is also an entry of its
  /// conversation, under its key, which is never news; one that has ended is not added again.
  public var prompts: [StoredPrompt] = []
  /// Prompts to forget, after the news.
  public var forgotten: [UUID128] = []
  /// Prompts whose entries of their conversations are removed: the server refused them.
  public var rolledBack: [UUID128] = []
  /// Stored in this order. A message whose id is known is not stored again.
  public var news: [SessionNews] = []
  /// Messages that end a prompt of another client, or none: they end no other one.
  public var ends: [String] = []
  /// Conversations to add, or to replace by id; the last one was used last.
  public var conversations: [KnownConversation] = []
  /// The number of the last message of the server up to which all are stored.
  public var received: UInt64?
  /// News up to this number were shown.
  public var shown: UInt64?
  /// Numbers to add to those of their days.
  public var days: [SessionDay] = []

  /// A change of nothing.
  public init() {}

  /// Whether there is nothing to write down.
  public var isEmpty: Bool { self == ClientSessionChange() }
}

/// What a store holds of a client when it is opened.
public struct ClientSessionSnapshot: Sendable, Hashable, Codable {
  /// The client's own id.
  public var client: UUID128
  /// In the order of their numbers.
  public var prompts: [StoredPrompt] = []
  /// The newest 10,000, the one that was used last at the end.
  public var conversations: [KnownConversation] = []
  /// The highest number of a prompt so far.
  public var lastPrompt: UInt64 = 0
  public var received: UInt64 = 0
  /// What was stored and not shown.
  public var unshown: [NumberedSessionNews] = []

  public init(client: UUID128) {
    self.client = client
  }

  /// How many conversations a client remembers how far it knows them.
  public static let conversationLimit = 10_000
}
