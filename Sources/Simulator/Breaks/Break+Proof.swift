// What proves that a defect is caught: where, how soon, and as what.
extension Break {
  /// The servers with which the mistake can show.
  public var catchable: [ServerKind] {
    switch self {
    // With positions the head and the offsets show the hole, whoever fetches or buffers.
    case .noSecondFetch, .noBuffer: [.plain]
    // Only a catch-up by time has an overlap, and only it fetches what is known already.
    case .noOverlap, .forgetsIDs: [.plain]
    // A plain server knows no keys, and no epochs.
    case .noIdempotencyKey, .ignoresEpoch: [.positions]
    case .firstPageOnly, .showsBeforeStored, .countResetOnOpen, .noStability, .takesLateEvents,
      .losesStandby, .noSpread, .timersStopAsleep:
      ServerKind.allCases
    }
  }

  /// What it is caught as.
  public var kinds: [Finding.Kind] {
    switch self {
    case .noSecondFetch, .noBuffer, .noOverlap, .firstPageOnly: [.lost, .early]
    case .ignoresEpoch: [.lost, .unhealed]
    case .showsBeforeStored: [.early]
    case .countResetOnOpen, .noStability, .noSpread: [.storm]
    case .takesLateEvents: [.late]
    case .forgetsIDs, .noIdempotencyKey: [.duplicated]
    case .losesStandby, .timersStopAsleep: [.stuck]
    }
  }

  /// It is caught within so many seeds of `preset`, with each server that can show it.
  public var seeds: Int { 20 }

  /// The kind of day on which it shows.
  public var preset: Preset { .swarm }
}
