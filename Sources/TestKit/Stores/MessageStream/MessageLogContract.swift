import HoldfastCore
public import HoldfastFeaturePorts
import HoldfastMessageData

/// Checks the promises of `MessageLog`, for any implementation and any test library.
///
/// - Parameter make: Creates a new, empty log for each call.
/// - Throws: `ContractViolation` for the first broken promise, or an error of `make`.
public func messageLogContract(make: () async throws -> any MessageLog) async throws {
  let checks: [@Sendable (any MessageLog) async throws -> Void] =
    [
      logStartsEmpty, countsFromOne, countsWithoutHolesUnderLoad, knowsKeys, refusesAKnownID,
      takesAList, pagesByNumber, pagesSinceATime, pagesByPosition, saysWhatItCannotRecover,
      logFailsWhenClosed,
    ] + logEventChecks + logImageChecks
  for check in checks {
    let log = try await make()
    try await check(log)
    await log.close()
  }
}

private func fill(
  _ log: any MessageLog, _ shop: ShopID, times: [Int64]
) async throws -> [ShopMessage] {
  var stored: [ShopMessage] = []
  for (number, time) in times.enumerated() {
    let message = StoreSamples.message(UInt64(number + 1), in: shop, at: time)
    stored.append(try await log.append(message, idempotencyKey: nil).message)
  }
  return stored
}

private func logStartsEmpty(_ log: any MessageLog) async throws {
  let shop = try StoreSamples.shop("s")
  let head = try await log.head(of: shop)
  try ContractViolation.unless(head.offset, is: 0, "the head of an empty shop is 0")
  guard (1...64).contains(head.epoch.utf8.count) else {
    throw ContractViolation("an epoch has 1 to 64 characters: found \(head.epoch)")
  }
  for query in [
    PageQuery.page(number: 1, limit: 5), .since(Timestamp(nanoseconds: 0), page: 1, limit: 5),
    .after(head, limit: 5), .before(head, limit: 5),
  ] {
    try ContractViolation.unless(
      try await log.page(query, of: shop), is: Page(messages: [], hasNext: false, head: head),
      "an empty shop answers \(query) with nothing")
    try ContractViolation.unless(
      try await log.count(query, of: shop), is: 0, "an empty shop counts nothing for \(query)")
  }
}

private func countsFromOne(_ log: any MessageLog) async throws {
  let (shop, other) = (try StoreSamples.shop("s"), try StoreSamples.shop("t"))
  let epoch = try await log.head(of: shop).epoch
  for number in 1...3 {
    for current in [shop, other] {
      let message = StoreSamples.bare(UInt64(number), in: current, at: 1)
      var wanted = message
      wanted.position = ShopPosition(epoch: epoch, offset: UInt64(number))
      try ContractViolation.unless(
        try await log.append(message, idempotencyKey: nil),
        is: Appended(message: wanted, isNew: true), "each shop counts 1, 2, 3")
      try ContractViolation.unless(
        try await log.head(of: current), is: ShopPosition(epoch: epoch, offset: UInt64(number)),
        "the head is the newest position")
    }
  }
}

private func countsWithoutHolesUnderLoad(_ log: any MessageLog) async throws {
  let shop = try StoreSamples.shop("s")
  let offsets = try await withThrowingTaskGroup(of: UInt64?.self) { group in
    for number in 1...100 {
      group.addTask {
        let message = StoreSamples.message(UInt64(number), in: shop, at: Int64(number))
        return try await log.append(message, idempotencyKey: nil).message.position?.offset
      }
    }
    return try await group.reduce(into: [UInt64]()) { $0 += [$1 ?? 0] }
  }
  try ContractViolation.unless(
    offsets.sorted(), is: Array(1...100), "appends at the same time get offsets without holes")
}

private func knowsKeys(_ log: any MessageLog) async throws {
  let (shop, other) = (try StoreSamples.shop("s"), try StoreSamples.shop("t"))
  let key = StoreSamples.id(500)
  let first = StoreSamples.message(3, in: shop, at: 1)
  let stored = try await log.append(first, idempotencyKey: key).message
  var again = StoreSamples.message(6, in: shop, at: 2)
  again.user = first.user
  try ContractViolation.unless(
    try await log.append(again, idempotencyKey: key), is: Appended(message: stored, isNew: false),
    "a known key answers with what it stored")
  var foreign = again
  foreign.user = "somebody else"
  try ContractViolation.unless(
    try await log.append(foreign, idempotencyKey: key).isNew, is: true,
    "another user's key is another key")
  var elsewhere = again
  elsewhere.shop = other
  try ContractViolation.unless(
    try await log.append(elsewhere, idempotencyKey: key).isNew, is: true,
    "a key counts in its shop only")
  try ContractViolation.unless(
    try await log.head(of: shop).offset, is: 2, "a repeated append takes no offset")
}

private func refusesAKnownID(_ log: any MessageLog) async throws {
  let shop = try StoreSamples.shop("s")
  let stored = try await fill(log, shop, times: [1])
  do {
    _ = try await log.append(stored[0], idempotencyKey: nil)
  } catch {
    try ContractViolation.unless(
      try await log.head(of: shop).offset, is: 1, "a refused append takes no offset")
    return
  }
  throw ContractViolation("a second message of the same id is refused: it was taken")
}

/// Checks a list that contains a new message, a known id, a key, its repetition, and another new
/// message.
private func takesAList(_ log: any MessageLog) async throws {
  let shop = try StoreSamples.shop("s")
  let epoch = try await log.head(of: shop).epoch
  let key = StoreSamples.id(500)
  func entry(_ number: UInt64, key: UUID128? = nil) -> LogEntry {
    LogEntry(message: StoreSamples.bare(number, in: shop, at: 1), key: key)
  }
  func stored(_ number: UInt64, at offset: UInt64, isNew: Bool = true) -> Appended {
    var message = StoreSamples.bare(number, in: shop, at: 1)
    message.position = ShopPosition(epoch: epoch, offset: offset)
    return Appended(message: message, isNew: isNew)
  }
  let entries = [entry(4), entry(4), entry(3, key: key), entry(2, key: key), entry(1)]
  let results = await log.append(entries.map(LogRequest.post))
  try ContractViolation.unless(
    results.map { try? $0.appended.get() },
    is: [
      stored(4, at: 1), nil, stored(3, at: 2), stored(3, at: 2, isNew: false), stored(1, at: 3),
    ], "a list is taken in its order, and what is refused or known takes no offset")
  try ContractViolation.unless(await log.append([]).count, is: 0, "an empty list is no append")
}

private func pagesByNumber(_ log: any MessageLog) async throws {
  let shop = try StoreSamples.shop("s")
  // The clock was set back before the third and before the last message. A client treats all
  // messages up to the head of the first page as covered. That page must therefore contain the last
  // messages of the log, whatever their time stamps are.
  let all = try await fill(log, shop, times: [10, 20, 5, 20, 7])
  let head = all[4].position
  let newestFirst = Array(all.reversed())
  for (number, wanted, more) in [
    (1, newestFirst[0..<2], true), (2, newestFirst[2..<4], true), (3, newestFirst[4..<5], false),
    (4, [], false), (Int.max, [], false),
  ] {
    try ContractViolation.unless(
      try await log.page(.page(number: number, limit: 2), of: shop),
      is: Page(messages: Array(wanted), hasNext: more, head: head),
      "page \(number) is by offset, newest first")
  }
  let exact = try await log.page(.page(number: 1, limit: 5), of: shop)
  try ContractViolation.unless(exact.hasNext, is: false, "a page that holds all has no next")
  try ContractViolation.unless(
    try await log.count(.page(number: 9, limit: 1), of: shop), is: 5, "pages range over all")
}

private func pagesSinceATime(_ log: any MessageLog) async throws {
  let shop = try StoreSamples.shop("s")
  let all = try await fill(log, shop, times: [10, 20, 5, 20, 30])
  let head = all[4].position
  let since = Timestamp(nanoseconds: 10)
  try ContractViolation.unless(
    try await log.page(.since(since, page: 1, limit: 2), of: shop),
    is: Page(messages: [all[1], all[3]], hasNext: true, head: head),
    "since is strictly after, oldest first, equal times by id")
  try ContractViolation.unless(
    try await log.page(.since(since, page: 2, limit: 2), of: shop),
    is: Page(messages: [all[4]], hasNext: false, head: head), "since has a second page")
  try ContractViolation.unless(
    try await log.count(.since(since, page: 1, limit: 2), of: shop), is: 3,
    "since ranges over what is later")
}

private func pagesByPosition(_ log: any MessageLog) async throws {
  let shop = try StoreSamples.shop("s")
  let all = try await fill(log, shop, times: [10, 20, 5, 20, 30])
  let head = try await log.head(of: shop)
  func at(_ offset: UInt64) -> ShopPosition { ShopPosition(epoch: head.epoch, offset: offset) }
  for offset in 0...5 {
    let rest = all.dropFirst(offset)
    try ContractViolation.unless(
      try await log.page(.after(at(UInt64(offset)), limit: 2), of: shop),
      is: Page(messages: Array(rest.prefix(2)), hasNext: rest.count > 2, head: head),
      "after \(offset) is by offset, oldest first")
    try ContractViolation.unless(
      try await log.count(.after(at(UInt64(offset)), limit: 2), of: shop), is: UInt64(rest.count),
      "after \(offset) ranges over the rest")
    let past = Array(all.prefix(max(offset, 1) - 1).reversed())
    try ContractViolation.unless(
      try await log.page(.before(at(UInt64(offset)), limit: 2), of: shop),
      is: Page(messages: Array(past.prefix(2)), hasNext: past.count > 2, head: head),
      "before \(offset) is by offset, newest first")
    try ContractViolation.unless(
      try await log.count(.before(at(UInt64(offset)), limit: 2), of: shop), is: UInt64(past.count),
      "before \(offset) ranges over what came earlier")
  }
}

private func saysWhatItCannotRecover(_ log: any MessageLog) async throws {
  let shop = try StoreSamples.shop("s")
  let all = try await fill(log, shop, times: [10, 20, 5, 20, 30])
  let head = try await log.head(of: shop)
  let lost = Page(messages: Array(all.suffix(2)), hasNext: false, head: head, recovered: false)
  for position in [
    ShopPosition(epoch: head.epoch + "x", offset: 1), ShopPosition(epoch: head.epoch, offset: 6),
    ShopPosition(epoch: head.epoch, offset: .max),
  ] {
    for query in [PageQuery.after(position, limit: 2), .before(position, limit: 2)] {
      try ContractViolation.unless(
        try await log.page(query, of: shop), is: lost,
        "\(query) is not recovered and brings the newest, oldest first")
      try ContractViolation.unless(
        try await log.count(query, of: shop), is: 5, "what is not recovered ranges over all")
    }
  }
}

private func logFailsWhenClosed(_ log: any MessageLog) async throws {
  let shop = try StoreSamples.shop("s")
  let entry = LogRequest.post(
    LogEntry(message: StoreSamples.message(1, in: shop, at: 1), key: nil))
  try await closes(log) { _ = try await log.head(of: shop) }
  do {
    try await log.removeTraces()
    throw ContractViolation("a closed log cannot remove traces: it did")
  } catch is StoreFailure {}
  try ContractViolation.unless(
    await log.append([entry, entry]).filter { (try? $0.get()) == nil }.count, is: 2,
    "each entry of an append fails when closed")
}
