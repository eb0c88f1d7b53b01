import LinkCore

/// The waits of a schedule, told a second time: each of an exponential one is the one before it
/// times the factor, up to the cap.
struct ScheduleAccount {
  let schedule: Schedule

  init(_ schedule: Schedule) { self.schedule = schedule }

  /// The shortest and the longest wait before a try; `nil` if none is left.
  func range(_ index: Int) -> ClosedRange<Duration>? {
    switch schedule {
    case .list(let waits):
      for (place, wait) in waits.enumerated() where place == index { return wait...wait }
      return nil
    case .exponential(let first, let factor, let cap, let jitter, let floor, let attempts):
      if let attempts, !(0..<attempts).contains(index) { return nil }
      var wait = min(first, cap)
      // A wait that is at its cap, or does not grow, stays.
      for _ in 0..<min(index, 64) { wait = min(wait * max(factor, 1), cap) }
      let share = wait * (1 - jitter)
      let most = wait * (1 + jitter)
      return (share < floor ? floor : share)...(most < floor ? floor : most)
    }
  }

  /// The wait before a try: one draw, where chance has a say.
  func wait(_ index: Int, _ chance: inout Chance) -> Duration? {
    guard let range = range(index) else { return nil }
    guard case .exponential(_, _, _, let jitter, _, _) = schedule, jitter > 0 else {
      return range.lowerBound
    }
    let part = Double(chance.next() / 2048) / 9_007_199_254_740_992
    return range.lowerBound + (range.upperBound - range.lowerBound) * part
  }
}
