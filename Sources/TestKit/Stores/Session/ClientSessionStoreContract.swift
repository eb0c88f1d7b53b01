import HoldfastCore
public import HoldfastFeaturePorts
import HoldfastSessionData

/// Checks the promises of `ClientSessionStore`, for any implementation and any test library.
///
/// - Parameter make: Creates a new, empty store for each call.
/// - Throws: `ContractViolation` for the first broken promise, or an error of `make`.
public func clientSessionStoreContract(
  make: () async throws -> any ClientSessionStore
) async throws {
  let checks: [@Sendable (any ClientSessionStore) async throws -> Void] = [
    belongsToItsFirstClient, storesPrompts, storesConversations, storesEachIDOnce,
    endsAPromptByAMessage, endsAPromptOnce, storesAFailedPrompt,
    rollsBack, showsWhatWasNotConfirmed, showsWhatWasNotMarked, pagesHistory, addsDays,
    sessionStoreFailsWhenClosed,
  ]
  for check in checks {
    let store = try await make()
    try await check(store)
    await store.close()
  }
}

/// Sample values for a client's store.
private enum SessionSamples {
  static let client = UUID128(high: 1, low: 1)
  static let empty = ClientSessionSnapshot(client: client)

  static func key(_ number: UInt64) -> UUID128 { UUID128(high: 2, low: number) }

  static func prompt(_ number: UInt64, text: String = "text") -> StoredPrompt {
    StoredPrompt(
      id: key(number), conversation: "c", text: text, number: number,
      createdAt: Timestamp(nanoseconds: Int64(number)))
  }

  static func entry(
    _ id: String, in conversation: String = "c", role: SessionRole = .assistant
  ) -> SessionEntry {
    SessionEntry(
      id: id, role: role, text: "a\u{0} \u{1F600}", conversation: conversation,
      timestamp: Timestamp(nanoseconds: -1), position: .max)
  }

  /// The entry of a prompt.
  static func own(_ number: UInt64) -> SessionEntry {
    SessionEntry(
      id: key(number).description, role: .user, text: "text", conversation: "c",
      timestamp: Timestamp(nanoseconds: Int64(number)))
  }

  static func ending(
    _ number: UInt64, _ outcome: SessionEnding.Outcome = .answered, reason: String? = nil,
    by message: String? = nil
  ) -> SessionEnding {
    SessionEnding(
      key: key(number), conversation: "c", text: "text", outcome: outcome, reason: reason,
      message: message)
  }

  static func change(_ body: (inout ClientSessionChange) -> Void) -> ClientSessionChange {
    var change = ClientSessionChange()
    body(&change)
    return change
  }
}

private typealias News = NumberedSessionNews

private func belongsToItsFirstClient(_ store: any ClientSessionStore) async throws {
  try ContractViolation.unless(
    try await store.open(as: SessionSamples.client), is: SessionSamples.empty,
    "a new store holds nothing")
  try ContractViolation.unless(
    try await store.open(as: UUID128(high: 9, low: 9)), is: SessionSamples.empty,
    "a store keeps the id of its first client")
}

private func storesPrompts(_ store: any ClientSessionStore) async throws {
  _ = try await store.open(as: SessionSamples.client)
  var (first, second) = (SessionSamples.prompt(1), SessionSamples.prompt(2, text: "a\u{0}\n"))
  second.state = .failed(reason: "why")
  (second.floor, second.isSeen) = (.max, true)
  let third = SessionSamples.prompt(3)
  let added = try await store.commit(
    SessionSamples.change { $0.prompts = [third, first, second] })
  try ContractViolation.unless(added, is: [], "own prompts are not news")
  first.state = .queued(tries: 2)
  first.isAccepted = true
  _ = try await store.commit(
    SessionSamples.change {
      $0.prompts = [first]
      $0.forgotten = [third.id]
      $0.received = 7
    })
  var wanted = SessionSamples.empty
  wanted.prompts = [first, second]
  (wanted.lastPrompt, wanted.received) = (3, 7)
  try ContractViolation.unless(
    try await store.open(as: SessionSamples.client), is: wanted,
    "prompts come by number, replaced by id, and their highest number stays")
}

private func storesConversations(_ store: any ClientSessionStore) async throws {
  _ = try await store.open(as: SessionSamples.client)
  let limit = ClientSessionSnapshot.conversationLimit
  var all = (0...limit).map { KnownConversation(id: "\($0)") }
  _ = try await store.commit(SessionSamples.change { $0.conversations = all })
  let used = KnownConversation(
    id: "50", openedBy: SessionSamples.key(1), sequence: .max, offset: 1 << 63, signature: "2:x",
    openTurns: 3, lastEnd: "m\u{0}")
  _ = try await store.commit(SessionSamples.change { $0.conversations = [used] })
  all.remove(at: 50)
  try ContractViolation.unless(
    try await store.open(as: SessionSamples.client).conversations,
    is: Array((all + [used]).suffix(limit)),
    "the newest 10,000 conversations, the one that was used last at the end")
}

private func storesEachIDOnce(_ store: any ClientSessionStore) async throws {
  _ = try await store.open(as: SessionSamples.client)
  let own = SessionSamples.prompt(1)
  let (one, two) = (SessionSamples.entry("one"), SessionSamples.entry("two", role: .system))
  let echo = SessionSamples.entry(own.id.description, role: .user)
  let added = try await store.commit(
    SessionSamples.change {
      $0.prompts = [own]
      $0.news = [
        .message(one, via: .live), .message(one, via: .history), .message(echo, via: .history),
        .message(two, via: .replay),
      ]
    })
  try ContractViolation.unless(
    added.map(\.news), is: [.message(one, via: .live), .message(two, via: .replay)],
    "an id is stored once, an own key never as news")
  try ContractViolation.unless(
    zip(added, added.dropFirst()).allSatisfy { $0.number < $1.number }, is: true,
    "numbers count up")
  let again = try await store.commit(
    SessionSamples.change { $0.news = [.message(one, via: .replay)] })
  try ContractViolation.unless(again, is: [], "an id of an earlier change is known")
}

private func endsAPromptByAMessage(_ store: any ClientSessionStore) async throws {
  _ = try await store.open(as: SessionSamples.client)
  let prompts = [SessionSamples.prompt(1), SessionSamples.prompt(2)]
  let answer = SessionSamples.entry("answer")
  let added = try await store.commit(
    SessionSamples.change {
      $0.prompts = prompts
      $0.news = [
        .message(answer, via: .history), .ended(SessionSamples.ending(1, by: "answer")),
        .ended(SessionSamples.ending(2, by: "answer")),
      ]
    })
  try ContractViolation.unless(
    added.map(\.news),
    is: [.message(answer, via: .history), .ended(SessionSamples.ending(1, by: "answer"))],
    "a message ends one prompt, and no other one")
  try ContractViolation.unless(
    try await store.open(as: SessionSamples.client).prompts, is: [prompts[1]],
    "the ended prompt is gone, the other one stays")
  _ = try await store.commit(SessionSamples.change { $0.ends = ["another"] })
  let later = try await store.commit(
    SessionSamples.change {
      $0.news = [
        .ended(SessionSamples.ending(2, by: "answer")),
        .ended(SessionSamples.ending(2, by: "another")),
      ]
    })
  try ContractViolation.unless(later, is: [], "nor does one that ended nobody's, or did before")
}

private func endsAPromptOnce(_ store: any ClientSessionStore) async throws {
  _ = try await store.open(as: SessionSamples.client)
  var prompt = SessionSamples.prompt(1)
  let (first, second) = (SessionSamples.entry("first"), SessionSamples.entry("second"))
  _ = try await store.commit(
    SessionSamples.change {
      $0.prompts = [prompt]
      $0.news = [.message(first, via: .replay), .ended(SessionSamples.ending(1))]
    })
  prompt.isAccepted = true
  let added = try await store.commit(
    SessionSamples.change {
      $0.prompts = [prompt]
      $0.news = [
        .message(second, via: .live), .ended(SessionSamples.ending(1)),
      ]
      $0.forgotten = [prompt.id]
    })
  try ContractViolation.unless(
    added.map(\.news), is: [.message(second, via: .live)],
    "a prompt that has ended does not end again")
  _ = try await store.commit(SessionSamples.change { $0.prompts = [prompt] })
  try ContractViolation.unless(
    try await store.open(as: SessionSamples.client).prompts, is: [],
    "a prompt that has ended is not stored again")
  try ContractViolation.unless(
    try await store.history(of: "c", before: nil, limit: 9).map(\.news),
    is: [
      .message(SessionSamples.own(1), via: .live), .message(first, via: .replay),
      .message(second, via: .live),
    ], "its messages stay")
}

private func storesAFailedPrompt(_ store: any ClientSessionStore) async throws {
  _ = try await store.open(as: SessionSamples.client)
  var prompt = SessionSamples.prompt(1)
  _ = try await store.commit(SessionSamples.change { $0.prompts = [prompt] })
  for outcome in [SessionEnding.Outcome.failed, .unsure] {
    let news = SessionNews.ended(SessionSamples.ending(1, outcome, reason: outcome.rawValue))
    let added = try await store.commit(SessionSamples.change { $0.news = [news] })
    try ContractViolation.unless(added.map(\.news), is: [news], "it may fail, and fail again")
    prompt.state = .failed(reason: outcome.rawValue)
    try ContractViolation.unless(
      try await store.open(as: SessionSamples.client).prompts, is: [prompt],
      "a prompt that failed stays, with the reason")
  }
  let answered = SessionNews.ended(SessionSamples.ending(1))
  let added = try await store.commit(SessionSamples.change { $0.news = [answered] })
  try ContractViolation.unless(added.map(\.news), is: [answered], "it may be answered in the end")
  try ContractViolation.unless(
    try await store.open(as: SessionSamples.client).prompts, is: [], "it was answered")
}

private func rollsBack(_ store: any ClientSessionStore) async throws {
  _ = try await store.open(as: SessionSamples.client)
  let prompt = SessionSamples.prompt(1)
  let entry = SessionSamples.entry(SessionSamples.key(2).description)
  _ = try await store.commit(
    SessionSamples.change {
      $0.prompts = [prompt]
      $0.news = [.message(entry, via: .live)]
    })
  _ = try await store.commit(
    SessionSamples.change { $0.rolledBack = [prompt.id, SessionSamples.key(2)] })
  try ContractViolation.unless(
    try await store.history(of: "c", before: nil, limit: 9).map(\.news),
    is: [.message(entry, via: .live)], "only own entries are rolled back")
}

private func showsWhatWasNotConfirmed(_ store: any ClientSessionStore) async throws {
  _ = try await store.open(as: SessionSamples.client)
  let news: [SessionNews] = [
    .message(SessionSamples.entry("one"), via: .live),
    .ended(SessionSamples.ending(1, .failed, reason: "why")),
    .ended(SessionSamples.ending(2, .interrupted)),
    .message(SessionSamples.entry("two"), via: .replay),
  ]
  let added = try await store.commit(
    SessionSamples.change {
      $0.prompts = [SessionSamples.prompt(1), SessionSamples.prompt(2)]
      $0.news = news
    })
  try ContractViolation.unless(added.map(\.news), is: news, "all of the messages are new")
  try ContractViolation.unless(
    try await store.open(as: SessionSamples.client).unshown, is: added,
    "what was not confirmed is there, in order, without own prompts")
  _ = try await store.commit(SessionSamples.change { $0.shown = added[1].number })
  _ = try await store.commit(SessionSamples.change { $0.shown = added[0].number })
  try ContractViolation.unless(
    try await store.open(as: SessionSamples.client).unshown, is: Array(added[2...]),
    "what was confirmed is not shown again, and no confirmation is taken back")
  _ = try await store.commit(SessionSamples.change { $0.shown = .max })
  let later = try await store.commit(
    SessionSamples.change { $0.news = [.message(SessionSamples.entry("three"), via: .live)] })
  try ContractViolation.unless(
    try await store.open(as: SessionSamples.client).unshown, is: later,
    "a confirmation does not reach what comes later")
}

private func showsWhatWasNotMarked(_ store: any ClientSessionStore) async throws {
  _ = try await store.open(as: SessionSamples.client)
  let added = try await store.commit(
    SessionSamples.change {
      $0.prompts = [SessionSamples.prompt(1), SessionSamples.prompt(2)]
      $0.news = [
        .message(SessionSamples.entry("one"), via: .live), .ended(SessionSamples.ending(1)),
        .message(SessionSamples.entry("two"), via: .live), .ended(SessionSamples.ending(2)),
      ]
    })
  let last = added[3].number
  _ = try await store.commit(
    SessionSamples.change { $0.marked = [added[1].number, added[2].number, last + 1, .max] })
  let later = try await store.commit(
    SessionSamples.change { $0.news = [.message(SessionSamples.entry("three"), via: .live)] })
  try ContractViolation.unless(
    try await store.open(as: SessionSamples.client).unshown, is: [added[0], added[3]] + later,
    "what was marked is not shown again, earlier and later news are")
  _ = try await store.commit(SessionSamples.change { $0.shown = added[0].number })
  try ContractViolation.unless(
    try await store.open(as: SessionSamples.client).unshown, is: [added[3]] + later,
    "a confirmation of earlier news keeps the marks")
  try ContractViolation.unless(
    try await store.history(of: "c", before: nil, limit: 9).count, is: 5,
    "marked messages remain in the history")
}

private func pagesHistory(_ store: any ClientSessionStore) async throws {
  _ = try await store.open(as: SessionSamples.client)
  let added = try await store.commit(
    SessionSamples.change { change in
      change.news = ["one", "two", "three"].map { .message(SessionSamples.entry($0), via: .live) }
      change.news.append(.message(SessionSamples.entry("other", in: "d"), via: .live))
    })
  try ContractViolation.unless(
    try await store.history(of: "c", before: nil, limit: 2), is: Array(added[1...2]),
    "the newest, oldest first")
  try ContractViolation.unless(
    try await store.history(of: "c", before: added[1].number, limit: 2), is: [added[0]],
    "those before a number")
  try ContractViolation.unless(
    try await store.history(of: "c", before: nil, limit: 0), is: [], "none")
}

private func addsDays(_ store: any ClientSessionStore) async throws {
  _ = try await store.open(as: SessionSamples.client)
  var day = SessionDay(day: 20_000)
  (day.tries, day.connects, day.reconnects, day.roundTrips) = (4, 3, 2, 1)
  (day.reconnecting, day.roundTripSum) = (.seconds(2), .milliseconds(7))
  day.longestRoundTrip = .milliseconds(7)
  let before = SessionDay(day: -1)
  _ = try await store.commit(SessionSamples.change { $0.days = [day, before] })
  _ = try await store.commit(SessionSamples.change { $0.days = [day] })
  var sum = day
  sum.add(day)
  try ContractViolation.unless(
    try await store.days(), is: [before, sum], "the numbers of a day are added, in order")
}

private func sessionStoreFailsWhenClosed(_ store: any ClientSessionStore) async throws {
  _ = try await store.open(as: SessionSamples.client)
  try await closes(store) { _ = try await store.days() }
}
