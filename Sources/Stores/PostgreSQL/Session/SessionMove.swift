import HoldfastServerData

extension MovedSQL {
  /// The tables of sessions.
  static let sessions = [
    MovedSQL(.sessionClients, in: "session_clients", by: "id"),
    MovedSQL(.sessionPrompts, in: "session_prompts", by: "id"),
    MovedSQL(.conversations, in: "session_conversations", by: "id"),
    MovedSQL(.sessionEntries, in: "session_entries", by: "conversation", "place"),
  ]
}
