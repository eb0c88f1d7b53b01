package import HoldfastCore
import HoldfastFeaturePorts
package import HoldfastSessionData

/// The SQL statements of a session store.
package final class SessionTables: Tables {
  static let schema = Schema(
    applicationID: 0x4846_7365,  // "HFse"
    tables: """
      CREATE TABLE clients(
        id TEXT PRIMARY KEY, last_number INTEGER NOT NULL, last_prompt INTEGER, lost INTEGER,
        seen_at INTEGER NOT NULL) STRICT;
      CREATE TABLE prompts(
        id INTEGER PRIMARY KEY, client TEXT NOT NULL, conversation TEXT NOT NULL,
        is_new INTEGER NOT NULL, key TEXT, number INTEGER, text TEXT NOT NULL, directory TEXT,
        provider TEXT, system TEXT, at INTEGER NOT NULL, is_started INTEGER NOT NULL,
        message TEXT, message_number INTEGER, is_success INTEGER, answer TEXT,
        answered_at INTEGER, is_taken INTEGER) STRICT;
      CREATE TABLE conversations(id TEXT PRIMARY KEY, signature TEXT NOT NULL) STRICT;
      CREATE TABLE entries(
        conversation TEXT NOT NULL REFERENCES conversations(id) ON DELETE CASCADE,
        place INTEGER NOT NULL, id TEXT NOT NULL, role TEXT NOT NULL, text TEXT NOT NULL,
        at INTEGER, PRIMARY KEY(conversation, place)) STRICT;
      """)

  package static let kind = StoreKind(name: "session", schema: schema)

  package let database: Database

  package init(_ database: Database) {
    self.database = database
  }

  func stored() throws(StoreFailure) -> StoredSessions {
    var stored = StoredSessions()
    for client in try clients() { stored.clients[client.id] = client }
    for prompt in try prompts() { stored.prompts[prompt.id] = prompt }
    try database.query("SELECT id, signature FROM conversations") { row throws(StoreFailure) in
      (try row.text(0), StoredConversation(signature: try row.text(1)))
    }.forEach { stored.conversations[$0] = $1 }
    for entry in try entries() { stored.apply(.entry(entry)) }
    return stored
  }

  func apply(_ change: SessionChange) throws(StoreFailure) {
    switch change {
    case .client(let client): try store(client)
    case .endClient(let id): try database.run("DELETE FROM clients WHERE id = ?", [.text(id)])
    case .prompt(let prompt): try store(prompt)
    case .started(let id):
      try database.run(
        "UPDATE prompts SET is_started = 1 WHERE id = ?", [.integer(Int64(id.number))])
    case .answered(let id, let answer): try store(answer, of: id)
    case .taken(let id):
      try database.run(
        "UPDATE prompts SET is_taken = 1 WHERE id = ? AND message IS NOT NULL",
        [.integer(Int64(id.number))])
    case .endPrompt(let id):
      try database.run("DELETE FROM prompts WHERE id = ?", [.integer(Int64(id.number))])
    case .conversation(let id, let signature):
      try database.run(
        "DELETE FROM conversations WHERE id = ? AND signature <> ?", [.text(id), .text(signature)])
      try database.run(
        "INSERT OR IGNORE INTO conversations(id, signature) VALUES (?, ?)",
        [.text(id), .text(signature)])
    case .entry(let entry): try store(entry)
    case .prune(let id, let place):
      try database.run(
        "DELETE FROM entries WHERE conversation = ? AND place < ?",
        [.text(id), .integer(Int64(clamping: place))])
    case .endConversation(let id):
      try database.run("DELETE FROM conversations WHERE id = ?", [.text(id)])
    }
  }

  private func store(_ client: StoredSessionClient) throws(StoreFailure) {
    try database.run(
      """
      INSERT OR REPLACE INTO clients(id, last_number, last_prompt, lost, seen_at)
      VALUES (?, ?, ?, ?, ?)
      """,
      [
        .text(client.id), .number(client.lastNumber), .number(client.lastPrompt),
        .number(client.lost), .time(client.seenAt),
      ])
  }

  private func store(_ stored: StoredSessionPrompt) throws(StoreFailure) {
    let prompt = stored.prompt
    try database.run(
      """
      INSERT OR REPLACE INTO prompts(
        id, client, conversation, is_new, key, number, text, directory, provider, system, at,
        is_started)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .number(stored.id.number), .text(stored.client), .text(prompt.conversation),
        .integer(prompt.isNew ? 1 : 0), .text(prompt.idempotencyKey), .number(prompt.number),
        .text(prompt.text), .text(prompt.workingDirectory), .text(prompt.provider),
        .text(prompt.systemPrompt), .time(stored.at), .integer(stored.stage == .accepted ? 0 : 1),
      ])
    if case .ended(let answer) = stored.stage { try store(answer, of: stored.id) }
  }

  private func store(
    _ answer: StoredSessionAnswer, of id: SessionPromptID
  ) throws(StoreFailure) {
    let (isSuccess, text) =
      switch answer.result {
      case .success(let text): (1, text)
      case .failure(let error): (0, error)
      }
    try database.run(
      """
      UPDATE prompts SET is_started = 1, message = ?, message_number = ?, is_success = ?,
        answer = ?, answered_at = ?, is_taken = ? WHERE id = ?
      """,
      [
        .text(answer.message), .number(answer.number), .integer(isSuccess), .text(text),
        .time(answer.at), .integer(answer.isTaken ? 1 : 0), .number(id.number),
      ])
  }

  private func store(_ entry: SessionEntry) throws(StoreFailure) {
    try database.run(
      """
      INSERT OR REPLACE INTO entries(conversation, place, id, role, text, at)
      SELECT ?1, ?2, ?3, ?4, ?5, ?6 WHERE EXISTS (SELECT 1 FROM conversations WHERE id = ?1)
      """,
      [
        .text(entry.conversation), .number(entry.position ?? 0), .text(entry.id),
        .text(entry.role.rawValue), .text(entry.text), .time(entry.timestamp),
      ])
  }
}

// MARK: - Reading

extension SessionTables {
  private func clients() throws(StoreFailure) -> [StoredSessionClient] {
    try database.query("SELECT id, last_number, last_prompt, lost, seen_at FROM clients") {
      row throws(StoreFailure) in
      StoredSessionClient(
        id: try row.text(0), lastNumber: try row.unsigned(1),
        lastPrompt: try row.optionalUnsigned(2), lost: try row.optionalUnsigned(3),
        seenAt: try row.time(4))
    }
  }

  private func prompts() throws(StoreFailure) -> [StoredSessionPrompt] {
    try database.query(
      """
      SELECT id, client, conversation, is_new, key, number, text, directory, provider, system, at,
        is_started, message, message_number, is_success, answer, answered_at, is_taken
      FROM prompts
      """
    ) { row throws(StoreFailure) in
      let prompt = SessionPrompt(
        text: try row.text(6), conversation: try row.text(2), isNew: try row.flag(3),
        idempotencyKey: try row.optionalText(4), number: try row.optionalUnsigned(5),
        workingDirectory: try row.optionalText(7), provider: try row.optionalText(8),
        systemPrompt: try row.optionalText(9))
      var stage: StoredSessionPrompt.Stage = try row.flag(11) ? .started : .accepted
      if let message = try row.optionalText(12) {
        let text = try row.text(15)
        stage = .ended(
          StoredSessionAnswer(
            message: message, number: try row.unsigned(13),
            result: try row.flag(14) ? .success(text: text) : .failure(error: text),
            at: try row.time(16), isTaken: try row.flag(17)))
      }
      return StoredSessionPrompt(
        id: SessionPromptID(try row.unsigned(0)), client: try row.text(1), prompt: prompt,
        at: try row.time(10), stage: stage)
    }
  }

  private func entries() throws(StoreFailure) -> [SessionEntry] {
    try database.query(
      "SELECT conversation, place, id, role, text, at FROM entries ORDER BY conversation, place"
    ) { row throws(StoreFailure) in
      guard let role = SessionRole(rawValue: try row.text(3)) else {
        throw row.garbage(3, expected: "a role")
      }
      return SessionEntry(
        id: try row.text(2), role: role, text: try row.text(4), conversation: try row.text(0),
        timestamp: try row.optionalTime(5), position: try row.unsigned(1))
    }
  }
}

extension SQLValue {
  fileprivate static func number(_ value: UInt64?) -> SQLValue {
    value.map { .integer(Int64(clamping: $0)) } ?? .null
  }
}

extension Row {
  fileprivate func optionalUnsigned(_ column: Int32) throws(StoreFailure) -> UInt64? {
    try optionalInteger(column) == nil ? nil : try unsigned(column)
  }
}

/// A session store in one SQLite file, `session.sqlite`.
///
/// A change survives a power failure once the call has returned.
package typealias SQLiteSessionStore = SQLiteFile<SessionTables>

extension SQLiteFile: SessionStore where T == SessionTables {
  package func stored() throws(StoreFailure) -> StoredSessions {
    try read { tables throws(StoreFailure) in try tables.stored() }
  }

  package func apply(_ changes: [SessionChange]) throws(StoreFailure) {
    try write { tables throws(StoreFailure) in
      for change in changes { try tables.apply(change) }
    }
  }
}
