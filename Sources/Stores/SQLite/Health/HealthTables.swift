import HoldfastCore
import HoldfastHealth
import HoldfastHealthSamples

/// The SQL statements of a health store.
///
/// Samples are stored in the order of queries and of exports, which is by type and start. The key
/// comes last, so that a known sample is found at the position where it would be inserted.
/// `types.digest` is the digest of `HealthCount`, or NULL until it has been computed from the
/// samples. `added` and `deleted` are numbers of changes. `lineage` contains a random number for
/// each change. It distinguishes the later histories of a file that was restored to an earlier
/// state. `sources` contains the sources of each type's samples, which are listed without reading
/// the samples. Version 1 had no such table. `unfinished` contains the start of an import that did
/// not reach the end of its export. Version 2 had no such table.
package final class HealthTables: Tables {
  static let schema = Schema(
    applicationID: 0x4846_6865,  // "HFhe"
    tables: """
      CREATE TABLE names(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;
      CREATE TABLE types(
        type INTEGER PRIMARY KEY REFERENCES names(id), count INTEGER NOT NULL,
        first INTEGER NOT NULL, last INTEGER NOT NULL, longest INTEGER NOT NULL,
        digest INTEGER, added INTEGER NOT NULL) STRICT;
      CREATE TABLE samples(
        type INTEGER NOT NULL, start INTEGER NOT NULL, key BLOB NOT NULL,
        duration INTEGER NOT NULL, source INTEGER NOT NULL, unit INTEGER, device INTEGER,
        zone INTEGER, quantity REAL, category INTEGER, added INTEGER NOT NULL,
        PRIMARY KEY (type, start, key)) STRICT, WITHOUT ROWID;
      CREATE TABLE workouts(
        key BLOB PRIMARY KEY NOT NULL, activity INTEGER NOT NULL, duration INTEGER, distance REAL,
        energy REAL, steps REAL) STRICT, WITHOUT ROWID;
      CREATE TABLE spans(digest BLOB PRIMARY KEY NOT NULL) STRICT, WITHOUT ROWID;
      CREATE TRIGGER forgotten AFTER DELETE ON samples BEGIN DELETE FROM spans; END;
      CREATE TABLE exports(exported INTEGER PRIMARY KEY) STRICT;
      CREATE TABLE imports(id INTEGER PRIMARY KEY CHECK (id = 0), at INTEGER NOT NULL) STRICT;
      CREATE TABLE covered(
        type INTEGER NOT NULL REFERENCES names(id), exported INTEGER NOT NULL,
        first INTEGER NOT NULL, last INTEGER NOT NULL,
        PRIMARY KEY (type, exported)) STRICT, WITHOUT ROWID;
      CREATE TABLE changes(
        id INTEGER PRIMARY KEY CHECK (id = 0), store INTEGER NOT NULL, newest INTEGER NOT NULL
      ) STRICT;
      INSERT INTO changes VALUES (0, random(), 0);
      CREATE TABLE lineage(change INTEGER PRIMARY KEY, mark INTEGER NOT NULL) STRICT;
      CREATE TABLE deletions(
        type INTEGER NOT NULL REFERENCES names(id), key BLOB NOT NULL, deleted INTEGER NOT NULL,
        PRIMARY KEY (type, key)) STRICT, WITHOUT ROWID;
      \(sources)
      \(unfinished)
      """,
    upgrades: [
      sources + "INSERT INTO sources(type, source) SELECT DISTINCT type, source FROM samples;",
      unfinished,
    ])

  private static let sources = """
    CREATE TABLE sources(
      type INTEGER NOT NULL REFERENCES names(id), source INTEGER NOT NULL REFERENCES names(id),
      PRIMARY KEY (type, source)) STRICT, WITHOUT ROWID;
    """

  private static let unfinished = """
    CREATE TABLE IF NOT EXISTS unfinished(
      id INTEGER PRIMARY KEY CHECK (id = 0), since INTEGER NOT NULL) STRICT;
    """

  package static let kind = StoreKind(
    name: "health", schema: schema,
    // A cache of 8 MiB holds the last pages of many types. Marks are in a file and need no memory.
    settings: "PRAGMA cache_size = -8192; PRAGMA temp_store = FILE")

  package let database: Database
  private var names: NameTable<HealthSampleKey>
  /// The state of the newest change; `nil` if it has not been read.
  var changeState: ChangeState?

  package init(_ database: Database) {
    self.database = database
    names = NameTable(database)
  }

  package func forget() {
    names.forget()
    changeState = nil
  }

  // MARK: Adding

  /// Adds the new samples of a batch. A span with a known digest contains no new samples.
  func add(_ batch: HealthBatch) throws(StoreFailure) -> HealthAddition {
    let insertion = try database.statement(Self.insertion)
    var addition = HealthAddition()
    var stored = StoredNames(count: batch.names.count)
    var changes = TypeChanges()
    var rows = batch.rows[...]
    let change = try beginChange()
    for span in batch.spans {
      let interval = rows.prefix(span.count)
      rows = rows.dropFirst(span.count)
      if try isKnown(span) {
        addition.known += interval.count
        continue
      }
      for row in interval {
        try add(row, of: batch, change, insertion, &stored, &changes, &addition)
      }
      try database.run("INSERT INTO spans(digest) VALUES (?)", [.key(span.digest)])
    }
    for row in rows { try add(row, of: batch, change, insertion, &stored, &changes, &addition) }
    for (type, counts) in changes.inOrder { try set(type, counts, at: change.newest) }
    for pair in changes.sources {
      try database.run(
        "INSERT OR IGNORE INTO sources(type, source) VALUES (?, ?)",
        [.integer(pair.type), .integer(pair.source)])
    }
    if addition.added > 0 { try finish(change) }
    return addition
  }

  private static let insertion = """
    INSERT INTO samples(
      type, start, key, duration, source, unit, device, zone, quantity, category, added)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
    """

  func isKnown(_ span: HealthSpan) throws(StoreFailure) -> Bool {
    let found = try database.query(
      "SELECT 1 FROM spans WHERE digest = ?", [.key(span.digest)]
    ) { _ in true }
    return !found.isEmpty
  }

  private func add(
    _ row: HealthRow, of batch: HealthBatch, _ change: ChangeState, _ insertion: Statement,
    _ stored: inout StoredNames, _ changes: inout TypeChanges, _ addition: inout HealthAddition
  ) throws(StoreFailure) {
    let duration = try row.checkedDuration()
    let type = try number(row.type, batch, &stored)
    insertion.bind(type, at: 1)
    insertion.bind(row.start.nanoseconds, at: 2)
    insertion.bind(row.key, at: 3)
    insertion.bind(duration, at: 4)
    let source = try number(row.source, batch, &stored)
    insertion.bind(source, at: 5)
    try bind(row.unit, at: 6, insertion, batch, &stored)
    try bind(row.device, at: 7, insertion, batch, &stored)
    try bind(row.zone, at: 8, insertion, batch, &stored)
    switch row.value {
    case .quantity(let quantity):
      insertion.bind(quantity, at: 9)
      insertion.bindNothing(at: 10)
    case .category(let name):
      insertion.bindNothing(at: 9)
      try bind(name, at: 10, insertion, batch, &stored)
    case .workout:
      insertion.bindNothing(at: 9)
      insertion.bindNothing(at: 10)
    }
    insertion.bind(change.newest, at: 11)
    guard try database.finish(insertion) == 1 else {
      addition.known += 1
      return
    }
    if change.hasDeletions { try forgetDeletion(type, row.key) }
    addition.added += 1
    changes.note(type, row, duration: duration, source: source)
    if case .workout(let index) = row.value { try add(batch.workouts[Int(index)], row.key) }
  }

  private func add(_ workout: WorkoutValue, _ key: HealthSampleKey) throws(StoreFailure) {
    try database.run(
      """
      INSERT OR REPLACE INTO workouts(key, activity, duration, distance, energy, steps)
      VALUES (?, ?, ?, ?, ?, ?)
      """,
      [
        .key(key), .integer(try number(HealthName(workout.activity))),
        workout.duration.map { .integer($0.nanoseconds) } ?? .null, .real(workout.distance),
        .real(workout.energy), .real(workout.steps),
      ])
  }

  private func set(
    _ type: Int64, _ change: TypeChanges.Change, at number: Int64
  ) throws(StoreFailure) {
    try database.run(
      """
      INSERT INTO types(type, count, first, last, longest, digest, added)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (type) DO UPDATE SET count = count + excluded.count,
        first = min(first, excluded.first), last = max(last, excluded.last),
        longest = max(longest, excluded.longest),
        -- Exclusive or, which SQLite has no operator for.
        digest = (digest | excluded.digest) - (digest & excluded.digest),
        added = excluded.added
      """,
      [
        .integer(type), .integer(change.count.count), .time(change.first), .time(change.last),
        .integer(change.longest), .integer(Int64(bitPattern: change.count.digest)),
        .integer(number),
      ])
  }

  // MARK: Names

  private func bind(
    _ name: UInt16, at index: Int32, _ insertion: Statement, _ batch: HealthBatch,
    _ stored: inout StoredNames
  ) throws(StoreFailure) {
    guard name != HealthRow.none else { return insertion.bindNothing(at: index) }
    insertion.bind(try number(name, batch, &stored), at: index)
  }

  /// Returns the store's number for a name of a batch.
  private func number(
    _ name: UInt16, _ batch: HealthBatch, _ stored: inout StoredNames
  ) throws(StoreFailure) -> Int64 {
    let known = stored.numbers[Int(name)]
    guard known == 0 else { return known }
    let found = try number(batch.names[Int(name)])
    stored.numbers[Int(name)] = found
    return found
  }

  /// Returns the store's number for a name. A new name is assigned a number.
  private func number(_ name: HealthName) throws(StoreFailure) -> Int64 {
    try names.number(of: name.text, key: name.key)
  }

  // MARK: Reading

  func summary() throws(StoreFailure) -> [HealthTypeSummary] {
    let sources = try sources()
    return try database.query(
      """
      SELECT text, count, first, last, type FROM types JOIN names ON id = type ORDER BY text
      """
    ) { row throws(StoreFailure) in
      let type = try row.integer(4)
      return HealthTypeSummary(
        type: try row.text(0), count: Int(try row.integer(1)), first: try row.time(2),
        last: try row.time(3), sources: sources.map { $0[type] ?? [] })
    }
  }

  /// Returns the names of each type's sources, in order; `nil` if the file has version 1.
  private func sources() throws(StoreFailure) -> [Int64: [String]]? {
    guard try has("sources") else { return nil }
    return try database.names(
      "SELECT type, text FROM sources JOIN names ON id = source ORDER BY type, text")
  }

  /// Returns whether the file has a table, which earlier versions do not have.
  private func has(_ table: String) throws(StoreFailure) -> Bool {
    let found = try database.query(
      "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?", [.text(table)]
    ) { _ in true }
    return !found.isEmpty
  }

  func noteUnfinished(since time: Timestamp?) throws(StoreFailure) {
    try database.run("DELETE FROM unfinished")
    guard let time else { return }
    try database.run("INSERT INTO unfinished(id, since) VALUES (0, ?)", [.time(time)])
  }

  private func unfinished() throws(StoreFailure) -> StoredHealth.Unfinished? {
    guard try has("unfinished") else { return nil }
    return try database.query(
      "SELECT since FROM unfinished"
    ) { row throws(StoreFailure) in
      StoredHealth.Unfinished(since: try row.time(0), isRunning: false)
    }.first
  }

  func noteImport(at time: Timestamp) throws(StoreFailure) {
    try database.run("INSERT OR REPLACE INTO imports(id, at) VALUES (0, ?)", [.time(time)])
  }

  func stored() throws(StoreFailure) -> StoredHealth {
    let last = try database.query(
      "SELECT text, last FROM types JOIN names ON id = type"
    ) { row throws(StoreFailure) in (try row.text(0), try row.time(1)) }
    let imports = try database.query(
      "SELECT at FROM imports"
    ) { row throws(StoreFailure) in try row.time(0) }
    return StoredHealth(
      lastSamples: Dictionary(last) { max($0, $1) }, lastImport: imports.first,
      unfinished: try unfinished())
  }

  /// Returns a page of all types of a query, starting at its position.
  func page(_ query: HealthSampleQuery) throws(StoreFailure) -> HealthSamplePage {
    try query.page { type, after, limit throws(StoreFailure) in
      try samples(type, query, after: after, limit: limit)
    }
  }

  /// Returns up to `limit` samples of a type, each with its key.
  private func samples(
    _ type: String, _ query: HealthSampleQuery, after: HealthSamplePosition?, limit: Int
  ) throws(StoreFailure) -> [(key: HealthSampleKey, sample: HealthSample)] {
    let known = try database.query(
      "SELECT type, longest FROM types JOIN names ON id = type WHERE text = ?", [.text(type)]
    ) { row throws(StoreFailure) in (try row.integer(0), try row.integer(1)) }
    guard let (number, longest) = known.first else { return [] }
    let place =
      after
      ?? HealthSamplePosition(
        type: type, start: query.earliestStart(longest: longest),
        key: HealthSampleKey(high: 0, low: 0))
    return try database.query(
      """
      SELECT start, key, duration, source, unit, device, zone, quantity, category FROM samples
      WHERE type = ?1 AND (start, key) \(after == nil ? ">=" : ">") (?2, ?3) AND start < ?4
        AND (start >= ?5 OR start + duration > ?5)
      ORDER BY start, key LIMIT ?6
      """,
      [
        .integer(number), .time(place.start), .key(place.key), .time(query.to), .time(query.from),
        .integer(limit),
      ]
    ) { row throws(StoreFailure) in
      let key = try row.key(1)
      return (key, try sample(row, key, type))
    }
  }

  func sample(
    _ row: Row, _ key: HealthSampleKey, _ type: String
  ) throws(StoreFailure) -> HealthSample {
    let start = try row.time(0)
    let (end, overflow) = start.nanoseconds.addingReportingOverflow(try row.integer(2))
    guard !overflow else { throw .corrupt(detail: "The end of a sample is out of range.") }
    func optionalText(_ column: Int32) throws(StoreFailure) -> String? {
      guard let number = try row.optionalInteger(column) else { return nil }
      return try names.text(of: number)
    }
    let value: HealthSampleValue =
      if let quantity = try row.optionalReal(7) {
        .quantity(quantity)
      } else if let category = try optionalText(8) {
        .category(category)
      } else {
        .workout(try workout(key))
      }
    return HealthSample(
      type: type, value: value, unit: try optionalText(4), start: start,
      end: Timestamp(nanoseconds: end), source: try names.text(of: try row.integer(3)),
      device: try optionalText(5), zone: try optionalText(6))
  }

  private func workout(_ key: HealthSampleKey) throws(StoreFailure) -> WorkoutValue {
    let found = try database.query(
      "SELECT activity, duration, distance, energy, steps FROM workouts WHERE key = ?", [.key(key)]
    ) { row throws(StoreFailure) in
      WorkoutValue(
        activity: try names.text(of: try row.integer(0)),
        duration: try row.optionalInteger(1).map { .nanoseconds($0) },
        distance: try row.optionalReal(2), energy: try row.optionalReal(3),
        steps: try row.optionalReal(4))
    }
    guard let workout = found.first else {
      throw .corrupt(detail: "A workout without its totals. The file was left as it is.")
    }
    return workout
  }
}

/// The store's numbers for the names of a batch; 0 if the number has not been read.
private struct StoredNames {
  var numbers: [Int64]

  init(count: Int) { numbers = Array(repeating: 0, count: count) }
}

/// The changes that a batch makes to the summary of each type.
private struct TypeChanges {
  struct Change {
    var count = HealthCount()
    var first: Timestamp
    var last: Timestamp
    var longest: Int64 = 0
  }

  /// A source of samples of a type.
  struct Pair: Hashable {
    var type: Int64
    var source: Int64
  }

  private var changes: [Int64: Change] = [:]
  private(set) var sources: Set<Pair> = []
  /// The pair of the last sample, which most samples share with the one before.
  private var last: Pair?

  var inOrder: [(key: Int64, value: Change)] { changes.sorted { $0.key < $1.key } }

  mutating func note(_ type: Int64, _ row: HealthRow, duration: Int64, source: Int64) {
    let pair = Pair(type: type, source: source)
    if last != pair {
      sources.insert(pair)
      last = pair
    }
    var change = changes[type] ?? Change(first: row.start, last: row.start)
    change.count.add(row.key)
    change.first = min(change.first, row.start)
    change.last = max(change.last, row.start)
    change.longest = max(change.longest, duration)
    changes[type] = change
  }
}

/// The number of a change, and whether the store contains deletions, which an addition may undo.
struct ChangeState {
  var newest: Int64
  var hasDeletions: Bool
}

// The history of additions and removals. A sample has the number of the change that added it. A
// removed sample has the number of the change that removed it, until the sample is added again.
extension HealthTables {
  /// Returns the state of a new change. The change's number is stored once the change is finished.
  func beginChange() throws(StoreFailure) -> ChangeState {
    var state: ChangeState
    if let known = changeState {
      state = known
    } else {
      let found = try database.query("SELECT 1 FROM deletions LIMIT 1") { _ in true }
      state = ChangeState(newest: try newestChange(), hasDeletions: !found.isEmpty)
      changeState = state
    }
    state.newest += 1
    return state
  }

  /// Stores the number of a change that had an effect.
  func finish(_ change: ChangeState) throws(StoreFailure) {
    try database.run("UPDATE changes SET newest = ?", [.integer(change.newest)])
    // A mark is never 0, because 0 means that there is no mark.
    try database.run(
      "INSERT OR REPLACE INTO lineage(change, mark) VALUES (?, random() | 1)",
      [.integer(change.newest)])
    changeState = change
  }

  /// Deletes the record of a sample's removal, because the sample is stored again.
  func forgetDeletion(_ type: Int64, _ key: HealthSampleKey) throws(StoreFailure) {
    try database.run(
      "DELETE FROM deletions WHERE type = ? AND key = ?", [.integer(type), .key(key)])
  }

  func newestChange() throws(StoreFailure) -> Int64 {
    let found = try database.query("SELECT newest FROM changes") { row throws(StoreFailure) in
      try row.integer(0)
    }
    guard let newest = found.first else {
      throw .corrupt(detail: "The store does not number its changes.")
    }
    return newest
  }

  func changes(_ query: HealthChangeQuery) throws(StoreFailure) -> HealthChangePage {
    let found = try database.query("SELECT store, newest FROM changes") {
      row throws(StoreFailure) in (try row.integer(0), try row.integer(1))
    }
    guard let (store, newest) = found.first else {
      throw .corrupt(detail: "The store does not number its changes.")
    }
    let owner = UInt64(bitPattern: store)
    let query = try query.checked(of: owner) { change throws(StoreFailure) in try mark(of: change) }
    // A type without samples and deletions has no number, and no type has the number 0.
    let type = try names.find(query.type) ?? 0
    return try HealthChangeCursor.page(
      query, of: owner, newest: newest, mark: try mark(of: newest)
    ) { span throws(StoreFailure) in
      try hasChanges(type, span)
    } deletions: { span, key, limit throws(StoreFailure) in
      try deletions(type, span, after: key, limit: limit)
    } additions: { span, place, limit throws(StoreFailure) in
      try additions(type, span, after: place, limit: limit)
    }
  }

  /// Returns the mark of a change; 0 if there is no such change.
  private func mark(of change: Int64) throws(StoreFailure) -> UInt64 {
    let found = try database.query(
      "SELECT mark FROM lineage WHERE change = ?", [.integer(change)]
    ) { row throws(StoreFailure) in try row.integer(0) }
    return UInt64(bitPattern: found.first ?? 0)
  }

  private func hasChanges(_ type: Int64, _ span: HealthChangeSpan) throws(StoreFailure) -> Bool {
    let found = try database.query(
      """
      SELECT 1 FROM types WHERE type = ?1 AND added > ?2
      UNION ALL SELECT 1 FROM deletions WHERE type = ?1 AND deleted > ?2 LIMIT 1
      """, [.integer(type), .integer(span.done)]
    ) { _ in true }
    return !found.isEmpty
  }

  private func deletions(
    _ type: Int64, _ span: HealthChangeSpan, after key: HealthSampleKey?, limit: Int
  ) throws(StoreFailure) -> [HealthSampleKey] {
    try database.query(
      """
      SELECT key FROM deletions WHERE type = ? AND key > ? AND deleted > ? AND deleted <= ?
      ORDER BY key LIMIT ?
      """,
      [
        // An empty blob precedes every key.
        .integer(type), key.map { .key($0) } ?? .blob([]), .integer(span.done),
        .integer(span.until), .integer(limit),
      ]
    ) { row throws(StoreFailure) in try row.key(0) }
  }

  private func additions(
    _ type: Int64, _ span: HealthChangeSpan, after place: HealthPosition, limit: Int
  ) throws(StoreFailure) -> [KeyedHealthSample] {
    try database.query(
      """
      SELECT start, key, duration, source, unit, device, zone, quantity, category FROM samples
      WHERE type = ?1 AND (start, key) > (?2, ?3) AND added > ?4 AND added <= ?5
      ORDER BY start, key LIMIT ?6
      """,
      [
        .integer(type), .time(place.start), .key(place.key), .integer(span.done),
        .integer(span.until), .integer(limit),
      ]
    ) { row throws(StoreFailure) in
      let key = try row.key(1)
      return KeyedHealthSample(key: key, sample: try sample(row, key, span.type))
    }
  }
}

// The coverage of reconciled imports, and the rows that an older import must not restore.
extension HealthTables {
  func coverages() throws(StoreFailure) -> [HealthCoverage] {
    try database.query(
      """
      SELECT text, first, last, exported FROM covered JOIN names ON id = type
      ORDER BY text, exported
      """
    ) { row throws(StoreFailure) in
      HealthCoverage(
        CoverageInterval(type: try row.text(0), from: try row.time(1), to: try row.time(2)),
        exported: try row.time(3))
    }
  }

  /// Stores the coverage of an import.
  func cover(_ reconciliation: ImportReconciliation) throws(StoreFailure) {
    let old = try coverages()
    var new = old
    for interval in reconciliation.covered { new.note(interval, of: reconciliation) }
    guard new != old else { return }
    try database.run("DELETE FROM covered")
    for coverage in new {
      try database.run(
        "INSERT OR REPLACE INTO covered(type, exported, first, last) VALUES (?, ?, ?, ?)",
        [
          .integer(try number(HealthName(coverage.interval.type))), .time(coverage.exported),
          .time(coverage.interval.from), .time(coverage.interval.to),
        ])
    }
  }

  /// Returns the indices of the rows that begin in the intervals and are not stored. A known span
  /// contains no such rows.
  func missing(
    _ batch: HealthBatch, in intervals: [CoverageInterval]
  ) throws(StoreFailure) -> [Int] {
    var left = batch.rows(in: intervals)[...]
    var missing: [Int] = []
    var end = 0
    for span in batch.spans {
      end += span.count
      let inside = left.prefix { $0 < end }
      left = left.dropFirst(inside.count)
      guard !inside.isEmpty else { continue }
      if try !isKnown(span) { missing += try notStored(inside, of: batch) }
    }
    return missing + (try notStored(left, of: batch))
  }

  private func notStored(
    _ indices: ArraySlice<Int>, of batch: HealthBatch
  ) throws(StoreFailure) -> [Int] {
    var types: [UInt16: Int64] = [:]
    var missing: [Int] = []
    for index in indices {
      let row = batch.rows[index]
      if types[row.type] == nil {
        // No type has the number 0.
        types[row.type] = try names.find(batch.names[Int(row.type)].text) ?? 0
      }
      let found = try database.query(
        "SELECT 1 FROM samples WHERE type = ? AND start = ? AND key = ?",
        [.integer(types[row.type] ?? 0), .time(row.start), .key(row.key)]
      ) { _ in true }
      if found.isEmpty { missing.append(index) }
    }
    return missing
  }
}

// The reconciliation of stored samples after all samples of a complete import were added.
extension HealthTables {
  func totals() throws(StoreFailure) -> [String: HealthCount] {
    let rows = try database.query(
      "SELECT text, count, digest FROM types JOIN names ON id = type WHERE digest IS NOT NULL"
    ) { row throws(StoreFailure) in
      let digest = UInt64(bitPattern: try row.integer(2))
      return (try row.text(0), HealthCount(count: Int(try row.integer(1)), digest: digest))
    }
    // Names that differ only in the form of an accent are two in the table, and one as texts.
    return rows.reduce(into: [:]) { $0[$1.0, default: HealthCount()] += $1.1 }
  }

  func counts(_ interval: CoverageInterval) throws(StoreFailure) -> [Int64: HealthCount] {
    guard let type = try names.find(interval.type) else { return [:] }
    return try counts(type, from: interval.from, to: interval.to)
  }

  /// Counts the samples of a type by interval, in chronological order.
  private func counts(
    _ type: Int64, from: Timestamp, to: Timestamp
  ) throws(StoreFailure) -> [Int64: HealthCount] {
    var counts: [Int64: HealthCount] = [:]
    var newest: (interval: Int64, count: HealthCount) = (0, HealthCount())
    _ = try database.query(
      "SELECT start, key FROM samples WHERE type = ? AND start BETWEEN ? AND ? ORDER BY start, key",
      [.integer(type), .time(from), .time(to)]
    ) { row throws(StoreFailure) in
      let interval = SampleCounts.interval(of: try row.time(0))
      if newest.interval != interval {
        if newest.count.count > 0 { counts[newest.interval] = newest.count }
        newest = (interval, HealthCount())
      }
      newest.count.add(try row.key(1))
    }
    if newest.count.count > 0 { counts[newest.interval] = newest.count }
    return counts
  }

  func newestExport() throws(StoreFailure) -> Timestamp? {
    try database.query("SELECT max(exported) FROM exports") { row throws(StoreFailure) in
      try row.optionalTime(0)
    }.first ?? nil
  }

  // Marks are in temporary tables and need no memory. SQLite deletes the file of these tables.

  private func prepareMarks() throws(StoreFailure) {
    try database.run(
      """
      CREATE TEMP TABLE IF NOT EXISTS marks(
        type INTEGER NOT NULL, start INTEGER NOT NULL, key BLOB NOT NULL,
        PRIMARY KEY (type, start, key)) STRICT, WITHOUT ROWID
      """)
    try database.run(
      """
      CREATE TEMP TABLE IF NOT EXISTS marked_spans(digest BLOB PRIMARY KEY NOT NULL)
      STRICT, WITHOUT ROWID
      """)
  }

  func clearMarks() throws(StoreFailure) {
    try prepareMarks()
    try database.run("DELETE FROM temp.marks")
    try database.run("DELETE FROM temp.marked_spans")
  }

  func mark(_ marks: HealthMarks) throws(StoreFailure) {
    try prepareMarks()
    var known: (text: String, number: Int64)?
    for place in marks.positions {
      if known?.text != place.type {
        known = try names.find(place.type).map { (place.type, $0) }
      }
      // If the store does not have the type, there are no samples to remove.
      guard let known else { continue }
      try database.run(
        "INSERT OR IGNORE INTO temp.marks(type, start, key) VALUES (?, ?, ?)",
        [.integer(known.number), .time(place.start), .key(place.key)])
    }
    for span in marks.spans {
      try database.run(
        "INSERT OR IGNORE INTO temp.marked_spans(digest) VALUES (?)", [.key(span.digest)])
    }
  }

  func reconcile(_ reconciliation: ImportReconciliation) throws(StoreFailure) -> [String: Int] {
    try prepareMarks()
    // A removal deletes all known spans. The marked spans that were stored remain valid, because no
    // sample of the import is removed.
    try database.run(
      "DELETE FROM temp.marked_spans WHERE digest NOT IN (SELECT digest FROM main.spans)")
    var removed: [String: Int] = [:]
    let change = try beginChange()
    for interval in reconciliation.intervals {
      let count = try remove(interval, at: change.newest)
      if count > 0 { removed[interval.type, default: 0] += count }
    }
    for type in removed.keys.sorted() { try summarise(type, without: removed[type] ?? 0) }
    if !removed.isEmpty {
      try finish(ChangeState(newest: change.newest, hasDeletions: true))
      try database.run("INSERT OR IGNORE INTO main.spans SELECT digest FROM temp.marked_spans")
    }
    try clearMarks()
    try digest()
    try cover(reconciliation)
    if let exported = reconciliation.exported {
      if reconciliation.replaces { try database.run("DELETE FROM exports") }
      try database.run("INSERT OR IGNORE INTO exports(exported) VALUES (?)", [.time(exported)])
      try database.run(
        "DELETE FROM exports WHERE exported < (SELECT max(exported) FROM exports)")
    }
    return removed
  }

  /// Removes the samples of an interval that have no mark. Returns the number of removed samples.
  private func remove(
    _ interval: CoverageInterval, at newest: Int64
  ) throws(StoreFailure) -> Int {
    guard let type = try names.find(interval.type) else { return 0 }
    let range: [SQLValue] = [.integer(type), .time(interval.from), .time(interval.to)]
    if interval.type == HealthSample.workoutType {
      try database.run(
        "DELETE FROM workouts WHERE key IN (SELECT key FROM samples WHERE \(Self.unmarked))", range)
    }
    try database.run(
      """
      INSERT OR REPLACE INTO deletions(type, key, deleted)
      SELECT type, key, ?4 FROM samples WHERE \(Self.unmarked)
      """, range + [.integer(newest)])
    return try database.run("DELETE FROM samples WHERE \(Self.unmarked)", range)
  }

  private static let unmarked = """
    type = ?1 AND start BETWEEN ?2 AND ?3 AND NOT EXISTS (SELECT 1 FROM temp.marks
      WHERE marks.type = samples.type AND marks.start = samples.start AND marks.key = samples.key)
    """

  /// Updates the summary of a type. The longest duration is only an upper bound and is not changed.
  private func summarise(_ type: String, without count: Int) throws(StoreFailure) {
    try database.run(
      """
      UPDATE types SET count = count - ?2, digest = NULL,
        first = (SELECT min(start) FROM samples WHERE samples.type = types.type),
        last = (SELECT max(start) FROM samples WHERE samples.type = types.type)
      WHERE type = (SELECT id FROM names WHERE text = ?1) AND count > ?2
      """, [.text(type), .integer(Int64(count))])
    try database.run(
      """
      DELETE FROM types WHERE type = (SELECT id FROM names WHERE text = ?)
        AND NOT EXISTS (SELECT 1 FROM samples WHERE samples.type = types.type)
      """, [.text(type)])
    guard let number = try names.find(type) else { return }
    try database.run("DELETE FROM sources WHERE type = ?", [.integer(number)])
    try database.run(
      """
      INSERT INTO sources(type, source) SELECT DISTINCT type, source FROM samples WHERE type = ?
      """, [.integer(number)])
  }

  /// Computes the missing digests, which are those of types from which samples were removed.
  private func digest() throws(StoreFailure) {
    let types = try database.query(
      "SELECT type FROM types WHERE digest IS NULL"
    ) { row throws(StoreFailure) in try row.integer(0) }
    for type in types {
      let counts = try counts(
        type, from: Timestamp(nanoseconds: .min), to: Timestamp(nanoseconds: .max))
      let whole = counts.values.reduce(into: HealthCount()) { $0 += $1 }
      try database.run(
        "UPDATE types SET digest = ? WHERE type = ?",
        [.integer(Int64(bitPattern: whole.digest)), .integer(type)])
    }
  }
}
