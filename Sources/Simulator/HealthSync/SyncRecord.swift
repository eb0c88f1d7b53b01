public import HealthSync
import LinkCore
import LinkWire

extension SyncFeature: ReplayedFeature {
  /// The facts about user and shell that the journal of a sync holds.
  public typealias Record = SyncRecord

  /// What the server holds is not known there.
  public static var checkedInJournals: [Finding.Kind] {
    [
      .ahead, .hasty, .parked, .resent, .reordered, .doubled, .overdue, .unread, .storm, .needless,
      .unbounded, .brokenInvariant,
    ]
  }

  public static func state(of model: SyncModel) -> State {
    var state = State()
    state.depth = model.depth
    return state
  }
}

/// What the journal of a sync tells about its user and its shell.
public struct SyncRecord: RunRecord {
  /// The feature whose journals it reads.
  public typealias Feature = SyncFeature

  /// A journal does not say whether there is something to do.
  public var isWanted: Bool { false }

  public init() {}

  public mutating func prepare(
    for input: SyncModel.Input, _ tape: inout RecordTape<SyncFeature>
  ) {
    if case .conditions(let conditions) = input { tape.standing.own.conditions = conditions }
  }

  public mutating func note(_ effect: SyncModel.Effect, _ tape: inout RecordTape<SyncFeature>) {}

  public func look(_ model: SyncModel, _ state: inout SyncFeature.State) {
    (state.pending, state.parked) = (model.pending, model.parked)
  }
}
