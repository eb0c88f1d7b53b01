import HoldfastCore
public import HoldfastFeaturePorts
import HoldfastMessageData

/// Checks the promises of `TimelineStore`, for any implementation and any test library.
///
/// - Parameter make: Creates a new, empty store for each call.
/// - Throws: `ContractViolation` for the first broken promise, or an error of `make`.
public func timelineStoreContract(
  make: () async throws -> any TimelineStore
) async throws {
  let checks: [@Sendable (any TimelineStore) async throws -> Void] = [
    startsEmpty, storesEveryField, ignoresDuplicates, takesLaterEdits, ordersEqualTimes,
    editsTheTextOnly, pagesBackwards, replacesCursorAndGaps, storesTheOutboxInOrder,
    storesKindsOfEntries,
    separatesShops, listsShopsWithAnyData, refusesForeignMessages, failsWhenClosed,
  ]
  for check in checks + consumerChecks + eventChecks {
    let store = try await make()
    try await check(store)
    await store.close()
  }
}

private func startsEmpty(_ store: any TimelineStore) async throws {
  let shop = try StoreSamples.shop("s")
  try ContractViolation.unless(
    try await store.load(shop, limit: 10), is: TimelineSnapshot(), "a new store holds nothing")
  try ContractViolation.unless(try await store.shops(), is: [], "a new store knows no shop")
  let nothing = try await store.commit(TimelineChange(), to: shop)
  try ContractViolation.unless(nothing, is: TimelineCommit(), "an empty change changes nothing")
  try ContractViolation.unless(try await store.shops(), is: [], "an empty change makes no shop")
}

private func storesEveryField(_ store: any TimelineStore) async throws {
  let shop = try StoreSamples.shop("s")
  let messages = [
    StoreSamples.bare(1, in: shop, at: .min), StoreSamples.message(2, in: shop, at: -1),
    StoreSamples.message(3, in: shop, at: .max),
  ]
  let snapshot = TimelineSnapshot(
    messages: messages, hasOlder: false,
    cursor: ShopCursor(
      position: ShopPosition(epoch: "e-1", offset: .max), time: Timestamp(nanoseconds: .min),
      wholeAt: Timestamp(nanoseconds: .max)),
    gaps: [
      ShopGap(after: nil, before: messages[0].key),
      ShopGap(after: messages[1].key, before: messages[2].key),
    ],
    outbox: [StoreSamples.entry(1, in: shop), StoreSamples.entry(2, in: shop)])
  let commit = try await store.commit(
    TimelineChange(
      messages: messages.reversed(), cursor: snapshot.cursor, gaps: snapshot.gaps,
      outboxPut: snapshot.outbox), to: shop)
  try ContractViolation.unless(
    commit, is: TimelineCommit(inserted: messages.map(\.id)), "inserted is in timeline order")
  try ContractViolation.unless(
    try await store.load(shop, limit: 3), is: snapshot, "everything comes back as it was put")
}

private func ignoresDuplicates(_ store: any TimelineStore) async throws {
  let shop = try StoreSamples.shop("s")
  let first = StoreSamples.message(1, in: shop, at: 10)
  var again = first
  again.text = "the same time of update is no later edit"
  let once = try await store.commit(TimelineChange(messages: [first, again]), to: shop)
  try ContractViolation.unless(
    once, is: TimelineCommit(inserted: [first.id]), "an id is inserted once within a change")
  again.updatedAt = nil
  let twice = try await store.commit(TimelineChange(messages: [again]), to: shop)
  try ContractViolation.unless(twice, is: TimelineCommit(), "a known id is not inserted again")
  again.createdAt = Timestamp(nanoseconds: 7)
  let elsewhere = try await store.commit(TimelineChange(messages: [again]), to: shop)
  try ContractViolation.unless(
    elsewhere, is: TimelineCommit(), "a known id is not inserted at another time either")
  try ContractViolation.unless(
    try await store.load(shop, limit: 9).messages, is: [first], "a duplicate changes nothing")
}

private func takesLaterEdits(_ store: any TimelineStore) async throws {
  let shop = try StoreSamples.shop("s")
  let first = StoreSamples.bare(1, in: shop, at: 10)
  _ = try await store.commit(TimelineChange(messages: [first]), to: shop)
  var edit = first
  (edit.text, edit.isEdited) = ("edited", true)
  edit.updatedAt = Timestamp(nanoseconds: 10)
  let same = try await store.commit(TimelineChange(messages: [edit]), to: shop)
  try ContractViolation.unless(
    same, is: TimelineCommit(), "an update at the time of creation is no edit")
  edit.updatedAt = Timestamp(nanoseconds: 11)
  let later = try await store.commit(TimelineChange(messages: [edit, edit]), to: shop)
  try ContractViolation.unless(
    later, is: TimelineCommit(edited: [first.id]), "a later edit is reported once")
  var earlier = edit
  (earlier.text, earlier.updatedAt) = ("older edit", Timestamp(nanoseconds: 10))
  let late = try await store.commit(TimelineChange(messages: [earlier, first]), to: shop)
  try ContractViolation.unless(late, is: TimelineCommit(), "an earlier edit is ignored")
  try ContractViolation.unless(
    try await store.load(shop, limit: 9).messages, is: [edit], "the latest edit stays")
}

private func editsTheTextOnly(_ store: any TimelineStore) async throws {
  let shop = try StoreSamples.shop("s")
  let first = StoreSamples.message(1, in: shop, at: 10)
  _ = try await store.commit(TimelineChange(messages: [first]), to: shop)
  var edit = StoreSamples.message(2, in: shop, at: 5)
  (edit.id, edit.text, edit.updatedAt) = (first.id, "edited", Timestamp(nanoseconds: 11))
  _ = try await store.commit(TimelineChange(messages: [edit]), to: shop)
  var wanted = first
  (wanted.text, wanted.updatedAt, wanted.isEdited) = (edit.text, edit.updatedAt, edit.isEdited)
  try ContractViolation.unless(
    try await store.load(shop, limit: 9).messages, is: [wanted],
    "an edit replaces text, time of update and mark, and nothing else")
}

private func ordersEqualTimes(_ store: any TimelineStore) async throws {
  let shop = try StoreSamples.shop("s")
  var messages = [5, 1, 4, 2, 3].map { StoreSamples.message($0, in: shop, at: 10) }
  messages[0].id = UUID128(high: 1, low: 0)
  let inOrder = messages.sorted { $0.key < $1.key }
  let commit = try await store.commit(TimelineChange(messages: messages), to: shop)
  try ContractViolation.unless(
    commit.inserted, is: inOrder.map(\.id), "equal times are told apart by id")
  try ContractViolation.unless(
    try await store.load(shop, limit: 9).messages, is: inOrder, "a load is in timeline order")
}

private func pagesBackwards(_ store: any TimelineStore) async throws {
  let shop = try StoreSamples.shop("s")
  let all = (1...7).map { StoreSamples.message($0, in: shop, at: Int64($0 / 2)) }
  _ = try await store.commit(TimelineChange(messages: all), to: shop)
  for limit in 0...8 {
    let snapshot = try await store.load(shop, limit: limit)
    try ContractViolation.unless(
      snapshot.messages, is: all.suffix(limit), "a load of \(limit) is the newest \(limit)")
    try ContractViolation.unless(
      snapshot.hasOlder, is: limit < 7, "hasOlder after a load of \(limit) of 7")
    let older = try await store.older(than: all[5].key, in: shop, limit: limit)
    try ContractViolation.unless(
      older, is: all.prefix(5).suffix(limit), "older gives the \(limit) before a key")
  }
  try ContractViolation.unless(
    try await store.older(than: all[0].key, in: shop, limit: 5), is: [],
    "nothing is older than the first")
}

private func replacesCursorAndGaps(_ store: any TimelineStore) async throws {
  let shop = try StoreSamples.shop("s")
  let key = StoreSamples.message(1, in: shop, at: 1).key
  let cursor = ShopCursor(position: ShopPosition(epoch: "e", offset: 4))
  _ = try await store.commit(
    TimelineChange(cursor: cursor, gaps: [ShopGap(after: nil, before: key)]), to: shop)
  _ = try await store.commit(
    TimelineChange(messages: [StoreSamples.message(1, in: shop, at: 1)]), to: shop)
  let stored = try await store.load(shop, limit: 0)
  try ContractViolation.unless(
    stored.cursor, is: cursor, "no cursor in a change leaves the old one")
  try ContractViolation.unless(stored.gaps.count, is: 1, "no gaps in a change leaves the old ones")
  let time = ShopCursor(time: Timestamp(nanoseconds: 5))
  _ = try await store.commit(TimelineChange(cursor: time, gaps: []), to: shop)
  let replaced = try await store.load(shop, limit: 0)
  try ContractViolation.unless(replaced.cursor, is: time, "a new cursor replaces the whole old one")
  try ContractViolation.unless(replaced.gaps, is: [], "new gaps replace all of the old ones")
}

private func storesTheOutboxInOrder(_ store: any TimelineStore) async throws {
  let shop = try StoreSamples.shop("s")
  let entries = [3, 1, 2].map { StoreSamples.entry($0, in: shop) }
  _ = try await store.commit(TimelineChange(outboxPut: entries), to: shop)
  var failed = entries[0]
  failed.state = .failed(reason: "too long")
  failed.text = "changed"
  _ = try await store.commit(TimelineChange(outboxPut: [failed]), to: shop)
  try ContractViolation.unless(
    try await store.load(shop, limit: 0).outbox, is: [failed, entries[1], entries[2]],
    "an entry that is put again keeps its place")
  let message = StoreSamples.message(9, in: shop, at: 9)
  _ = try await store.commit(
    TimelineChange(messages: [message], outboxRemove: [entries[1].id, StoreSamples.id(77)]),
    to: shop)
  let after = try await store.load(shop, limit: 9)
  try ContractViolation.unless(
    after.outbox, is: [failed, entries[2]], "removed entries are gone, unknown ids are ignored")
  try ContractViolation.unless(after.messages, is: [message], "the message came with the removal")
  _ = try await store.commit(TimelineChange(outboxRemove: [failed.id]), to: shop)
  _ = try await store.commit(TimelineChange(outboxPut: [failed]), to: shop)
  try ContractViolation.unless(
    try await store.load(shop, limit: 0).outbox, is: [entries[2], failed],
    "an entry that was removed and put again stands at the end")
}

private func storesKindsOfEntries(_ store: any TimelineStore) async throws {
  let shop = try StoreSamples.shop("s")
  var entries = (1...4).map { StoreSamples.entry($0, in: shop) }
  entries[0].action = .edit(StoreSamples.id(8))
  (entries[1].action, entries[1].text) = (.delete(StoreSamples.id(9)), "")
  entries[2].image = OutboxImage(type: .png, size: 7)
  entries[3].image = OutboxImage(
    type: .heic, size: 5 << 20, url: "https://a.test/1", uploadedAt: Timestamp(nanoseconds: 5))
  _ = try await store.commit(TimelineChange(outboxPut: entries), to: shop)
  try ContractViolation.unless(
    try await store.load(shop, limit: 0).outbox, is: entries, "all kinds of entries are stored")
  entries[0].action = .post
  (entries[2].image, entries[3].image) = (entries[3].image, nil)
  _ = try await store.commit(TimelineChange(outboxPut: entries), to: shop)
  try ContractViolation.unless(
    try await store.load(shop, limit: 0).outbox, is: entries, "the kind of an entry is replaced")
}

private func separatesShops(_ store: any TimelineStore) async throws {
  let (first, second) = (try StoreSamples.shop("b"), try StoreSamples.shop("a"))
  let mine = StoreSamples.message(1, in: first, at: 1)
  let theirs = StoreSamples.bare(1, in: second, at: 2)
  _ = try await store.commit(TimelineChange(messages: [mine]), to: first)
  let commit = try await store.commit(TimelineChange(messages: [theirs]), to: second)
  try ContractViolation.unless(
    commit.inserted, is: [theirs.id], "the same id in another shop is another message")
  try ContractViolation.unless(
    try await store.load(first, limit: 9), is: TimelineSnapshot(messages: [mine]),
    "a shop shows its own messages only")
  try ContractViolation.unless(
    try await store.shops(), is: [second, first], "shops are listed in order")
}

private func listsShopsWithAnyData(_ store: any TimelineStore) async throws {
  let (first, second) = (try StoreSamples.shop("a"), try StoreSamples.shop("b"))
  let entry = StoreSamples.entry(1, in: first)
  _ = try await store.commit(TimelineChange(outboxPut: [entry]), to: first)
  _ = try await store.commit(TimelineChange(cursor: ShopCursor()), to: second)
  try ContractViolation.unless(
    try await store.shops(), is: [first, second], "an outbox or a cursor makes a shop")
  _ = try await store.commit(TimelineChange(outboxRemove: [entry.id]), to: first)
  _ = try await store.commit(TimelineChange(gaps: [], outboxRemove: [entry.id]), to: first)
  try ContractViolation.unless(
    try await store.shops(), is: [second], "a shop whose last entry was removed is not listed")
}

private func refusesForeignMessages(_ store: any TimelineStore) async throws {
  let (here, elsewhere) = (try StoreSamples.shop("here"), try StoreSamples.shop("elsewhere"))
  let change = TimelineChange(
    messages: [
      StoreSamples.message(1, in: here, at: 1), StoreSamples.message(2, in: elsewhere, at: 2),
    ])
  do {
    _ = try await store.commit(change, to: here)
  } catch {
    try ContractViolation.unless(
      try await store.load(here, limit: 9), is: TimelineSnapshot(),
      "nothing of a refused change is visible")
    return
  }
  throw ContractViolation("a message of another shop is refused: it was taken")
}

private func failsWhenClosed(_ store: any TimelineStore) async throws {
  let shop = try StoreSamples.shop("s")
  try await closes(store) { _ = try await store.load(shop, limit: 1) }
}
