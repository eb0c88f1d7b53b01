import HoldfastTestKit
import LinkCore
import LinkHealth
import LinkRuntime
import LinkWire
import Testing

@testable import StoreSQLite

/// The queue of a phone that syncs, as its first version wrote it.
@Suite struct SyncQueueMigrationTests {
  /// The tables of the first version, which phones have; they stay as they are here.
  private static let first = """
    CREATE TABLE queue(
      only_one INTEGER PRIMARY KEY CHECK (only_one = 1), stamp INTEGER) STRICT;
    INSERT INTO queue VALUES (1, 1768766400000000000);
    CREATE TABLE asked(place INTEGER PRIMARY KEY, type TEXT NOT NULL) STRICT;
    INSERT INTO asked VALUES (0, 'steps'), (1, 'heart');
    CREATE TABLE types(
      type TEXT PRIMARY KEY NOT NULL, anchor BLOB, synced INTEGER NOT NULL,
      accepted INTEGER) STRICT, WITHOUT ROWID;
    INSERT INTO types VALUES ('heart', NULL, 3, 1768766401000000000), ('steps', x'0102', 0, NULL);
    CREATE TABLE batches(
      file TEXT PRIMARY KEY NOT NULL, type TEXT NOT NULL, place INTEGER NOT NULL,
      records INTEGER NOT NULL, deletions INTEGER NOT NULL, bytes INTEGER NOT NULL,
      parked TEXT) STRICT, WITHOUT ROWID;
    INSERT INTO batches VALUES ('health-sync/b', 'steps', 2097152, 1, 0, 9, '400: no'),
      ('health-sync/a', 'steps', 1048576, 1000, 7, 350000, NULL);
    """

  private static let expected = KeptSyncQueue(
    asked: ["steps", "heart"],
    types: [
      SyncedType(
        type: "heart", synced: 3, lastAccepted: Timestamp(nanoseconds: 1_768_766_401_000_000_000)),
      SyncedType(type: "steps", anchor: HealthAnchor([1, 2])),
    ],
    batches: [
      QueuedBatch(
        file: "health-sync/a", type: "steps", place: 1 << 20, records: 1_000, deletions: 7,
        bytes: 350_000),
      QueuedBatch(
        file: "health-sync/b", type: "steps", place: 2 << 20, records: 1, deletions: 0, bytes: 9,
        parked: "400: no"),
    ], stamp: Timestamp(nanoseconds: 1_768_766_400_000_000_000))

  private static func write(_ scratch: Scratch, _ more: [String] = []) throws {
    let file = StoreFile(directory: scratch.path, name: SyncQueueTables.kind.name)
    _ = try file.claim(for: .write)
    _ = try Database(
      path: file.path, access: .write, busyTimeout: .zero,
      schema: Schema(
        applicationID: SyncQueueTables.kind.schema.applicationID, steps: [first] + more))
  }

  @Test func `a queue of the first version keeps everything, and goes on`() async throws {
    let scratch = try Scratch()
    try Self.write(scratch)
    let store = try await SQLiteSyncQueueStore.open(in: scratch.path)
    #expect(try await store.kept() == Self.expected)
    var next = Self.expected
    let step = SyncQueueStep.accept(
      file: "health-sync/a", at: Timestamp(nanoseconds: 1_768_766_500_000_000_000))
    next.apply(step)
    try await store.apply([step])
    #expect(try await store.kept() == next)
    await store.close()
  }

  @Test func `a queue of a newer version is refused, and stays as it is`() async throws {
    let scratch = try Scratch()
    let newer = SyncQueueTables.kind.schema.steps.count
    try Self.write(scratch, Array(repeating: "CREATE TABLE later(a)", count: newer))
    let error = await #expect(throws: StoreFailure.self) {
      try await SQLiteSyncQueueStore.open(in: scratch.path)
    }
    guard case .fromTheFuture = error else { throw try #require(error) }
  }
}
