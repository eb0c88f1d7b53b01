import HoldfastTestKit
import LinkCore
import LinkRuntime
import LinkWire
import Testing

@testable import StoreSQLite

/// The drinks of a phone, as the first version of their store wrote them.
@Suite struct DrinkMigrationTests {
  /// The tables of the first version, which phones have; they stay as they are here.
  private static let first = """
    CREATE TABLE phone(
      only_one INTEGER PRIMARY KEY CHECK (only_one = 1), bottle BLOB, name TEXT,
      shown INTEGER NOT NULL, status TEXT) STRICT;
    INSERT INTO phone VALUES (1, x'00000000000000070000000000000009', 'Bottle', 1, NULL);
    CREATE TABLE drinks(
      number INTEGER PRIMARY KEY, id INTEGER NOT NULL, time INTEGER NOT NULL,
      amount INTEGER NOT NULL, level INTEGER NOT NULL, kind INTEGER NOT NULL,
      flags INTEGER NOT NULL, via TEXT NOT NULL, stored_at INTEGER NOT NULL,
      is_deleted INTEGER NOT NULL, UNIQUE (id, time)) STRICT;
    INSERT INTO drinks VALUES (1, 1, 60, 250, 350, 1, 0, 'sync', 1768766400000000000, 1),
      (2, 2, 75, -100, 450, 1, 1, 'live', 1768766401000000000, 0);
    """

  private static let old = [
    Drink(
      number: 1, record: BottleRecord(id: 1, time: 60, amount: 250, level: 350, kind: 1),
      via: .sync, storedAt: Timestamp(nanoseconds: 1_768_766_400_000_000_000), isDeleted: true),
    Drink(
      number: 2,
      record: BottleRecord(id: 2, time: 75, amount: -100, level: 450, kind: 1, flags: .isSynced),
      via: .live, storedAt: Timestamp(nanoseconds: 1_768_766_401_000_000_000)),
  ]

  @Test func `drinks of the first version are kept, and a repeated id comes with another amount`()
    async throws
  {
    let scratch = try Scratch()
    let file = StoreFile(directory: scratch.path, name: DrinkTables.kind.name)
    _ = try file.claim(for: .write)
    _ = try Database(
      path: file.path, access: .write, busyTimeout: .zero,
      schema: Schema(
        applicationID: DrinkTables.kind.schema.applicationID, steps: [Self.first]))
    let store = try await SQLiteDrinkStore.open(in: scratch.path)
    var expected = DrinkSnapshot()
    expected.bottle = KnownBottle(PeripheralID(UUID128(high: 7, low: 9)), name: "Bottle")
    expected.unshown = [Self.old[1]]
    #expect(try await store.open() == expected)
    #expect(try await store.drinks(before: nil, limit: 9) == Self.old)
    var change = DrinkChange(at: Timestamp(nanoseconds: 1_768_766_500_000_000_000))
    let other = BottleRecord(id: 1, time: 60, amount: 40, level: 310)
    change.records = [Self.old[0].record, other]
    let new = [Drink(number: 3, record: other, via: .sync, storedAt: change.at)]
    #expect(try await store.commit(change) == new)
    await store.close()
  }
}
