import HoldfastCore
public import HoldfastFeaturePorts
import HoldfastSessionData

/// Checks the promises of `SessionStore`, for any implementation and any test library.
///
/// - Parameter make: Creates a new, empty store for each call.
/// - Throws: `ContractViolation` for the first broken promise, or an error of `make`.
public func sessionStoreContract(make: () async throws -> any SessionStore) async throws {
  for (name, steps) in SessionSamples.scripts {
    let store = try await make()
    try ContractViolation.unless(try await store.stored(), is: StoredSessions(), "it begins empty")
    var expected = StoredSessions()
    for changes in steps {
      try await store.apply(changes)
      for change in changes { expected.apply(change) }
      try ContractViolation.unless(try await store.stored(), is: expected, name)
    }
    await store.close()
  }
  let store = try await make()
  try await closes(store) { _ = try await store.stored() }
}

/// Sequences of changes. Each has the name of the promise that it checks.
private enum SessionSamples {
  static let scripts: [(name: String, steps: [[SessionChange]])] = [
    ("clients are kept, replaced and ended", clients),
    ("prompts are kept at each stage", prompts),
    ("conversations are kept in order", conversations),
    ("to change what is not there changes nothing", unknownIDs),
  ]

  private static let clients: [[SessionChange]] = [
    [.client(client("ann")), .client(client("b\u{F6}b", last: 3, prompt: 2, lost: 1))],
    [.client(client("ann", last: 9))],
    [.endClient("ann")],
  ]

  private static let prompts: [[SessionChange]] = [
    [.prompt(prompt(1)), .prompt(prompt(2, stage: .started)), .prompt(prompt(3, isFull: true))],
    [.started(SessionPromptID(1))],
    [.answered(SessionPromptID(1), answer(1, .success(text: "ja \u{1F600}\n")))],
    [.answered(SessionPromptID(2), answer(2, .failure(error: "interrupted")))],
    [.taken(SessionPromptID(1))],
    [.prompt(prompt(4, stage: .ended(answer(4, .success(text: "")))))],
    [.prompt(prompt(3, client: "bob"))],
    [.endPrompt(SessionPromptID(2))],
  ]

  private static let conversations: [[SessionChange]] = [
    [.conversation("a", signature: "1:x"), .entry(entry("a", 1)), .entry(entry("a", 2))],
    [.conversation("b", signature: "2:y"), .entry(entry("b", 1, .assistant))],
    [.conversation("a", signature: "other"), .entry(entry("a", 3, .system))],
    [.prune("a", below: 3)],
    [.entry(entry("a", 4))],
    [.endConversation("a")],
    [.conversation("a", signature: "3:z"), .entry(entry("a", 1))],
  ]

  private static let unknownIDs: [[SessionChange]] = [
    [
      .endClient("x"), .started(SessionPromptID(1)),
      .answered(SessionPromptID(1), answer(1, .success(text: ""))), .taken(SessionPromptID(1)),
      .endPrompt(SessionPromptID(1)), .entry(entry("a", 1)), .prune("a", below: 2),
      .endConversation("a"),
    ],
    [.prompt(prompt(1)), .taken(SessionPromptID(1))],
  ]

  private static func client(
    _ id: String, last: UInt64 = 0, prompt: UInt64? = nil, lost: UInt64? = nil
  ) -> StoredSessionClient {
    StoredSessionClient(
      id: id, lastNumber: last, lastPrompt: prompt, lost: lost, seenAt: Timestamp(nanoseconds: 5))
  }

  private static func prompt(
    _ number: UInt64, client: String = "ann", stage: StoredSessionPrompt.Stage = .accepted,
    isFull: Bool = false
  ) -> StoredSessionPrompt {
    var prompt = SessionPrompt(
      text: "text \(number) \"\u{E9}\"", conversation: "c", isNew: isFull, idempotencyKey: nil)
    if isFull {
      (prompt.idempotencyKey, prompt.number, prompt.provider) = ("key", 7, "provider")
      (prompt.workingDirectory, prompt.systemPrompt) = ("/tmp", "be brief")
    }
    return StoredSessionPrompt(
      id: SessionPromptID(number), client: client, prompt: prompt,
      at: Timestamp(nanoseconds: Int64(number)), stage: stage)
  }

  private static func answer(
    _ number: UInt64, _ result: SessionResponse.Result
  ) -> StoredSessionAnswer {
    StoredSessionAnswer(
      message: "m\(number)", number: number, result: result, at: Timestamp(nanoseconds: 9))
  }

  private static func entry(
    _ conversation: String, _ place: UInt64, _ role: SessionRole = .user
  ) -> SessionEntry {
    SessionEntry(
      id: "e\(place)", role: role, text: "text\n\(place)", conversation: conversation,
      timestamp: place == 2 ? nil : Timestamp(nanoseconds: Int64(place)), position: place)
  }
}
