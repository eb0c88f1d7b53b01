extension MovedTable {
  /// ID, newest number, newest prompt, number up to which messages are lost, and time of the newest
  /// connection.
  package static let sessionClients = MovedTable(
    "session clients", [.text, .integer, .integer, .integer, .integer])
  /// The columns of a prompt, then those of its answer.
  package static let sessionPrompts = MovedTable(
    "session prompts",
    [
      .integer, .text, .text, .flag, .text, .integer, .text, .text, .text, .text, .integer, .flag,
      .text, .integer, .flag, .text, .integer, .flag,
    ])
  /// ID and signature.
  package static let conversations = MovedTable("conversations", [.text, .text])
  /// Conversation, place, ID, role, text and time.
  package static let sessionEntries = MovedTable(
    "session entries", [.text, .integer, .text, .text, .text, .integer])

  /// The tables of sessions.
  package static let sessionTables = [
    sessionClients, sessionPrompts, conversations, sessionEntries,
  ]
}
