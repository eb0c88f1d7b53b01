import LinkCore
import LinkStorage
import LinkWire

/// The changes of a server of sessions that are on their way to the store, or wait for that.
struct SessionWrites: Sendable {
  /// What follows once a change is durable.
  enum Wait: Sendable, Equatable {
    case accepted(SessionPromptID)
    case started(SessionPromptID)
    case answered(SessionPromptID)
    /// The mark of a start was taken back.
    case putOff(SessionPromptID)
    /// A change that could wait.
    case delayed(SessionChange)
  }

  private var waits: [StoreToken: [Wait]] = [:]
  /// Prompts whose mark or answer the store failed to keep; stored again until it is durable.
  private(set) var pending: Set<SessionPromptID> = []
  /// Changes that may wait, and are stored with the next ones.
  private(set) var delayed: [SessionChange] = []
  private var lastToken: UInt64 = 0
  /// Why the last change was not stored; nil once one was.
  private(set) var failure: StoreFailure?

  /// How many changes the store has not answered.
  var count: Int { waits.count }

  /// Whether the store has answered everything and failed nothing.
  var isIdle: Bool { waits.isEmpty && pending.isEmpty }

  /// Whether nothing is left to store.
  var isDone: Bool { isIdle && delayed.isEmpty }

  /// Returns the next change for the store, behind those that waited; nil if there is none.
  mutating func begin(
    _ changes: [SessionChange], then next: [Wait]
  ) -> (token: StoreToken, changes: [SessionChange])? {
    let all = delayed + changes
    let again = delayed.map(Wait.delayed)
    delayed = []
    guard !all.isEmpty else { return nil }
    lastToken += 1
    let token = StoreToken(lastToken)
    waits[token] = again + next
    return (token, all)
  }

  /// Adds a change that is stored with the next one.
  mutating func delay(_ change: SessionChange) { delayed.append(change) }

  /// Takes the answer of the store; returns what waited for it, or nil if it was answered before.
  mutating func finish(_ token: StoreToken, _ failure: StoreFailure?) -> [Wait]? {
    guard let written = waits.removeValue(forKey: token) else { return nil }
    self.failure = failure
    return written
  }

  /// Notes that the mark of a prompt, its end or its answer is not durable.
  mutating func retry(_ id: SessionPromptID) { pending.insert(id) }

  /// Returns the prompts that are to be stored again, in order.
  mutating func takePending() -> [SessionPromptID] {
    defer { pending = [] }
    return pending.sorted()
  }

  /// Drops everything that was not stored.
  mutating func giveUp() { (waits, pending, delayed) = ([:], [], []) }
}
