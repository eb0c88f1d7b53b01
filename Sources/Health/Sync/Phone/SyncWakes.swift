import HoldfastCore

/// The grants of background time, each with the work that must end before it is given back: some
/// runs, or everything that is under way.
///
/// Each grant is given back once, either when its work has ended or shortly before it expires.
struct SyncWakes: Sendable, Hashable {
  private struct Grant: Sendable, Hashable {
    /// For each type, the number of the run that must end; `nil` if the grant is held until
    /// nothing is under way.
    var needs: [String: UInt64]?
    var until: Instant
    var result = WakeResult.done
  }

  private var grants: [WakeID: Grant] = [:]

  /// Creates a value without grants.
  init() {}

  /// The IDs of the grants that are held.
  var ids: Set<WakeID> { Set(grants.keys) }

  /// Holds a grant until its runs have ended, or until nothing is under way if `needs` is `nil`.
  mutating func add(
    _ id: WakeID, needs: [String: UInt64]? = nil, until: Instant, _ result: WakeResult = .done
  ) {
    grants[id] = Grant(needs: needs, until: until, result: result)
  }

  /// Records the end of a run, and gives back the grants whose runs have all ended.
  mutating func conclude(
    _ type: String, _ run: UInt64, _ result: WakeResult, _ effects: inout [SyncModel.Effect]
  ) {
    for (id, grant) in grants.sorted(by: { $0.key < $1.key }) {
      guard let need = grant.needs?[type], need <= run else { continue }
      grants[id]?.needs?[type] = nil
      if result == .later { grants[id]?.result = .later }
      guard let left = grants[id], left.needs?.isEmpty == true else { continue }
      grants[id] = nil
      effects.append(.giveBack(id, left.result))
    }
  }

  /// Records that nothing is under way, and gives back the grants that wait for this.
  ///
  /// - Parameter isDone: Whether no work is left for a later wake.
  mutating func rest(isDone: Bool, _ effects: inout [SyncModel.Effect]) {
    let ids = grants.filter { $0.value.needs == nil }.keys.sorted()
    giveBack(ids, isDone ? .done : .later, &effects)
  }

  /// Gives back the grants that are about to expire.
  mutating func expire(at now: Instant, _ effects: inout [SyncModel.Effect]) {
    giveBack(grants.filter { now >= $0.value.until }.keys.sorted(), .later, &effects)
  }

  /// Gives back all grants.
  mutating func giveBackAll(_ effects: inout [SyncModel.Effect]) {
    giveBack(grants.keys.sorted(), .later, &effects)
  }

  private mutating func giveBack(
    _ ids: [WakeID], _ result: WakeResult, _ effects: inout [SyncModel.Effect]
  ) {
    for id in ids {
      grants[id] = nil
      effects.append(.giveBack(id, result))
    }
  }

  /// The next instant at which a grant must be given back.
  var deadline: Instant? { grants.values.map(\.until).min() }

  /// Reports each violated invariant.
  ///
  /// - Parameters:
  ///   - isBusy: Whether something is under way.
  ///   - isOutstanding: A function that returns whether a run of a type has not ended.
  func check(
    _ check: inout InvariantCheck, isBusy: Bool, isOutstanding: (String, UInt64) -> Bool
  ) {
    check.require(
      grants.values.allSatisfy { $0.needs?.isEmpty != true },
      "sync: a grant is held only for runs to come")
    check.require(
      isBusy || grants.values.allSatisfy { $0.needs != nil },
      "sync: a grant is held only while something is under way")
    guard check.isThorough else { return }
    for grant in grants.values {
      check.require(
        (grant.needs ?? [:]).allSatisfy { isOutstanding($0.key, $0.value) },
        "sync: time waits for runs that have not ended")
    }
  }
}
