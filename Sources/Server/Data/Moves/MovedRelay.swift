extension MovedTable {
  /// ID, device, hash for resumption, push address, time of leaving; name, zone and proof of the user
  /// whose synced samples are read.
  package static let phones = MovedTable(
    "phones", [.uuid, .uuid, .bytes, .bytes, .integer, .text, .text, .bytes])
  /// Token's hash, phone, expiry, name and version of the assistant, times of the first and newest
  /// question, generation of the grant, and whether synced samples are read.
  package static let accesses = MovedTable(
    "accesses",
    [.bytes, .uuid, .integer, .text, .text, .integer, .integer, .integer, .flag])
  /// ID, phone, asker, question in its wire format, and deadline, in the order of arrival.
  package static let questions = MovedTable(
    "questions", [.text, .uuid, .bytes, .bytes, .integer])

  /// ID's hash, version of MCP, name and version of the client, hashes of the grant and of the token,
  /// whether the client opens pages, and whether it sends its token.
  package static let assistantSessions = MovedTable(
    "assistant sessions", [.bytes, .text, .text, .text, .bytes, .bytes, .flag, .flag])

  /// The tables of the relay.
  package static let relayTables = [phones, accesses, questions, assistantSessions]
}
