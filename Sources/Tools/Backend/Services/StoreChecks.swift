import LinkCore

/// The checks of all stores for `/healthz`: at most one of each store is under way, and the answer
/// does not wait for a store that hangs.
struct StoreChecks {
  /// The state of one store when the answer is due.
  enum Outcome: Equatable {
    case checked(StoreFailure?)
    /// Its check is still under way after `limit`.
    case unanswered
  }

  /// How long an answer waits for stores: 5 s, as long as callers of health checks usually wait.
  static let limit = Duration.seconds(5)

  private let count: Int
  private let limit: Duration
  /// The stores whose check is under way, some since an earlier round.
  private var underWay: Set<Int> = []
  /// The answers of the present round, and when it is due.
  private var round: (until: Instant, answers: [Int: StoreFailure?])?

  /// The checks of so many stores.
  init(of count: Int, limit: Duration = limit) {
    (self.count, self.limit) = (count, limit)
  }

  /// When the round ends although stores have not answered; `nil` if none is under way.
  var deadline: Instant? { round?.until }

  /// Begins a round unless one is under way; returns the stores to check.
  mutating func begin(at now: Instant) -> [Int] {
    guard round == nil else { return [] }
    round = (now.advanced(by: limit), [:])
    let idle = (0..<count).filter { !underWay.contains($0) }
    underWay.formUnion(idle)
    return idle
  }

  /// Takes what a check found; returns the outcome of the round once all stores have answered.
  mutating func answered(_ store: Int, _ failure: StoreFailure?) -> [Outcome]? {
    underWay.remove(store)
    round?.answers[store] = .some(failure)
    guard let round, round.answers.count == count else { return nil }
    return end()
  }

  /// Returns the outcome of the round if it is due.
  mutating func tick(at now: Instant) -> [Outcome]? {
    guard let round, round.until <= now else { return nil }
    return end()
  }

  private mutating func end() -> [Outcome] {
    let answers = round?.answers ?? [:]
    round = nil
    return (0..<count).map { answers[$0].map(Outcome.checked) ?? .unanswered }
  }
}
