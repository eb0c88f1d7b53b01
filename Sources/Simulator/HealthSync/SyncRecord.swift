public import HealthSync
import LinkCore
import LinkWire

extension SyncFeature: ReplayedFeature {
  /// The facts about the user and the shell that a HealthSync journal contains.
  public typealias Record = SyncRecord

  /// The kinds of findings that a journal can show. It does not contain the server's state.
  public static var checkedInJournals: [Finding.Kind] {
    [
      .ahead, .hasty, .quarantined, .resent, .reordered, .doubled, .overdue, .unread, .storm,
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

/// The facts about the user and the shell that a HealthSync journal contains.
public struct SyncRecord: RunRecord {
  /// The feature whose journals are read.
  public typealias Feature = SyncFeature

  /// Always false, since a journal does not state whether there is something to do.
  public var isWanted: Bool { false }

  public init() {}

  public mutating func prepare(
    for input: SyncModel.Input, _ tape: inout RecordTape<SyncFeature>
  ) {
    if case .conditions(let conditions) = input { tape.phoneState.own.conditions = conditions }
  }

  public mutating func note(_ effect: SyncModel.Effect, _ tape: inout RecordTape<SyncFeature>) {}

  public func look(_ model: SyncModel, _ state: inout SyncFeature.State) {
    (state.pending, state.quarantined) = (model.pending, model.quarantined)
  }
}
