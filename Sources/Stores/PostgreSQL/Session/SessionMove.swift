import HoldfastServerData

extension MovedSQL {
  /// The tables of sessions.
  static let sessions = [
    MovedSQL(
      .sessionClients,
      select: """
        SELECT id, last_number, last_prompt, lost, seen_at FROM session_clients ORDER BY id
        """,
      insert: """
        INSERT INTO session_clients(id, last_number, last_prompt, lost, seen_at)
        SELECT * FROM unnest($1, $2, $3, $4, $5)
        """),
    MovedSQL(
      .sessionPrompts,
      select: "SELECT \(promptColumns) FROM session_prompts ORDER BY id",
      insert: """
        INSERT INTO session_prompts(\(promptColumns))
        SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16,
          $17, $18)
        """),
    MovedSQL(
      .conversations,
      select: "SELECT id, signature FROM session_conversations ORDER BY id",
      insert: """
        INSERT INTO session_conversations(id, signature) SELECT * FROM unnest($1, $2)
        """),
    MovedSQL(
      .sessionEntries,
      select: """
        SELECT conversation, place, id, role, text, at FROM session_entries
        ORDER BY conversation, place
        """,
      insert: """
        INSERT INTO session_entries(conversation, place, id, role, text, at)
        SELECT * FROM unnest($1, $2, $3, $4, $5, $6)
        """),
  ]

  private static let promptColumns = """
    id, client, conversation, is_new, key, number, text, directory, provider, system, at,
    is_started, message, message_number, is_success, answer, answered_at, is_taken
    """
}
