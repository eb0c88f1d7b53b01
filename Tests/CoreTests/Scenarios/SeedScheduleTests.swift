import LinkCore
import Testing

/// One table for each requirements document, with the arithmetic beside each expected value.
struct SeedScheduleTests {
  let timeout = LinkFailure.timeout(.connect)

  @Test func `shop messages retry the first connection after 1, 2, 4, 8 and 16 s`() {
    var bench = LinkBench.wanted(.messageStream)
    bench.failAll(timeout)
    #expect(
      bench.opens == [
        0,  // at once
        1,  // 0 + 1
        3,  // 1 + 2
        7,  // 3 + 4
        15,  // 7 + 8
        31,  // 15 + 16
      ])
    #expect(bench.link.status.phase == .standby)
    #expect(bench.link.status.mode == .polling)
    bench.pass(.seconds(5))
    #expect(bench.polls.count == 1 && bench.polls[0] < 36, "the first poll is spread over 5 s")
  }

  @Test func `shop messages retry a lost link after 0, 1, 2, 4 and 8 s, then poll`() {
    var bench = LinkBench.connected(.messageStream)
    let lost = bench.seconds
    bench.give(.lost(bench.attempt, .reset))
    bench.failAll(timeout)
    #expect(
      bench.opens.map { $0 - lost } == [
        0,  // attempt 1: immediate
        1,  // attempt 2: 0 + 1
        3,  // attempt 3: 1 + 2
        7,  // attempt 4: 3 + 4
        15,  // attempt 5: 7 + 8
      ])
    #expect(bench.link.status.phase == .standby)
    bench.give(.polled(1, .timeout(.response)))
    bench.pass(.seconds(33 * 3))
    let waits = zip(bench.polls, bench.polls.dropFirst()).map { $1 - $0 }
    #expect(waits.count >= 2)
    #expect((5..<30).contains(waits[0]), "somewhere in the first interval: \(waits[0])")
    for wait in waits.dropFirst() { #expect((27...33).contains(wait), "30 s ± 10 %: \(wait)") }
  }

  @Test(arguments: [LinkPolicy.healthRelayService, .healthRelayQuick, .healthRelayForeground])
  func `a health relay makes two quick retries, 2 s apart, then fails`(policy: LinkPolicy) {
    var bench = LinkBench.wanted(policy)
    bench.failAll(.refused)
    #expect(
      bench.opens == [
        0,  // the user pressed Connect
        2,  // 0 + min(2 · 2^0, 2)
        4,  // 2 + min(2 · 2^1, 2)
      ])
    #expect(bench.link.status.phase == .failed)
    #expect(bench.link.status.reason == .exhausted(.refused))
    #expect(bench.link.deadline == nil, "no attempt follows without the user")
  }

  @Test func `a health relay that another phone replaced does not reconnect by itself`() {
    var bench = LinkBench.connected(.healthRelayService)
    bench.give(.lost(bench.attempt, .closed(code: 4409, reason: "replaced")))
    #expect(bench.link.status.phase == .failed)
    bench = LinkBench.connected(.healthRelayService)
    bench.give(.lost(bench.attempt, .closed(code: 4410, reason: "")))
    #expect(bench.link.status.phase == .reconnecting)
  }

  @Test(arguments: [LinkPolicy.healthRelayQuick, .healthRelayForeground])
  func `an active health relay session that drops gets the same two retries`(policy: LinkPolicy) {
    var bench = LinkBench.connected(policy)
    let lost = bench.seconds
    bench.give(.lost(bench.attempt, .reset))
    bench.failAll(.timeout(.connect))
    #expect(bench.opens.map { $0 - lost } == [2, 4])  // 0 + 2, 2 + 2
    #expect(bench.link.status.phase == .failed)
  }

  @Test func `a health relay service retries for more than a minute after a session dropped`() {
    var bench = LinkBench.connected(.healthRelayService)
    let lost = bench.seconds
    bench.give(.lost(bench.attempt, .reset))
    bench.failAll(.timeout(.connect))
    #expect(bench.opens.map { $0 - lost } == [2, 4, 8, 14, 22, 30, 39, 48, 57, 66, 75])
    #expect(bench.link.status.phase == .failed)
  }

  @Test func `a health relay service retries as long for a session that dropped at once`() {
    var bench = LinkBench.wanted(.healthRelayService)
    bench.give(.opened(bench.attempt))
    bench.give(.established(bench.attempt))
    #expect(bench.link.status.phase == .connected)
    bench.give(.lost(bench.attempt, .reset))
    bench.failAll(.timeout(.connect))
    #expect(bench.opens == [0, 2, 4, 8, 14, 22, 30, 39, 48, 57, 66, 75])
    #expect(bench.link.status.phase == .failed)
  }

  @Test func `a health relay service fails after eleven retries if sessions drop at once`() {
    var bench = LinkBench.wanted(.healthRelayService)
    for _ in 1...20 where bench.link.status.phase != .failed {
      bench.give(.opened(bench.attempt))
      bench.give(.established(bench.attempt))
      bench.give(.lost(bench.attempt, .reset))
      bench.pass(.seconds(10))
    }
    #expect(bench.opens.count == 12)
    #expect(bench.link.status.phase == .failed)
  }

  @Test func `a foreground health relay retries twice after a session that dropped at once`() {
    var bench = LinkBench.wanted(.healthRelayForeground)
    bench.give(.opened(bench.attempt))
    bench.give(.established(bench.attempt))
    bench.give(.lost(bench.attempt, .reset))
    bench.failAll(.timeout(.connect))
    #expect(bench.opens == [0, 2, 4])
    #expect(bench.link.status.phase == .failed)
  }

  @Test func `a health relay is connected once it has its code, within 10 s, not at the open`() {
    var bench = LinkBench.wanted(.healthRelayService)
    bench.give(.opened(bench.attempt))
    #expect(bench.link.status.phase == .connecting)
    bench.pass(.milliseconds(9_999))
    #expect(bench.opens == [0])
    bench.pass(.milliseconds(1))
    #expect(bench.link.status.reason == .failure(.timeout(.establish)))
    bench.pass(.seconds(2))
    #expect(bench.opens == [0, 12])  // 10 s without a code, then 2 s
    bench.give(.opened(bench.attempt))
    bench.give(.established(bench.attempt))
    #expect(bench.link.status.phase == .connected)
  }

  @Test
  func `a session retries 20 times after 2^n s, at most 30, a quarter more or less, at least 1`() {
    // min(2^n, 30) for 20 waits: 481 s in total.
    let bases: [Double] = [1, 2, 4, 8, 16] + Array(repeating: 30, count: 15)
    var sums: [Double] = Array(repeating: 0, count: 20)
    for seed in 0..<200 as Range<UInt64> {
      var bench = LinkBench.wanted(.session, seed: seed)
      bench.failAll(timeout, until: .seconds(7200))
      #expect(bench.opens.count == 21)  // the first one and 20 retries
      let waits = zip(bench.opens, bench.opens.dropFirst()).map { $1 - $0 }
      for (index, (wait, base)) in zip(waits, bases).enumerated() {
        // At most 37.5 s. Nothing else lengthens a wait.
        let range = max(base * 0.75, 1) - 1e-6...base * 1.25 + 1e-6
        #expect(range.contains(wait), "wait \(index): \(wait)")
        sums[index] += wait
      }
      #expect(bench.link.status == LinkStatus(phase: .failed, reason: .exhausted(timeout)))
      #expect(bench.link.deadline == nil, "the user sees an error, and no attempt follows")
    }
    // The jitter is uniform: each mean equals its base, but the first wait is never below 1 s.
    for (sum, base) in zip(sums, bases).dropFirst() {
      #expect((0.96...1.04).contains(sum / 200 / base), "\(sum / 200) for \(base)")
    }
  }

  @Test func `a session's wait below the floor is drawn again above it, not raised to it`() {
    var waits: [Double] = []
    for seed in 0..<200 as Range<UInt64> {
      var bench = LinkBench.connected(.session, seed: seed)
      let lost = bench.seconds
      bench.give(.lost(bench.attempt, .ended))
      bench.next()
      waits.append((bench.opens.first ?? 99) - lost)
    }
    #expect(waits.allSatisfy { (1..<1.25).contains($0) })
    #expect(Set(waits).count == 200)
  }

  @Test func `a session is connected only when the server confirms it, within 15 s`() {
    var bench = LinkBench.wanted(.session)
    bench.give(.opened(bench.attempt))
    bench.pass(.milliseconds(14_999))
    #expect(bench.link.status.phase == .connecting)
    bench.pass(.milliseconds(1))
    #expect(bench.link.status.reason == .failure(.timeout(.establish)))
  }

  @Test func `a bottle link scans once for 5 s, then waits without end for its queued connect`() {
    var bench = LinkBench.wanted(.bottleLink)
    #expect(bench.opens == [0])
    #expect(bench.log.contains(.arm(AttemptID(2), after: .zero)), "queued during the burst")
    bench.pass(.seconds(5))
    #expect(!bench.log.contains(.disarm(AttemptID(2))))
    #expect(bench.link.status.phase == .standby)
    bench.pass(.seconds(30 * 86_400))
    #expect(bench.opens == [0], "a month later nothing else was tried")
    bench.give(.opened(AttemptID(2)))
    bench.give(.established(AttemptID(2)))
    #expect(bench.link.status.phase == .connected)
  }

  @Test func `a dropped bottle link scans after 3 s, then waits for its queued connect`() {
    var bench = LinkBench.connected(.bottleLink)
    let lost = bench.seconds
    let effects = bench.give(.lost(bench.attempt, .ended))
    #expect(effects.contains { if case .arm = $0 { true } else { false } }, "queued at once")
    bench.pass(.seconds(3))
    #expect(bench.opens.map { $0 - lost } == [3])
    bench.pass(.seconds(5))  // 3 + 5: about 8 s in all
    #expect(bench.link.status.phase == .standby)
    #expect(bench.log.contains { if case .arm = $0 { true } else { false } })
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
    #expect(keys.contains("retry.first") && keys.contains("retry.spread"))
    let error = #expect(throws: PolicyError.self) {
      try LinkPolicy.healthSync.setting([("liveness.ping", "1s")])
    }
    #expect(error?.problems == ["liveness.ping has no meaning for health-sync"])
  }
}
