import HoldfastCore
import HoldfastWire

/// The grants of background time, each with the runs that must end before it is given back.
///
/// Each grant is given back once, either when its runs have ended or shortly before it expires.
struct SyncWakes: Sendable, Hashable {
  private struct Grant: Sendable, Hashable {
    /// For each type, the number of the run that must end.
    var needs: [String: UInt64]
    var until: Instant
    var result = WakeResult.done
  }

  private var grants: [WakeID: Grant] = [:]

  /// Creates a value without grants.
  init() {}

  /// The IDs of the grants that are held.
  var ids: Set<WakeID> { Set(grants.keys) }

  /// Holds a grant until its runs have ended.
  mutating func add(
    _ id: WakeID, needs: [String: UInt64], until: Instant, _ result: WakeResult = .done
  ) {
    grants[id] = Grant(needs: needs, until: until, result: result)
  }

  /// Records the end of a run, and gives back the grants whose runs have all ended.
  mutating func conclude(
    _ type: String, _ run: UInt64, _ result: WakeResult, _ effects: inout [SyncModel.Effect]
  ) {
    for (id, grant) in grants.sorted(by: { $0.key < $1.key }) {
      guard let need = grant.needs[type], need <= run else { continue }
      grants[id]?.needs[type] = nil
      if result == .later { grants[id]?.result = .later }
      guard let left = grants[id], left.needs.isEmpty else { continue }
      grants[id] = nil
      effects.append(.giveBack(id, left.result))
    }
  }

  /// Gives back the grants that are about to expire.
  mutating func expire(at now: Instant, _ effects: inout [SyncModel.Effect]) {
    giveBack(grants.filter { now >= $0.value.until }.keys.sorted(), &effects)
  }

  /// Gives back all grants.
  mutating func giveBackAll(_ effects: inout [SyncModel.Effect]) {
    giveBack(grants.keys.sorted(), &effects)
  }

  private mutating func giveBack(_ ids: [WakeID], _ effects: inout [SyncModel.Effect]) {
    for id in ids {
      grants[id] = nil
      effects.append(.giveBack(id, .later))
    }
  }

  /// The next instant at which a grant must be given back.
  var deadline: Instant? { grants.values.map(\.until).min() }

  /// Reports each violated invariant.
  ///
  /// - Parameter isOutstanding: A function that returns whether a run of a type has not ended.
  func check(_ check: inout InvariantCheck, isOutstanding: (String, UInt64) -> Bool) {
    check.require(
      grants.values.allSatisfy { !$0.needs.isEmpty }, "sync: a grant is held only for runs to come")
    guard check.isThorough else { return }
    for grant in grants.values {
      check.require(
        grant.needs.allSatisfy { isOutstanding($0.key, $0.value) },
        "sync: time waits for runs that have not ended")
    }
  }
}
