import HoldfastServerData

extension SessionTables: MovableTables {
  static let moved = [
    MovedSQL(
      .sessionClients,
      select: "SELECT id, last_number, last_prompt, lost, seen_at FROM clients ORDER BY id",
      insert: """
        INSERT INTO clients(id, last_number, last_prompt, lost, seen_at)
        VALUES (?1, ?2, ?3, ?4, ?5)
        """),
    MovedSQL(
      .sessionPrompts,
      select: "SELECT \(promptColumns) FROM prompts ORDER BY id",
      insert: """
        INSERT INTO prompts(\(promptColumns))
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)
        """),
    MovedSQL(
      .conversations,
      select: "SELECT id, signature FROM conversations ORDER BY id",
      insert: "INSERT INTO conversations(id, signature) VALUES (?1, ?2)"),
    MovedSQL(
      .sessionEntries,
      select: """
        SELECT conversation, place, id, role, text, at FROM entries ORDER BY conversation, place
        """,
      insert: """
        INSERT INTO entries(conversation, place, id, role, text, at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)
        """),
  ]

  private static let promptColumns = """
    id, client, conversation, is_new, key, number, text, directory, provider, system, at,
    is_started, message, message_number, is_success, answer, answered_at, is_taken
    """
}
