public import LinkCore

/// How soon a phone and its bottle are connected again in one situation, over many seeds.
///
/// An advertisement comes every second. Without a scan the system notices one after 5 to 15 s while
/// the app is open, and after 10 to 60 s else. The timers of the bottle are the seed's (plan 028).
public struct BottleReconnect: Sendable, Hashable {
  /// What happens before.
  public enum Situation: String, Sendable, Hashable, CaseIterable {
    /// The app is opened within 5 s after the bottle woke.
    case opened
    /// The bottle wakes while the app is open since a while.
    case open
    /// The bottle drops the connection while the app is open.
    case lost
    /// The bottle wakes with drinks while the app is suspended.
    case suspended
    /// The same after the system has ended the app.
    case ended
  }

  /// How long a run waits for the connection.
  public static let patience = Duration.seconds(300)

  /// The times of all seeds that connected, the shortest first.
  public var times: [Duration]
  /// The seeds that did not connect within the patience.
  public var missed: Int
  /// The seconds in which the phone scanned, in all runs.
  public var scanned = 0

  /// Times, the shortest first, and how many seeds had none.
  public init(times: [Duration] = [], missed: Int = 0) {
    (self.times, self.missed) = (times, missed)
  }

  /// Plays a situation with a policy; the same seeds make the same times.
  public static func played(
    _ situation: Situation, _ policy: LinkPolicy, seeds: ClosedRange<UInt64>
  ) -> BottleReconnect {
    var result = BottleReconnect()
    for seed in seeds {
      let (time, scanned) = run(situation, policy, seed: seed)
      result.scanned += scanned
      if let time { result.times.append(time) } else { result.missed += 1 }
    }
    result.times.sort()
    return result
  }

  /// The time below which this share of the seeds connected; `patience` where they did not.
  public func quantile(_ share: Double) -> Duration {
    let place = Int(share * Double(times.count + missed))
    return times.indices.contains(place) ? times[place] : Self.patience
  }

  private static func run(
    _ situation: Situation, _ policy: LinkPolicy, seed: UInt64
  ) -> (time: Duration?, scanned: Int) {
    let (plan, start) = plan(situation, seed: seed)
    var (first, isOver): (Instant?, Bool) = (nil, false)
    let setup = RunSetup<BottleFeature>(policy: policy)
    let outcome = BottleFeature.play(plan, setup) { seen, standing in
      if case .calm = seen { isOver = true }
      guard first == nil, !isOver, standing.isAwake, standing.now > start,
        standing.status.phase == .connected
      else { return }
      first = standing.now
    }
    return (first.map { start.duration(to: $0) }, outcome.counts[.scanning])
  }

  /// Draws the plan of a seed, and the time at which phone and bottle could meet.
  private static func plan(
    _ situation: Situation, seed: UInt64
  ) -> (WorldPlan<BottleFeature>, Instant) {
    var sketch = Sketch<BottleFeature>(seed: seed, server: .usual)
    (sketch.numbers.profile, sketch.numbers.passive) = (28, .seconds(60))
    // They meet once, so that the phone knows the bottle.
    sketch.add(Act(.moves), at: .seconds(1))
    var start = Duration.seconds(900) + sketch.draw.seconds(0, 60)
    switch situation {
    case .opened:
      sketch.add(Act(.moves), at: start - sketch.draw.seconds(0, 5))
      sketch.add(Act(.suspend, for: start - .seconds(60)), at: .seconds(60))
    case .open: sketch.add(Act(.moves), at: start)
    case .lost:
      // Before the bottle sleeps again.
      start = .seconds(20) + sketch.draw.seconds(0, 5)
      sketch.add(Act(.restarts), at: start)
    case .suspended:
      sketch.add(Act(.suspend, for: .seconds(3_600)), at: .seconds(60))
      sketch.add(Act(.drinks, 3), at: start)
    case .ended:
      sketch.add(Act(.suspend, for: .seconds(3_600)), at: .seconds(60))
      sketch.add(Act(.evict, for: .seconds(3_600)), at: .seconds(120))
      sketch.add(Act(.drinks, 3), at: start)
    }
    sketch.length = start + patience
    return (sketch.finished(seed: seed), Instant.zero.advanced(by: start))
  }
}

// What the seed's hybrid stands beside.
extension BottleReconnect {
  /// The system's queued connect alone: no burst follows a loss, and one of 100 ms, the least of a
  /// policy, the opening of the app.
  public static func passiveOnly() throws(PolicyError) -> LinkPolicy {
    let usual = LinkPolicy.bottleLink
    var (retry, gate, establish) = (usual.retry, usual.gate, usual.establish)
    retry.reconnect = .list([])
    gate.foreground = .wait
    establish.openTimeout = .milliseconds(100)
    return try LinkPolicy(
      name: "passive-only", retry: retry, gate: gate, liveness: usual.liveness,
      establish: establish, standby: usual.standby, verdicts: usual.verdicts)
  }

  /// Bursts alone, each 5 s after the one before, by the app's own timers: nothing is queued with
  /// the system.
  public static func scanOnly() throws(PolicyError) -> LinkPolicy {
    let usual = LinkPolicy.bottleLink
    var (retry, gate, liveness) = (usual.retry, usual.gate, usual.liveness)
    let waits = Array(repeating: Duration.seconds(5), count: 900)
    (retry.first, retry.reconnect) = (.list(waits), .list([.seconds(3)] + waits))
    gate.background = .stay
    liveness.idle = nil
    return try LinkPolicy(
      name: "scan-only", retry: retry, gate: gate, liveness: liveness,
      establish: usual.establish, standby: .none, verdicts: usual.verdicts)
  }
}
