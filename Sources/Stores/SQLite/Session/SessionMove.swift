import HoldfastServerData

extension SessionTables: MovableTables {
  static let moved = [
    MovedSQL(.sessionClients, in: "clients", by: "id"),
    MovedSQL(.sessionPrompts, in: "prompts", by: "id"),
    MovedSQL(.conversations, in: "conversations", by: "id"),
    MovedSQL(.sessionEntries, in: "entries", by: "conversation", "place"),
  ]
}
