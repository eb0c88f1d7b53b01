import HoldfastCore
import HoldfastServerParts
import HoldfastSessionData

/// The changes of a session server that are being stored or wait to be stored.
struct SessionWrites: Sendable {
  /// The action that follows once a change is durable.
  enum Wait: Sendable, Equatable {
    case accepted(SessionPromptID)
    case started(SessionPromptID)
    case answered(SessionPromptID)
    /// The start mark of a prompt was removed.
    case putOff(SessionPromptID)
    /// A change that was delayed was stored.
    case delayed(SessionChange)
  }

  private var waits = StoreQuestions<[Wait]>()
  /// The prompts for which a write failed. They are stored again until a write succeeds.
  private(set) var pending: Set<SessionPromptID> = []
  /// The changes that may wait. They are stored with the next write.
  private(set) var delayed: [SessionChange] = []
  /// The reason why the last write failed, or `nil` if it succeeded.
  private(set) var failure: StoreFailure?

  /// The number of outstanding writes.
  var count: Int { waits.count }

  /// A Boolean value that indicates whether no write is outstanding or has to be retried.
  var isIdle: Bool { waits.isEmpty && pending.isEmpty }

  /// A Boolean value that indicates whether all changes are stored.
  var isDone: Bool { isIdle && delayed.isEmpty }

  /// Returns the next write, or `nil` if there is nothing to store. Delayed changes come first.
  mutating func begin(
    _ changes: [SessionChange], then next: [Wait]
  ) -> (token: StoreToken, changes: [SessionChange])? {
    let all = delayed + changes
    let again = delayed.map(Wait.delayed)
    delayed = []
    guard !all.isEmpty else { return nil }
    return (waits.ask(again + next), all)
  }

  /// Adds a change that is stored with the next write.
  mutating func delay(_ change: SessionChange) { delayed.append(change) }

  /// Handles the result of a write. Returns the next actions, or `nil` for an unknown token.
  mutating func finish(_ token: StoreToken, _ failure: StoreFailure?) -> [Wait]? {
    guard let written = waits.take(token) else { return nil }
    self.failure = failure
    return written
  }

  /// Schedules a prompt's failed write for a retry.
  mutating func retry(_ id: SessionPromptID) { pending.insert(id) }

  /// Removes and returns the prompts whose writes are to be retried, in order.
  mutating func takePending() -> [SessionPromptID] {
    defer { pending = [] }
    return pending.sorted()
  }

  /// Drops all changes that are not stored.
  mutating func giveUp() {
    waits.removeAll()
    (pending, delayed) = ([], [])
  }
}
