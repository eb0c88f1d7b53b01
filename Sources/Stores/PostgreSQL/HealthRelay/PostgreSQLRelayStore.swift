package import HoldfastCore
import HoldfastFeaturePorts
package import HoldfastRelayData

/// The tables of the relay's state.
enum RelaySchema {
  static let tables = """
    CREATE TABLE relay_phones(
      id uuid PRIMARY KEY, device uuid NOT NULL, resume bytea NOT NULL, push bytea,
      left_at bigint, synced_user bytea, synced_zone bytea, synced_proof bytea);
    CREATE TABLE relay_accesses(
      token bytea PRIMARY KEY, phone uuid NOT NULL, expires_at bigint NOT NULL, name bytea,
      version bytea, since bigint, asked bigint, generation bigint,
      reads_synced boolean NOT NULL);
    CREATE TABLE relay_questions(
      number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id bytea NOT NULL UNIQUE,
      phone uuid NOT NULL, asker bytea NOT NULL, question bytea NOT NULL, deadline bigint NOT NULL);
    CREATE INDEX questions_of_phones ON relay_questions(phone);
    """

  /// The sessions of signed-in assistants, since version 2 of the tables.
  static let sessions = """
    CREATE TABLE assistant_sessions(
      id bytea PRIMARY KEY, version bytea, name bytea, name_version bytea, owner bytea,
      bearer bytea, elicits boolean NOT NULL, shows boolean NOT NULL);
    """
}

/// A store of the relay's state in PostgreSQL.
package final class PostgreSQLRelayStore: RelayStore {
  private let node: DatabaseNode
  private let lane: Lane

  /// Opens the store of a node.
  package init(of node: DatabaseNode) {
    self.node = node
    lane = Lane(.relay, of: node)
  }

  package func check() async throws(StoreFailure) {
    if let reason = node.reason { throw .denied(detail: reason) }
    _ = try await lane.read([Command("SELECT 1")])
  }

  package func close() async { await lane.close() }

  package func stored() async throws(StoreFailure) -> StoredRelay {
    let rows = try await lane.read([
      Command(
        """
        SELECT id, device, resume, push, left_at, synced_user, synced_zone, synced_proof
        FROM relay_phones ORDER BY id
        """),
      Command(
        """
        SELECT token, phone, expires_at, name, version, since, asked, generation, reads_synced
        FROM relay_accesses ORDER BY token
        """),
      Command("SELECT phone, asker, question, deadline FROM relay_questions ORDER BY number"),
      Command(
        """
        SELECT id, version, name, name_version, owner, bearer, elicits, shows
        FROM assistant_sessions ORDER BY id
        """),
    ])
    var stored = StoredRelay()
    for row in rows[0] { stored.apply(.phone(try row.phone())) }
    for row in rows[1] { stored.apply(.access(try row.access())) }
    for row in rows[2] { stored.apply(.question(try row.question())) }
    for row in rows[3] { stored.apply(.session(try row.session())) }
    return stored
  }

  package func apply(_ changes: [RelayChange]) async throws(StoreFailure) {
    guard !changes.isEmpty else { return }
    // The caller's thread may be the server's loop, so the lane makes the commands.
    _ = try await lane.write { changes.flatMap(\.commands) + $0.ending() }
  }
}

extension RelayChange {
  fileprivate var commands: [Command] {
    switch self {
    case .phone(let phone): [phone.command]
    case .endPhone(let id):
      ["relay_phones WHERE id", "relay_questions WHERE phone"].map {
        Command("DELETE FROM \($0) = $1", [.uuid(id.uuid)])
      }
    case .access(let access): [access.command]
    case .endAccess(let token):
      [Command("DELETE FROM relay_accesses WHERE token = $1", [.blob(token.bytes)])]
    case .question(let question): [question.command]
    case .endQuestion(let id):
      [Command("DELETE FROM relay_questions WHERE id = $1", [.text(id.text)])]
    case .session(let session): [session.command]
    case .endSession(let id):
      [Command("DELETE FROM assistant_sessions WHERE id = $1", [.blob(id.bytes)])]
    }
  }
}

extension StoredPhone {
  fileprivate var command: Command {
    Command(
      """
      INSERT INTO relay_phones(id, device, resume, push, left_at, synced_user, synced_zone,
        synced_proof)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
      ON CONFLICT (id) DO UPDATE SET device = excluded.device, resume = excluded.resume,
        push = excluded.push, left_at = excluded.left_at, synced_user = excluded.synced_user,
        synced_zone = excluded.synced_zone, synced_proof = excluded.synced_proof
      """,
      [
        .uuid(id.uuid), .uuid(device), .blob(resume.bytes), .blob(push?.encode()), .time(leftAt),
        .text(synced?.name), .text(synced?.zone), .blob(synced?.proof?.bytes),
      ])
  }
}

extension StoredAccess {
  fileprivate var command: Command {
    Command(
      """
      INSERT INTO relay_accesses(token, phone, expires_at, name, version, since, asked,
        generation, reads_synced)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
      ON CONFLICT (token) DO UPDATE SET phone = excluded.phone, expires_at = excluded.expires_at,
        name = excluded.name, version = excluded.version, since = excluded.since,
        asked = excluded.asked, generation = excluded.generation,
        reads_synced = excluded.reads_synced
      """,
      [
        .blob(token.bytes), .uuid(phone.uuid), .time(expiresAt), .text(assistant?.name),
        .text(assistant?.version), .time(since), .time(lastAsked),
        .integer(generation.map { Int64(bitPattern: $0) }), .flag(readsSynced),
      ])
  }
}

extension StoredQuestion {
  /// The question is stored in its wire format, so that only one encoding has to be tested.
  fileprivate var command: Command {
    Command(
      """
      INSERT INTO relay_questions(id, phone, asker, question, deadline) VALUES ($1, $2, $3, $4, $5)
      ON CONFLICT (id) DO UPDATE SET phone = excluded.phone, asker = excluded.asker,
        question = excluded.question, deadline = excluded.deadline
      """,
      [
        .text(id.text), .uuid(phone.uuid), .blob(caller.bytes),
        .blob(BackendMessage.question(id, question).bytes), .time(deadline),
      ])
  }
}

extension StoredAssistantSession {
  fileprivate var command: Command {
    Command(
      """
      INSERT INTO assistant_sessions(id, version, name, name_version, owner, bearer, elicits, shows)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
      ON CONFLICT (id) DO UPDATE SET version = excluded.version, name = excluded.name,
        name_version = excluded.name_version, owner = excluded.owner, bearer = excluded.bearer,
        elicits = excluded.elicits, shows = excluded.shows
      """,
      [
        .blob(id.bytes), .text(version), .text(client?.name), .text(client?.version),
        .blob(owner?.bytes), .blob(bearer?.bytes), .flag(elicitsURL), .flag(showsTokens),
      ])
  }
}

extension Row {
  fileprivate func phone() throws(StoreFailure) -> StoredPhone {
    var synced: SyncedUser?
    if let name = try optionalText(5) {
      synced = SyncedUser(name, zone: try optionalText(6), proof: try optionalHash(7))
    }
    return StoredPhone(
      id: PhoneID(try uuid(0)), device: try uuid(1), resume: try hash(2), push: try push(3),
      leftAt: try optionalTime(4), synced: synced)
  }

  fileprivate func access() throws(StoreFailure) -> StoredAccess {
    StoredAccess(
      token: try hash(0), phone: PhoneID(try uuid(1)), expiresAt: try time(2),
      assistant: AssistantName(try optionalText(3), version: try optionalText(4)),
      since: try optionalTime(5), lastAsked: try optionalTime(6),
      generation: try optionalInteger(7).map { UInt64(bitPattern: $0) },
      readsSynced: try flag(8))
  }

  fileprivate func question() throws(StoreFailure) -> StoredQuestion {
    guard let text = try optionalBlob(2),
      case .question(let id, let question)? = try? BackendMessage.read(text)
    else { throw garbage(2, expected: "a question") }
    return StoredQuestion(
      id: id, phone: PhoneID(try uuid(0)), caller: try hash(1), question: question,
      deadline: try time(3))
  }

  fileprivate func session() throws(StoreFailure) -> StoredAssistantSession {
    StoredAssistantSession(
      id: try hash(0), version: try optionalText(1),
      client: AssistantName(try optionalText(2), version: try optionalText(3)),
      owner: try optionalHash(4), bearer: try optionalHash(5), elicitsURL: try flag(6),
      showsTokens: try flag(7))
  }

  private func optionalHash(_ column: Int) throws(StoreFailure) -> TokenHash? {
    columns[column] == nil ? nil : try hash(column)
  }

  private func hash(_ column: Int) throws(StoreFailure) -> TokenHash {
    guard let bytes = try optionalBlob(column), let hash = TokenHash(bytes) else {
      throw garbage(column, expected: "a hash of 32 bytes")
    }
    return hash
  }

  private func push(_ column: Int) throws(StoreFailure) -> PushAddress? {
    guard let bytes = try optionalBlob(column) else { return nil }
    do {
      return try PushAddress.decode(bytes)
    } catch {
      throw garbage(column, expected: "a push address")
    }
  }
}
