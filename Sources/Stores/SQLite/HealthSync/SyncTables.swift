import HoldfastCore
import HoldfastHealth
import HoldfastHealthSamples
import HoldfastSyncData

/// The SQL statements of a store of synced samples.
///
/// Rows are stored in the order of arrival, and an index finds them by user, type, start and hash.
/// Samples with the same hash have the same start, so this index also keeps hashes distinct, and it
/// grows in chronological order. `identities.deleted` is the time at which a UUID was deleted or,
/// if the UUID has a sample, the time of the newest batch that assigned it. Both are effective
/// times of stamps (see `SyncStamps`). `devices` contains the newest stamp of each phone, and the
/// latest effective time. `stamps` contains the stamps whose effective time differs from their own
/// time. `sources` contains the number of samples of each source. Version 1 had no such table.
package final class SyncTables: Tables {
  static let schema = Schema(
    applicationID: 0x4846_7379,  // "HFsy"
    tables: """
      CREATE TABLE store(epoch TEXT NOT NULL) STRICT;
      INSERT INTO store VALUES (lower(hex(randomblob(8))));
      CREATE TABLE names(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;
      CREATE TABLE types(
        user INTEGER NOT NULL, type INTEGER NOT NULL, count INTEGER NOT NULL,
        first INTEGER NOT NULL, last INTEGER NOT NULL, longest INTEGER NOT NULL,
        PRIMARY KEY (user, type)) STRICT, WITHOUT ROWID;
      CREATE TABLE samples(
        id INTEGER PRIMARY KEY, user INTEGER NOT NULL, type INTEGER NOT NULL,
        start INTEGER NOT NULL, hash BLOB NOT NULL, duration INTEGER NOT NULL,
        source INTEGER NOT NULL, unit INTEGER, quantity REAL, text INTEGER, lasted INTEGER,
        distance REAL, energy REAL, uuids INTEGER NOT NULL, raw BLOB NOT NULL) STRICT;
      CREATE UNIQUE INDEX places ON samples(user, type, start, hash);
      CREATE TABLE identities(
        user INTEGER NOT NULL, uuid BLOB NOT NULL, sample INTEGER, deleted INTEGER,
        PRIMARY KEY (user, uuid)) STRICT, WITHOUT ROWID;
      CREATE TABLE devices(
        user INTEGER NOT NULL, device INTEGER NOT NULL, made INTEGER NOT NULL,
        counts INTEGER NOT NULL, PRIMARY KEY (user, device)) STRICT, WITHOUT ROWID;
      CREATE TABLE stamps(
        user INTEGER NOT NULL, device INTEGER NOT NULL, made INTEGER NOT NULL,
        counts INTEGER NOT NULL, PRIMARY KEY (user, device, made)) STRICT, WITHOUT ROWID;
      \(sources)
      """,
    upgrades: [
      sources
        + """
        INSERT INTO sources(user, type, source, count)
        SELECT user, type, source, count(*) FROM samples GROUP BY user, type, source;
        """
    ])

  private static let sources = """
    CREATE TABLE sources(
      user INTEGER NOT NULL, type INTEGER NOT NULL, source INTEGER NOT NULL,
      count INTEGER NOT NULL, PRIMARY KEY (user, type, source)) STRICT, WITHOUT ROWID;
    """

  package static let kind = StoreKind(
    name: "sync", schema: schema, settings: "PRAGMA cache_size = -16384")

  package let database: Database
  /// The number of the next row; `nil` if it has not been read.
  private var nextRow: Int64?
  var names: NameTable<String>

  package init(_ database: Database) {
    self.database = database
    names = NameTable(database)
  }

  package func forget() {
    nextRow = nil
    names.forget()
  }

  /// Applies a batch: its deletions, then its samples.
  func apply(_ delivery: SyncDelivery) throws(StoreFailure) -> IngestCounts {
    let user = try names.number(of: delivery.user)
    let made = try delivery.made.map { made throws(StoreFailure) in
      try note(made, of: user, delivery)
    }
    var work = Work(
      user: user, made: made?.nanoseconds,
      insertion: try database.statement(Self.insertion),
      naming: try database.statement(Self.naming))
    for uuid in delivery.deleted { try delete(uuid, &work) }
    var counts = IngestCounts()
    for sample in delivery.samples {
      counts.count(sample, try add(sample, &work))
    }
    for (type, change) in work.changes { try set(type, change, of: work.user) }
    for type in work.released { try count(type, of: work.user) }
    for (source, change) in work.sources { try set(source, change, of: work.user) }
    return counts
  }

  private static let insertion = """
    INSERT INTO samples(id, user, type, start, hash, duration, source, unit, quantity, text,
      lasted, distance, energy, uuids, raw)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (user, type, start, hash) DO NOTHING
    """
  private static let naming = """
    INSERT INTO identities(user, uuid, sample, deleted) VALUES (?, ?, ?, ?)
    ON CONFLICT DO NOTHING
    """

  // MARK: Adding

  private func add(
    _ sample: SyncSample, _ work: inout Work
  ) throws(StoreFailure) -> SyncAddition {
    let type = try names.number(of: sample.type)
    let row = try next()
    guard try insert(sample, type: type, row: row, &work) else {
      if let uuid = sample.uuid { try name(uuid, known: sample, type: type, &work) }
      return .known
    }
    if let uuid = sample.uuid, try !bindName(uuid, to: row, work),
      try !rename(uuid, to: row, &work)
    {
      try database.run("DELETE FROM samples WHERE id = ?", [.integer(row)])
      return .refused
    }
    nextRow = row + 1
    work.note(type, sample, source: try names.number(of: sample.source))
    return .new
  }

  private func insert(
    _ sample: SyncSample, type: Int64, row: Int64, _ work: inout Work
  ) throws(StoreFailure) -> Bool {
    let insertion = work.insertion
    insertion.bind(row, at: 1)
    insertion.bind(work.user, at: 2)
    insertion.bind(type, at: 3)
    insertion.bind(sample.start.nanoseconds, at: 4)
    insertion.bind(sample.hash.words, at: 5)
    insertion.bind(sample.duration, at: 6)
    insertion.bind(try names.number(of: sample.source), at: 7)
    insertion.bind(
      try sample.unit.map { text throws(StoreFailure) in try names.number(of: text) }, at: 8)
    for index in Int32(9)...13 { insertion.bindNothing(at: index) }
    switch sample.value {
    case .quantity(let quantity)?: insertion.bind(quantity, at: 9)
    case .category(let name)?: insertion.bind(try names.number(of: name), at: 10)
    case .workout(let workout)?:
      insertion.bind(try names.number(of: workout.activity), at: 10)
      insertion.bind(workout.duration?.nanoseconds, at: 11)
      if let distance = workout.distance { insertion.bind(distance, at: 12) }
      if let energy = workout.energy { insertion.bind(energy, at: 13) }
    case nil: break
    }
    insertion.bind(sample.uuid == nil ? 0 : 1, at: 14)
    insertion.bind(sample.raw, at: 15)
    return try database.finish(insertion) == 1
  }

  /// Assigns an unknown UUID to a row. Returns false if the UUID is already known.
  private func bindName(
    _ uuid: UUID128, to row: Int64, _ work: Work
  ) throws(StoreFailure) -> Bool {
    work.naming.bind(work.user, at: 1)
    work.naming.bind(uuid, at: 2)
    work.naming.bind(row, at: 3)
    work.naming.bind(work.made, at: 4)
    return try database.finish(work.naming) == 1
  }

  /// Assigns a UUID to a row that was stored earlier.
  private func name(
    _ uuid: UUID128, known sample: SyncSample, type: Int64, _ work: inout Work
  ) throws(StoreFailure) {
    let found = try database.query(
      "SELECT id FROM samples WHERE user = ? AND type = ? AND start = ? AND hash = ?",
      [
        .integer(work.user), .integer(type), .time(sample.start), .blob(sample.hash.bytes),
      ]
    ) { row throws(StoreFailure) in try row.integer(0) }
    guard let row = found.first else { throw .corrupt(detail: "A sample has no row.") }
    var isOther = try bindName(uuid, to: row, work)
    if !isOther { isOther = try rename(uuid, to: row, &work) }
    guard isOther else { return }
    try database.run("UPDATE samples SET uuids = uuids + 1 WHERE id = ?", [.integer(row)])
  }

  /// Assigns a known UUID to another row.
  ///
  /// Returns false if the UUID already belongs to that row, or was deleted or assigned at a later
  /// time.
  private func rename(
    _ uuid: UUID128, to row: Int64, _ work: inout Work
  ) throws(StoreFailure) -> Bool {
    guard let known = try identity(uuid, work) else { return false }
    if let made = work.made, let last = known.deleted, made < last { return false }
    let isNamed = known.sample == row
    if isNamed, work.made ?? .min <= known.deleted ?? .min { return false }
    let named =
      known.sample == nil ? work.made : [work.made, known.deleted].compactMap(\.self).max()
    try database.run(
      "UPDATE identities SET sample = ?, deleted = ? WHERE user = ? AND uuid = ?",
      [
        .integer(row), named.map { .integer($0) } ?? .null, .integer(work.user), .uuid(uuid),
      ])
    if isNamed { return false }
    if let former = known.sample { try release(former, &work) }
    return true
  }

  private func identity(
    _ uuid: UUID128, _ work: Work
  ) throws(StoreFailure) -> (sample: Int64?, deleted: Int64?)? {
    try database.query(
      "SELECT sample, deleted FROM identities WHERE user = ? AND uuid = ?",
      [.integer(work.user), .uuid(uuid)]
    ) { row throws(StoreFailure) in
      (sample: try row.optionalInteger(0), deleted: try row.optionalInteger(1))
    }.first
  }

  // MARK: Deleting

  private func delete(_ uuid: UUID128, _ work: inout Work) throws(StoreFailure) {
    let known = try identity(uuid, work)
    // An older deletion does not apply to a later assignment.
    if known?.sample != nil, let named = known?.deleted, let made = work.made, made < named {
      return
    }
    try database.run(
      """
      INSERT INTO identities(user, uuid, sample, deleted) VALUES (?, ?, NULL, ?)
      ON CONFLICT DO UPDATE SET sample = NULL,
        deleted = max(excluded.deleted, ifnull(deleted, excluded.deleted))
      """,
      [.integer(work.user), .uuid(uuid), .integer(work.made ?? .min)])
    if let sample = known?.sample { try release(sample, &work) }
  }

  /// Removes a UUID from a row. Removes the row together with its last UUID.
  private func release(_ row: Int64, _ work: inout Work) throws(StoreFailure) {
    let found = try database.query(
      "SELECT type, uuids, source FROM samples WHERE id = ?", [.integer(row)]
    ) { row throws(StoreFailure) in
      (type: try row.integer(0), uuids: try row.integer(1), source: try row.integer(2))
    }
    guard let found = found.first else { throw .corrupt(detail: "A UUID names no sample.") }
    if found.uuids > 1 {
      try database.run("UPDATE samples SET uuids = uuids - 1 WHERE id = ?", [.integer(row)])
    } else {
      try database.run("DELETE FROM samples WHERE id = ?", [.integer(row)])
      work.released.insert(found.type)
      work.changes[found.type, default: .none].count -= 1
      work.sources[Work.Source(type: found.type, name: found.source), default: 0] -= 1
    }
  }

  // MARK: Types

  private func set(
    _ type: Int64, _ change: Work.Change, of user: Int64
  ) throws(StoreFailure) {
    try database.run(
      """
      INSERT INTO types(user, type, count, first, last, longest) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET count = count + excluded.count,
        first = min(first, excluded.first), last = max(last, excluded.last),
        longest = max(longest, excluded.longest)
      """,
      [
        .integer(user), .integer(type), .integer(change.count), .integer(change.first),
        .integer(change.last), .integer(change.longest),
      ])
  }

  /// Adds to the number of samples of a source.
  private func set(
    _ source: Work.Source, _ change: Int, of user: Int64
  ) throws(StoreFailure) {
    let key: [SQLValue] = [.integer(user), .integer(source.type), .integer(source.name)]
    try database.run(
      """
      INSERT INTO sources(user, type, source, count) VALUES (?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET count = count + excluded.count
      """, key + [.integer(change)])
    guard change < 0 else { return }
    try database.run(
      "DELETE FROM sources WHERE user = ? AND type = ? AND source = ? AND count <= 0", key)
  }

  /// Updates the first and last time of a type after samples were removed.
  private func count(_ type: Int64, of user: Int64) throws(StoreFailure) {
    try database.run(
      "DELETE FROM types WHERE user = ?1 AND type = ?2 AND count <= 0",
      [.integer(user), .integer(type)])
    try database.run(
      """
      UPDATE types SET
        first = (SELECT min(start) FROM samples WHERE user = ?1 AND type = ?2),
        last = (SELECT max(start) FROM samples WHERE user = ?1 AND type = ?2)
      WHERE user = ?1 AND type = ?2
      """,
      [.integer(user), .integer(type)])
  }

  // MARK: Rows

  private func next() throws(StoreFailure) -> Int64 {
    if let nextRow { return nextRow }
    let found = try database.query(
      "SELECT ifnull(max(id), 0) + 1 FROM samples"
    ) { row throws(StoreFailure) in try row.integer(0) }
    let row = found.first ?? 1
    nextRow = row
    return row
  }
}

/// The state of a batch while it is being applied.
private struct Work {
  /// The change of a type's summary by a batch.
  struct Change {
    var count = 0
    var first: Int64
    var last: Int64
    var longest: Int64 = 0

    /// A change without additions.
    static let none = Change(first: .max, last: .min)
  }

  /// A source of samples of a type.
  struct Source: Hashable {
    var type: Int64
    var name: Int64
  }

  let user: Int64
  /// The effective time of the batch's stamp, in nanoseconds; `nil` if the batch has no stamp.
  let made: Int64?
  let insertion: Statement
  let naming: Statement
  var changes: [Int64: Change] = [:]
  /// The changes of the numbers of samples.
  var sources: [Source: Int] = [:]
  /// The types from which rows were removed.
  var released: Set<Int64> = []

  mutating func note(_ type: Int64, _ sample: SyncSample, source: Int64) {
    sources[Source(type: type, name: source), default: 0] += 1
    var change = changes[type] ?? .none
    change.count += 1
    change.first = min(change.first, sample.start.nanoseconds)
    change.last = max(change.last, sample.start.nanoseconds)
    change.longest = max(change.longest, sample.duration)
    changes[type] = change
  }
}

extension SyncTables {
  /// Returns the summary of each stored type of a user.
  func summary(of user: String) throws(StoreFailure) -> [HealthTypeSummary] {
    guard let user = try names.find(user) else { return [] }
    let sources = try database.names(
      """
      SELECT type, text FROM sources JOIN names ON id = source WHERE user = ? ORDER BY type, text
      """, [.integer(user)])
    return try database.query(
      """
      SELECT text, count, first, last, type FROM types JOIN names ON id = type WHERE user = ?
      ORDER BY text
      """, [.integer(user)]
    ) { row throws(StoreFailure) in
      HealthTypeSummary(
        type: try row.text(0), count: Int(try row.integer(1)), first: try row.time(2),
        last: try row.time(3), sources: sources[try row.integer(4)] ?? [])
    }
  }

  /// Returns a page of all types of a query, starting at its position.
  func page(
    _ query: HealthSampleQuery, of user: String
  ) throws(StoreFailure) -> HealthSamplePage {
    guard let user = try names.find(user) else { return HealthSamplePage(samples: []) }
    return try query.page { type, after, limit throws(StoreFailure) in
      try samples(type, query, of: user, after: after, limit: limit)
    }
  }

  private func samples(
    _ type: String, _ query: HealthSampleQuery, of user: Int64, after: HealthSamplePosition?,
    limit: Int
  ) throws(StoreFailure) -> [(key: HealthSampleKey, sample: HealthSample)] {
    guard let number = try names.find(type) else { return [] }
    let longest = try database.query(
      "SELECT longest FROM types WHERE user = ? AND type = ?", [.integer(user), .integer(number)]
    ) { row throws(StoreFailure) in try row.integer(0) }
    guard let longest = longest.first else { return [] }
    let start = after?.start ?? query.earliestStart(longest: longest)
    return try database.query(
      """
      SELECT start, hash, duration, source, unit, quantity, text, lasted, distance, energy
      FROM samples INDEXED BY places
      WHERE user = ?1 AND type = ?2 AND (start, hash) > (?3, ?4) AND start < ?5
        AND (start >= ?6 OR start + duration > ?6)
        AND (quantity IS NOT NULL OR text IS NOT NULL)
      ORDER BY start, hash LIMIT ?7
      """,
      [
        .integer(user), .integer(number), .time(start), .blob(Self.bound(after)),
        .time(query.to), .time(query.from), .integer(limit),
      ]
    ) { row throws(StoreFailure) in
      (try hash(row, 1).key, try sample(row, type))
    }
  }

  /// Returns a lower bound for hashes. All hashes that begin with a position's key are at or below
  /// the bound. Without a position, all hashes are above the bound.
  private static func bound(_ after: HealthSamplePosition?) -> [UInt8] {
    guard let after else { return [] }
    return SyncHash(words: [after.key.high, after.key.low, .max, .max]).bytes
  }

  private func hash(_ row: Row, _ column: Int32) throws(StoreFailure) -> SyncHash {
    guard let bytes = try row.optionalBlob(column), let hash = SyncHash(bytes) else {
      throw row.garbage(column, expected: "32 bytes")
    }
    return hash
  }

  private func sample(_ row: Row, _ type: String) throws(StoreFailure) -> HealthSample {
    let start = try row.time(0)
    let (end, overflow) = start.nanoseconds.addingReportingOverflow(try row.integer(2))
    guard !overflow else { throw .corrupt(detail: "The end of a sample is out of range.") }
    func optionalText(_ column: Int32) throws(StoreFailure) -> String? {
      guard let number = try row.optionalInteger(column) else { return nil }
      return try names.text(of: number)
    }
    let name = try optionalText(6)
    let value: HealthSampleValue
    if let quantity = try row.optionalReal(5) {
      value = .quantity(quantity)
    } else if let name, type == HealthSample.workoutType {
      value = .workout(
        WorkoutValue(
          activity: name, duration: try row.optionalInteger(7).map { .nanoseconds($0) },
          distance: try row.optionalReal(8), energy: try row.optionalReal(9)))
    } else {
      value = .category(name ?? "")
    }
    return HealthSample(
      type: type, value: value, unit: try optionalText(4), start: start,
      end: Timestamp(nanoseconds: end), source: try names.text(of: try row.integer(3)))
  }

  /// Returns the records of a type as they were sent.
  func raw(
    _ type: String, after: HealthSamplePosition?, limit: Int, of user: String
  ) throws(StoreFailure) -> [SyncRaw] {
    guard let user = try names.find(user), let number = try names.find(type) else { return [] }
    return try database.query(
      """
      SELECT start, hash, raw FROM samples INDEXED BY places
      WHERE user = ?1 AND type = ?2 AND (start, hash) > (?3, ?4) ORDER BY start, hash LIMIT ?5
      """,
      [
        .integer(user), .integer(number), .time(after?.start ?? Timestamp(nanoseconds: .min)),
        .blob(Self.bound(after)), .integer(min(max(1, limit), Int(Int32.max))),
      ]
    ) { row throws(StoreFailure) in
      guard let bytes = try row.optionalBlob(2) else { throw row.garbage(2, expected: "JSON") }
      return SyncRaw(
        position: HealthSamplePosition(
          type: type, start: try row.time(0), key: try hash(row, 1).key),
        bytes: bytes)
    }
  }
}

// The store's epoch, and the effective times of stamps.
extension SyncTables {
  func epoch() throws(StoreFailure) -> String {
    let found = try database.query("SELECT epoch FROM store") { row throws(StoreFailure) in
      try row.text(0)
    }
    guard let epoch = found.first, found.count == 1 else {
      throw .corrupt(detail: "The store of synced samples contains no epoch. It was left as it is.")
    }
    return epoch
  }

  /// Begins a new epoch for the same samples, so that phones send their samples again.
  func beginEpoch() throws(StoreFailure) {
    try database.run("UPDATE store SET epoch = lower(hex(randomblob(8)))")
  }

  func newestStamp(of user: String, device: String) throws(StoreFailure) -> Timestamp? {
    guard let user = try names.find(user), let device = try names.find(device) else { return nil }
    return try time(
      "SELECT made FROM devices WHERE user = ? AND device = ?", [.integer(user), .integer(device)])
  }

  func lastSync(of user: String) throws(StoreFailure) -> Timestamp? {
    guard let user = try names.find(user) else { return nil }
    return try time("SELECT max(counts) FROM devices WHERE user = ?", [.integer(user)])
  }

  /// Stores the stamp of a batch and returns its effective time (see `SyncStamps.note`).
  func note(
    _ made: Timestamp, of user: Int64, _ delivery: SyncDelivery
  ) throws(StoreFailure) -> Timestamp {
    let device = try names.number(of: delivery.device)
    let key: [SQLValue] = [.integer(user), .integer(device), .time(made)]
    let known = try time(
      "SELECT counts FROM stamps WHERE user = ? AND device = ? AND made = ?", key)
    let counts: Timestamp
    if let known {
      counts = known
    } else {
      counts = SyncStamps.counts(
        made, arrived: delivery.arrived,
        latest: try time("SELECT max(counts) FROM devices WHERE user = ?", [.integer(user)]),
        before: try time(
          """
          SELECT max(counts) FROM (
            SELECT * FROM (
              SELECT counts FROM stamps WHERE user = ?1 AND device = ?2 AND made < ?3
              ORDER BY made DESC LIMIT 1)
            UNION ALL
            SELECT counts FROM devices WHERE user = ?1 AND device = ?2 AND made < ?3)
          """, key),
        behind: try time(
          """
          SELECT counts FROM stamps WHERE user = ? AND device = ? AND made > ? AND made <= ?
          ORDER BY made LIMIT 1
          """, key + [.time(SyncStamps.horizon(of: made))]))
    }
    if counts != made {
      try database.run(
        "INSERT INTO stamps VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", key + [.time(counts)])
    }
    try database.run(
      """
      INSERT INTO devices VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET
        made = max(made, excluded.made), counts = max(counts, excluded.counts)
      """, key + [.time(counts)])
    return counts
  }

  /// Returns the time in the first row of a query's result; `nil` if there is none.
  private func time(_ sql: String, _ values: [SQLValue]) throws(StoreFailure) -> Timestamp? {
    try database.query(sql, values) { row throws(StoreFailure) in
      try row.optionalTime(0)
    }.first.flatMap(\.self)
  }
}
