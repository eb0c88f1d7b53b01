import HoldfastBottleData
public import HoldfastBottleLink
import HoldfastCore
public import HoldfastLinkChecks

extension BottleFeature: ReplayedFeature {
  /// The facts about the user and the app that the journal of a bottle's link contains.
  public typealias Record = BottleJournal

  /// The kinds of violations that a journal can show. A journal does not contain the radio's state
  /// or the bottle's records.
  public static var checkedInJournals: [Finding.Kind] {
    [.duplicated, .reordered, .unstored, .late, .unbounded, .brokenInvariant]
  }

  public static func state(of model: BottleModel) -> State { State() }
}

/// The state of the user and the app, derived from the journal of a bottle's link.
public struct BottleJournal: RunRecord {
  /// The feature whose journals are read.
  public typealias Feature = BottleFeature

  public private(set) var isWanted = false
  /// For each change, the IDs of the records that were passed to the store.
  private var given: [UInt64: [UInt32]] = [:]

  public init() {}

  public mutating func prepare(
    for input: BottleModel.Input, _ tape: inout RecordedState<BottleFeature>
  ) {
    switch input {
    case .start: isWanted = true
    case .stop: isWanted = false
    case .committed(let id, _):
      tape.phoneState.own.stored.formUnion(given.removeValue(forKey: id) ?? [])
    case .central(.adapter(let state)):
      tape.phoneState.isReachable = state == .on
      tape.phoneState.own.isOn = state == .on
    case .refresh, .hold, .perform, .choose, .shown, .link, .central, .discovered, .undiscovered,
      .heard, .written, .unwritten, .restored, .uncommitted:
      break
    }
    tape.phoneState.isSignedIn = true
  }

  public mutating func note(
    _ effect: BottleModel.Effect, _ tape: inout RecordedState<BottleFeature>
  ) {
    if case .commit(let id, let change) = effect { given[id] = change.records.map(\.id) }
  }

  public func look(_ model: BottleModel, _ state: inout BottleFeature.State) {
    state.isLinkWanted = model.link.isWanted
    state.isKnown = model.bottle != nil
  }
}
