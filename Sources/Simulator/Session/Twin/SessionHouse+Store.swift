import LinkCore
import LinkServerCore
import LinkWire

// What the store is asked for, what it held, and what is kept for clients.
extension SessionHouse {
  mutating func store(_ changes: [SessionChange], _ then: [Wait]) {
    let all = delayed + changes
    let before = delayed.map { Wait.delayed($0) }
    delayed = []
    bells[.later] = nil
    guard !all.isEmpty else { return }
    lastStore += 1
    waits[lastStore] = before + then
    out.append(.store(StoreToken(lastStore), all))
  }

  /// Has a change stored within a second.
  mutating func later(_ change: SessionChange) {
    delayed.append(change)
    if bells[.later] == nil { ring(.later, after: .seconds(1)) }
  }

  mutating func stored(_ number: UInt64, _ failure: StoreFailure?) {
    guard let all = waits.removeValue(forKey: number) else { return }
    self.failure = failure
    if failure != nil { count("session_store_failures_total") }
    for wait in all {
      switch wait {
      case .accepted(let id): accepted(id, failure)
      case .started(let id): started(id, failure)
      case .answered(let id): answered(id, failure)
      case .putOff(let id): if failure != nil { owe(id) }
      case .delayed(let change):
        guard failure != nil, let again = again(change), !delayed.contains(again) else { continue }
        later(again)
      }
    }
  }

  /// What is left of a change that was not stored.
  private func again(_ change: SessionChange) -> SessionChange? {
    switch change {
    case .taken, .endPrompt: return change
    case .client(let client): return clients[client.id].map { .client($0.kept) }
    case .endClient(let id): return clients[id] == nil ? change : nil
    case .endConversation(let id): return talks[id] == nil ? change : nil
    case .prune(let id, let place):
      let first = talks[id]?.first ?? 0
      return first < place ? nil : change
    case .prompt(let prompt):
      guard let job = jobs[prompt.id] else { return nil }
      return job.stage == .waits || job.stage == .starts || job.hasHandler
        ? .prompt(job.kept) : nil
    case .started, .answered, .conversation, .entry: return nil
    }
  }

  /// What the store must have is asked for again after 2 s.
  mutating func owe(_ id: SessionPromptID) {
    owed.insert(id)
    ring(.store, after: .seconds(2))
  }

  mutating func storeOwed() {
    var all: [SessionChange] = []
    var then: [Wait] = []
    for id in owed.sorted() {
      guard let job = jobs[id] else { continue }
      if job.ending != nil {
        all += changes(of: id)
        then.append(.answered(id))
      } else if job.stage == .starts {
        all.append(.started(id))
        then.append(.started(id))
      } else if job.stage == .waits {
        all.append(.prompt(job.kept))
        then.append(.putOff(id))
      }
    }
    owed = []
    store(all, then)
  }

  // Conversations.

  /// Gives the messages of a prompt their places.
  mutating func write(_ id: SessionPromptID, _ answer: KeptSessionAnswer) {
    guard let job = jobs[id] else { return }
    let name = job.prompt.conversation
    let key = job.prompt.idempotencyKey.flatMap { UUID128($0)?.description }
    var place = talks[name]?.next ?? 1
    var entries = [
      SessionEntry(
        id: key ?? fresh(), role: .user, text: job.prompt.text, conversation: name,
        timestamp: job.at, place: place)
    ]
    place += 1
    if case .success(let text) = answer.result {
      entries.append(
        SessionEntry(
          id: answer.message, role: .assistant, text: text, conversation: name,
          timestamp: answer.at, place: place))
      place += 1
    }
    if entries[0].place == 1 {
      talks[name]?.signature = "\(job.prompt.text.utf8.count):\(entries[0].id)"
    }
    talks[name]?.next = place
    jobs[id]?.entries = entries
  }

  func changes(of id: SessionPromptID) -> [SessionChange] {
    guard let job = jobs[id], let answer = job.ending else { return [] }
    var all = [SessionChange.answered(id, answer)]
    if let kept = clients[job.client]?.kept { all.append(.client(kept)) }
    let name = job.prompt.conversation
    if let talk = talks[name], !talk.isKept {
      all.append(.conversation(name, signature: talk.signature))
    }
    return all + job.entries.map { .entry($0) }
  }

  /// Takes the messages of a prompt into their conversation, for all who follow it.
  mutating func join(_ id: SessionPromptID) {
    guard let job = jobs[id], var talk = talks[job.prompt.conversation] else { return }
    let name = job.prompt.conversation
    talk.isKept = true
    talk.late += job.entries
    while let place = talk.late.firstIndex(where: { $0.place == talk.end }) {
      talk.entries.append(talk.late.remove(at: place))
    }
    talk.usedAt = wall
    talks[name] = talk
    jobs[id]?.entries = []
    for reader in sockets.keys.sorted() where sockets[reader]?.follows[name]?.isLive == true {
      put(.news(name), on: reader)
      pump(reader)
    }
    shorten(name)
  }

  private mutating func shorten(_ name: String) {
    if let talk = talks[name], talk.entries.count > numbers.entries {
      talks[name]?.entries = talk.entries.suffix(numbers.entries)
      later(.prune(name, below: talks[name]?.first ?? 0))
    }
    while isFull, let (old, talk) = oldest {
      if talks.count > numbers.talks || talk.entries.count < 2 {
        talks[old] = nil
        later(.endConversation(old))
      } else {
        talks[old]?.entries = Array(talk.entries.dropFirst((talk.entries.count + 3) / 4))
        later(.prune(old, below: talks[old]?.first ?? 0))
      }
    }
  }

  private var isFull: Bool {
    talks.count > numbers.talks
      || talks.values.reduce(0) { $0 + $1.bytes } > numbers.historyBytes
  }

  /// The conversation without a prompt and without a reader that was used the longest ago.
  private var oldest: (String, Talk)? {
    let read = Set(sockets.values.flatMap(\.follows.keys))
    return talks.filter { $0.value.line.isEmpty && !$0.value.isQueued && !read.contains($0.key) }
      .min { ($0.value.usedAt, $0.key) < ($1.value.usedAt, $1.key) }
      .map { ($0.key, $0.value) }
  }

  /// Forgets a conversation of which nothing is left.
  mutating func drop(_ name: String) {
    guard let talk = talks[name], talk.entries.isEmpty, talk.line.isEmpty, !talk.isQueued,
      !sockets.values.contains(where: { $0.follows[name] != nil })
    else { return }
    talks[name] = nil
  }

  // Answers.

  /// Keeps an answer for its client; the oldest ones make room.
  mutating func shelve(_ id: SessionPromptID) {
    guard let job = jobs[id], job.answer?.isTaken == false else { return }
    let name = job.client
    clients[name]?.shelf.append(id)
    while let shelf = clients[name]?.shelf, let first = shelf.first {
      let bytes = shelf.reduce(0) { $0 + (jobs[$1]?.answer?.words.utf8.count ?? 0) }
      guard shelf.count > numbers.answers || bytes > numbers.answersBytes else { return }
      lose(first)
    }
  }

  /// Gives up an answer that was not acknowledged.
  private mutating func lose(_ id: SessionPromptID) {
    guard let job = jobs[id], let answer = job.answer, !answer.isTaken else { return }
    count("session_lost_total")
    take(id)
    jobs[id]?.isLost = true
    let lost = clients[job.client]?.kept.lost ?? 0
    clients[job.client]?.kept.lost = max(lost, answer.number)
    if let kept = clients[job.client]?.kept { later(.client(kept)) }
  }

  mutating func acknowledge(_ message: String, by client: String) {
    let job = jobs.values.first { $0.answer?.message == message }
    guard let job, job.client == client, job.answer?.isTaken == false else { return }
    count("session_acknowledged_total")
    take(job.id)
  }

  private mutating func take(_ id: SessionPromptID) {
    guard let job = jobs[id], var answer = job.answer else { return }
    answer.isTaken = true
    jobs[id]?.stage = .over(answer)
    clients[job.client]?.shelf.removeAll { $0 == id }
    later(.taken(id))
  }

  // The memory of a month.

  /// So many prompts that are over are remembered, and so many bytes of them; those whose answers
  /// were acknowledged go first.
  mutating func forgetExcess() {
    while let first = over.first {
      let bytes = over.reduce(0) { sum, id in
        sum + (jobs[id].map { $0.bytes + ($0.answer?.words.utf8.count ?? 0) } ?? 0)
      }
      guard over.count > numbers.over || bytes > numbers.overBytes else { return }
      let known = over.first { jobs[$0]?.answer?.isTaken == true && jobs[$0]?.isLost == false }
      forget(known ?? first)
    }
  }

  private mutating func forget(_ id: SessionPromptID) {
    lose(id)
    over.removeAll { $0 == id }
    erase(id)
    later(.endPrompt(id))
  }

  mutating func forgetOld() {
    let oldest = wall.advanced(by: .seconds(-30 * 86_400))
    while let first = over.first, let answer = jobs[first]?.answer, answer.at <= oldest {
      forget(first)
    }
    for name in clients.keys.sorted() {
      guard let client = clients[name], client.sockets.isEmpty, client.kept.seenAt <= oldest,
        !jobs.values.contains(where: { $0.client == name && $0.answer == nil })
      else { continue }
      forget(client: name)
    }
    watchMemory()
  }

  mutating func forget(client name: String) {
    for id in clients[name]?.shelf ?? [] { take(id) }
    clients[name] = nil
    later(.endClient(name))
  }

  mutating func watchMemory() {
    if !clients.isEmpty || !over.isEmpty { ring(.memory, after: .seconds(3_600)) }
  }

  // The beginning.

  mutating func restore(_ kept: SessionKept) {
    for client in kept.clients.values { clients[client.id] = Client(kept: client) }
    for (name, talk) in kept.conversations { restore(name, talk) }
    let all = kept.prompts.values.sorted { $0.id < $1.id }
    lastJob = all.last?.id.number ?? 0
    var ends: [(at: Timestamp, KeptSessionPrompt)] = []
    var cut: [SessionPromptID] = []
    for prompt in all {
      if clients[prompt.client] == nil {
        let seen = KeptSessionClient(id: prompt.client, seenAt: wall)
        clients[prompt.client] = Client(kept: seen)
      }
      var job = Job(
        id: prompt.id, client: prompt.client, prompt: prompt.prompt, at: prompt.at, stage: .waits)
      switch prompt.stage {
      case .ended(let answer): ends.append((answer.at, prompt))
      case .accepted: enter(job)
      case .started:
        job.stage = .runs
        cut.append(job.id)
        enter(job)
      }
    }
    for (_, prompt) in ends.sorted(by: { ($0.at, $0.1.id) < ($1.at, $1.1.id) }) { settle(prompt) }
    for id in cut { finish(id, .failure(error: "interrupted")) }
    for prompt in all where jobs[prompt.id]?.answer == nil { goOn(prompt.prompt.conversation) }
    forgetExcess()
    forgetOld()
    for name in talks.keys.sorted() { shorten(name) }
  }

  private mutating func restore(_ name: String, _ kept: KeptConversation) {
    var talk = Talk(signature: kept.signature, isKept: true)
    for entry in kept.entries.sorted(by: { $0.place ?? 0 < $1.place ?? 0 }) {
      let isNext = talk.entries.last?.place.map { $0 + 1 == entry.place } ?? false
      talk.entries = isNext ? talk.entries + [entry] : [entry]
    }
    guard let last = talk.entries.last else { return }
    talk.next = talk.end
    talk.usedAt = last.timestamp ?? wall
    talks[name] = talk
  }

  private mutating func settle(_ kept: KeptSessionPrompt) {
    guard case .ended(let answer) = kept.stage else { return }
    jobs[kept.id] = Job(
      id: kept.id, client: kept.client, prompt: kept.prompt, at: kept.at, stage: .over(answer))
    if let key = kept.prompt.idempotencyKey { byKey[key, default: []].append(kept.id) }
    over.append(kept.id)
    let last = clients[kept.client]?.kept.lastNumber ?? 0
    clients[kept.client]?.kept.lastNumber = max(last, answer.number)
    shelve(kept.id)
  }
}
