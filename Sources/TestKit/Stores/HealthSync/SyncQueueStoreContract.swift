import HoldfastCore
public import HoldfastFeaturePorts
import HoldfastHealthSamples
import HoldfastSyncData
import HoldfastUploads

/// Checks the promises of `SyncQueueStore`, for any implementation and any test library.
///
/// - Parameter make: Creates a new, empty store for each call.
/// - Throws: `ContractViolation` for the first broken promise, or an error of `make`.
public func syncQueueStoreContract(
  make: () async throws -> any SyncQueueStore
) async throws {
  let checks: [@Sendable (any SyncQueueStore) async throws -> Void] = [
    queueStartsEmpty, queueStoresEveryField, queueOrdersByPlace, queueAccepts, queueQuarantines,
    queueForgetsAType, queueChangesOwners, queueStoresEarliest, queueStampsAscend,
    queueIgnoresWhatIsNotThere, queueFailsWhenClosed,
  ]
  for check in checks {
    let store = try await make()
    try await check(store)
    await store.close()
  }
}

private func batch(_ file: String, _ type: String = "steps", _ position: UInt64 = 1) -> QueuedBatch
{
  QueuedBatch(file: file, type: type, position: position, records: 3, deletions: 2, bytes: 100)
}

private func time(_ nanoseconds: Int64) -> Timestamp { Timestamp(nanoseconds: nanoseconds) }

private func expect(
  _ store: any SyncQueueStore, _ steps: [SyncQueueStep], _ promise: String
) async throws {
  var wanted = StoredSyncQueue()
  for step in steps { wanted.apply(step) }
  try ContractViolation.unless(try await store.stored(), is: wanted, promise)
}

private func queueStartsEmpty(_ store: any SyncQueueStore) async throws {
  try await store.apply([])
  try ContractViolation.unless(
    try await store.stored(), is: StoredSyncQueue(), "a new queue holds nothing")
}

private func queueStoresEveryField(_ store: any SyncQueueStore) async throws {
  var quarantined = batch("b", "heart", .max >> 1)
  quarantined.quarantined = "400: ä \u{0}"
  let steps: [SyncQueueStep] = [
    .ask(["steps", "heart"]), .anchor(type: "steps", HealthAnchor([0, 1, 255])),
    .anchor(type: "heart", HealthAnchor([])), .add(batch("a")), .add(quarantined), .stamp(time(-5)),
  ]
  try await store.apply(steps)
  try await expect(store, steps, "everything comes back as it was given")
  try await store.apply([.ask(["heart"]), .add(batch("b", "steps", 7))])
  try await expect(
    store, steps + [.ask(["heart"]), .add(batch("b", "steps", 7))], "newer ones replace others")
}

private func queueOrdersByPlace(_ store: any SyncQueueStore) async throws {
  try await store.apply([
    .add(batch("a", "b", 9)), .add(batch("c", "a", 5)), .add(batch("b", "b", 1)),
  ])
  try ContractViolation.unless(
    try await store.stored().batches.map(\.file), is: ["c", "b", "a"],
    "batches come by type and place")
}

private func queueAccepts(_ store: any SyncQueueStore) async throws {
  try await store.apply([
    .add(batch("a")), .add(batch("b")), .add(batch("c", "heart")),
    .anchor(type: "steps", HealthAnchor([1])),
  ])
  try await store.apply([.accept(file: "a", at: time(10)), .accept(file: "c", at: time(11))])
  try await store.apply([.accept(file: "b", at: time(12)), .accept(file: "a", at: time(13))])
  let stored = try await store.stored()
  try ContractViolation.unless(stored.batches, is: [], "accepted batches leave the queue")
  try ContractViolation.unless(
    stored.types,
    is: [
      SyncedType(type: "heart", synced: 3, lastAccepted: time(11)),
      SyncedType(type: "steps", anchor: HealthAnchor([1]), synced: 6, lastAccepted: time(12)),
    ], "their records are counted once")
}

private func queueQuarantines(_ store: any SyncQueueStore) async throws {
  let steps: [SyncQueueStep] = [
    .add(batch("a")), .add(batch("b")), .quarantine(file: "a", reason: "400"),
    .quarantine(file: "b", reason: "403"), .quarantine(file: "b", reason: nil),
  ]
  try await store.apply(steps)
  try await expect(store, steps, "a quarantined batch stays, with its reason, until it is released")
  try ContractViolation.unless(
    try await store.stored().batches.map(\.quarantined), is: ["400", nil], "each by itself")
}

private func queueForgetsAType(_ store: any SyncQueueStore) async throws {
  try await store.apply([
    .anchor(type: "steps", HealthAnchor([1])), .add(batch("a")), .add(batch("b")),
    .accept(file: "a", at: time(1)), .anchor(type: "steps", nil),
  ])
  let stored = try await store.stored()
  try ContractViolation.unless(stored.types, is: [], "a type without an anchor is read anew")
  try ContractViolation.unless(
    stored.batches.map(\.file), is: ["b"], "batches that wait stay")
}

private func queueChangesOwners(_ store: any SyncQueueStore) async throws {
  let owner = SyncOwner(server: "https://a.example", user: "änn", epoch: "e1")
  let steps: [SyncQueueStep] = [
    .anchor(type: "steps", HealthAnchor([1])), .earliest(type: "steps", time(5)),
    .anchor(type: "heart", HealthAnchor([2])), .add(batch("a")), .add(batch("b")),
    .accept(file: "a", at: time(1)), .own(owner, again: false),
  ]
  try await store.apply(steps)
  try await expect(store, steps, "an owner is kept with all that is there")
  let other = SyncOwner(server: "https://b.example")
  try await store.apply([.own(other, again: true)])
  let stored = try await store.stored()
  try ContractViolation.unless(stored.owner, is: other, "the next owner replaces it")
  try ContractViolation.unless(
    stored.types, is: [SyncedType(type: "heart"), SyncedType(type: "steps", earliest: time(5))],
    "what was read and counted is forgotten, but for the earliest sample")
  try ContractViolation.unless(stored.batches.map(\.file), is: ["b"], "batches that wait stay")
}

private func queueStoresEarliest(_ store: any SyncQueueStore) async throws {
  for start in [5, 7, -3, 2] as [Int64] {
    try await store.apply([.earliest(type: "steps", time(start))])
  }
  try ContractViolation.unless(
    try await store.stored().types, is: [SyncedType(type: "steps", earliest: time(-3))],
    "a later start changes nothing")
  try await store.apply([.anchor(type: "steps", nil)])
  try ContractViolation.unless(try await store.stored().types, is: [], "a reset forgets it")
}

private func queueStampsAscend(_ store: any SyncQueueStore) async throws {
  for stamp in [5, -7, 6, 2] as [Int64] { try await store.apply([.stamp(time(stamp))]) }
  try ContractViolation.unless(
    try await store.stored().stamp, is: time(6), "an earlier stamp changes nothing")
}

private func queueIgnoresWhatIsNotThere(_ store: any SyncQueueStore) async throws {
  try await store.apply([
    .accept(file: "x", at: time(1)), .remove(file: "x"), .quarantine(file: "x", reason: "400"),
    .anchor(type: "x", nil),
  ])
  try ContractViolation.unless(
    try await store.stored(), is: StoredSyncQueue(), "changing what is not there changes nothing")
  try await store.apply([.add(batch("a")), .remove(file: "a")])
  try ContractViolation.unless(try await store.stored().batches, is: [], "what was removed is gone")
}

private func queueFailsWhenClosed(_ store: any SyncQueueStore) async throws {
  try await closes(store) { _ = try await store.stored() }
}
