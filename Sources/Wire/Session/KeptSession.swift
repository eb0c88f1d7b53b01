public import LinkCore

/// What a client of a session keeps, as a value.
public struct KeptSession: Sendable, Hashable {
  /// An entry of a conversation; the user's own ones are not news.
  struct Entry: Sendable, Hashable {
    var entry: SessionEntry
    var via: SessionVia
    var isOwn: Bool
  }

  private var client: UUID128?
  private var prompts: [UUID128: KeptPrompt] = [:]
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

  private mutating func put(_ prompt: KeptPrompt) {
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
