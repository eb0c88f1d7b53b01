import HoldfastBottleChecks
import HoldfastBottleLink
import HoldfastCore
import HoldfastLinkChecks
import HoldfastWorlds
import Testing

/// Tests of the idle time-out of a bottle's connection, in the phone and in its checkers.
@Suite(.timeLimit(.minutes(60))) struct BottleIdleTests {
  private typealias Planned = TimedEvent<BottleFeature.EventKind>

  /// Returns a plan in which a bottle is carried for 300 s. It is therefore awake while the phone
  /// needs no data from it.
  private static func plan(held: (at: Int64, for: Int64)? = nil) -> BottleFeature.Plan {
    var events = [Planned(at: .seconds(100), PlannedEvent(.carries, for: .seconds(300)))]
    if let held {
      events.append(Planned(at: .seconds(held.at), PlannedEvent(.holds, for: .seconds(held.for))))
    }
    return BottleFeature.Plan(seed: 1, events: events, length: .seconds(600))
  }

  /// Runs a plan. Returns the findings and the times during which the phone was connected.
  private static func play(
    _ plan: BottleFeature.Plan, _ defect: BottleFeature.Defect? = nil
  ) -> (findings: [Finding], connected: [ClosedRange<Double>]) {
    var (since, spans): (Double?, [ClosedRange<Double>]) = (nil, [])
    let outcome = BottleFeature.play(plan, RunSetup(defect: defect)) { _, phoneState in
      let now = Double(phoneState.now.nanoseconds) / 1e9
      switch (phoneState.status.phase == .connected, since) {
      case (true, nil): since = now
      case (false, let start?): (since, spans) = (nil, spans + [start...now])
      case (true, _?), (false, nil): return
      }
    }
    return (outcome.findings, spans)
  }

  @Test func `an idle connection ends after 60 s, and the checkers find nothing`() throws {
    let run = Self.play(Self.plan())
    #expect(run.findings == [])
    let first = try #require(run.connected.first)
    #expect((60...61).contains(first.upperBound - first.lowerBound), "\(first)")
    // The bottle stays awake. The system scans again after 30 s and finds the bottle within 5 to 15
    // s.
    let pause = try #require(run.connected.dropFirst().first).lowerBound - first.upperBound
    #expect((35...47).contains(pause), "\(pause)")
  }

  @Test(arguments: [120, 140, 155] as [Int64])
  func `a hold keeps the connection until 60 s after its release`(start: Int64) throws {
    let run = Self.play(Self.plan(held: (start, 100)))
    #expect(run.findings == [])
    let first = try #require(run.connected.first)
    let end = first.upperBound - Double(start) - 100
    #expect((60...61).contains(end), "\(first)")
  }

  @Test(arguments: [
    (BottleFeature.Defect.idlesEarly, Finding.Kind.needless), (.pingsAlways, .needless),
    (.neverIdle, .storm), (.ignoresHolds, .stuck), (.ignoresHolds, .needless),
    (.neverRests, .needless),
  ])
  func `detects a phone that disconnects early, late or during a hold, or reconnects at once`(
    defect: BottleFeature.Defect, kind: Finding.Kind
  ) {
    let isHeld = defect == .ignoresHolds
    let run = Self.play(Self.plan(held: isHeld ? (120, 100) : nil), defect)
    #expect(run.findings.contains { $0.kind == kind }, "\(run.findings)")
  }

  @Test func `a bottle whose time was lost in transit is set a little later`() {
    var isFound = false
    for seed in UInt64(30)...60 {
      var events = [Planned(at: .seconds(95), PlannedEvent(.lossy, for: .seconds(22)))]
      for second in stride(from: Int64(100), to: 180, by: 10) {
        events.append(Planned(at: .seconds(second), PlannedEvent(.drinks, 1)))
      }
      let plan = BottleFeature.Plan(seed: seed, events: events, length: .seconds(600))
      #expect(Self.play(plan).findings == [], "seed \(seed)")
      let kinds = Self.play(plan, .setsTimeOnce).findings.map(\.kind)
      isFound = isFound || kinds.contains(.untimed)
    }
    #expect(isFound, "a phone that sets the time only once is found")
  }
}
