import HoldfastCore
public import HoldfastFeaturePorts
import HoldfastMessageData

/// Checks the promises of `PrunableLog`, for any implementation and any test library.
///
/// - Parameter make: Creates a new, empty log for each call.
/// - Throws: `ContractViolation` for the first broken promise, or an error of `make`.
public func prunableLogContract(make: () async throws -> any PrunableLog) async throws {
  let checks: [@Sendable (any PrunableLog) async throws -> Void] = [
    removesABeginning, keepsTheNewestPost, keepsLaterEvents, remembersKeys, deletesImages,
    tellsExtents,
  ]
  for check in checks {
    let log = try await make()
    try await check(log)
    await log.close()
  }
}

/// A shop's log with ten messages at the offsets 1 to 10, of which each takes 1,000 ns.
private struct Filled {
  let log: any PrunableLog
  let shop: ShopID
  let epoch: String

  init(_ log: any PrunableLog, posts: ClosedRange<UInt64> = 1...10) async throws {
    (self.log, shop) = (log, try StoreSamples.shop("s"))
    epoch = try await log.head(of: shop).epoch
    for number in posts {
      var message = StoreSamples.bare(number, in: shop, at: Int64(number) * 1_000)
      (message.user, message.text) = ("u", "\(number)")
      _ = try await log.append(message, idempotencyKey: StoreSamples.id(number))
    }
  }

  func at(_ offset: UInt64) -> ShopPosition { ShopPosition(epoch: epoch, offset: offset) }

  func page(_ query: PageQuery) async throws -> Page { try await log.page(query, of: shop) }

  /// Removes what lies before an offset, and remembers keys since a time.
  @discardableResult
  func cut(_ first: UInt64, keysSince time: Int64 = .max) async throws -> Int {
    try await log.remove(
      LogCut(
        shop: shop, first: first, now: Timestamp(nanoseconds: 20_000),
        keysSince: Timestamp(nanoseconds: time)))
  }

  func repeated(_ number: UInt64) async throws -> LogOutcome {
    var message = StoreSamples.bare(number + 100, in: shop, at: 30_000)
    message.user = "u"
    return try await log.append(
      .post(LogEntry(message: message, key: StoreSamples.id(number))))
  }

  func expect(
    _ query: PageQuery, texts: [Int], recovered: Bool = true, count: UInt64, _ promise: String
  ) async throws {
    let page = try await page(query)
    try ContractViolation.unless(page.messages.map(\.text), is: texts.map(String.init), promise)
    try ContractViolation.unless(page.recovered, is: recovered, promise)
    try ContractViolation.unless(try await log.count(query, of: shop), is: count, promise)
  }
}

private func removesABeginning(_ log: any PrunableLog) async throws {
  let room = try await Filled(log)
  try ContractViolation.unless(
    try await room.page(.page(number: 1, limit: 9)).oldest, is: nil, "nothing was removed yet")
  for (first, removed) in [(1, 0), (2, 1), (2, 0), (6, 4), (5, 0)] as [(UInt64, Int)] {
    try ContractViolation.unless(
      try await room.cut(first), is: removed, "what lies before \(first) is removed once")
  }
  let all = PageQuery.page(number: 1, limit: 9)
  try ContractViolation.unless(
    try await room.page(all).oldest, is: room.at(6), "pages tell the oldest event")
  try ContractViolation.unless(
    try await log.head(of: room.shop), is: room.at(10), "the head stays")
  try await room.expect(all, texts: [10, 9, 8, 7, 6], count: 5, "a page has what is kept")
  try await room.expect(
    .since(Timestamp(nanoseconds: 0), page: 1, limit: 9), texts: [6, 7, 8, 9, 10], count: 5,
    "a page since a time has what is kept")
  try await room.expect(
    .after(room.at(5), limit: 9), texts: [6, 7, 8, 9, 10], count: 5,
    "nothing is missing after the last removed event")
  try await room.expect(
    .changes(after: room.at(5), limit: 9), texts: [6, 7, 8, 9, 10], count: 5,
    "no event is missing after the last removed event")
  try await recoversNothingBefore(room)
  try await knowsNoRemovedMessage(log, room)
}

private func recoversNothingBefore(_ room: Filled) async throws {
  try await room.expect(
    .after(room.at(4), limit: 2), texts: [9, 10], recovered: false, count: 5,
    "a position before the last removed event is not recovered")
  try await room.expect(
    .changes(after: room.at(4), limit: 2), texts: [9, 10], recovered: false, count: 5,
    "the events after such a position are not recovered")
  try await room.expect(
    .newest(knowing: room.at(4), limit: 2), texts: [10, 9], recovered: false, count: 5,
    "the newest page says so too")
  try await room.expect(
    .before(room.at(8), limit: 9), texts: [7, 6], count: 2, "the pages down end at the oldest one")
  try await room.expect(
    .before(room.at(3), limit: 9), texts: [], count: 0, "nothing lies before a removed message")
}

private func knowsNoRemovedMessage(_ log: any PrunableLog, _ room: Filled) async throws {
  let gone = StoreSamples.id(5)
  try ContractViolation.unless(
    try await log.shop(of: gone), is: nil, "a removed message is unknown")
  try await room.expect(
    .beforeID(gone, limit: 9), texts: [], recovered: false, count: 0,
    "a removed message is no place for pages")
  try ContractViolation.unless(
    try await log.append(
      .edit(
        LogEdit(
          id: gone, shop: room.shop, text: "x", at: Timestamp(nanoseconds: 1),
          by: LogActor(user: "u")))), is: .refused(.unknown), "a removed message cannot be edited")
}

private func keepsTheNewestPost(_ log: any PrunableLog) async throws {
  let room = try await Filled(log, posts: 1...3)
  try ContractViolation.unless(
    try await room.cut(.max >> 1), is: 2, "the newest post is never removed")
  let page = try await room.page(.page(number: 1, limit: 9))
  try ContractViolation.unless(page.messages.map(\.text), is: ["3"], "the newest post stays")
  try ContractViolation.unless(page.oldest, is: room.at(3), "the log begins with the newest post")
  _ = try await log.append(
    .delete(LogDeletion(id: StoreSamples.id(3), shop: room.shop, by: LogActor(user: "u"))))
  try ContractViolation.unless(
    try await room.cut(.max >> 1), is: 0, "what remains of the newest post stays")
  try ContractViolation.unless(
    try await log.head(of: room.shop), is: room.at(4), "the head stays")
  let next = try await log.append(
    StoreSamples.bare(9, in: room.shop, at: 90_000), idempotencyKey: nil)
  try ContractViolation.unless(
    next.message.position, is: room.at(5), "offsets go on where they were")
}

private func keepsLaterEvents(_ log: any PrunableLog) async throws {
  let room = try await Filled(log, posts: 1...5)
  let edit = LogEdit(
    id: StoreSamples.id(2), shop: room.shop, text: "two", at: Timestamp(nanoseconds: 6_000),
    by: LogActor(user: "u"), key: StoreSamples.id(50))
  _ = try await log.append(.edit(edit))
  _ = try await log.append(
    .delete(LogDeletion(id: StoreSamples.id(3), shop: room.shop, by: LogActor(user: "u"))))
  _ = try await log.append(StoreSamples.bare(8, in: room.shop, at: 8_000), idempotencyKey: nil)
  try ContractViolation.unless(
    try await room.cut(6), is: 3, "messages with later events are kept")
  let changes = try await room.page(.changes(after: room.at(5), limit: 9))
  try ContractViolation.unless(
    [changes.messages.map(\.text), changes.deleted.map { "\($0.changed.offset)" }],
    is: [["two", ""], ["7"]], "later edits and deletions reach who has everything before")
  let all = PageQuery.page(number: 1, limit: 9)
  try ContractViolation.unless(
    [UInt64(try await room.page(all).messages.count), try await log.count(all, of: room.shop)],
    is: [1, 1], "a message that is kept for a later event is on no other page")
  try ContractViolation.unless(
    try await log.append(.edit(edit)).event, is: nil, "the key of a kept edit is known")
  try ContractViolation.unless(
    try await room.cut(7), is: 1, "a message is removed with its newest event")
  try ContractViolation.unless(
    try await log.append(.edit(edit)), is: .refused(.unknown), "then it is unknown")
  try ContractViolation.unless(
    try await room.cut(8), is: 1, "what remains of a deleted message is removed with the deletion")
}

private func remembersKeys(_ log: any PrunableLog) async throws {
  let room = try await Filled(log)
  try await room.cut(6, keysSince: 4_000)
  for number in 4...5 as ClosedRange<UInt64> {
    try ContractViolation.unless(
      try await room.repeated(number), is: .refused(.deleted),
      "a recent post is not stored again although its message was removed")
  }
  guard case .posted(_, isNew: true) = try await room.repeated(3) else {
    throw ContractViolation("the key of an older post is not remembered")
  }
  guard case .posted(_, isNew: false) = try await room.repeated(7) else {
    throw ContractViolation("the key of a kept message is known")
  }
  while try await log.tidy(keysBefore: Timestamp(nanoseconds: 5_000)) {}
  guard case .posted(_, isNew: true) = try await room.repeated(4) else {
    throw ContractViolation("a key is forgotten when it is old")
  }
  try ContractViolation.unless(
    try await room.repeated(5), is: .refused(.deleted), "a younger key is remembered")
}

private func deletesImages(_ log: any PrunableLog) async throws {
  let room = try await Filled(log, posts: 1...1)
  for number in 2...3 as ClosedRange<UInt64> {
    let image = StoredImage(
      id: StoreSamples.id(70 + number), shop: room.shop, user: "u", type: .png, size: 1,
      createdAt: Timestamp(nanoseconds: 1))
    _ = try await log.addImage(image, atMost: 9)
    var message = StoreSamples.bare(number, in: room.shop, at: Int64(number) * 1_000)
    message.user = "u"
    message.text = ImageReference.text(
      for: "https://a.example" + ImageRoute.image(image.id).path)
    _ = try await log.append(message, idempotencyKey: nil)
  }
  try await room.cut(3)
  try ContractViolation.unless(
    try await log.deletedImages(), is: [StoreSamples.id(72)],
    "the images of removed messages are deleted, and no others")
  try ContractViolation.unless(
    try await log.image(StoreSamples.id(73))?.message, is: StoreSamples.id(3),
    "the images of kept messages stay")
}

private func tellsExtents(_ log: any PrunableLog) async throws {
  let room = try await Filled(log)
  let other = try StoreSamples.shop("t")
  _ = try await log.append(StoreSamples.bare(1, in: other, at: 1), idempotencyKey: nil)
  try await room.cut(4)
  let extents = [
    LogExtent(shop: room.shop, oldest: 4, newestPost: 10, head: 10),
    LogExtent(shop: other, oldest: 1, newestPost: 1, head: 1),
  ]
  try ContractViolation.unless(
    try await log.extents(after: nil, limit: 9), is: extents, "all shops are listed")
  try ContractViolation.unless(
    try await log.extents(after: room.shop, limit: 1), is: [extents[1]], "a part of the shops")
  try ContractViolation.unless(
    try await log.extents(after: other, limit: 1), is: [], "no shop follows the last one")
  let marks = (4...5 as ClosedRange<UInt64>).map { number in
    LogMark(
      version: number, time: Timestamp(nanoseconds: Int64(number) * 1_000),
      bytes: LogMark.overhead + 2, isChanged: false)
  }
  try ContractViolation.unless(
    try await log.marks(of: room.shop, after: 0, limit: 2), is: marks, "marks tell what is kept")
}
