extension MovedTable {
  /// The clients of sessions. `lost` is the number up to which messages are lost, `seen_at` the time of
  /// the newest connection.
  package static let sessionClients = MovedTable(
    "session clients",
    [
      .text("id"), .integer("last_number"), .integer("last_prompt"), .integer("lost"),
      .integer("seen_at"),
    ])
  /// The prompts with their answers.
  package static let sessionPrompts = MovedTable(
    "session prompts",
    [
      .integer("id"), .text("client"), .text("conversation"), .flag("is_new"), .text("key"),
      .integer("number"), .text("text"), .text("directory"), .text("provider"), .text("system"),
      .integer("at"), .flag("is_started"), .text("message"), .integer("message_number"),
      .flag("is_success"), .text("answer"), .integer("answered_at"), .flag("is_taken"),
    ])
  package static let conversations = MovedTable(
    "conversations", [.text("id"), .text("signature")])
  package static let sessionEntries = MovedTable(
    "session entries",
    [
      .text("conversation"), .integer("place"), .text("id"), .text("role"), .text("text"),
      .integer("at"),
    ])

  /// The tables of sessions.
  package static let sessionTables = [
    sessionClients, sessionPrompts, conversations, sessionEntries,
  ]
}
