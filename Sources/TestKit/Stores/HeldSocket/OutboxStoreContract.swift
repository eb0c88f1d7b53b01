import HoldfastCore
public import HoldfastPorts

/// Checks the promises of `OutboxStore`, for any implementation and any test library.
///
/// - Parameter make: Creates a new, empty store for each call.
/// - Throws: `ContractViolation` for the first broken promise, or an error of `make`.
public func outboxStoreContract(make: () async throws -> any OutboxStore) async throws {
  let checks: [@Sendable (any OutboxStore) async throws -> Void] = [
    startsEmpty, storesEveryMessage, ordersByID, replacesAnID, removesSome, keepsTheLastID,
    failsWhenClosed,
  ]
  for check in checks {
    let store = try await make()
    try await check(store)
    await store.close()
  }
}

private func startsEmpty(_ store: any OutboxStore) async throws {
  try await store.remove([1, 2])
  try await store.remove([])
  try ContractViolation.unless(try await store.load(), is: [], "a new store holds nothing")
}

private func storesEveryMessage(_ store: any OutboxStore) async throws {
  let messages = [
    SocketMessage.text(""), .text("a\u{0} b"), SocketMessage(binary: []),
    SocketMessage(binary: Array(0...255)),
  ]
  let entries = messages.enumerated().map {
    OutboxMessage(id: UInt64($0.offset), message: $0.element)
  }
  for entry in entries { try await store.add(entry) }
  try ContractViolation.unless(
    try await store.load(), is: entries, "texts and bytes come back as they were given")
}

private func ordersByID(_ store: any OutboxStore) async throws {
  let ids: [UInt64] = [.max, 1 << 63, 7, 0, 1 << 63 - 1]
  for id in ids { try await store.add(entry(id)) }
  try ContractViolation.unless(
    try await store.load().map(\.id), is: ids.sorted(), "messages come in the order of their ids")
}

private func replacesAnID(_ store: any OutboxStore) async throws {
  try await store.add(entry(1))
  let newer = OutboxMessage(id: 1, message: .text("newer"))
  try await store.add(newer)
  try ContractViolation.unless(
    try await store.load(), is: [newer], "a message of a known id replaces the other")
}

private func removesSome(_ store: any OutboxStore) async throws {
  for id in UInt64(1)...4 { try await store.add(entry(id)) }
  try await store.remove([4, 2, 9])
  try ContractViolation.unless(
    try await store.load(), is: [entry(1), entry(3)], "what was removed is gone, and nothing else")
}

private func keepsTheLastID(_ store: any OutboxStore) async throws {
  try ContractViolation.unless(try await store.lastID(), is: 0, "a new store has no last id")
  for id: UInt64 in [3, 7, 5] { try await store.add(entry(id)) }
  try await store.remove([3, 5, 7])
  try ContractViolation.unless(
    try await store.lastID(), is: 7, "the last id stays known after its message was removed")
  try await store.add(entry(1 << 63))
  try ContractViolation.unless(
    try await store.lastID(), is: 1 << 63, "the last id is the highest one")
}

private func failsWhenClosed(_ store: any OutboxStore) async throws {
  try await closes(store) { _ = try await store.load() }
}

private func entry(_ id: UInt64) -> OutboxMessage {
  OutboxMessage(id: id, message: .text("message \(id)"))
}
