import HoldfastBottleChecks
public import HoldfastCore
import HoldfastLinkChecks
import HoldfastWorldKernel

/// The times that a phone takes to reconnect to its bottle in one situation, over many seeds.
///
/// The bottle advertises every second. Without a scan, the system notices an advertisement after 5
/// to 15 s while the app is open, and after 10 to 60 s otherwise. The bottle's timers are those of
/// the requirements (plan 028).
public struct BottleReconnect: Sendable, Hashable {
  /// The situation before the connection.
  public enum Situation: String, Sendable, Hashable, CaseIterable {
    /// The app is opened within 5 s after the bottle has woken up.
    case opened
    /// The bottle wakes up while the app has been open for some time.
    case open
    /// The bottle drops the connection while the app is open.
    case lost
    /// The bottle wakes up with drinks to synchronize while the app is suspended.
    case suspended
    /// The bottle wakes up with drinks to synchronize after the system has ended the app.
    case ended
  }

  /// The maximum time for which a run waits for the connection.
  public static let timeLimit = Duration.seconds(300)

  /// The connection times of all seeds that connected, in ascending order.
  public var times: [Duration]
  /// The number of seeds that did not connect within `timeLimit`.
  public var missed: Int
  /// The number of seconds that the phone spent scanning, over all runs.
  public var scanned = 0

  /// Creates a result from times in ascending order and the number of seeds that did not connect.
  public init(times: [Duration] = [], missed: Int = 0) {
    (self.times, self.missed) = (times, missed)
  }

  /// Runs a situation with a policy. Equal seeds produce equal times.
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

  /// Returns the time within which a share of the seeds connected, or `timeLimit` if fewer did.
  public func quantile(_ share: Double) -> Duration {
    let index = Int(share * Double(times.count + missed))
    return times.indices.contains(index) ? times[index] : Self.timeLimit
  }

  private static func run(
    _ situation: Situation, _ policy: LinkPolicy, seed: UInt64
  ) -> (time: Duration?, scanned: Int) {
    let (plan, start) = plan(situation, seed: seed)
    var (first, isOver): (Instant?, Bool) = (nil, false)
    let setup = RunSetup<BottleFeature>(policy: policy)
    let outcome = BottleFeature.play(plan, setup) { seen, phoneState in
      if case .calm = seen { isOver = true }
      guard first == nil, !isOver, phoneState.isAwake, phoneState.now > start,
        phoneState.status.phase == .connected
      else { return }
      first = phoneState.now
    }
    return (first.map { start.duration(to: $0) }, outcome.counts[.scanning])
  }

  /// Draws the plan of a seed, and the time from which phone and bottle can connect.
  private static func plan(
    _ situation: Situation, seed: UInt64
  ) -> (WorldPlan<BottleFeature>, Instant) {
    var builder = PlanBuilder<BottleFeature>(seed: seed, server: .usual)
    (builder.numbers.profile, builder.numbers.passive) = (28, .seconds(60))
    // Phone and bottle connect once, so that the phone has the bottle's identity.
    builder.add(PlannedEvent(.moves), at: .seconds(1))
    var start = Duration.seconds(900) + builder.draw.seconds(0, 60)
    switch situation {
    case .opened:
      builder.add(PlannedEvent(.moves), at: start - builder.draw.seconds(0, 5))
      builder.add(PlannedEvent(.suspend, for: start - .seconds(60)), at: .seconds(60))
    case .open: builder.add(PlannedEvent(.moves), at: start)
    case .lost:
      // The loss comes before the bottle goes back to sleep.
      start = .seconds(20) + builder.draw.seconds(0, 5)
      builder.add(PlannedEvent(.restarts), at: start)
    case .suspended:
      builder.add(PlannedEvent(.suspend, for: .seconds(3_600)), at: .seconds(60))
      builder.add(PlannedEvent(.drinks, 3), at: start)
    case .ended:
      builder.add(PlannedEvent(.suspend, for: .seconds(3_600)), at: .seconds(60))
      builder.add(PlannedEvent(.evict, for: .seconds(3_600)), at: .seconds(120))
      builder.add(PlannedEvent(.drinks, 3), at: start)
    }
    builder.length = start + timeLimit
    return (builder.finished(seed: seed), Instant.zero.advanced(by: start))
  }
}

// Alternatives to compare with the hybrid policy of the requirements.
extension BottleReconnect {
  /// Returns a policy that uses only the system's queued connect. No scan burst follows a loss, and
  /// the burst when the app is opened takes 100 ms, the minimum that a policy allows.
  public static func passiveOnly() throws(PolicyError) -> LinkPolicy {
    let usual = LinkPolicy.bottleLink
    var (retry, gate, establish) = (usual.retry, usual.gate, usual.establish)
    retry.reconnect = .list([])
    gate.foreground = .wait
    establish.openTimeout = .milliseconds(100)
    return try LinkPolicy(
      name: "passive-only", retry: retry, gate: gate, liveness: usual.liveness,
      establish: establish, standby: usual.standby, actions: usual.actions)
  }

  /// Returns a policy that uses only scan bursts, which the app's own timers start 5 s apart.
  /// No connect is queued with the system.
  public static func scanOnly() throws(PolicyError) -> LinkPolicy {
    let usual = LinkPolicy.bottleLink
    var (retry, gate, liveness) = (usual.retry, usual.gate, usual.liveness)
    let waits = Array(repeating: Duration.seconds(5), count: 900)
    (retry.first, retry.reconnect) = (.list(waits), .list([.seconds(3)] + waits))
    gate.background = .stay
    liveness.idle = nil
    return try LinkPolicy(
      name: "scan-only", retry: retry, gate: gate, liveness: liveness,
      establish: usual.establish, standby: .none, actions: usual.actions)
  }
}
