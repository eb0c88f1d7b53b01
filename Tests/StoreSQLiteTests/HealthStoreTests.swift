import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealthSamples
import HoldfastTestKit
import Testing

@testable import HoldfastSQLiteStores

/// Tests of features that only the SQLite store has: complete spans, files and damage.
@Suite struct HealthStoreTests {
  /// Returns the batches of a generated export.
  private static func batches(days: Int = 12) throws -> [HealthBatch] {
    var generator = HealthExportGenerator(.init(seed: 1, firstDay: 20_000, days: days))
    var reader = HealthExportReader()
    var batches: [HealthBatch] = []
    while let chunk = generator.next() {
      let slice = chunk[...]
      reader.append(slice.span)
      while let batch = try reader.next() { batches.append(batch) }
    }
    reader.finish()
    while let batch = try reader.next() { batches.append(batch) }
    return batches
  }

  private func database(_ scratch: Scratch) throws -> Database {
    let file = StoreFile(directory: scratch.path, name: "health")
    _ = try file.claim(for: .write)
    return try Database(
      path: file.path, access: .write, busyTimeout: .zero, schema: HealthTables.schema)
  }

  private func count(_ database: Database, _ table: String) throws -> Int64? {
    try database.query("SELECT count(*) FROM \(table)") { row throws(StoreFailure) in
      try row.integer(0)
    }.first
  }

  @Test func `known spans are skipped without a look at their rows`() throws {
    let scratch = try Scratch()
    let database = try database(scratch)
    let tables = HealthTables(database)
    let batches = try Self.batches()
    for batch in batches { _ = try tables.add(batch) }
    let spans = batches.flatMap(\.spans).count
    #expect(spans > 5)
    #expect(try count(database, "spans") == Int64(spans))
    // If the rows were examined, they would be found missing and would be added again.
    try database.execute("DROP TRIGGER forgotten; DELETE FROM samples")
    for batch in batches {
      #expect(try tables.add(batch) == HealthAddition(known: batch.rows.count))
    }
    #expect(try count(database, "samples") == 0)
  }

  @Test func `deleting a sample removes the spans, so that an import restores the sample`() throws {
    let scratch = try Scratch()
    let database = try database(scratch)
    let tables = HealthTables(database)
    let batches = try Self.batches(days: 2)
    var first = HealthAddition()
    for batch in batches { first += try tables.add(batch) }
    try database.execute("DELETE FROM samples WHERE quantity = 61")
    #expect(try count(database, "spans") == 0)
    let left = try #require(try count(database, "samples"))
    var again = HealthAddition()
    for batch in batches { again += try tables.add(batch) }
    #expect(Int64(again.added) == Int64(first.added) - left)
  }

  @Test func `a type without a digest has no total until the end of an import`() throws {
    let scratch = try Scratch()
    let database = try database(scratch)
    let tables = HealthTables(database)
    let batches = try Self.batches(days: 2)
    for batch in batches { _ = try tables.add(batch) }
    let whole = try tables.totals()
    #expect(whole.count > 5)
    try database.execute("UPDATE types SET digest = NULL")
    _ = try tables.add(batches[0].without(Array(1..<batches[0].rows.count)))
    #expect(try tables.totals() == [:])
    #expect(try tables.reconcile(ImportReconciliation()) == [:])
    #expect(try tables.totals() == whole)
  }

  @Test func `a removal keeps stored spans that the import still contains`() throws {
    let scratch = try Scratch()
    let database = try database(scratch)
    let tables = HealthTables(database)
    let batches = try Self.batches()
    let spans = batches.flatMap(\.spans)
    for batch in batches { _ = try tables.add(batch) }
    // The second span was read but is not stored.
    try database.run("DELETE FROM spans WHERE digest = ?", [.key(spans[1].digest)])
    try tables.mark(HealthMarks(spans: Array(spans[..<3])))
    let all = try tables.summary()[0]
    let interval = CoverageInterval(type: all.type, from: all.first, to: all.last)
    #expect(
      try tables.reconcile(ImportReconciliation(intervals: [interval])) == [
        all.type: all.count ?? 0
      ])
    let stored = try database.query("SELECT digest FROM spans") { row throws(StoreFailure) in
      try row.key(0)
    }
    #expect(Set(stored) == [spans[0].digest, spans[2].digest])
  }

  @Test func `a stored sample takes less than 80 bytes`() async throws {
    let scratch = try Scratch()
    let store = try await SQLiteHealthStore.open(in: scratch.path)
    var samples = 0
    for batch in try Self.batches() { samples += try await store.add(batch).added }
    await store.close()
    let size = try scratch.bytes(of: "health.sqlite").count
    // The size is 58 bytes on the machine on which this test was written.
    #expect(size / samples < 80, "\(size) for \(samples)")
  }

  @Test func `only the owner can read the files`() async throws {
    let scratch = try Scratch()
    let store = try await SQLiteHealthStore.open(in: scratch("new"))
    try await store.add([])
    for name in ["health.sqlite", "health.sqlite-wal", "health.lock"] {
      #expect(try scratch.mode(of: "new/\(name)") == 0o600, "\(name)")
    }
    await store.close()
  }

  @Test func `a second writer is locked out, a reader is not`() async throws {
    let scratch = try Scratch()
    let writer = try await SQLiteHealthStore.open(in: scratch.path)
    #expect(try await failure { try await SQLiteHealthStore.open(in: scratch.path) } == .locked)
    let reader = try await SQLiteHealthStore.open(in: scratch.path, access: .read)
    let sample = HealthSample(
      type: "t", value: .category("v"), start: Timestamp(nanoseconds: 1),
      end: Timestamp(nanoseconds: 1), source: "s")
    try await writer.add([sample])
    #expect(try await reader.summary().map(\.count) == [1])
    #expect(try await failure { try await reader.add([sample]) } == .denied)
    await writer.close()
    await reader.close()
  }

  @Test func `another store and a damaged file are corrupt, and a newer format is named as newer`()
    async throws
  {
    let scratch = try Scratch()
    await (try SQLiteTimelineStore.open(in: scratch.path)).close()
    try scratch.write(try scratch.bytes(of: "timeline.sqlite"), to: "health.sqlite")
    #expect(try await failure { try await SQLiteHealthStore.open(in: scratch.path) } == .corrupt)
    let other = try Scratch()
    try database(other).execute("PRAGMA user_version = 9")
    #expect(
      try await failure { try await SQLiteHealthStore.open(in: other.path) }
        == .fromTheFuture(9, 3))
    try other.write(Array(repeating: 7, count: 8_192), to: "health.sqlite")
    #expect(try await failure { try await SQLiteHealthStore.open(in: other.path) } == .corrupt)
  }

  @Test func `missing names are reported as corrupt`() throws {
    let scratch = try Scratch()
    let database = try database(scratch)
    try database.execute(
      """
      PRAGMA foreign_keys = OFF;
      INSERT INTO names VALUES (1, 't');
      INSERT INTO types VALUES (1, 1, 0, 0, 0, NULL, 0);
      INSERT INTO samples VALUES (1, 0, zeroblob(16), 0, 5, NULL, NULL, NULL, 1.0, NULL, 0);
      """)
    let query = HealthSampleQuery(
      types: ["t"], from: Timestamp(nanoseconds: 0), to: Timestamp(nanoseconds: 1))
    let error = #expect(throws: StoreFailure.self) { try HealthTables(database).page(query) }
    #expect(error.map { FailureKind($0) } == .corrupt)
  }

  @Test func `a transaction that failed leaves no wrong names behind`() throws {
    let scratch = try Scratch()
    let database = try database(scratch)
    let tables = HealthTables(database)
    let batches = try Self.batches(days: 2)
    #expect(throws: StoreFailure.self) {
      try database.transaction(write: true) { () throws(StoreFailure) in
        _ = try tables.add(batches[0])
        throw .other(detail: "told to fail")
      }
    }
    tables.forget()
    #expect(try count(database, "names") == 0)
    for batch in batches { _ = try tables.add(batch) }
    let texts = try database.query("SELECT text FROM names") { row throws(StoreFailure) in
      try row.text(0)
    }
    #expect(Set(texts).count == texts.count)
    #expect(try tables.summary().compactMap(\.count).reduce(0, +) > 1_000)
  }
}
