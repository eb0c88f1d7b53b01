/// A deliberate defect: each is a mistake that real clients make, and each must be caught.
public enum Break: String, Sendable, Hashable, Codable, CaseIterable {
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
  /// Starts the count of tries again at each open.
  case countResetOnOpen
  /// A connection counts as good at once, however short it stands.
  case noStability
  /// Takes events of older attempts for the present one's.
  case takesLateEvents
  /// Forgets at each launch which ids it has.
  case forgetsIDs
  /// Sends without an idempotency key.
  case noIdempotencyKey
  /// Polls no more after it was in background.
  case losesStandby
  /// Tries at once after the server closed everybody.
  case noSpread
  /// Takes the positions of a new log for those of the old one.
  case ignoresEpoch
  /// Uses timers that stand still while it is suspended.
  case timersStopAsleep
}
