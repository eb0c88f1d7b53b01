import LinkCore
import LinkHealth
import LinkWire

/// The statements of the store of synced samples.
///
/// Rows lie in the order in which they came, and are found by user, type, start and hash: a hash
/// names one start, so that this index keeps hashes apart, and is filled in the order of time.
/// `identities.deleted` is when a UUID was deleted; of one that names a sample, when the newest
/// batch that named it was made. Both are the times at which stamps count, see `SyncStamps`:
/// `devices` has the newest stamp of each phone and the latest time at which one counts, `stamps`
/// those that count as of another time than they say.
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
      """)

  package static let kind = StoreKind(
    name: "sync", schema: schema, settings: "PRAGMA cache_size = -16384")

  /// How many texts are remembered at once; more are looked up again.
  private static let mostTexts = 20_000

  package let database: Database
  /// The number of the next row; `nil` until it is read.
  private var nextRow: Int64?
  private var numbers: [String: Int64] = [:]
  private var texts: [Int64: String] = [:]

  package init(_ database: Database) { self.database = database }

  package func forget() { (nextRow, numbers, texts) = (nil, [:], [:]) }

  /// Applies a batch: its deletions, then its samples.
  func apply(_ delivery: SyncDelivery) throws(StoreFailure) -> SyncTally {
    if numbers.count > Self.mostTexts { numbers = [:] }
    let user = try number(delivery.user)
    let made = try delivery.made.map { made throws(StoreFailure) in
      try note(made, of: user, delivery)
    }
    var work = Work(
      user: user, made: made?.nanoseconds,
      insertion: try database.statement(Self.insertion),
      naming: try database.statement(Self.naming))
    for uuid in delivery.deleted { try delete(uuid, &work) }
    var tally = SyncTally()
    for sample in delivery.samples {
      tally.count(sample, try add(sample, &work))
    }
    for (type, change) in work.changes { try set(type, change, of: work.user) }
    for type in work.released { try count(type, of: work.user) }
    return tally
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
    let type = try number(sample.type)
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
    work.note(type, sample)
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
    insertion.bind(try number(sample.source), at: 7)
    insertion.bind(try sample.unit.map { text throws(StoreFailure) in try number(text) }, at: 8)
    for place in Int32(9)...13 { insertion.bindNothing(at: place) }
    switch sample.value {
    case .quantity(let quantity)?: insertion.bind(quantity, at: 9)
    case .category(let name)?: insertion.bind(try number(name), at: 10)
    case .workout(let workout)?:
      insertion.bind(try number(workout.activity), at: 10)
      insertion.bind(workout.duration?.nanoseconds, at: 11)
      if let distance = workout.distance { insertion.bind(distance, at: 12) }
      if let energy = workout.energy { insertion.bind(energy, at: 13) }
    case nil: break
    }
    insertion.bind(sample.uuid == nil ? 0 : 1, at: 14)
    insertion.bind(sample.raw, at: 15)
    return try database.finish(insertion) == 1
  }

  /// Gives a UUID that is not known to a row; returns false if it is known.
  private func bindName(
    _ uuid: UUID128, to row: Int64, _ work: Work
  ) throws(StoreFailure) -> Bool {
    work.naming.bind(work.user, at: 1)
    work.naming.bind(uuid, at: 2)
    work.naming.bind(row, at: 3)
    work.naming.bind(work.made, at: 4)
    return try database.finish(work.naming) == 1
  }

  /// Gives a UUID to a row that was stored before.
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

  /// Gives a known UUID to another row; returns false if it names that row, or was deleted or named
  /// later.
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
    // An older deletion says nothing about what was named later.
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

  /// Takes a UUID from a row, which is removed with its last one.
  private func release(_ row: Int64, _ work: inout Work) throws(StoreFailure) {
    let found = try database.query(
      "SELECT type, uuids FROM samples WHERE id = ?", [.integer(row)]
    ) { row throws(StoreFailure) in (type: try row.integer(0), uuids: try row.integer(1)) }
    guard let found = found.first else { throw .corrupt(detail: "A UUID names no sample.") }
    if found.uuids > 1 {
      try database.run("UPDATE samples SET uuids = uuids - 1 WHERE id = ?", [.integer(row)])
    } else {
      try database.run("DELETE FROM samples WHERE id = ?", [.integer(row)])
      work.released.insert(found.type)
      work.changes[found.type, default: .none].count -= 1
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

  /// Finds the ends of a type again after some of it was removed.
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

  // MARK: Names

  private func next() throws(StoreFailure) -> Int64 {
    if let nextRow { return nextRow }
    let found = try database.query(
      "SELECT ifnull(max(id), 0) + 1 FROM samples"
    ) { row throws(StoreFailure) in try row.integer(0) }
    let row = found.first ?? 1
    nextRow = row
    return row
  }

  /// The number of a text, which gets one.
  func number(_ text: String) throws(StoreFailure) -> Int64 {
    if let known = numbers[text] { return known }
    try database.run("INSERT INTO names(text) VALUES (?) ON CONFLICT DO NOTHING", [.text(text)])
    guard let number = try find(text) else {
      throw .corrupt(detail: "A name that was stored is not there.")
    }
    numbers[text] = number
    return number
  }

  /// The number of a text; `nil` if it has none.
  func find(_ text: String) throws(StoreFailure) -> Int64? {
    try database.query(
      "SELECT id FROM names WHERE text = ?", [.text(text)]
    ) { row throws(StoreFailure) in try row.integer(0) }.first
  }

  /// The text of a number.
  func text(_ number: Int64) throws(StoreFailure) -> String {
    if let known = texts[number] { return known }
    let found = try database.query(
      "SELECT text FROM names WHERE id = ?", [.integer(number)]
    ) { row throws(StoreFailure) in try row.text(0) }
    guard let text = found.first else { throw .corrupt(detail: "The name \(number) is missing.") }
    if texts.count > Self.mostTexts { texts = [:] }
    texts[number] = text
    return text
  }
}

/// What one batch needs while it is applied.
private struct Work {
  /// What a batch changes of the summary of a type.
  struct Change {
    var count = 0
    var first: Int64
    var last: Int64
    var longest: Int64 = 0

    /// Nothing was added.
    static let none = Change(first: .max, last: .min)
  }

  let user: Int64
  /// When the batch was made, in nanoseconds; `nil` if it does not say.
  let made: Int64?
  let insertion: Statement
  let naming: Statement
  var changes: [Int64: Change] = [:]
  /// The types of which something was removed.
  var released: Set<Int64> = []

  mutating func note(_ type: Int64, _ sample: SyncSample) {
    var change = changes[type] ?? .none
    change.count += 1
    change.first = min(change.first, sample.start.nanoseconds)
    change.last = max(change.last, sample.start.nanoseconds)
    change.longest = max(change.longest, sample.duration)
    changes[type] = change
  }
}
