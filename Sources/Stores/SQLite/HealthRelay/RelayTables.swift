package import HoldfastCore
import HoldfastFeaturePorts
package import HoldfastRelayData

/// The SQL statements of a relay store.
package final class RelayTables: Tables {
  static let schema = Schema(
    applicationID: 0x4846_726C,  // "HFrl"
    tables: """
      CREATE TABLE phones(
        id BLOB PRIMARY KEY, device BLOB NOT NULL, resume BLOB NOT NULL, push BLOB,
        left_at INTEGER) STRICT;
      CREATE TABLE accesses(
        token BLOB PRIMARY KEY, phone BLOB NOT NULL, expires_at INTEGER NOT NULL, name TEXT,
        version TEXT, since INTEGER, asked INTEGER) STRICT;
      CREATE TABLE questions(
        number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, phone BLOB NOT NULL,
        asker BLOB NOT NULL, question BLOB NOT NULL, deadline INTEGER NOT NULL) STRICT;
      \(grants)
      """)

  /// The generations of grants, the users whose synced samples are read, the accesses that may not
  /// read them, and the sessions of assistants. These tables were added later. They are also created when the file is read, so
  /// that the version of the tables remains.
  static let grants = """
    CREATE TABLE IF NOT EXISTS grants(
      token BLOB PRIMARY KEY, generation INTEGER NOT NULL) STRICT;
    CREATE TABLE IF NOT EXISTS synced(
      phone BLOB PRIMARY KEY, user TEXT NOT NULL, zone TEXT, proof BLOB) STRICT;
    CREATE TABLE IF NOT EXISTS unsynced(token BLOB PRIMARY KEY) STRICT;
    CREATE TABLE IF NOT EXISTS assistant_sessions(
      id BLOB PRIMARY KEY, version TEXT, name TEXT, name_version TEXT, owner BLOB, bearer BLOB,
      elicits INTEGER NOT NULL, shows INTEGER NOT NULL) STRICT;
    """

  package static let kind = StoreKind(
    name: "relay", schema: schema, settings: "PRAGMA secure_delete = ON")

  package let database: Database
  /// The reason why the write-ahead log still contains removed data; `nil` if it contains none.
  private var uncleaned: StoreFailure?

  package init(_ database: Database) {
    self.database = database
    clean()
  }

  /// Empties the write-ahead log, or stores the reason why this failed.
  func clean() {
    do throws(StoreFailure) {
      let emptied = try database.query("PRAGMA wal_checkpoint(TRUNCATE)") {
        row throws(StoreFailure) in try row.integer(0) == 0
      }
      uncleaned =
        emptied == [true]
        ? nil
        : .locked(
          detail: "The relay's store still holds what was removed: another program reads it. End "
            + "that program.")
    } catch {
      uncleaned = error
    }
  }

  package func check() throws(StoreFailure) {
    if uncleaned != nil { clean() }
    if let uncleaned { throw uncleaned }
  }

  package func finish() { clean() }

  func stored() throws(StoreFailure) -> StoredRelay {
    StoredRelay(
      phones: try phones(), accesses: try accesses(), questions: try questions(),
      sessions: try sessions())
  }

  func apply(_ change: RelayChange) throws(StoreFailure) {
    switch change {
    case .phone(let phone): try store(phone)
    case .endPhone(let id):
      try database.run("DELETE FROM phones WHERE id = ?", [.uuid(id.uuid)])
      try database.run("DELETE FROM questions WHERE phone = ?", [.uuid(id.uuid)])
      try database.run("DELETE FROM synced WHERE phone = ?", [.uuid(id.uuid)])
    case .access(let access):
      try store(access)
    case .endAccess(let token):
      try database.run("DELETE FROM accesses WHERE token = ?", [.blob(token.bytes)])
      try database.run("DELETE FROM grants WHERE token = ?", [.blob(token.bytes)])
      try database.run("DELETE FROM unsynced WHERE token = ?", [.blob(token.bytes)])
    case .question(let question): try store(question)
    case .endQuestion(let id):
      try database.run("DELETE FROM questions WHERE id = ?", [.text(id.text)])
    case .session(let session): try store(session)
    case .endSession(let id):
      try database.run("DELETE FROM assistant_sessions WHERE id = ?", [.blob(id.bytes)])
    }
  }

  private func store(_ session: StoredAssistantSession) throws(StoreFailure) {
    try database.run(
      """
      INSERT OR REPLACE INTO assistant_sessions(id, version, name, name_version, owner, bearer,
        elicits, shows) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .blob(session.id.bytes), session.version.map { .text($0) } ?? .null,
        session.client.map { .text($0.name) } ?? .null,
        session.client?.version.map { .text($0) } ?? .null,
        session.owner.map { .blob($0.bytes) } ?? .null,
        session.bearer.map { .blob($0.bytes) } ?? .null,
        .integer(session.elicitsURL ? 1 : 0), .integer(session.showsTokens ? 1 : 0),
      ])
  }

  private func store(_ phone: StoredPhone) throws(StoreFailure) {
    try database.run(
      "INSERT OR REPLACE INTO phones(id, device, resume, push, left_at) VALUES (?, ?, ?, ?, ?)",
      [
        .uuid(phone.id.uuid), .uuid(phone.device), .blob(phone.resume.bytes),
        phone.push.map { .blob($0.encode()) } ?? .null, .time(phone.leftAt),
      ])
    try database.run("DELETE FROM synced WHERE phone = ?", [.uuid(phone.id.uuid)])
    guard let synced = phone.synced else { return }
    try database.run(
      "INSERT INTO synced(phone, user, zone, proof) VALUES (?, ?, ?, ?)",
      [
        .uuid(phone.id.uuid), .text(synced.name), synced.zone.map { .text($0) } ?? .null,
        synced.proof.map { .blob($0.bytes) } ?? .null,
      ])
  }

  private func store(_ access: StoredAccess) throws(StoreFailure) {
    try database.run(
      """
      INSERT OR REPLACE INTO accesses(token, phone, expires_at, name, version, since, asked)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .blob(access.token.bytes), .uuid(access.phone.uuid), .time(access.expiresAt),
        access.assistant.map { .text($0.name) } ?? .null,
        access.assistant?.version.map { .text($0) } ?? .null, .time(access.since),
        .time(access.lastAsked),
      ])
    try database.run(
      access.readsSynced
        ? "DELETE FROM unsynced WHERE token = ?"
        : "INSERT OR IGNORE INTO unsynced(token) VALUES (?)", [.blob(access.token.bytes)])
    guard let generation = access.generation else { return }
    try database.run(
      "INSERT OR REPLACE INTO grants(token, generation) VALUES (?, ?)",
      [.blob(access.token.bytes), .integer(Int64(bitPattern: generation))])
  }

  private func store(_ question: StoredQuestion) throws(StoreFailure) {
    // The question is stored in its wire format, so that only one encoding has to be tested.
    let text = BackendMessage.question(question.id, question.question).bytes
    try database.run(
      """
      INSERT INTO questions(id, phone, asker, question, deadline) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT(id) DO UPDATE SET phone = excluded.phone, asker = excluded.asker,
        question = excluded.question, deadline = excluded.deadline
      """,
      [
        .text(question.id.text), .uuid(question.phone.uuid), .blob(question.caller.bytes),
        .blob(text), .time(question.deadline),
      ])
  }

  private func phones() throws(StoreFailure) -> [StoredPhone] {
    try database.query(
      """
      SELECT id, device, resume, push, left_at, user, zone, proof
      FROM phones LEFT JOIN synced ON phone = id ORDER BY id
      """
    ) { row throws(StoreFailure) in
      StoredPhone(
        id: PhoneID(try row.uuid(0)), device: try row.uuid(1), resume: try hash(row, 2),
        push: try push(row, 3), leftAt: try row.optionalTime(4),
        synced: try synced(row, 5))
    }
  }

  private func accesses() throws(StoreFailure) -> [StoredAccess] {
    try database.query(
      """
      SELECT token, phone, expires_at, name, version, since, asked, generation,
        token IN (SELECT token FROM unsynced)
      FROM accesses LEFT JOIN grants USING (token) ORDER BY token
      """
    ) { row throws(StoreFailure) in
      StoredAccess(
        token: try hash(row, 0), phone: PhoneID(try row.uuid(1)), expiresAt: try row.time(2),
        assistant: AssistantName(try row.optionalText(3), version: try row.optionalText(4)),
        since: try row.optionalTime(5), lastAsked: try row.optionalTime(6),
        generation: try row.optionalInteger(7).map { UInt64(bitPattern: $0) },
        readsSynced: try row.integer(8) == 0)
    }
  }

  private func questions() throws(StoreFailure) -> [StoredQuestion] {
    try database.query("SELECT phone, asker, question, deadline FROM questions ORDER BY number") {
      row throws(StoreFailure) in
      guard let text = try row.optionalBlob(2),
        case .question(let id, let question)? = try? BackendMessage.read(text)
      else { throw row.garbage(2, expected: "a question") }
      return StoredQuestion(
        id: id, phone: PhoneID(try row.uuid(0)), caller: try hash(row, 1), question: question,
        deadline: try row.time(3))
    }
  }

  private func sessions() throws(StoreFailure) -> [StoredAssistantSession] {
    try database.query(
      """
      SELECT id, version, name, name_version, owner, bearer, elicits, shows
      FROM assistant_sessions ORDER BY id
      """
    ) { row throws(StoreFailure) in
      StoredAssistantSession(
        id: try hash(row, 0), version: try row.optionalText(1),
        client: AssistantName(try row.optionalText(2), version: try row.optionalText(3)),
        owner: try optionalHash(row, 4), bearer: try optionalHash(row, 5),
        elicitsURL: try row.integer(6) != 0, showsTokens: try row.integer(7) != 0)
    }
  }

  private func optionalHash(_ row: Row, _ column: Int32) throws(StoreFailure) -> TokenHash? {
    try row.optionalBlob(column) == nil ? nil : try hash(row, column)
  }

  private func hash(_ row: Row, _ column: Int32) throws(StoreFailure) -> TokenHash {
    guard let bytes = try row.optionalBlob(column), let hash = TokenHash(bytes) else {
      throw row.garbage(column, expected: "32 bytes")
    }
    return hash
  }

  private func synced(_ row: Row, _ column: Int32) throws(StoreFailure) -> SyncedUser? {
    try row.optionalText(column).map { name throws(StoreFailure) in
      SyncedUser(
        name, zone: try row.optionalText(column + 1), proof: try optionalHash(row, column + 2))
    }
  }

  private func push(_ row: Row, _ column: Int32) throws(StoreFailure) -> PushAddress? {
    guard let bytes = try row.optionalBlob(column) else { return nil }
    do {
      return try PushAddress.decode(bytes)
    } catch {
      throw row.garbage(column, expected: "a push address")
    }
  }
}

/// A store of the relay's state in one SQLite file, `relay.sqlite`, separate from the messages.
///
/// The file can be deleted if all phones then pair again. A backup of the messages contains none of
/// its data. A change survives a power failure once the call has returned. Removed data is
/// overwritten in the file. The write-ahead log is emptied after each commit that removes data, and
/// when the store is opened and closed.
package typealias SQLiteRelayStore = SQLiteFile<RelayTables>

extension SQLiteFile: RelayStore where T == RelayTables {
  package func stored() throws(StoreFailure) -> StoredRelay {
    try write { tables throws(StoreFailure) in try tables.database.execute(RelayTables.grants) }
    return try read { tables throws(StoreFailure) in try tables.stored() }
  }

  package func apply(_ changes: [RelayChange]) throws(StoreFailure) {
    try write { tables throws(StoreFailure) in
      for change in changes { try tables.apply(change) }
    }
    // The changes are durable. The call must not fail because the log cannot be emptied now.
    if changes.contains(where: \.forgets) { tables?.clean() }
  }
}

extension RelayChange {
  /// Whether the change removes data that must not remain in a file.
  fileprivate var forgets: Bool {
    switch self {
    case .endPhone, .endAccess, .endQuestion: true
    // A session is stored as hashes, which may stay in the write-ahead log.
    case .phone, .access, .question, .session, .endSession: false
    }
  }
}
