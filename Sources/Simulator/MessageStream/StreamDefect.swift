/// A deliberate defect of MessageStream.
public enum StreamDefect: String, DeliberateDefect {
  /// Fetches before it connects but not afterward, so that messages in between are lost.
  case noSecondFetch
  /// Connects and fetches, but drops live frames meanwhile.
  case noBuffer
  /// Requests `since` with exactly the newest stamp.
  case noOverlap
  /// Assumes that the first page is everything.
  case firstPageOnly
  /// Shows messages before the store has them.
  case showsBeforeStored
  case countResetOnOpen
  case noStability
  case takesLateEvents
  /// Forgets at each launch which IDs it has.
  case forgetsIDs
  /// Sends without an idempotency key.
  case noIdempotencyKey
  case losesStandby
  case noJitter
  /// Treats positions in a new log as positions in the old one.
  case ignoresEpoch
  case timersStopAsleep
  case closesAlive
  case countsTheDial
  case ignoresRetryAfter
  case refreshesEarly
  case blamesCredentials
  /// Does not send the user's messages while it is connected.
  case leavesPosts
  /// Makes two attempts to send a message at a time.
  case sendsTwice
  /// Fetches a page when its user leaves.
  case fetchesAfterLeaving
  /// Fetches after each connect, even if nothing was missed.
  case asksInVain
  /// Makes the server keep sockets whose token has expired.
  case outlivesToken

  public var catchable: [ServerKind] {
    switch self {
    // With positions the head and the offsets reveal the gap, even if the client does not fetch or
    // buffer.
    case .noSecondFetch, .noBuffer: [.plain]
    // Only a catch-up by time has an overlap and fetches known messages again.
    case .noOverlap, .forgetsIDs: [.plain]
    // A plain server has no keys and no epochs.
    case .noIdempotencyKey, .ignoresEpoch: [.positions]
    // Only a head shows that nothing was missed.
    case .asksInVain: [.positions]
    case .firstPageOnly, .showsBeforeStored, .countResetOnOpen, .noStability, .takesLateEvents,
      .losesStandby, .noJitter, .timersStopAsleep, .closesAlive, .ignoresRetryAfter,
      .refreshesEarly,
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
    case .countResetOnOpen, .noStability, .noJitter, .takesLateEvents, .losesStandby,
      .timersStopAsleep, .closesAlive, .ignoresRetryAfter, .refreshesEarly, .blamesCredentials,
      .countsTheDial:
      link?.kinds ?? []
    }
  }

  public var seeds: Int {
    switch self {
    // The log must start over while the client is away, a server must close twice, or a stamp must
    // be late.
    case .ignoresEpoch, .noJitter, .noOverlap: 50
    // An answer must be so slow that frames overtake it, and the next catch-up must not reach back.
    case .noBuffer: 100
    // A server must drain for long or refuse for long, or a link must waver.
    case .ignoresRetryAfter, .countsTheDial: 100
    case .noSecondFetch, .firstPageOnly, .showsBeforeStored, .countResetOnOpen, .noStability,
      .takesLateEvents, .forgetsIDs, .noIdempotencyKey, .losesStandby, .timersStopAsleep,
      .closesAlive, .refreshesEarly, .blamesCredentials, .leavesPosts, .sendsTwice,
      .fetchesAfterLeaving, .asksInVain, .outlivesToken:
      20
    }
  }
}
