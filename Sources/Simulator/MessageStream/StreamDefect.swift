/// A deliberate defect of a message stream.
public enum StreamDefect: String, DeliberateDefect {
  /// Fetches, connects, and does not fetch again: what came between is lost.
  case noSecondFetch
  /// Connects, fetches, and lets live frames pass meanwhile.
  case noBuffer
  /// Asks `since` exactly the newest stamp.
  case noOverlap
  /// Believes that the first page is everything.
  case firstPageOnly
  /// Shows before the store has it.
  case showsBeforeStored
  case countResetOnOpen
  case noStability
  case takesLateEvents
  /// Forgets at each launch which ids it has.
  case forgetsIDs
  /// Sends without an idempotency key.
  case noIdempotencyKey
  case losesStandby
  case noSpread
  /// Takes the positions of a new log for those of the old one.
  case ignoresEpoch
  case timersStopAsleep
  case closesAlive
  case countsTheDial
  case ignoresWish
  case refreshesEarly
  case blamesCredentials
  /// Leaves messages of the user lying while it is connected.
  case leavesPosts
  /// Makes two tries of a message at a time.
  case sendsTwice
  /// Asks for what it waited for once more when its user leaves.
  case fetchesAfterLeaving
  /// Fetches after each connect, also where nothing was missed.
  case asksInVain
  /// The server keeps sockets whose token has ended.
  case outlivesToken

  public var catchable: [ServerKind] {
    switch self {
    // With positions the head and the offsets show the hole, whoever fetches or buffers.
    case .noSecondFetch, .noBuffer: [.plain]
    // Only a catch-up by time has an overlap, and only it fetches what is known already.
    case .noOverlap, .forgetsIDs: [.plain]
    // A plain server knows no keys, and no epochs.
    case .noIdempotencyKey, .ignoresEpoch: [.positions]
    // Only a head shows that nothing was missed.
    case .asksInVain: [.positions]
    case .firstPageOnly, .showsBeforeStored, .countResetOnOpen, .noStability, .takesLateEvents,
      .losesStandby, .noSpread, .timersStopAsleep, .closesAlive, .ignoresWish, .refreshesEarly,
      .blamesCredentials, .countsTheDial, .leavesPosts, .sendsTwice, .fetchesAfterLeaving,
      .outlivesToken:
      ServerKind.allCases
    }
  }

  public var kinds: [Finding.Kind] {
    switch self {
    case .noSecondFetch, .noBuffer, .noOverlap, .firstPageOnly, .ignoresEpoch: [.lost, .early]
    case .showsBeforeStored: [.early]
    case .forgetsIDs, .noIdempotencyKey: [.duplicated]
    case .leavesPosts: [.stuck]
    case .sendsTwice, .fetchesAfterLeaving: [.storm]
    case .asksInVain: [.needless]
    case .outlivesToken: [.outlived]
    case .countResetOnOpen, .noStability, .noSpread, .takesLateEvents, .losesStandby,
      .timersStopAsleep, .closesAlive, .ignoresWish, .refreshesEarly, .blamesCredentials,
      .countsTheDial:
      link?.kinds ?? []
    }
  }

  public var seeds: Int {
    switch self {
    // A log must begin anew while nobody looks; a server must close twice; a stamp must be late.
    case .ignoresEpoch, .noSpread, .noOverlap: 50
    // An answer must be so slow that frames overtake it, and the next catch-up must not reach back.
    case .noBuffer: 100
    // A server must drain for long, or refuse for long; a link must waver.
    case .ignoresWish, .countsTheDial: 100
    case .noSecondFetch, .firstPageOnly, .showsBeforeStored, .countResetOnOpen, .noStability,
      .takesLateEvents, .forgetsIDs, .noIdempotencyKey, .losesStandby, .timersStopAsleep,
      .closesAlive, .refreshesEarly, .blamesCredentials, .leavesPosts, .sendsTwice,
      .fetchesAfterLeaving, .asksInVain, .outlivesToken:
      20
    }
  }
}
