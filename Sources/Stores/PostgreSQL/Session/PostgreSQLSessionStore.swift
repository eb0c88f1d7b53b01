package import HoldfastCore
import HoldfastFeaturePorts
package import HoldfastSessionData

/// The tables of the session server's state.
enum SessionSchema {
  static let tables = """
    CREATE TABLE session_clients(
      id bytea PRIMARY KEY, last_number bigint NOT NULL, last_prompt bigint, lost bigint,
      seen_at bigint NOT NULL);
    CREATE TABLE session_prompts(
      id bigint PRIMARY KEY, client bytea NOT NULL, conversation bytea NOT NULL,
      is_new boolean NOT NULL, key bytea, number bigint, text bytea NOT NULL, directory bytea,
      provider bytea, system bytea, at bigint NOT NULL, is_started boolean NOT NULL,
      message bytea, message_number bigint, is_success boolean, answer bytea,
      answered_at bigint, is_taken boolean);
    CREATE TABLE session_conversations(id bytea PRIMARY KEY, signature bytea NOT NULL);
    CREATE TABLE session_entries(
      conversation bytea NOT NULL REFERENCES session_conversations(id) ON DELETE CASCADE,
      place bigint NOT NULL, id bytea NOT NULL, role bytea NOT NULL, text bytea NOT NULL,
      at bigint, PRIMARY KEY (conversation, place));
    """
}

/// A store of a session server's state in PostgreSQL.
package final class PostgreSQLSessionStore: SessionStore {
  private let node: DatabaseNode
  private let lane: Lane

  /// Opens the store of a node.
  package init(of node: DatabaseNode) {
    self.node = node
    lane = Lane(.session, of: node)
  }

  package func check() async throws(StoreFailure) {
    if let reason = node.reason { throw .denied(detail: reason) }
    _ = try await lane.read([Command("SELECT 1")])
  }

  package func close() async { await lane.close() }

  package func stored() async throws(StoreFailure) -> StoredSessions {
    let rows = try await lane.read([
      Command("SELECT id, last_number, last_prompt, lost, seen_at FROM session_clients"),
      Command(
        """
        SELECT id, client, conversation, is_new, key, number, text, directory, provider, system, at,
          is_started, message, message_number, is_success, answer, answered_at, is_taken
        FROM session_prompts
        """),
      Command("SELECT id, signature FROM session_conversations"),
      Command(
        """
        SELECT conversation, place, id, role, text, at FROM session_entries
        ORDER BY conversation, place
        """),
    ])
    var stored = StoredSessions()
    for row in rows[0] { stored.apply(.client(try row.client())) }
    for row in rows[1] { stored.apply(.prompt(try row.prompt())) }
    for row in rows[2] {
      stored.apply(.conversation(try row.text(0), signature: try row.text(1)))
    }
    for row in rows[3] { stored.apply(.entry(try row.entry())) }
    return stored
  }

  package func apply(_ changes: [SessionChange]) async throws(StoreFailure) {
    guard !changes.isEmpty else { return }
    // The caller's thread may be the server's loop, so the lane makes the commands.
    _ = try await lane.write { changes.flatMap(\.commands) + $0.ending() }
  }
}

extension SessionChange {
  fileprivate var commands: [Command] {
    switch self {
    case .client(let client): [client.command]
    case .endClient(let id):
      [Command("DELETE FROM session_clients WHERE id = $1", [.text(id)])]
    case .prompt(let prompt): prompt.commands
    case .started(let id):
      [Command("UPDATE session_prompts SET is_started = true WHERE id = $1", [.id(id)])]
    case .answered(let id, let answer): [answer.command(of: id)]
    case .taken(let id):
      [
        Command(
          "UPDATE session_prompts SET is_taken = true WHERE id = $1 AND message IS NOT NULL",
          [.id(id)])
      ]
    case .endPrompt(let id): [Command("DELETE FROM session_prompts WHERE id = $1", [.id(id)])]
    case .conversation(let id, let signature):
      [
        "DELETE FROM session_conversations WHERE id = $1 AND signature <> $2",
        """
        INSERT INTO session_conversations(id, signature) VALUES ($1, $2) ON CONFLICT DO NOTHING
        """,
      ].map { Command($0, [.text(id), .text(signature)]) }
    case .entry(let entry): [entry.command]
    case .prune(let id, let place):
      [
        Command(
          "DELETE FROM session_entries WHERE conversation = $1 AND place < $2",
          [.text(id), .number(place)])
      ]
    case .endConversation(let id):
      [Command("DELETE FROM session_conversations WHERE id = $1", [.text(id)])]
    }
  }
}

extension StoredSessionClient {
  fileprivate var command: Command {
    Command(
      """
      INSERT INTO session_clients(id, last_number, last_prompt, lost, seen_at)
      VALUES ($1, $2, $3, $4, $5)
      ON CONFLICT (id) DO UPDATE SET last_number = excluded.last_number,
        last_prompt = excluded.last_prompt, lost = excluded.lost, seen_at = excluded.seen_at
      """,
      [.text(id), .number(lastNumber), .number(lastPrompt), .number(lost), .time(seenAt)])
  }
}

extension StoredSessionPrompt {
  fileprivate var commands: [Command] {
    let insertion = Command(
      """
      INSERT INTO session_prompts(id, client, conversation, is_new, key, number, text, directory,
        provider, system, at, is_started)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
      """,
      [
        .id(id), .text(client), .text(prompt.conversation), .flag(prompt.isNew),
        .text(prompt.idempotencyKey), .number(prompt.number), .text(prompt.text),
        .text(prompt.workingDirectory), .text(prompt.provider), .text(prompt.systemPrompt),
        .time(at), .flag(stage != .accepted),
      ])
    let commands = [
      Command("DELETE FROM session_prompts WHERE id = $1", [.id(id)]), insertion,
    ]
    guard case .ended(let answer) = stage else { return commands }
    return commands + [answer.command(of: id)]
  }
}

extension StoredSessionAnswer {
  fileprivate func command(of id: SessionPromptID) -> Command {
    let (isSuccess, text) =
      switch result {
      case .success(let text): (true, text)
      case .failure(let error): (false, error)
      }
    return Command(
      """
      UPDATE session_prompts SET is_started = true, message = $2, message_number = $3,
        is_success = $4, answer = $5, answered_at = $6, is_taken = $7 WHERE id = $1
      """,
      [
        .id(id), .text(message), .number(number), .flag(isSuccess), .text(text), .time(at),
        .flag(isTaken),
      ])
  }
}

extension SessionEntry {
  fileprivate var command: Command {
    Command(
      """
      INSERT INTO session_entries(conversation, place, id, role, text, at)
      SELECT $1, $2, $3, $4, $5, $6
      WHERE EXISTS (SELECT 1 FROM session_conversations WHERE id = $1)
      ON CONFLICT (conversation, place) DO UPDATE SET id = excluded.id, role = excluded.role,
        text = excluded.text, at = excluded.at
      """,
      [
        .text(conversation), .number(position ?? 0), .text(id), .text(role.rawValue), .text(text),
        .time(timestamp),
      ])
  }
}

extension Parameter {
  fileprivate static func number(_ value: UInt64?) -> Parameter {
    .integer(value.map { Int64(clamping: $0) })
  }

  fileprivate static func id(_ id: SessionPromptID) -> Parameter { number(id.number) }
}

extension Row {
  fileprivate func client() throws(StoreFailure) -> StoredSessionClient {
    StoredSessionClient(
      id: try text(0), lastNumber: try unsigned(1), lastPrompt: try optionalUnsigned(2),
      lost: try optionalUnsigned(3), seenAt: try time(4))
  }

  fileprivate func prompt() throws(StoreFailure) -> StoredSessionPrompt {
    let prompt = SessionPrompt(
      text: try text(6), conversation: try text(2), isNew: try flag(3),
      idempotencyKey: try optionalText(4), number: try optionalUnsigned(5),
      workingDirectory: try optionalText(7), provider: try optionalText(8),
      systemPrompt: try optionalText(9))
    var stage: StoredSessionPrompt.Stage = try flag(11) ? .started : .accepted
    if let message = try optionalText(12) {
      let answer = try text(15)
      stage = .ended(
        StoredSessionAnswer(
          message: message, number: try unsigned(13),
          result: try flag(14) ? .success(text: answer) : .failure(error: answer),
          at: try time(16), isTaken: try flag(17)))
    }
    return StoredSessionPrompt(
      id: SessionPromptID(try unsigned(0)), client: try text(1), prompt: prompt, at: try time(10),
      stage: stage)
  }

  fileprivate func entry() throws(StoreFailure) -> SessionEntry {
    guard let role = SessionRole(rawValue: try text(3)) else {
      throw garbage(3, expected: "a role")
    }
    return SessionEntry(
      id: try text(2), role: role, text: try text(4), conversation: try text(0),
      timestamp: try optionalTime(5), position: try unsigned(1))
  }
}
