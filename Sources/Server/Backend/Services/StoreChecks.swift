import HoldfastCore

/// The checks of all stores for `/healthz` and `/readyz`.
///
/// At most one check of each store runs at a time. An answer does not wait for a store that hangs:
/// `/healthz` waits until the end of a round, and `/readyz` uses what is known.
struct StoreChecks {
  /// The outcome for one store at the end of a round.
  enum Outcome: Equatable {
    case checked(StoreFailure?)
    /// The check was still running when the round ended.
    case unanswered
  }

  /// The maximum time that an answer waits for the stores: 5 s, which is how long callers of health
  /// checks usually wait.
  static let limit = Duration.seconds(5)

  /// The time after which a store whose check is still running counts as one that does not answer:
  /// 3 s, since a database waits up to 2 s for another program.
  static let patience = Duration.seconds(3)

  private let count: Int
  private let limit: Duration
  /// The starts of the checks that are still running. A check may have begun in an earlier round.
  private var underWay: [Int: Instant] = [:]
  /// The results of the last checks that have ended.
  private var last: [Int: StoreFailure?] = [:]
  /// The end of the current round and the results so far; `nil` between rounds.
  private var round: (until: Instant, answers: [Int: StoreFailure?])?

  /// Creates the checks of `count` stores.
  init(of count: Int, limit: Duration = limit) {
    (self.count, self.limit) = (count, limit)
  }

  /// The time at which the current round ends even if results are missing; `nil` between rounds.
  var deadline: Instant? { round?.until }

  /// Begins a round, unless one is running. Returns the stores to check.
  mutating func begin(at now: Instant) -> [Int] {
    guard round == nil else { return [] }
    round = (now.advanced(by: limit), [:])
    let idle = (0..<count).filter { underWay[$0] == nil }
    for store in idle { underWay[store] = now }
    return idle
  }

  /// Records the result of a check. Returns the outcomes of the round once all stores have
  /// answered.
  mutating func answered(_ store: Int, _ failure: StoreFailure?) -> [Outcome]? {
    underWay[store] = nil
    last[store] = .some(failure)
    round?.answers[store] = .some(failure)
    guard let round, round.answers.count == count else { return nil }
    return end()
  }

  /// Returns the outcomes of the round if its time limit has expired.
  mutating func tick(at now: Instant) -> [Outcome]? {
    guard let round, round.until <= now else { return nil }
    return end()
  }

  /// Returns what is known of each store now, without waiting: the result of its last check, unless
  /// it has not answered for longer than `patience`, or never.
  func known(at now: Instant) -> [Outcome] {
    (0..<count).map { store in
      let isOverdue = underWay[store].map { $0.duration(to: now) >= Self.patience } ?? false
      guard !isOverdue, let last = last[store] else { return .unanswered }
      return .checked(last)
    }
  }

  private mutating func end() -> [Outcome] {
    let answers = round?.answers ?? [:]
    round = nil
    return (0..<count).map { answers[$0].map(Outcome.checked) ?? .unanswered }
  }
}
