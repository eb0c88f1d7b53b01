import HoldfastCore
import HoldfastFeaturePorts
import HoldfastMessageData

/// The checks of the promises that `TimelineStore` makes about edits and deletions.
let eventChecks: [@Sendable (any TimelineStore) async throws -> Void] = [
  storesVersions, editsOnlyWhatIsStored, prefersPositionsToTimes, removesMessages,
  addsARemovedMessageAgain, deliversDeletions, removesWhatNoPageHas, keepsByLog, takesTexts,
  takesPositionsOfAnotherLog,
  refusesForeignEdits, agreesWithTheValue,
]

extension ShopMessage {
  /// Returns a version of the message that was edited at an offset.
  fileprivate func edited(
    _ text: String, at offset: UInt64, updated nanoseconds: Int64, epoch: String = "e"
  ) -> ShopMessage {
    var edit = self
    (edit.text, edit.isEdited) = (text, true)
    edit.updatedAt = Timestamp(nanoseconds: nanoseconds)
    edit.changed = ShopPosition(epoch: epoch, offset: offset)
    return edit
  }
}

private func storesVersions(_ store: any TimelineStore) async throws {
  let shop = try StoreSamples.shop("s")
  let first = StoreSamples.message(1, in: shop, at: 1).edited("a", at: .max, updated: 2)
  let cursor = ShopCursor(
    position: ShopPosition(epoch: "e", offset: .max), base: ShopPosition(epoch: "e", offset: 3))
  _ = try await store.commit(TimelineChange(messages: [first], cursor: cursor), to: shop)
  let stored = try await store.load(shop, limit: 9)
  try ContractViolation.unless(stored.messages, is: [first], "the position of an edit is stored")
  try ContractViolation.unless(stored.cursor, is: cursor, "the base of a cursor is stored")
}

private func editsOnlyWhatIsStored(_ store: any TimelineStore) async throws {
  let shop = try StoreSamples.shop("s")
  let first = StoreSamples.message(1, in: shop, at: 1)
  let edits = [first, StoreSamples.message(2, in: shop, at: 2)].map {
    $0.edited("new", at: 7, updated: 9)
  }
  let nothing = try await store.commit(TimelineChange(edits: edits), to: shop)
  try ContractViolation.unless(
    nothing, is: TimelineCommit(), "an edit of a message that is not stored adds nothing")
  let both = try await store.commit(TimelineChange(messages: [first], edits: edits), to: shop)
  try ContractViolation.unless(
    both, is: TimelineCommit(inserted: [first.id]), "edits come after the messages of a change")
  try ContractViolation.unless(
    try await store.load(shop, limit: 9).messages, is: [edits[0]], "the edit was applied")
  let again = try await store.commit(TimelineChange(edits: edits), to: shop)
  try ContractViolation.unless(again, is: TimelineCommit(), "an edit is applied once")
}

private func prefersPositionsToTimes(_ store: any TimelineStore) async throws {
  let shop = try StoreSamples.shop("s")
  let first = StoreSamples.bare(1, in: shop, at: 100)
  _ = try await store.commit(TimelineChange(messages: [first]), to: shop)
  let versions: [(ShopMessage, Bool, String)] = [
    (first.edited("a", at: 5, updated: 50), true, "a first edit may be dated before its message"),
    (first.edited("b", at: 4, updated: 40), false, "an earlier position is no later version"),
    (first.edited("b", at: 5, updated: 50), false, "nor is the same position"),
    (first.edited("b", at: 6, updated: 40), true, "a later position is, whatever its time"),
    (first.edited("b", at: 2, updated: 41), true, "a log that was restored has a later time"),
    (first.edited("c", at: 1, updated: 31, epoch: "f"), false, "another epoch goes by its time"),
    (first.edited("c", at: 1, updated: 42, epoch: "f"), true, "a later time of another epoch"),
    (first.edited("d", at: .max, updated: 1, epoch: "f"), true, "offsets have 64 bits"),
    (first.edited("e", at: 2, updated: 1, epoch: "f"), false, "and no sign"),
  ]
  for (version, isLater, text) in versions {
    let commit = try await store.commit(TimelineChange(edits: [version]), to: shop)
    try ContractViolation.unless(commit.edited, is: isLater ? [first.id] : [], text)
  }
}

private func removesMessages(_ store: any TimelineStore) async throws {
  let shop = try StoreSamples.shop("s")
  let all = (1...4).map { StoreSamples.message($0, in: shop, at: Int64($0)) }
  _ = try await store.commit(TimelineChange(messages: all), to: shop)
  let deletions = [3, 9, 1].map { DeletedMessage(id: StoreSamples.id($0)) }
  let commit = try await store.commit(TimelineChange(deletions: deletions), to: shop)
  try ContractViolation.unless(
    commit, is: TimelineCommit(deleted: [all[2].key, all[0].key]),
    "the keys of removed messages are reported, in the order of the change")
  try ContractViolation.unless(
    try await store.load(shop, limit: 9).messages, is: [all[1], all[3]], "the others stay")
  try ContractViolation.unless(
    try await store.older(than: all[3].key, in: shop, limit: 9), is: [all[1]],
    "removed messages are on no page")
  let again = try await store.commit(
    TimelineChange(edits: [all[2].edited("x", at: 1, updated: 9)], deletions: deletions), to: shop)
  try ContractViolation.unless(again, is: TimelineCommit(), "a message is removed once")
}

private func addsARemovedMessageAgain(_ store: any TimelineStore) async throws {
  let shop = try StoreSamples.shop("s")
  let first = StoreSamples.message(1, in: shop, at: 1)
  var other = first
  other.createdAt = Timestamp(nanoseconds: 7)
  _ = try await store.commit(TimelineChange(messages: [first]), to: shop)
  let commit = try await store.commit(
    TimelineChange(messages: [other], deletions: [DeletedMessage(id: first.id)]), to: shop)
  try ContractViolation.unless(
    commit, is: TimelineCommit(inserted: [first.id], deleted: [first.key]),
    "the deletions of a change come first")
  try ContractViolation.unless(
    try await store.load(shop, limit: 9).messages, is: [other], "the message was added anew")
}

private func deliversDeletions(_ store: any TimelineStore) async throws {
  let shop = try StoreSamples.shop("s")
  guard let name = ConsumerName("indexer") else { throw ContractViolation("indexer is a name") }
  let all = (1...3).map { StoreSamples.message($0, in: shop, at: Int64($0)) }
  _ = try await store.commit(TimelineChange(messages: all), to: shop)
  try await store.addConsumer(name, of: shop, from: .all)
  let position = ShopPosition(epoch: "e", offset: .max)
  let edit = all[0].edited("new", at: 4, updated: 9)
  let deletions = [
    DeletedMessage(id: all[2].id, changed: position), DeletedMessage(id: all[1].id),
    DeletedMessage(id: StoreSamples.id(9)),
  ]
  _ = try await store.commit(TimelineChange(edits: [edit], deletions: deletions), to: shop)
  let found = try await store.deliveries(to: name, of: shop, after: 0, limit: 9)
  try ContractViolation.unless(
    found,
    is: [
      ShopDelivery(number: 1, message: edit),
      ShopDelivery(number: 2, content: .deletion(deletions[1])),
      ShopDelivery(number: 3, content: .deletion(deletions[0])),
      ShopDelivery(number: 4, content: .deletion(deletions[0])),
      ShopDelivery(number: 5, content: .deletion(deletions[1])),
      ShopDelivery(number: 6, message: edit, isEdit: true),
    ], "deletions are delivered, and no delivery has the text of a deleted message")
  try ContractViolation.unless(
    try await store.deliveries(to: name, of: shop, after: 1, limit: 2), is: Array(found[1...2]),
    "a limit counts deletions")
}

private func removesWhatNoPageHas(_ store: any TimelineStore) async throws {
  let shop = try StoreSamples.shop("s")
  let all = (UInt64(1)...9).map { number in
    var message = StoreSamples.bare(number, in: shop, at: Int64(number))
    message.position = ShopPosition(epoch: number == 4 ? "f" : "e", offset: number)
    return message
  }
  _ = try await store.commit(TimelineChange(messages: all), to: shop)
  var confirmed = all[4]
  confirmed.position = ShopPosition(epoch: "f", offset: 1)
  let covered = CoveredRange(epoch: "f", start: all[2].key, end: all[6].key)
  let commit = try await store.commit(
    TimelineChange(messages: [confirmed], covered: [covered]), to: shop)
  try ContractViolation.unless(
    commit, is: TimelineCommit(deleted: [all[2].key, all[5].key]),
    "messages of another log in a covered range are removed, except for those of the change")
  let rest = try await store.commit(
    TimelineChange(covered: [
      CoveredRange(epoch: "f", end: all[1].key), CoveredRange(epoch: "f", start: all[8].key),
    ]), to: shop)
  try ContractViolation.unless(
    rest.deleted, is: [all[0].key, all[8].key], "a range may have no beginning or no end")
  try ContractViolation.unless(
    try await store.load(shop, limit: 9).messages, is: [all[1], all[3], confirmed, all[6], all[7]],
    "the other messages stay")
}

private func keepsByLog(_ store: any TimelineStore) async throws {
  let shop = try StoreSamples.shop("s")
  let all = (UInt64(1)...4).map { number in
    var message = StoreSamples.bare(number, in: shop, at: Int64(number))
    message.position = ShopPosition(epoch: "e", offset: number)
    return message
  }
  _ = try await store.commit(TimelineChange(messages: all), to: shop)
  var (first, second, fourth) = (all[0], all[1], all[3])
  first = first.edited("a", at: 9, updated: 9, epoch: "f")
  first.position = ShopPosition(epoch: "f", offset: 1)
  second.position = ShopPosition(epoch: "g", offset: 1)
  fourth.position = ShopPosition(epoch: "f", offset: 2)
  let commit = try await store.commit(
    TimelineChange(
      messages: [second, fourth], edits: [first],
      covered: [
        CoveredRange(epoch: "f"), CoveredRange(epoch: "g", end: fourth.key),
      ]), to: shop)
  try ContractViolation.unless(
    commit, is: TimelineCommit(deleted: [all[2].key, all[0].key]),
    "a range keeps what the change has in its log or a later one")
  try ContractViolation.unless(
    try await store.load(shop, limit: 9).messages, is: [second, fourth],
    "what an earlier log has is not kept by a later one")
}

private func takesTexts(_ store: any TimelineStore) async throws {
  let shop = try StoreSamples.shop("s")
  let all = (UInt64(1)...3).map { StoreSamples.bare($0, in: shop, at: Int64($0)) }
  _ = try await store.commit(TimelineChange(messages: all), to: shop)
  let texts = [
    AcceptedText(id: all[0].id, text: "new"), AcceptedText(id: all[1].id, text: all[1].text),
    AcceptedText(id: StoreSamples.id(9), text: "x"),
  ]
  var first = all[0]
  (first.text, first.isEdited, first.updatedAt) = ("new", true, Timestamp(nanoseconds: 2))
  let commit = try await store.commit(TimelineChange(texts: texts), to: shop)
  try ContractViolation.unless(
    commit, is: TimelineCommit(edited: [first.id], rewritten: [first]),
    "an accepted text is the next version of a stored message that has another")
  let later = all[2].edited("later", at: 1, updated: 99)
  let last = try await store.commit(
    TimelineChange(messages: [later], texts: [AcceptedText(id: later.id, text: "y")]), to: shop)
  try ContractViolation.unless(
    last, is: TimelineCommit(edited: [later.id], rewritten: [later]),
    "a later version of the same change follows the text")
  try ContractViolation.unless(
    try await store.load(shop, limit: 9).messages, is: [first, all[1], later], "both are stored")
}

private func takesPositionsOfAnotherLog(_ store: any TimelineStore) async throws {
  let shop = try StoreSamples.shop("s")
  var first = StoreSamples.bare(1, in: shop, at: 1)
  first.position = ShopPosition(epoch: "e", offset: 1)
  first = first.edited("a", at: 7, updated: 9)
  _ = try await store.commit(TimelineChange(messages: [first]), to: shop)
  var same = first
  (same.position, same.changed) = (ShopPosition(epoch: "f", offset: 3), nil)
  let moved = try await store.commit(TimelineChange(messages: [same]), to: shop)
  try ContractViolation.unless(moved, is: TimelineCommit(), "other positions alone are no edit")
  try ContractViolation.unless(
    try await store.load(shop, limit: 9).messages, is: [same], "they are stored")
  var other = same.edited("b", at: 1, updated: 2, epoch: "g")
  other.position = ShopPosition(epoch: "g", offset: 1)
  let edited = try await store.commit(TimelineChange(messages: [other]), to: shop)
  try ContractViolation.unless(
    edited.edited, is: [first.id], "the version of another log counts, whatever its time")
  try ContractViolation.unless(
    try await store.load(shop, limit: 9).messages, is: [other], "it is stored whole")
}

private func refusesForeignEdits(_ store: any TimelineStore) async throws {
  let (here, elsewhere) = (try StoreSamples.shop("here"), try StoreSamples.shop("elsewhere"))
  let first = StoreSamples.message(1, in: here, at: 1)
  let foreign = StoreSamples.message(2, in: elsewhere, at: 2)
  do {
    _ = try await store.commit(TimelineChange(messages: [first], edits: [foreign]), to: here)
  } catch {
    try ContractViolation.unless(
      try await store.load(here, limit: 9), is: TimelineSnapshot(),
      "nothing of a refused change is stored")
    return
  }
  throw ContractViolation("an edit of another shop is refused: it was taken")
}

/// Applies random changes to the store and to a value, and compares them after each change.
private func agreesWithTheValue(_ store: any TimelineStore) async throws {
  let shops = [try StoreSamples.shop("s"), try StoreSamples.shop("t")]
  guard let name = ConsumerName("indexer") else { throw ContractViolation("indexer is a name") }
  for seed in 1...4 {
    var random = RandomSource(seed: UInt64(seed))
    var value = StoredTimelines()
    for shop in try await store.shops() { try await empty(store, shop) }
    for step in 0..<60 {
      let shop = shops[random.below(2)]
      if step == 20 {
        for shop in shops {
          try await store.addConsumer(name, of: shop, from: .all)
          try value.change(shop) { timeline throws(StoreFailure) in
            try timeline.addConsumer(name, from: .all)
          }
        }
      }
      let change = random.change(of: shop)
      let commit = try await store.commit(change, to: shop)
      try ContractViolation.unless(
        commit, is: try value.commit(change, to: shop), "random change \(step) of seed \(seed)")
      try ContractViolation.unless(
        try await store.load(shop, limit: 9), is: value[shop].load(limit: 9),
        "what is stored after random change \(step) of seed \(seed)")
      try ContractViolation.unless(
        try await store.deliveries(to: name, of: shop, after: 3, limit: 50),
        is: value[shop].deliveries(to: name, after: 3, limit: 50),
        "deliveries after random change \(step) of seed \(seed)")
    }
    for shop in shops { _ = try await store.removeConsumer(name, of: shop) }
  }
}

/// Removes all messages of a shop, and its cursor's values.
private func empty(_ store: any TimelineStore, _ shop: ShopID) async throws {
  let stored = try await store.load(shop, limit: 1_000).messages
  let deletions = stored.map { DeletedMessage(id: $0.id) }
  _ = try await store.commit(
    TimelineChange(deletions: deletions, cursor: ShopCursor(), gaps: []), to: shop)
}

extension RandomSource {
  fileprivate mutating func below(_ count: Int) -> Int { Int(next() % UInt64(count)) }

  /// Returns a change of a few of ten messages.
  fileprivate mutating func change(of shop: ShopID) -> TimelineChange {
    var change = TimelineChange()
    for _ in 0..<below(4) { change.messages.append(version(in: shop)) }
    for _ in 0..<below(4) { change.edits.append(version(in: shop)) }
    for _ in 0..<below(2) {
      let id = StoreSamples.id(UInt64(below(10)))
      change.texts.append(AcceptedText(id: id, text: "text \(below(1_000))"))
    }
    for _ in 0..<below(2) {
      change.deletions.append(
        DeletedMessage(id: StoreSamples.id(UInt64(below(10))), changed: position()))
    }
    if below(4) == 0 {
      let keys = (0..<2).map { _ in
        below(3) == 0
          ? nil : StoreSamples.bare(UInt64(below(10)), in: shop, at: Int64(below(5))).key
      }
      change.covered = ["e", "f"].prefix(1 + below(2)).shuffled(using: &self).map {
        CoveredRange(epoch: $0, start: keys[0], end: keys[1])
      }
    }
    if below(3) == 0 { change.cursor = ShopCursor(position: position()) }
    return change
  }

  private mutating func position() -> ShopPosition? {
    below(4) == 0 ? nil : ShopPosition(epoch: below(6) == 0 ? "f" : "e", offset: next() % 12)
  }

  private mutating func version(in shop: ShopID) -> ShopMessage {
    let number = UInt64(below(10))
    // A message has one time, which several messages may share.
    var message = StoreSamples.bare(number, in: shop, at: Int64(number / 2))
    message.text = "text \(below(1_000))"
    if below(3) > 0 { message.updatedAt = Timestamp(nanoseconds: Int64(below(12))) }
    (message.changed, message.isEdited) = (position(), message.updatedAt != nil)
    message.position = position()
    return message
  }
}
