import HoldfastCore
public import HoldfastHealthSync
public import HoldfastLinkChecks

extension SyncFeature: ReplayedFeature {
  /// The facts about the user and the app that a HealthSync journal contains.
  public typealias Record = SyncRecord

  /// The kinds of violations that a journal can show. A journal does not contain the server's
  /// state.
  public static var checkedInJournals: [Finding.Kind] {
    [
      .ahead, .deletedEarly, .quarantined, .resent, .reordered, .doubled, .overdue, .unread, .storm,
      .needless,
      .unbounded, .brokenInvariant,
    ]
  }

  public static func state(of model: SyncModel) -> State {
    var state = State()
    state.depth = model.depth
    return state
  }
}

/// The facts about the user and the app that a HealthSync journal contains.
public struct SyncRecord: RunRecord {
  /// The feature whose journals are read.
  public typealias Feature = SyncFeature

  /// The value is always false, because a journal does not show whether any work remains.
  public var isWanted: Bool { false }

  public init() {}

  public mutating func prepare(
    for input: SyncModel.Input, _ tape: inout RecordedState<SyncFeature>
  ) {
    if case .conditions(let conditions) = input { tape.phoneState.own.conditions = conditions }
  }

  public mutating func note(_ effect: SyncModel.Effect, _ tape: inout RecordedState<SyncFeature>) {}

  public func look(_ model: SyncModel, _ state: inout SyncFeature.State) {
    (state.pending, state.quarantined) = (model.pending, model.quarantined)
  }
}
