import HoldfastCore
import Testing

/// Tests with one table for each requirements document, and the arithmetic next to each expected
/// value.
struct SeedScheduleTests {
  let timeout = LinkFailure.timeout(.connect)

  @Test func `shop messages retry the first connection after 1, 2, 4, 8 and 16 s`() {
    var harness = LinkHarness.wanted(.messageStream)
    harness.failAll(timeout)
    #expect(
      harness.opens == [
        0,  // at once
        1,  // 0 + 1
        3,  // 1 + 2
        7,  // 3 + 4
        15,  // 7 + 8
        31,  // 15 + 16
      ])
    #expect(harness.link.status.phase == .standby)
    #expect(harness.link.status.mode == .polling)
    harness.pass(.seconds(5))
    #expect(harness.polls.count == 1 && harness.polls[0] < 36, "the first poll is spread over 5 s")
  }

  @Test func `shop messages retry a lost link after 0, 1, 2, 4 and 8 s, then poll`() {
    var harness = LinkHarness.connected(.messageStream)
    let lost = harness.seconds
    harness.give(.lost(harness.attempt, .reset))
    harness.failAll(timeout)
    #expect(
      harness.opens.map { $0 - lost } == [
        0,  // attempt 1: immediate
        1,  // attempt 2: 0 + 1
        3,  // attempt 3: 1 + 2
        7,  // attempt 4: 3 + 4
        15,  // attempt 5: 7 + 8
      ])
    #expect(harness.link.status.phase == .standby)
    harness.give(.polled(1, .timeout(.response)))
    harness.pass(.seconds(33 * 3))
    let waits = zip(harness.polls, harness.polls.dropFirst()).map { $1 - $0 }
    #expect(waits.count >= 2)
    #expect((5..<30).contains(waits[0]), "somewhere in the first interval: \(waits[0])")
    for wait in waits.dropFirst() { #expect((27...33).contains(wait), "30 s ± 10 %: \(wait)") }
  }

  @Test(arguments: [LinkPolicy.healthRelayService, .healthRelayQuick, .healthRelayForeground])
  func `a health relay makes two quick retries, 2 s apart, then fails`(policy: LinkPolicy) {
    var harness = LinkHarness.wanted(policy)
    harness.failAll(.refused)
    #expect(
      harness.opens == [
        0,  // the user pressed Connect
        2,  // 0 + min(2 · 2^0, 2)
        4,  // 2 + min(2 · 2^1, 2)
      ])
    #expect(harness.link.status.phase == .failed)
    #expect(harness.link.status.reason == .exhausted(.refused))
    #expect(harness.link.deadline == nil, "no attempt follows without the user")
  }

  @Test func `an exhausted session does not start again in the foreground, only for the user`() {
    var harness = LinkHarness.wanted(.session)
    harness.failAll(.refused)
    #expect(harness.link.status.isFinal)
    let opens = harness.opens.count
    harness.give(.lifecycle(.background))
    harness.give(.lifecycle(.foreground))
    harness.pass(.seconds(60))
    #expect(harness.link.status == LinkStatus(phase: .failed, reason: .exhausted(.refused)))
    #expect(harness.opens.count == opens)
    harness.give(.trigger(.userRefresh))
    #expect(!harness.link.status.isFinal)
  }

  @Test func `a health relay that another phone replaced does not reconnect by itself`() {
    var harness = LinkHarness.connected(.healthRelayService)
    harness.give(.lost(harness.attempt, .closed(code: 4409, reason: "replaced")))
    #expect(harness.link.status.phase == .failed)
    harness = LinkHarness.connected(.healthRelayService)
    harness.give(.lost(harness.attempt, .closed(code: 4410, reason: "")))
    #expect(harness.link.status.phase == .reconnecting)
  }

  @Test(arguments: [LinkPolicy.healthRelayQuick, .healthRelayForeground])
  func `an active health relay session that drops gets the same two retries`(policy: LinkPolicy) {
    var harness = LinkHarness.connected(policy)
    let lost = harness.seconds
    harness.give(.lost(harness.attempt, .reset))
    harness.failAll(.timeout(.connect))
    #expect(harness.opens.map { $0 - lost } == [2, 4])  // 0 + 2, 2 + 2
    #expect(harness.link.status.phase == .failed)
  }

  @Test func `a health relay service retries for more than a minute after a session dropped`() {
    var harness = LinkHarness.connected(.healthRelayService)
    let lost = harness.seconds
    harness.give(.lost(harness.attempt, .reset))
    harness.failAll(.timeout(.connect))
    #expect(harness.opens.map { $0 - lost } == [2, 4, 8, 14, 22, 30, 39, 48, 57, 66, 75])
    #expect(harness.link.status.phase == .failed)
  }

  @Test func `a health relay service retries as long for a session that dropped at once`() {
    var harness = LinkHarness.wanted(.healthRelayService)
    harness.give(.opened(harness.attempt))
    harness.give(.established(harness.attempt))
    #expect(harness.link.status.phase == .connected)
    harness.give(.lost(harness.attempt, .reset))
    harness.failAll(.timeout(.connect))
    #expect(harness.opens == [0, 2, 4, 8, 14, 22, 30, 39, 48, 57, 66, 75])
    #expect(harness.link.status.phase == .failed)
  }

  @Test func `a health relay service fails after eleven retries if sessions drop at once`() {
    var harness = LinkHarness.wanted(.healthRelayService)
    for _ in 1...20 where harness.link.status.phase != .failed {
      harness.give(.opened(harness.attempt))
      harness.give(.established(harness.attempt))
      harness.give(.lost(harness.attempt, .reset))
      harness.pass(.seconds(10))
    }
    #expect(harness.opens.count == 12)
    #expect(harness.link.status.phase == .failed)
  }

  @Test func `a foreground health relay retries twice after a session that dropped at once`() {
    var harness = LinkHarness.wanted(.healthRelayForeground)
    harness.give(.opened(harness.attempt))
    harness.give(.established(harness.attempt))
    harness.give(.lost(harness.attempt, .reset))
    harness.failAll(.timeout(.connect))
    #expect(harness.opens == [0, 2, 4])
    #expect(harness.link.status.phase == .failed)
  }

  @Test func `a health relay is connected once it has its code, within 10 s, not at the open`() {
    var harness = LinkHarness.wanted(.healthRelayService)
    harness.give(.opened(harness.attempt))
    #expect(harness.link.status.phase == .connecting)
    harness.pass(.milliseconds(9_999))
    #expect(harness.opens == [0])
    harness.pass(.milliseconds(1))
    #expect(harness.link.status.reason == .failure(.timeout(.establish)))
    harness.pass(.seconds(2))
    #expect(harness.opens == [0, 12])  // 10 s without a code, then 2 s
    harness.give(.opened(harness.attempt))
    harness.give(.established(harness.attempt))
    #expect(harness.link.status.phase == .connected)
  }

  @Test
  func `a session retries 20 times after 2^n s, at most 30, a quarter more or less, at least 1`() {
    // The waits are min(2^n, 30) s. The 20 waits sum up to 481 s.
    let bases: [Double] = [1, 2, 4, 8, 16] + Array(repeating: 30, count: 15)
    var sums: [Double] = Array(repeating: 0, count: 20)
    for seed in 0..<200 as Range<UInt64> {
      var harness = LinkHarness.wanted(.session, seed: seed)
      harness.failAll(timeout, until: .seconds(7200))
      #expect(harness.opens.count == 21)  // the first one and 20 retries
      let waits = zip(harness.opens, harness.opens.dropFirst()).map { $1 - $0 }
      for (index, (wait, base)) in zip(waits, bases).enumerated() {
        // The maximum is 37.5 s. No other rule lengthens a wait.
        let range = max(base * 0.75, 1) - 1e-6...base * 1.25 + 1e-6
        #expect(range.contains(wait), "wait \(index): \(wait)")
        sums[index] += wait
      }
      #expect(harness.link.status == LinkStatus(phase: .failed, reason: .exhausted(timeout)))
      #expect(harness.link.deadline == nil, "the user sees an error, and no attempt follows")
    }
    // The jitter is uniform, so each mean equals its base. Only the first mean is larger, because a
    // wait is never below 1 s.
    for (sum, base) in zip(sums, bases).dropFirst() {
      #expect((0.96...1.04).contains(sum / 200 / base), "\(sum / 200) for \(base)")
    }
  }

  @Test func `a session's wait below the floor is drawn again above it, not raised to it`() {
    var waits: [Double] = []
    for seed in 0..<200 as Range<UInt64> {
      var harness = LinkHarness.connected(.session, seed: seed)
      let lost = harness.seconds
      harness.give(.lost(harness.attempt, .ended))
      harness.next()
      waits.append((harness.opens.first ?? 99) - lost)
    }
    #expect(waits.allSatisfy { (1..<1.25).contains($0) })
    #expect(Set(waits).count == 200)
  }

  @Test func `a session is connected only when the server confirms it, within 15 s`() {
    var harness = LinkHarness.wanted(.session)
    harness.give(.opened(harness.attempt))
    harness.pass(.milliseconds(14_999))
    #expect(harness.link.status.phase == .connecting)
    harness.pass(.milliseconds(1))
    #expect(harness.link.status.reason == .failure(.timeout(.establish)))
  }

  @Test func `a bottle link scans once for 5 s, then waits without end for its queued connect`() {
    var harness = LinkHarness.wanted(.bottleLink)
    #expect(harness.opens == [0])
    #expect(harness.log.contains(.arm(AttemptID(2), after: .zero)), "queued during the burst")
    harness.pass(.seconds(5))
    #expect(!harness.log.contains(.disarm(AttemptID(2))))
    #expect(harness.link.status.phase == .standby)
    harness.pass(.seconds(30 * 86_400))
    #expect(harness.opens == [0], "a month later nothing else was tried")
    harness.give(.opened(AttemptID(2)))
    harness.give(.established(AttemptID(2)))
    #expect(harness.link.status.phase == .connected)
  }

  @Test func `a dropped bottle link scans after 3 s, then waits for its queued connect`() {
    var harness = LinkHarness.connected(.bottleLink)
    let lost = harness.seconds
    let effects = harness.give(.lost(harness.attempt, .ended))
    #expect(effects.contains { if case .arm = $0 { true } else { false } }, "queued at once")
    harness.pass(.seconds(3))
    #expect(harness.opens.map { $0 - lost } == [3])
    harness.pass(.seconds(5))  // 3 + 5: about 8 s in all
    #expect(harness.link.status.phase == .standby)
    #expect(harness.log.contains { if case .arm = $0 { true } else { false } })
  }

  @Test func `health sync retries for 31 s at first, later every 5 s to an hour without end`() {
    let retry = LinkPolicy.healthSync.retry
    #expect(retry.first == .list([1, 2, 4, 8, 16].map { .seconds($0) }))
    for (index, base) in [5.0, 10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 3_600, 3_600]
      .enumerated()
    {
      #expect(
        retry.reconnect.bounds(before: index)
          == Duration.seconds(base * 0.75)...Duration.seconds(base * 1.25))
    }
    #expect(retry.reconnect.attempts == nil)
  }

  @Test func `health sync has only retry settings`() throws {
    let keys = LinkPolicy.healthSync.values.map(\.key)
    #expect(keys.allSatisfy { $0.hasPrefix("retry.") })
    #expect(keys.contains("retry.first") && keys.contains("retry.serverJitter"))
    let error = #expect(throws: PolicyError.self) {
      try LinkPolicy.healthSync.setting([("liveness.ping", "1s")])
    }
    #expect(error?.problems == ["liveness.ping has no meaning for health-sync"])
  }
}
