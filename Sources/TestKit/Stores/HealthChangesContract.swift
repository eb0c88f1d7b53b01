import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealthSamples
import HoldfastPorts

// These functions check the promises of `HealthStore` about changes.

private let steps = "HKQuantityTypeIdentifierStepCount"

private func sample(_ start: Int64, _ type: String = steps) -> HealthSample {
  HealthSample(
    type: type, value: .quantity(1), unit: "count", start: Timestamp(nanoseconds: start),
    end: Timestamp(nanoseconds: start), source: "Phone")
}

/// A reader that requests pages of changes until the anchor no longer changes.
private struct ChangeReader {
  var anchor: HealthAnchor?
  var limit = 3
  var from = Int64.min

  mutating func read(_ store: any HealthStore) async throws -> (added: [Int64], deleted: Int) {
    var (added, deleted): ([Int64], Int) = ([], 0)
    while true {
      let page = try await next(store)
      added += page.added.map { $0.sample.start.nanoseconds }
      deleted += page.deleted.count
      for one in page.added where one.sample.key != one.key {
        throw ContractViolation("a sample comes with its key: found \(one)")
      }
      if page.anchor == anchor { return (added, deleted) }
      anchor = page.anchor
    }
  }

  func next(_ store: any HealthStore) async throws -> HealthChangePage {
    let page = try await store.changes(
      HealthChangeQuery(
        type: steps, after: anchor, from: Timestamp(nanoseconds: from), limit: limit))
    guard page.added.count + page.deleted.count <= max(1, limit) else {
      throw ContractViolation("a page has no more than its limit: found \(page)")
    }
    return page
  }
}

private func expect(
  _ found: (added: [Int64], deleted: Int), _ added: [Int64], _ deleted: Int, _ promise: String
) throws {
  try ContractViolation.unless(found.added, is: added, promise)
  try ContractViolation.unless(found.deleted, is: deleted, promise)
}

/// Removes the samples that start in an interval, except those that start at the given times.
private func remove(
  _ store: any HealthStore, from: Int64, to: Int64, keeping starts: [Int64] = []
) async throws {
  let places = starts.map { start in
    HealthSamplePosition(
      type: steps, start: Timestamp(nanoseconds: start), key: sample(start).key)
  }
  try await store.clearMarks()
  try await store.mark(HealthMarks(positions: places))
  let interval = CoverageInterval(
    type: steps, from: Timestamp(nanoseconds: from), to: Timestamp(nanoseconds: to))
  _ = try await store.reconcile(ImportReconciliation(intervals: [interval]))
}

func pagesChanges(_ store: any HealthStore) async throws {
  for limit in [0, 1, 2, 3, 7, 8, 100] {
    var reader = ChangeReader(limit: limit)
    let base = Int64(limit) * 1_000
    reader.from = base + 2
    try await store.add((1...9).map { sample(base + $0) } + [sample(base + 5, "other")])
    try expect(
      try await reader.read(store), (2...9).map { base + $0 }, 0,
      "a first reading has what begins at its start or later, each once")
    try expect(try await reader.read(store), [], 0, "nothing new is nothing")
    try await store.add([sample(base + 1), sample(base), sample(base + 10), sample(base + 9)])
    try expect(
      try await reader.read(store), [base, base + 10], 0, "later, what is new counts at any time")
  }
  let newest = try await store.newestChange()
  try await store.add([sample(7_005)])
  try ContractViolation.unless(
    try await store.newestChange(), is: newest, "what is known is no change")
}

func reportsDeletions(_ store: any HealthStore) async throws {
  var (reader, late) = (ChangeReader(), ChangeReader())
  try await store.add((1...9).map { sample($0) })
  _ = try await reader.read(store)
  late.anchor = try await late.next(store).anchor
  try await remove(store, from: 2, to: 8, keeping: [3, 5])
  try await store.add([sample(20)])
  try expect(try await reader.read(store), [20], 5, "what was removed is deleted, and no more")
  try expect(
    try await late.read(store), [5, 9, 20], 5,
    "what is removed in the course of a reading is deleted by the next one")
  var fresh = ChangeReader()
  try expect(
    try await fresh.read(store), [1, 3, 5, 9, 20], 5,
    "a first reading has what is there, and all that was removed")
}

func forgetsUndoneDeletions(_ store: any HealthStore) async throws {
  var reader = ChangeReader()
  try await store.add((1...4).map { sample($0) })
  _ = try await reader.read(store)
  try await remove(store, from: 1, to: 4)
  try await store.add([sample(2)])
  try expect(
    try await reader.read(store), [2], 3, "a sample that came back is there, not deleted")
  try await remove(store, from: 2, to: 2)
  try expect(try await reader.read(store), [], 1, "and can be deleted again")
}

func startsAnewWithAForeignAnchor(_ store: any HealthStore) async throws {
  try await store.add([sample(1), sample(2)])
  let foreign: [[UInt8]] = [
    [], [1], Array(repeating: 7, count: 18), Array(repeating: 1, count: 200),
  ]
  for bytes in foreign {
    var reader = ChangeReader(anchor: HealthAnchor(bytes), from: 2)
    try expect(try await reader.read(store), [2], 0, "an anchor of another store counts as none")
  }
}

/// A promise that an implementation of a port broke, and the behavior found instead.
public struct ContractViolation: Error, Sendable, Hashable, CustomStringConvertible {
  /// The promise, the value found and the expected value.
  public var description: String

  /// Creates a violation with a description.
  public init(_ description: String) {
    self.description = description
  }

  /// Throws an error unless both values are equal.
  static func unless<Value: Equatable>(
    _ found: Value, is wanted: Value, _ promise: String
  ) throws(ContractViolation) {
    guard found != wanted else { return }
    throw ContractViolation("\(promise): found \(found), wanted \(wanted)")
  }
}

/// Checks that an open store is intact, can be closed twice, and then fails.
func closes(_ store: any SuspendableStore, read: () async throws -> Void) async throws {
  try await store.check()
  await store.close()
  await store.close()
  try await fails { try await read() }
  try await fails { try await store.check() }
}

private func fails(_ call: () async throws -> Void) async throws {
  do { try await call() } catch { return }
  throw ContractViolation("a closed store fails: it answered")
}
