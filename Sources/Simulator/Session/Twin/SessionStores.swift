import LinkCore
import LinkWire

/// What the store of a phone must hold, as one list of what was told (contract 4.1, practices 21
/// and 25).
struct SessionShelf: Sendable {
  fileprivate struct Item: Sendable {
    var number: UInt64
    var news: SessionNews
    var isOwn: Bool
  }

  private var client: UUID128?
  private var prompts: [KeptPrompt] = []
  private var places: [KnownConversation] = []
  /// All that was ever told, in order; numbers of what was taken back are not used again.
  private var items: [Item] = []
  private var lastItem: UInt64 = 0
  private var lastPrompt: UInt64 = 0
  private var received: UInt64 = 0
  private var shown: UInt64 = 0
  private var days: [SessionDay] = []

  /// Returns what a store must give back when it is opened.
  mutating func open(as new: UUID128) -> ClientSessionSnapshot {
    client = client ?? new
    var snapshot = ClientSessionSnapshot(client: client ?? new)
    snapshot.prompts = prompts.sorted { $0.number < $1.number }
    snapshot.conversations = places.suffix(10_000)
    (snapshot.lastPrompt, snapshot.received) = (lastPrompt, received)
    snapshot.unshown = items.filter { $0.number > shown && !$0.isOwn }.map {
      NumberedSessionNews(number: $0.number, news: $0.news)
    }
    return snapshot
  }

  /// Takes a change, and returns what of it must be new.
  mutating func commit(_ change: ClientSessionChange) -> [NumberedSessionNews] {
    for prompt in change.prompts { put(prompt) }
    for key in change.rolledBack {
      items.removeAll { $0.isOwn && $0.entry?.id == key.description }
    }
    let before = lastItem
    for news in change.news { add(news) }
    let added = items.filter { $0.number > before }
    prompts.removeAll { change.forgotten.contains($0.id) }
    for place in change.conversations { places = places.filter { $0.id != place.id } + [place] }
    if let number = change.received { received = number }
    if let number = change.shown { shown = max(shown, min(number, lastItem)) }
    for day in change.days { add(day) }
    return added.map { NumberedSessionNews(number: $0.number, news: $0.news) }
  }

  private mutating func put(_ prompt: KeptPrompt) {
    if let place = prompts.firstIndex(where: { $0.id == prompt.id }) {
      prompts[place] = prompt
      return
    }
    let known = items.first { $0.entry?.id == prompt.id.description }
    // One that has ended is not begun again.
    if known?.isOwn == true { return }
    prompts.append(prompt)
    lastPrompt = max(lastPrompt, prompt.number)
    if known != nil { return }
    let entry = SessionEntry(
      id: prompt.id.description, role: .user, text: prompt.text,
      conversation: prompt.conversation, timestamp: prompt.createdAt)
    note(.message(entry, via: .live), isOwn: true)
  }

  private mutating func note(_ news: SessionNews, isOwn: Bool = false) {
    lastItem += 1
    items.append(Item(number: lastItem, news: news, isOwn: isOwn))
  }

  private mutating func add(_ news: SessionNews) {
    switch news {
    case .message(let entry, _):
      if !items.contains(where: { $0.entry?.id == entry.id }) { note(news) }
    case .ended(let end):
      guard prompts.contains(where: { $0.id == end.key }) else { return }
      if end.outcome != .failed { prompts.removeAll { $0.id == end.key } }
      note(news)
    case .answer(let entry, let via, let end):
      if items.contains(where: { $0.entry?.id == entry.id }) { return }
      note(.message(entry, via: via))
      add(.ended(end))
    }
  }

  private mutating func add(_ day: SessionDay) {
    guard let place = days.firstIndex(where: { $0.day == day.day }) else {
      days = (days + [day]).sorted { $0.day < $1.day }
      return
    }
    var sum = days[place]
    (sum.tries, sum.connects) = (sum.tries + day.tries, sum.connects + day.connects)
    (sum.reconnects, sum.roundTrips) =
      (sum.reconnects + day.reconnects, sum.roundTrips + day.roundTrips)
    (sum.reconnecting, sum.roundTripSum) =
      (sum.reconnecting + day.reconnecting, sum.roundTripSum + day.roundTripSum)
    if sum.longestRoundTrip < day.longestRoundTrip { sum.longestRoundTrip = day.longestRoundTrip }
    days[place] = sum
  }

  /// Returns how a store's lists differ from what they must be.
  func difference(from store: KeptSession) -> String? {
    if store.days != days { return "the days are \(store.days), not \(days)" }
    let all = items.filter { $0.entry != nil }
    for name in Set(all.compactMap { $0.entry?.conversation }) {
      let own = all.filter { $0.entry?.conversation == name }
      for (before, limit) in [(nil, 1_000), (own.last?.number, 2), (own.first?.number, 9)] {
        let must = own.filter { $0.number < before ?? .max }.suffix(limit).map {
          NumberedSessionNews(number: $0.number, news: $0.news)
        }
        if store.history(of: name, before: before, limit: limit) != must {
          return "the history of \(name) before \(before ?? 0) is another one"
        }
      }
    }
    return nil
  }
}

extension SessionShelf.Item {
  /// The message that it is.
  fileprivate var entry: SessionEntry? {
    if case .message(let entry, _) = news { entry } else { nil }
  }
}

/// What the store of a server must hold.
struct SessionCellar: Sendable {
  private var clients: [String: KeptSessionClient] = [:]
  private var prompts: [SessionPromptID: KeptSessionPrompt] = [:]
  private var talks: [String: (signature: String, entries: [SessionEntry])] = [:]

  /// Makes a change, and returns how a store that made it too differs.
  mutating func stray(_ change: SessionChange, _ kept: SessionKept) -> String? {
    switch change {
    case .client(let client): clients[client.id] = client
    case .endClient(let id): clients.removeValue(forKey: id)
    case .prompt(let prompt): prompts[prompt.id] = prompt
    case .endPrompt(let id): prompts.removeValue(forKey: id)
    case .started(let id): prompts[id]?.stage = .started
    case .answered(let id, let answer): prompts[id]?.stage = .ended(answer)
    case .taken(let id):
      if case .ended(var answer)? = prompts[id]?.stage {
        answer.isTaken = true
        prompts[id]?.stage = .ended(answer)
      }
    case .conversation(let id, let signature):
      if talks[id]?.signature != signature { talks[id] = (signature, []) }
    case .entry(let entry): talks[entry.conversation]?.entries.append(entry)
    case .prune(let id, let place):
      let left = talks[id]?.entries.filter { $0.place ?? 0 >= place } ?? []
      talks[id]?.entries = left
    case .endConversation(let id): talks.removeValue(forKey: id)
    }
    let isAlike =
      clients == kept.clients && prompts.count == kept.prompts.count
      && talks.count == kept.conversations.count && isAlike(change, kept)
    return isAlike ? nil : "the store of the server differs after \("\(change)".prefix(300))"
  }

  private func isAlike(_ change: SessionChange, _ kept: SessionKept) -> Bool {
    switch change {
    case .client, .endClient: true
    case .prompt(let prompt): prompts[prompt.id] == kept.prompts[prompt.id]
    case .started(let id), .answered(let id, _), .taken(let id), .endPrompt(let id):
      prompts[id] == kept.prompts[id]
    case .conversation(let id, _), .prune(let id, _), .endConversation(let id):
      isAlike(id, kept)
    case .entry(let entry): isAlike(entry.conversation, kept)
    }
  }

  private func isAlike(_ talk: String, _ kept: SessionKept) -> Bool {
    talks[talk]?.signature == kept.conversations[talk]?.signature
      && talks[talk]?.entries == kept.conversations[talk]?.entries
  }
}
