import HoldfastBottleData
import HoldfastCore
public import HoldfastFeaturePorts

/// Checks the promises of `DrinkStore`, for any implementation and any test library.
///
/// - Parameter make: Creates a new, empty store for each call.
/// - Throws: `ContractViolation` for the first broken promise, or an error of `make`.
public func drinkStoreContract(make: () async throws -> any DrinkStore) async throws {
  let checks: [@Sendable (any DrinkStore) async throws -> Void] = [
    startsEmpty, storesOnce, reportsErasedMemory, storesEveryNumber, marksDeleted, showsOnce, lists,
    storesBottle, notes, failsWhenClosed,
  ]
  for check in checks {
    let store = try await make()
    try await check(store)
    await store.close()
  }
}

private func startsEmpty(_ store: any DrinkStore) async throws {
  try ContractViolation.unless(try await store.open(), is: DrinkSnapshot(), "a new store is empty")
  try await store.confirm(9)
  try ContractViolation.unless(
    try await store.commit(change([record(1)])).map(\.number), is: [1],
    "what is not there cannot be confirmed")
  try ContractViolation.unless(
    try await store.open().unshown.count, is: 1, "what is not there cannot be confirmed")
}

private func storesOnce(_ store: any DrinkStore) async throws {
  let first = try await store.commit(change([record(1), record(2), record(1)], .live))
  try ContractViolation.unless(
    first,
    is: [
      BottleDrink(number: 1, record: record(1), via: .live, storedAt: time),
      BottleDrink(number: 2, record: record(2), via: .live, storedAt: time),
    ], "new records are returned, each once")
  try ContractViolation.unless(
    try await store.commit(change([record(2), record(3)])).map(\.number), is: [3],
    "a record that is stored is not new again")
  var flagged = record(3)
  flagged.flags = .isSynced
  try ContractViolation.unless(
    try await store.commit(change([flagged])), is: [], "flags make no other record")
}

private func reportsErasedMemory(_ store: any DrinkStore) async throws {
  _ = try await store.commit(change([record(1)]))
  var later = record(1)
  later.time += 1
  var smaller = record(1)
  smaller.amount -= 1
  var lower = record(1)
  lower.level -= 1
  var emptied = record(1)
  emptied.kind = 2
  let others = [later, smaller, lower, emptied]
  try ContractViolation.unless(
    try await store.commit(change(others)).map(\.record), is: others,
    "the same id with another time, amount, level or kind is another record")
  try ContractViolation.unless(
    try await store.commit(change(others)), is: [], "and is stored once")
}

private func storesEveryNumber(_ store: any DrinkStore) async throws {
  let records = [
    BottleRecord(id: .max, time: .max, amount: .min, level: .max, kind: .max, flags: .isDeleted),
    BottleRecord(id: 0, time: 0, amount: .max, level: 0),
  ]
  _ = try await store.commit(change(records))
  try ContractViolation.unless(
    try await store.drinks(before: nil, limit: 9).map(\.record), is: records,
    "records come back as they were given")
}

private func marksDeleted(_ store: any DrinkStore) async throws {
  _ = try await store.commit(change([record(1), record(2)]))
  var deletion = DrinkChange(at: time)
  deletion.deleted = 2
  _ = try await store.commit(deletion)
  try ContractViolation.unless(
    try await store.drinks(before: nil, limit: 9).map(\.isDeleted), is: [false, true],
    "a deleted record is marked")
  try ContractViolation.unless(
    try await store.commit(change([record(2)])), is: [], "a deleted record does not come again")
  var later = record(1)
  later.time += 1
  _ = try await store.commit(change([later]))
  deletion.deleted = 1
  _ = try await store.commit(deletion)
  deletion.deleted = 7
  _ = try await store.commit(deletion)
  try ContractViolation.unless(
    try await store.drinks(before: nil, limit: 9).map(\.isDeleted), is: [false, true, true],
    "a deletion means the newest record of its id")
}

private func showsOnce(_ store: any DrinkStore) async throws {
  _ = try await store.commit(change([record(1), record(2), record(3)]))
  try await store.confirm(2)
  try await store.confirm(1)
  try ContractViolation.unless(
    try await store.open().unshown.map(\.number), is: [3], "what was confirmed is not shown again")
  _ = try await store.commit(change((4...1_801).map { record($0) }))
  try ContractViolation.unless(
    try await store.open().unshown.map(\.number), is: (3...1_801).map(\.self),
    "all that was not confirmed is shown")
}

private func lists(_ store: any DrinkStore) async throws {
  _ = try await store.commit(change((1...5).map { record($0) }))
  let pages = [
    try await store.drinks(before: nil, limit: 2), try await store.drinks(before: 4, limit: 2),
    try await store.drinks(before: 2, limit: 9), try await store.drinks(before: 1, limit: 9),
    try await store.drinks(before: nil, limit: 0),
  ]
  try ContractViolation.unless(
    pages.map { $0.map(\.number) }, is: [[4, 5], [2, 3], [1], [], []],
    "drinks are listed backwards in pages, oldest first")
}

private func storesBottle(_ store: any DrinkStore) async throws {
  var change = DrinkChange(at: time)
  change.bottle = KnownBottle(PeripheralID(UUID128(high: 1, low: .max)), name: "Bottle")
  _ = try await store.commit(change)
  try ContractViolation.unless(
    try await store.open().bottle, is: change.bottle, "the bottle is kept")
  _ = try await store.commit(DrinkChange(at: time))
  try ContractViolation.unless(
    try await store.open().bottle, is: change.bottle, "a change without a bottle keeps it")
  var drunk = DrinkChange(at: time)
  drunk.records = [record(1)]
  _ = try await store.commit(drunk)
  try await store.forgetBottle()
  try ContractViolation.unless(try await store.open().bottle, is: nil, "a bottle can be forgotten")
  try ContractViolation.unless(
    try await store.open().unshown.map(\.record), is: [record(1)], "its drinks stay")
  change.bottle = KnownBottle(PeripheralID(UUID128(high: 2, low: 2)))
  _ = try await store.commit(change)
  try ContractViolation.unless(
    try await store.open().bottle, is: change.bottle, "another one can take its place")
}

private func notes(_ store: any DrinkStore) async throws {
  try ContractViolation.unless(try await store.noted(), is: nil, "nothing is noted at first")
  try await store.note("text")
  try ContractViolation.unless(try await store.noted(), is: "text", "what is noted is kept")
  try await store.note(nil)
  try ContractViolation.unless(try await store.noted(), is: nil, "and can be taken back")
}

private func failsWhenClosed(_ store: any DrinkStore) async throws {
  try await closes(store) { _ = try await store.open() }
}

private let time = Timestamp(nanoseconds: 1_768_766_400_000_000_000)

private func record(_ id: UInt32) -> BottleRecord {
  BottleRecord(id: id, time: 1_768_766_000 + id, amount: 150, level: 455, kind: 1)
}

private func change(_ records: [BottleRecord], _ via: BottleDrink.Via = .sync) -> DrinkChange {
  var change = DrinkChange(at: time)
  (change.records, change.via) = (records, via)
  return change
}
