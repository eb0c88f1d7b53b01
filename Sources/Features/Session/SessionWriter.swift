import LinkCore
import LinkStorage

/// Hands changes to the store one at a time: what comes meanwhile waits in one batch behind.
///
/// A change that the store refused is kept and tried again, so nothing is lost.
struct SessionWriter: Sendable, Hashable {
  /// A change, and what follows once it is stored.
  struct Batch: Sendable, Hashable {
    var change = ClientSessionChange()
    /// Messages of the server to acknowledge.
    var acks: [String] = []
    /// Prompts that may be sent.
    var prompts: [UUID128] = []

    var isEmpty: Bool { change.isEmpty && acks.isEmpty && prompts.isEmpty }
  }

  struct InFlight: Sendable, Hashable {
    var id: SessionCommitID
    var batch: Batch
  }

  var inFlight: InFlight?
  var waiting = Batch()
  /// Prompts whose last change is stored with the next one: should it be lost, the server tells it
  /// again.
  private(set) var later: [StoredPrompt] = []
  var retryAt: Instant?
  var failures = 0
  var lastID: UInt64 = 0

  /// Whether nothing is under way and nothing waits.
  var isDone: Bool { inFlight == nil && waiting.isEmpty }

  mutating func put(_ prompt: StoredPrompt) {
    later.removeAll { $0.id == prompt.id }
    waiting.change.prompts.removeAll { $0.id == prompt.id }
    waiting.change.prompts.append(prompt)
  }

  /// Has a prompt stored with the next change, and asks for none.
  mutating func putLater(_ prompt: StoredPrompt) {
    later.removeAll { $0.id == prompt.id }
    later.append(prompt)
  }

  mutating func put(_ conversation: KnownConversation) {
    waiting.change.conversations.removeAll { $0.id == conversation.id }
    waiting.change.conversations.append(conversation)
  }

  mutating func forget(_ key: UUID128) {
    later.removeAll { $0.id == key }
    waiting.change.prompts.removeAll { $0.id == key }
    waiting.change.forgotten.append(key)
  }

  /// The next change to hand over; `nil` while one is under way, has to wait, or none is there.
  mutating func next(at now: Instant) -> (SessionCommitID, ClientSessionChange)? {
    if let retryAt, retryAt > now { return nil }
    if let refused = inFlight, retryAt != nil {
      retryAt = nil
      return hand(refused.batch)
    }
    guard inFlight == nil, !waiting.isEmpty else { return nil }
    for prompt in later { put(prompt) }
    defer { waiting = Batch() }
    return hand(waiting)
  }

  private mutating func hand(_ batch: Batch) -> (SessionCommitID, ClientSessionChange) {
    lastID += 1
    inFlight = InFlight(id: SessionCommitID(lastID), batch: batch)
    return (SessionCommitID(lastID), batch.change)
  }

  /// The store has it; returns the batch, or `nil` for a late answer.
  mutating func committed(_ id: SessionCommitID) -> Batch? {
    guard let done = inFlight, done.id == id else { return nil }
    (inFlight, retryAt, failures) = (nil, nil, 0)
    return done.batch
  }

  /// The store refused it; false for a late answer. It is tried again after 1, 2, 4 … 30 s.
  mutating func refused(_ id: SessionCommitID, at now: Instant) -> Bool {
    guard inFlight?.id == id, retryAt == nil else { return false }
    failures += 1
    retryAt = now.advanced(by: .seconds(min(30, 1 << min(failures - 1, 5))))
    return true
  }
}

extension SessionWriter: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    check.require(
      retryAt == nil || (inFlight != nil && failures > 0),
      "session writer: only a refused change is tried again")
    if let inFlight {
      check.require(
        inFlight.id.number == lastID, "session writer: the change under way is the last one")
    }
  }
}
