import HoldfastCore
import HoldfastFeaturePorts
import HoldfastMessageData

/// The checks of the promises of `MessageLog` about edits and deletions.
let logEventChecks: [@Sendable (any MessageLog) async throws -> Void] = [
  editsAMessage, refusesEdits, knowsKeysOfEdits, knowsKeysOfEditsWithoutEffect, deletesAMessage,
  knowsKeysOfDeletedMessages,
  leavesOutDeletedMessages, pagesChanges, addsChangesToTheNewestPage,
  boundsTheChangesOfTheNewestPage, pagesByMessage,
  rendersOrphans, findsShops,
]

/// A shop's log with its requests.
private struct Room {
  let log: any MessageLog
  let shop: ShopID
  let epoch: String

  init(_ log: any MessageLog, _ name: String = "s") async throws {
    self.log = log
    shop = try StoreSamples.shop(name)
    epoch = try await log.head(of: shop).epoch
  }

  func at(_ offset: UInt64) -> ShopPosition { ShopPosition(epoch: epoch, offset: offset) }

  /// Posts message `number` by its author, `user-` and the number's remainder of 3.
  @discardableResult
  func post(
    _ number: UInt64, key: UInt64? = nil, parent: UInt64? = nil
  ) async throws -> ShopMessage {
    var message = StoreSamples.message(number, in: shop, at: Int64(number) * 10_000)
    message.parent = parent.map { StoreSamples.id($0) }
    return try await log.append(message, idempotencyKey: key.map(StoreSamples.id)).message
  }

  @discardableResult
  func edit(
    _ number: UInt64, to text: String, at time: Int64 = 1_000_000, by user: String? = nil,
    key: UInt64? = nil, window: Duration? = nil
  ) async throws -> LogOutcome {
    try await log.append(
      .edit(
        LogEdit(
          id: StoreSamples.id(number), shop: shop, text: text,
          at: Timestamp(nanoseconds: time), by: LogActor(user: user ?? "user-\(number % 3)"),
          key: key.map(StoreSamples.id), window: window)))
  }

  @discardableResult
  func delete(
    _ number: UInt64, by user: String? = nil, isAdmin: Bool = false
  ) async throws -> LogOutcome {
    try await log.append(
      .delete(
        LogDeletion(
          id: StoreSamples.id(number), shop: shop,
          by: LogActor(user: user ?? "user-\(number % 3)", isAdmin: isAdmin))))
  }

  func deletion(_ number: UInt64, at offset: UInt64, by changed: UInt64) -> ShopDeletion {
    ShopDeletion(
      id: StoreSamples.id(number), shop: shop, position: at(offset), changed: at(changed))
  }

  func page(_ query: PageQuery) async throws -> Page { try await log.page(query, of: shop) }

  func count(_ query: PageQuery) async throws -> UInt64 { try await log.count(query, of: shop) }

  func expectHead(_ offset: UInt64, _ promise: String) async throws {
    try ContractViolation.unless(try await log.head(of: shop), is: at(offset), promise)
  }
}

private func editsAMessage(_ log: any MessageLog) async throws {
  let room = try await Room(log)
  var message = try await room.post(1)
  try await room.post(2)
  (message.text, message.isEdited, message.changed) = ("new 🪢", true, room.at(3))
  message.updatedAt = Timestamp(nanoseconds: 1_000_000)
  try ContractViolation.unless(
    try await room.edit(1, to: "new 🪢"), is: .edited(message, isNew: true),
    "an edit takes the next offset and changes text and time")
  try await room.expectHead(3, "an edit moves the head")
  try ContractViolation.unless(
    try await room.page(.page(number: 2, limit: 1)).messages, is: [message],
    "a page has the edited message at its position")
  try ContractViolation.unless(
    try await room.edit(1, to: "new 🪢", at: 2_000_000), is: .edited(message, isNew: false),
    "an edit to the same text is no event")
  try await room.expectHead(3, "an edit to the same text takes no offset")
  (message.text, message.changed) = ("", room.at(4))
  message.updatedAt = Timestamp(nanoseconds: 1_001_000)
  try ContractViolation.unless(
    try await room.edit(1, to: "", at: 5), is: .edited(message, isNew: true),
    "the times of edits increase although the clock was set back")
  try ContractViolation.unless(
    try await room.post(3).position, is: room.at(5), "a post follows the edits")
}

private func refusesEdits(_ log: any MessageLog) async throws {
  let room = try await Room(log)
  try await room.post(1)
  let refusals: [(LogOutcome, LogRefusal, String)] = [
    (try await room.edit(7, to: "x"), .unknown, "an unknown message cannot be edited"),
    (try await room.delete(7), .unknown, "an unknown message cannot be deleted"),
    (
      try await room.edit(1, to: "x", by: "user-2"), .notTheAuthor, "only the author edits"
    ),
    (
      try await room.delete(1, by: "user-2"), .notTheAuthor, "others do not delete"
    ),
    (
      try await room.edit(1, to: "x", at: 1_000_001, window: .nanoseconds(990_000)), .tooLate,
      "no edit after the window"
    ),
  ]
  for (outcome, refusal, promise) in refusals {
    try ContractViolation.unless(outcome, is: .refused(refusal), promise)
  }
  try await room.expectHead(1, "a refused request takes no offset")
  let edited = try await room.edit(1, to: "x", window: .nanoseconds(990_000))
  try ContractViolation.unless(edited.event?.position, is: room.at(2), "an edit within the window")
  let elsewhere = try await Room(log, "t")
  try ContractViolation.unless(
    try await elsewhere.edit(1, to: "y"), is: .refused(.unknown),
    "a message is edited in its own shop only")
}

private func knowsKeysOfEdits(_ log: any MessageLog) async throws {
  let room = try await Room(log)
  try await room.post(1, key: 500)
  try await room.post(4, key: 501)
  let first = try await room.edit(1, to: "a", key: 600)
  guard case .edited(var message, isNew: true) = first else {
    throw ContractViolation("an edit with a key is stored: found \(first)")
  }
  try ContractViolation.unless(
    try await room.edit(1, to: "a", key: 600), is: .edited(message, isNew: false),
    "a repeated edit is the same edit")
  let others: [(LogOutcome, String)] = [
    (try await room.edit(1, to: "b", key: 600), "a key is for one text"),
    (try await room.edit(4, to: "a", key: 600), "a key is for one message"),
    (try await room.edit(1, to: "b", key: 501), "a key of a post is not one of an edit"),
  ]
  for (outcome, promise) in others {
    try ContractViolation.unless(outcome, is: .refused(.keyUsedForAnother), promise)
  }
  let post = LogEntry(
    message: StoreSamples.message(7, in: room.shop, at: 1), key: StoreSamples.id(600))
  try ContractViolation.unless(
    try await log.append(.post(post)), is: .refused(.keyUsedForAnother),
    "a key of an edit is not one of a post")
  try await room.edit(1, to: "b", key: 601)
  (message.text, message.changed) = ("b", room.at(4))
  message.updatedAt = Timestamp(nanoseconds: 1_001_000)
  try ContractViolation.unless(
    try await room.edit(1, to: "a", key: 600), is: .edited(message, isNew: false),
    "a late repetition of an edit does not undo a newer one")
  try await room.expectHead(4, "repetitions take no offset")
}

private func knowsKeysOfEditsWithoutEffect(_ log: any MessageLog) async throws {
  let room = try await Room(log)
  let message = try await room.post(1)
  for _ in 1...2 {
    try ContractViolation.unless(
      try await room.edit(1, to: message.text, key: 600), is: .edited(message, isNew: false),
      "an edit to the present text is no event")
  }
  try ContractViolation.unless(
    try await room.edit(1, to: "b", key: 600), is: .refused(.keyUsedForAnother),
    "an edit to the present text uses its key")
  guard case .edited(let edited, isNew: true) = try await room.edit(1, to: "c", key: 601) else {
    throw ContractViolation("an edit with another key is stored")
  }
  try ContractViolation.unless(
    try await room.edit(1, to: message.text, key: 600), is: .edited(edited, isNew: false),
    "a late repetition of an edit without effect does not undo a newer one")
}

private func deletesAMessage(_ log: any MessageLog) async throws {
  let room = try await Room(log)
  for number in 1...3 as ClosedRange<UInt64> { try await room.post(number) }
  let deletion = room.deletion(1, at: 1, by: 4)
  try ContractViolation.unless(
    try await room.delete(1), is: .deleted(deletion, isNew: true),
    "the author's deletion takes the next offset")
  try ContractViolation.unless(
    try await room.delete(2, by: "admin", isAdmin: true),
    is: .deleted(room.deletion(2, at: 2, by: 5), isNew: true), "an admin deletes")
  try ContractViolation.unless(
    try await room.delete(1, by: "anybody"), is: .deleted(deletion, isNew: false),
    "a repeated deletion is no event")
  try ContractViolation.unless(
    try await room.edit(1, to: "x"), is: .refused(.deleted), "a deleted message is not edited")
  try await room.expectHead(5, "two deletions take two offsets")
  do {
    try await room.post(1)
  } catch {
    try await room.expectHead(5, "the ID of a deleted message is not free")
    return
  }
  throw ContractViolation("a second message with the ID of a deleted one is refused: it was taken")
}

private func knowsKeysOfDeletedMessages(_ log: any MessageLog) async throws {
  let room = try await Room(log)
  try await room.post(1, key: 500)
  try await room.edit(1, to: "x", key: 501)
  try await room.delete(1)
  let again = LogEntry(
    message: StoreSamples.message(4, in: room.shop, at: 1), key: StoreSamples.id(500))
  try ContractViolation.unless(
    try await log.append(.post(again)), is: .refused(.deleted),
    "a post is not repeated once its message was deleted")
  try await room.expectHead(3, "a post whose message was deleted takes no offset")
  let elsewhere = try await Room(log, "t")
  try ContractViolation.unless(
    try await elsewhere.post(1, key: 500).position, is: elsewhere.at(1),
    "a key of a deleted message counts in its shop only")
}

private func leavesOutDeletedMessages(_ log: any MessageLog) async throws {
  let room = try await Room(log)
  var all: [ShopMessage] = []
  for number in 1...5 as ClosedRange<UInt64> { all.append(try await room.post(number)) }
  for number in [2, 5] as [UInt64] { try await room.delete(number) }
  let left = [all[0], all[2], all[3]]
  let lost = ShopPosition(epoch: "other", offset: 1)
  let since = Timestamp(nanoseconds: 10_000)
  let pages: [(PageQuery, [ShopMessage])] = [
    (.page(number: 1, limit: 9), left.reversed()),
    (.since(since, page: 1, limit: 9), [all[2], all[3]]),
    (.after(room.at(1), limit: 9), [all[2], all[3]]),
    (.before(room.at(5), limit: 9), left.reversed()),
    (.after(lost, limit: 2), [all[2], all[3]]),
  ]
  for (query, wanted) in pages {
    let page = try await room.page(query)
    try ContractViolation.unless(page.messages, is: wanted, "\(query) leaves out what was deleted")
    try ContractViolation.unless(page.deleted, is: [], "\(query) has no deletions")
    try ContractViolation.unless(page.head, is: room.at(7), "the head counts the deletions")
    let range = page.recovered ? wanted.count : 3
    try ContractViolation.unless(
      try await room.count(query), is: UInt64(range), "\(query) counts no deleted message")
  }
  let first = try await room.page(.page(number: 1, limit: 3))
  try ContractViolation.unless(first.hasNext, is: false, "a deleted message is no next page")
}

private func pagesChanges(_ log: any MessageLog) async throws {
  let room = try await Room(log)
  for number in 1...4 as ClosedRange<UInt64> { try await room.post(number) }
  try await room.edit(1, to: "x")  // 5, superseded by 7
  try await room.delete(2)  // 6
  guard case .edited(let edited, _) = try await room.edit(1, to: "y") else { return }
  let posted = try await room.post(5)  // 8
  let gone = room.deletion(2, at: 2, by: 6)
  func at(_ offset: UInt64) -> ShopPosition { room.at(offset) }
  let rest = try await room.page(.after(at(2), limit: 2)).messages
  let steps: [(UInt64, Int, Page)] = [
    (
      2, 9,
      Page(messages: rest + [edited, posted], hasNext: false, deleted: [gone], through: at(8))
    ),
    (2, 2, Page(messages: rest, hasNext: true, through: at(4))),
    (4, 1, Page(messages: [], hasNext: true, deleted: [gone], through: at(6))),
    (6, 1, Page(messages: [edited], hasNext: true, through: at(7))),
    (7, 1, Page(messages: [posted], hasNext: false, through: at(8))),
    (8, 1, Page(messages: [], hasNext: false, through: at(8))),
    (3, 0, Page(messages: [], hasNext: true, through: at(3))),
  ]
  for (offset, limit, page) in steps {
    var wanted = page
    wanted.head = at(8)
    let query = PageQuery.changes(after: at(offset), limit: limit)
    try ContractViolation.unless(
      try await room.page(query), is: wanted, "\(query) brings each message once, in order")
  }
  try ContractViolation.unless(
    try await room.count(.changes(after: at(2), limit: 1)), is: 5,
    "changes range over messages and deletions")
  let lost = try await room.page(.changes(after: at(9), limit: 2))
  try ContractViolation.unless(
    [lost.recovered, lost.through == nil], is: [false, true],
    "changes after an unknown position are not recovered")
}

private func addsChangesToTheNewestPage(_ log: any MessageLog) async throws {
  let room = try await Room(log)
  var all: [ShopMessage] = []
  for number in 1...4 as ClosedRange<UInt64> { all.append(try await room.post(number)) }
  try await room.edit(1, to: "x")  // 5, superseded by 7
  try await room.delete(2)  // 6
  guard case .edited(let edited, _) = try await room.edit(1, to: "y") else { return }
  let posted = try await room.post(5)  // 8
  try await room.post(6)  // 9
  try await room.delete(6)  // 10
  let newest = try await room.page(.newest(knowing: room.at(4), limit: 2))
  try ContractViolation.unless(
    newest,
    is: Page(
      messages: [posted, all[3]], hasNext: true, head: room.at(10),
      deleted: [room.deletion(2, at: 2, by: 6), room.deletion(6, at: 9, by: 10)],
      changes: [edited], changesThrough: room.at(10)),
    "the newest page brings edits of earlier messages, and all deletions")
  let unknown = try await room.page(.newest(knowing: room.at(11), limit: 2))
  try ContractViolation.unless(
    unknown,
    is: Page(messages: [posted, all[3]], hasNext: true, head: room.at(10), recovered: false),
    "the newest page does not know the changes after an unknown position")
}

private func boundsTheChangesOfTheNewestPage(_ log: any MessageLog) async throws {
  let room = try await Room(log)
  let author = "user-1"
  let ids = (1...1_001).map { UInt64($0 * 3 + 1) }
  let posts = ids.map { number in
    LogRequest.post(
      LogEntry(message: StoreSamples.message(number, in: room.shop, at: 1), key: nil))
  }
  _ = await log.append(posts)
  let text = String(repeating: "x", count: 20_000)
  for (count, wanted) in [(999, 999), (1, 1_000), (1, 1_000)] {
    let first = Int(try await log.head(of: room.shop).offset) - posts.count
    for number in ids[first..<first + count] {
      try await room.edit(number, to: "e", by: author)
    }
    let page = try await room.page(.newest(knowing: room.at(1_001), limit: 1))
    try ContractViolation.unless(page.changes.count, is: wanted, "at most 1,000 changes")
    try ContractViolation.unless(
      page.changesThrough, is: page.changes.last?.changed, "changes are complete as stated")
  }
  let start = try await log.head(of: room.shop)
  for number in ids.prefix(30) { try await room.edit(number, to: text, by: author) }
  let page = try await room.page(.newest(knowing: start, limit: 1))
  // The position lies above all posts. A text of 20,000 bytes counts as 20,272 with its author.
  try ContractViolation.unless(page.changes.count, is: 25, "at most 512 KiB of changes")
  try ContractViolation.unless(
    page.changesThrough, is: page.changes.last?.changed, "changes are complete as stated")
}

private func pagesByMessage(_ log: any MessageLog) async throws {
  let room = try await Room(log)
  var all: [ShopMessage] = []
  for number in 1...5 as ClosedRange<UInt64> { all.append(try await room.post(number)) }
  try await room.delete(3)
  let head = room.at(6)
  let pages: [(PageQuery, Page)] = [
    (
      .beforeID(all[4].id, limit: 2),
      Page(messages: [all[3], all[1]], hasNext: true, head: head, nextCursor: all[1].id)
    ),
    (.beforeID(all[1].id, limit: 2), Page(messages: [all[0]], hasNext: false, head: head)),
    (
      .afterID(all[0].id, limit: 2),
      Page(messages: [all[1], all[3]], hasNext: true, head: head, nextCursor: all[3].id)
    ),
    (.afterID(all[3].id, limit: 2), Page(messages: [all[4]], hasNext: false, head: head)),
    (.afterID(all[2].id, limit: 2), Page(messages: [all[3], all[4]], hasNext: false, head: head)),
    (
      .afterID(StoreSamples.id(9), limit: 2),
      Page(messages: [], hasNext: false, head: head, recovered: false)
    ),
    (
      .beforeID(StoreSamples.id(9), limit: 2),
      Page(messages: [], hasNext: false, head: head, recovered: false)
    ),
  ]
  for (query, wanted) in pages {
    try ContractViolation.unless(
      try await room.page(query), is: wanted, "\(query) goes on without a hole")
  }
  let counts = [
    try await room.count(.beforeID(all[4].id, limit: 1)),
    try await room.count(.afterID(all[2].id, limit: 1)),
    try await room.count(.afterID(StoreSamples.id(9), limit: 1)),
  ]
  try ContractViolation.unless(counts, is: [3, 2, 0], "pages by message range over what is left")
}

private func rendersOrphans(_ log: any MessageLog) async throws {
  let room = try await Room(log)
  try await room.post(1)
  var reply = try await room.post(4, key: 500, parent: 1)
  try await room.delete(1)
  reply.parent = nil
  try ContractViolation.unless(
    try await room.page(.page(number: 1, limit: 1)).messages, is: [reply],
    "a reply to a deleted message has no parent")
  try ContractViolation.unless(
    try await room.page(.changes(after: room.at(1), limit: 9)).messages, is: [reply],
    "the deletion of a parent is no event of the reply")
  var late = try await room.post(7, parent: 1)
  try ContractViolation.unless(late.parent, is: nil, "a late reply has no parent")
  late = try await room.post(10, parent: 9)
  try ContractViolation.unless(
    late.parent, is: StoreSamples.id(9), "an unknown parent is kept")
  try ContractViolation.unless(
    try await room.post(4, key: 500), is: reply, "a repeated post has its present form")
}

private func findsShops(_ log: any MessageLog) async throws {
  let (room, other) = (try await Room(log), try await Room(log, "t"))
  try await room.post(1)
  try await other.post(2)
  try await other.delete(2)
  let found = [
    try await log.shop(of: StoreSamples.id(1)), try await log.shop(of: StoreSamples.id(2)),
    try await log.shop(of: StoreSamples.id(3)),
  ]
  try ContractViolation.unless(
    found, is: [room.shop, other.shop, nil], "the shop of a message is known, deleted or not")
  try await log.removeTraces()
  try ContractViolation.unless(
    try await room.page(.page(number: 1, limit: 2)).messages.count, is: 1,
    "removing traces keeps messages")
}
