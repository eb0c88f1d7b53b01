import LinkCore

/// A count of what happened in a run, so that a run that never ends is ended.
struct Pace: Sendable {
  /// Events and wakes of a whole run. Ours: a drawn plan makes some thousands.
  let mostInRun: Int
  /// Events and wakes at one instant. Ours: a drawn plan makes some hundreds.
  let mostAtOnce: Int

  private var count = 0
  private var here = 0
  private var at = Instant.zero

  init(mostInRun: Int = 10_000_000, mostAtOnce: Int = 100_000) {
    (self.mostInRun, self.mostAtOnce) = (mostInRun, mostAtOnce)
  }

  /// Counts what happens now; returns what is wrong if that was too much.
  mutating func excess(at now: Instant) -> String? {
    count += 1
    here = at == now ? here + 1 : 1
    at = now
    if here > mostAtOnce { return "more than \(mostAtOnce) events at one instant" }
    if count > mostInRun { return "more than \(mostInRun) events in one run" }
    return nil
  }
}
