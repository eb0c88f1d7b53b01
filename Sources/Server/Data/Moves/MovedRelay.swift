extension MovedTable {
  /// The phones. `resume` is the hash of the secret with which a phone resumes, `push` the address of
  /// its pushes. The columns of `synced` name the user whose synced samples are read.
  package static let phones = MovedTable(
    "phones",
    [
      .uuid("id"), .uuid("device"), .bytes("resume"), .bytes("push"), .integer("left_at"),
      .text("synced_user"), .text("synced_zone"), .bytes("synced_proof"),
    ])
  /// The tokens of assistants, by their hashes. `since` and `asked` are the times of the first and of
  /// the newest question.
  package static let accesses = MovedTable(
    "accesses",
    [
      .bytes("token"), .uuid("phone"), .integer("expires_at"), .text("name"), .text("version"),
      .integer("since"), .integer("asked"), .integer("generation"), .flag("reads_synced"),
    ])
  /// The questions, in their wire format and in the order of arrival.
  package static let questions = MovedTable(
    "questions",
    [
      .text("id"), .uuid("phone"), .bytes("asker"), .bytes("question"), .integer("deadline"),
    ])
  /// The sessions of assistants, by the hashes of their IDs. `version` is that of MCP, `owner` the hash
  /// of the grant, `bearer` that of the token; `elicits` says whether the client opens pages, and
  /// `shows` whether it sends its token.
  package static let assistantSessions = MovedTable(
    "assistant sessions",
    [
      .bytes("id"), .text("version"), .text("name"), .text("name_version"), .bytes("owner"),
      .bytes("bearer"), .flag("elicits"), .flag("shows"),
    ])

  /// The tables of the relay.
  package static let relayTables = [phones, accesses, questions, assistantSessions]
}
