import HoldfastCore
import HoldfastSessionData

/// A client that has connected and is still stored.
struct SessionClient: Sendable {
  var stored: StoredSessionClient
  /// The sockets of the client, oldest first.
  var sockets: [ConnectionID] = []
  /// The prompts whose answers the client has not acknowledged, in the order of the answers.
  private(set) var outbox: [SessionPromptID] = []
  /// The total size of these answers, in bytes.
  private(set) var outboxBytes = 0
  /// The number of the client's prompts that have not ended.
  var open = 0
  /// The number of the newest loss that was reported to the client.
  private var reportedLoss: UInt64 = 0

  init(stored: StoredSessionClient) { self.stored = stored }

  /// A Boolean value that indicates whether the client is away and has no open prompt.
  var isIdle: Bool { sockets.isEmpty && open == 0 }

  /// Stores an answer until the client acknowledges it.
  mutating func retain(_ id: SessionPromptID, size: Int) {
    outbox.append(id)
    outboxBytes += size
  }

  /// Removes an answer that was acknowledged or lost.
  mutating func remove(_ id: SessionPromptID, size: Int) {
    outbox.removeAll { $0 == id }
    outboxBytes -= size
  }

  /// Returns the oldest answer if the stored answers exceed a bound, or `nil` otherwise.
  func excess(beyond count: Int, bytes: Int) -> SessionPromptID? {
    outbox.count > count || outboxBytes > bytes ? outbox.first : nil
  }

  /// Handles the number of the last message that the client stored.
  ///
  /// Returns whether this number exceeds the last number in this store. New messages then receive
  /// numbers above it.
  mutating func resume(after received: UInt64?) -> Bool {
    guard let received, received > stored.lastNumber else { return false }
    stored.lastNumber = received
    return true
  }

  /// Returns whether a loss must be reported to a client that stored the messages up to a number.
  ///
  /// A loss up to that number does not affect the client and is forgotten.
  mutating func reportsLoss(after received: UInt64?) -> Bool {
    if let received, let lost = stored.lost, lost <= received { stored.lost = nil }
    guard let lost = stored.lost else { return false }
    reportedLoss = lost
    return true
  }

  /// Forgets a loss that was reported to the client. Returns false if there is none.
  mutating func forgetReportedLoss() -> Bool {
    guard let lost = stored.lost, lost <= reportedLoss else { return false }
    stored.lost = nil
    return true
  }
}

extension SessionClient {
  /// Records each violated invariant between a client and its prompts.
  func check(
    _ check: inout InvariantCheck, _ id: String, _ prompts: SessionPrompts,
    _ policy: SessionServerPolicy
  ) {
    let answers = outbox.map { prompts[$0]?.answer }
    check.require(
      outbox.count <= policy.answersPerClient && outboxBytes <= policy.answersBytesPerClient,
      "session client: its stored answers are bounded")
    check.require(
      outbox.allSatisfy { prompts[$0]?.client == id }
        && answers.allSatisfy { $0?.isTaken == false }
        && outboxBytes == answers.reduce(0) { $0 + ($1?.size ?? 0) },
      "session client: its stored answers are not acknowledged")
    check.require(open >= 0, "session client: its open prompts are counted")
    check.require(
      answers.allSatisfy { ($0?.number ?? 0) <= stored.lastNumber },
      "session client: no answer has a number that was not given")
  }
}
