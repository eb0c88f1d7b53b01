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

  /// What it is caught as; one of these is enough.
  public var kinds: [Finding.Kind] {
    switch self {
    case .noSecondFetch, .noBuffer, .noOverlap, .firstPageOnly, .ignoresEpoch: [.lost, .early]
    case .showsBeforeStored: [.early]
    case .countResetOnOpen, .noStability, .noSpread: [.storm]
    case .takesLateEvents: [.late]
    case .forgetsIDs, .noIdempotencyKey: [.duplicated]
    case .losesStandby, .timersStopAsleep: [.stuck]
    }
  }

  /// It is caught within so many of swarm's seeds, with each server that can show it.
  public var seeds: Int {
    switch self {
    // A log must begin anew while nobody looks; a server must close twice; a stamp must be late.
    case .ignoresEpoch, .noSpread, .noOverlap: 50
    // An answer must be so slow that frames overtake it, and the next catch-up must not reach back.
    case .noBuffer: 100
    case .noSecondFetch, .firstPageOnly, .showsBeforeStored,
      .countResetOnOpen,
      .noStability, .takesLateEvents, .forgetsIDs, .noIdempotencyKey, .losesStandby,
      .timersStopAsleep:
      20
    }
  }
}
