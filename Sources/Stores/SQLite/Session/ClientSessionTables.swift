package import HoldfastCore
import HoldfastFeaturePorts
package import HoldfastSessionData

/// The SQL statements of a client's session store.
///
/// Messages and ends of prompts share one counter, `number`, which only increases. Those with
/// numbers above `client.shown` have not been shown, except the messages in `marks`. An end is
/// removed once it has been shown.
package struct ClientSessionTables: Tables {
  package static let kind = StoreKind(
    name: "session-client",
    schema: Schema(
      applicationID: 0x4846_7363,  // "HFsc"
      tables: """
        CREATE TABLE client(
          only_one INTEGER PRIMARY KEY CHECK (only_one = 1), id BLOB NOT NULL,
          last_prompt INTEGER NOT NULL, received INTEGER NOT NULL, shown INTEGER NOT NULL,
          last_number INTEGER NOT NULL) STRICT;
        CREATE TABLE prompts(
          number INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, conversation TEXT NOT NULL,
          text TEXT NOT NULL, created_at INTEGER NOT NULL, tries INTEGER, failure TEXT,
          is_accepted INTEGER NOT NULL, floor INTEGER, is_seen INTEGER NOT NULL) STRICT;
        CREATE TABLE conversations(
          turn INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, opened_by BLOB,
          sequence INTEGER NOT NULL, offset INTEGER NOT NULL, signature TEXT,
          open_turns INTEGER NOT NULL, last_end TEXT) STRICT;
        CREATE TABLE entries(
          number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, conversation TEXT NOT NULL,
          role TEXT NOT NULL, text TEXT NOT NULL, time INTEGER, place INTEGER, via TEXT NOT NULL,
          is_own INTEGER NOT NULL) STRICT;
        CREATE INDEX history ON entries(conversation, number);
        CREATE TABLE endings(
          number INTEGER PRIMARY KEY, key BLOB NOT NULL, conversation TEXT NOT NULL,
          text TEXT NOT NULL, outcome TEXT NOT NULL, reason TEXT) STRICT;
        CREATE TABLE ends(id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
        CREATE TABLE days(
          day INTEGER PRIMARY KEY, tries INTEGER NOT NULL, connects INTEGER NOT NULL,
          reconnects INTEGER NOT NULL, reconnecting INTEGER NOT NULL,
          round_trips INTEGER NOT NULL, round_trip_sum INTEGER NOT NULL,
          longest INTEGER NOT NULL) STRICT;
        """))

  package let database: Database

  package init(_ database: Database) {
    self.database = database
  }

  func open(as client: UUID128) throws(StoreFailure) -> ClientSessionSnapshot {
    // The table was added later. It is created here, so that the version of the tables remains.
    try database.execute(
      "CREATE TABLE IF NOT EXISTS marks(number INTEGER PRIMARY KEY) STRICT")
    try database.run(
      "INSERT OR IGNORE INTO client VALUES (1, ?, 0, 0, 0, 0)", [.uuid(client)])
    let found = try database.query("SELECT id, last_prompt, received FROM client") {
      row throws(StoreFailure) in
      var snapshot = ClientSessionSnapshot(client: try row.uuid(0))
      (snapshot.lastPrompt, snapshot.received) = (try row.unsigned(1), try row.unsigned(2))
      return snapshot
    }
    guard var snapshot = found.first else {
      throw .corrupt(detail: "The store contains no client.")
    }
    snapshot.prompts = try prompts()
    snapshot.conversations = try conversations()
    snapshot.unshown = try unshown()
    return snapshot
  }

  func commit(_ change: ClientSessionChange) throws(StoreFailure) -> [NumberedSessionNews] {
    for prompt in change.prompts { try put(prompt) }
    for key in change.rolledBack {
      try database.run(
        "DELETE FROM entries WHERE id = ? AND is_own = 1", [.text(key.description)])
    }
    var added: [NumberedSessionNews] = []
    for news in change.news { added += try add(news) }
    for message in change.ends { _ = try noteEnd(by: message) }
    for key in change.forgotten { try forget(key) }
    for conversation in change.conversations { try put(conversation) }
    if let received = change.received {
      try database.run("UPDATE client SET received = ?", [.integer(Int64(clamping: received))])
    }
    for number in change.marked { try noteMarked(number) }
    if let shown = change.shown { try noteShown(shown) }
    for day in change.days { try add(day) }
    return added
  }

  func history(
    of conversation: String, before number: UInt64?, limit: Int
  ) throws(StoreFailure) -> [NumberedSessionNews] {
    try database.query(
      """
      SELECT \(Self.entryColumns) FROM entries WHERE conversation = ? AND number < ?
      ORDER BY number DESC LIMIT ?
      """,
      [
        .text(conversation), .integer(Int64(clamping: number ?? .max)), .integer(max(0, limit)),
      ], Self.message
    ).reversed()
  }

  // MARK: Prompts

  private func prompts() throws(StoreFailure) -> [StoredPrompt] {
    try database.query(
      """
      SELECT number, key, conversation, text, created_at, tries, failure, is_accepted, floor,
        is_seen
      FROM prompts ORDER BY number
      """
    ) { row throws(StoreFailure) in
      let state: SendState
      if let tries = try row.optionalInteger(5) {
        state = .queued(tries: Int(tries))
      } else {
        state = .failed(reason: try row.text(6))
      }
      return StoredPrompt(
        id: try row.uuid(1), conversation: try row.text(2), text: try row.text(3),
        number: try row.unsigned(0), createdAt: try row.time(4), state: state,
        isAccepted: try row.flag(7),
        floor: try row.optionalInteger(8).map { UInt64(bitPattern: $0) }, isSeen: try row.flag(9))
    }
  }

  private func put(_ prompt: StoredPrompt) throws(StoreFailure) {
    let number = Int64(clamping: prompt.number)
    let isKnown = try hasPrompt(prompt.id)
    // The entry of a prompt remains after the prompt has ended.
    if !isKnown, try hasOwnEntry(of: prompt.id) { return }
    let (tries, failure): (SQLValue, SQLValue) =
      switch prompt.state {
      case .queued(let tries): (.integer(tries), .null)
      case .failed(let reason): (.null, .text(reason))
      }
    try database.run(
      "INSERT OR REPLACE INTO prompts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      [
        .integer(number), .uuid(prompt.id), .text(prompt.conversation), .text(prompt.text),
        .time(prompt.createdAt), tries, failure, .integer(prompt.isAccepted ? 1 : 0),
        prompt.floor.map { .integer(Int64(bitPattern: $0)) } ?? .null,
        .integer(prompt.isSeen ? 1 : 0),
      ])
    guard !isKnown else { return }
    try database.run(
      "UPDATE client SET last_prompt = max(last_prompt, ?)", [.integer(number)])
    let entry = SessionEntry(
      id: prompt.id.description, role: .user, text: prompt.text,
      conversation: prompt.conversation, timestamp: prompt.createdAt)
    _ = try insert(entry, .live, isOwn: true)
  }

  private func hasPrompt(_ key: UUID128) throws(StoreFailure) -> Bool {
    try !database.query("SELECT 1 FROM prompts WHERE key = ?", [.uuid(key)]) {
      row throws(StoreFailure) in try row.integer(0)
    }.isEmpty
  }

  private func hasOwnEntry(of key: UUID128) throws(StoreFailure) -> Bool {
    try !database.query(
      "SELECT 1 FROM entries WHERE id = ? AND is_own = 1", [.text(key.description)]
    ) { row throws(StoreFailure) in try row.integer(0) }.isEmpty
  }

  private func forget(_ key: UUID128) throws(StoreFailure) {
    try database.run("DELETE FROM prompts WHERE key = ?", [.uuid(key)])
  }

  // MARK: Conversations

  private func conversations() throws(StoreFailure) -> [KnownConversation] {
    try database.query(
      """
      SELECT id, opened_by, sequence, offset, signature, open_turns, last_end
      FROM conversations ORDER BY turn DESC LIMIT ?
      """, [.integer(ClientSessionSnapshot.conversationLimit)]
    ) { row throws(StoreFailure) in
      KnownConversation(
        id: try row.text(0), openedBy: try row.optionalUUID(1),
        sequence: UInt64(bitPattern: try row.integer(2)),
        offset: UInt64(bitPattern: try row.integer(3)), signature: try row.optionalText(4),
        openTurns: Int(max(0, try row.integer(5))), lastEnd: try row.optionalText(6))
    }.reversed()
  }

  /// Adds or replaces a conversation. It becomes the last one.
  private func put(_ conversation: KnownConversation) throws(StoreFailure) {
    try database.run(
      """
      INSERT OR REPLACE INTO conversations(
        id, opened_by, sequence, offset, signature, open_turns, last_end)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .text(conversation.id), .uuid(conversation.openedBy),
        .integer(Int64(bitPattern: conversation.sequence)),
        .integer(Int64(bitPattern: conversation.offset)), .text(conversation.signature),
        .integer(Int64(conversation.openTurns)), .text(conversation.lastEnd),
      ])
  }

  // MARK: News

  private static let entryColumns = "number, id, conversation, role, text, time, place, via"

  private static func message(_ row: Row) throws(StoreFailure) -> NumberedSessionNews {
    guard let role = SessionRole(rawValue: try row.text(3)) else {
      throw row.garbage(3, expected: "a role")
    }
    guard let via = SessionVia(rawValue: try row.text(7)) else {
      throw row.garbage(7, expected: "the way in which a message arrived")
    }
    let entry = SessionEntry(
      id: try row.text(1), role: role, text: try row.text(4), conversation: try row.text(2),
      timestamp: try row.optionalTime(5),
      position: try row.optionalInteger(6).map { UInt64(bitPattern: $0) })
    return NumberedSessionNews(number: try row.unsigned(0), news: .message(entry, via: via))
  }

  private func unshown() throws(StoreFailure) -> [NumberedSessionNews] {
    let messages = try database.query(
      """
      SELECT \(Self.entryColumns) FROM entries
      WHERE number > (SELECT shown FROM client) AND is_own = 0
        AND number NOT IN (SELECT number FROM marks)
      """, [], Self.message)
    let ends = try database.query(
      "SELECT number, key, conversation, text, outcome, reason FROM endings"
    ) { row throws(StoreFailure) in
      guard let outcome = SessionEnding.Outcome(rawValue: try row.text(4)) else {
        throw row.garbage(4, expected: "an outcome")
      }
      return NumberedSessionNews(
        number: try row.unsigned(0),
        news: .ended(
          SessionEnding(
            key: try row.uuid(1), conversation: try row.text(2), text: try row.text(3),
            outcome: outcome, reason: try row.optionalText(5))))
    }
    return (messages + ends).sorted { $0.number < $1.number }
  }

  private func add(_ news: SessionNews) throws(StoreFailure) -> [NumberedSessionNews] {
    switch news {
    case .message(let entry, let via):
      guard let number = try insert(entry, via, isOwn: false) else { return [] }
      return [NumberedSessionNews(number: number, news: news)]
    case .ended(let ending):
      if let message = ending.message, try !noteEnd(by: message) { return [] }
      guard try hasPrompt(ending.key) else { return [] }
      try end(ending)
      let number = try newNumber()
      try database.run(
        "INSERT INTO endings VALUES (?, ?, ?, ?, ?, ?)",
        [
          .integer(Int64(clamping: number)), .uuid(ending.key), .text(ending.conversation),
          .text(ending.text), .text(ending.outcome.rawValue), .text(ending.reason),
        ])
      return [NumberedSessionNews(number: number, news: news)]
    }
  }

  /// Records that a message ended a prompt. Returns false if this was already recorded.
  private func noteEnd(by message: String) throws(StoreFailure) -> Bool {
    try database.run("INSERT OR IGNORE INTO ends VALUES (?)", [.text(message)]) > 0
  }

  /// Deletes a prompt that has ended. A prompt that can be sent again remains until it is sent or
  /// discarded.
  private func end(_ ending: SessionEnding) throws(StoreFailure) {
    guard ending.outcome.isRetained else { return try forget(ending.key) }
    try database.run(
      "UPDATE prompts SET tries = NULL, failure = ? WHERE key = ?",
      [.text(ending.reason ?? ending.outcome.rawValue), .uuid(ending.key)])
  }

  /// Adds an entry and returns its number; `nil` if an entry with its ID exists.
  private func insert(
    _ entry: SessionEntry, _ via: SessionVia, isOwn: Bool
  ) throws(StoreFailure) -> UInt64? {
    let known = try database.query(
      "SELECT 1 FROM entries WHERE id = ?", [.text(entry.id)]
    ) { row throws(StoreFailure) in try row.integer(0) }
    guard known.isEmpty else { return nil }
    let number = try newNumber()
    try database.run(
      "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
      [
        .integer(Int64(clamping: number)), .text(entry.id), .text(entry.conversation),
        .text(entry.role.rawValue), .text(entry.text), .time(entry.timestamp),
        entry.position.map { .integer(Int64(bitPattern: $0)) } ?? .null, .text(via.rawValue),
        .integer(isOwn ? 1 : 0),
      ])
    return number
  }

  private func newNumber() throws(StoreFailure) -> UInt64 {
    try database.run("UPDATE client SET last_number = last_number + 1")
    let found = try database.query("SELECT last_number FROM client") { row throws(StoreFailure) in
      try row.unsigned(0)
    }
    guard let number = found.first else {
      throw .other(detail: "The store of a session was not opened for a client.")
    }
    return number
  }

  private func noteMarked(_ number: UInt64) throws(StoreFailure) {
    let number = SQLValue.integer(Int64(clamping: number))
    try database.run("DELETE FROM endings WHERE number = ?", [number])
    try database.run(
      """
      INSERT OR IGNORE INTO marks SELECT number FROM entries
      WHERE number = ? AND number > (SELECT shown FROM client)
      """, [number])
  }

  private func noteShown(_ through: UInt64) throws(StoreFailure) {
    try database.run(
      "UPDATE client SET shown = max(shown, min(?, last_number))",
      [.integer(Int64(clamping: through))])
    try database.run("DELETE FROM endings WHERE number <= (SELECT shown FROM client)")
    try database.run("DELETE FROM marks WHERE number <= (SELECT shown FROM client)")
  }

  // MARK: Days

  func days() throws(StoreFailure) -> [SessionDay] {
    try database.query(
      """
      SELECT day, tries, connects, reconnects, reconnecting, round_trips, round_trip_sum, longest
      FROM days ORDER BY day
      """
    ) { row throws(StoreFailure) in
      var day = SessionDay(day: Int(try row.integer(0)))
      (day.tries, day.connects) = (Int(try row.integer(1)), Int(try row.integer(2)))
      (day.reconnects, day.roundTrips) = (Int(try row.integer(3)), Int(try row.integer(5)))
      day.reconnecting = .nanoseconds(try row.integer(4))
      day.roundTripSum = .nanoseconds(try row.integer(6))
      day.longestRoundTrip = .nanoseconds(try row.integer(7))
      return day
    }
  }

  private func add(_ day: SessionDay) throws(StoreFailure) {
    try database.run(
      """
      INSERT INTO days VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (day) DO UPDATE SET
        tries = tries + excluded.tries, connects = connects + excluded.connects,
        reconnects = reconnects + excluded.reconnects,
        reconnecting = reconnecting + excluded.reconnecting,
        round_trips = round_trips + excluded.round_trips,
        round_trip_sum = round_trip_sum + excluded.round_trip_sum,
        longest = max(longest, excluded.longest)
      """,
      [
        .integer(day.day), .integer(day.tries), .integer(day.connects), .integer(day.reconnects),
        .integer(day.reconnecting.nanoseconds), .integer(day.roundTrips),
        .integer(day.roundTripSum.nanoseconds), .integer(day.longestRoundTrip.nanoseconds),
      ])
  }
}

/// A client's session store in one SQLite file, `session-client.sqlite`.
///
/// Each change is one transaction. It survives a power failure once the call has returned, because
/// a prompt is stored nowhere else, and an acknowledged message is not sent again.
package typealias SQLiteClientSessionStore = SQLiteFile<ClientSessionTables>

extension SQLiteFile: ClientSessionStore where T == ClientSessionTables {
  package func open(as client: UUID128) throws(StoreFailure) -> ClientSessionSnapshot {
    try write { tables throws(StoreFailure) in try tables.open(as: client) }
  }

  package func commit(_ change: ClientSessionChange) throws(StoreFailure) -> [NumberedSessionNews] {
    try write { tables throws(StoreFailure) in try tables.commit(change) }
  }

  package func history(
    of conversation: String, before number: UInt64?, limit: Int
  ) throws(StoreFailure) -> [NumberedSessionNews] {
    try read { tables throws(StoreFailure) in
      try tables.history(of: conversation, before: number, limit: limit)
    }
  }

  package func days() throws(StoreFailure) -> [SessionDay] {
    try read { tables throws(StoreFailure) in try tables.days() }
  }
}
