import Testing

@testable import HoldfastCore

/// Tests of the explanation of a wait. The time itself is that of `plan`.
@Suite struct RetryWaitTests {
  private static let window = AttemptWindow(attempts: 2, per: .seconds(10))
  private static let breaker = Breaker(failures: 2, within: .seconds(5), pause: .seconds(30))
  private static let schedule = Schedule.exponential(
    first: .seconds(1), factor: 2, cap: .seconds(60), jitter: 0.25, floor: .zero, attempts: 8)

  private static func retry(breaker: Breaker? = nil) -> Retry {
    Retry(
      RetryPolicy(
        first: .list([.seconds(1)]), reconnect: schedule, windows: [window], breaker: breaker,
        stability: Stability(after: .seconds(5), provenByData: true), serverJitter: .seconds(2),
        maxRetryAfter: .seconds(60)))
  }

  private static func wait(
    _ retry: Retry, before index: Int?, spread: Duration? = nil, at now: Instant = .zero,
    seed: UInt64 = 1
  ) -> RetryWait? {
    var generator = RandomSource(seed: seed)
    return retry.wait(
      schedule, before: index, jitterWindow: spread, at: now, generator: &generator)
  }

  @Test(arguments: 0..<100 as Range<UInt64>)
  func `the parts of a wait make up its time`(seed: UInt64) throws {
    let index = Int(seed % 6)
    let plain = try #require(Self.wait(Self.retry(), before: index, seed: seed))
    let base = Duration.seconds(1 << index)
    #expect(plain.base == base)
    #expect(plain.drawn >= base * 0.75 && plain.drawn < base * 1.25)
    #expect((plain.spread, plain.window, plain.rule) == (.zero, nil, .schedule))
    #expect(plain.until == Instant.zero.advanced(by: plain.drawn))
    let spread = try #require(
      Self.wait(Self.retry(), before: index, spread: .seconds(5), seed: seed))
    #expect((spread.base, spread.drawn) == (base, plain.drawn))
    #expect(spread.spread >= .zero && spread.spread < .seconds(5))
    #expect(spread.window == .seconds(5))
    #expect(spread.until == plain.until.advanced(by: spread.spread))
    var generator = RandomSource(seed: seed)
    #expect(
      spread.until
        == Self.retry().plan(
          Self.schedule, before: index, jitterWindow: .seconds(5), at: .zero,
          generator: &generator))
  }

  @Test func `a schedule without attempts left has no wait, and no schedule has no base`() throws {
    #expect(Self.wait(Self.retry(), before: 8) == nil)
    let immediate = try #require(Self.wait(Self.retry(), before: nil))
    #expect((immediate.base, immediate.until, immediate.rule) == (nil, .zero, .schedule))
  }

  @Test func `a spread is no longer than the longest retry-after`() throws {
    #expect(Self.wait(Self.retry(), before: 0, spread: .seconds(61))?.window == .seconds(60))
    #expect(Self.wait(Self.retry(), before: 0, spread: .seconds(59))?.window == .seconds(59))
  }

  @Test func `the server's pause decides if it is longer than the schedule`() throws {
    var retry = Self.retry()
    retry.noteFailure(at: .zero, retryAfter: .seconds(9))
    let short = try #require(Self.wait(retry, before: 0))
    #expect((short.until, short.rule) == (.second(9), .retryAfter))
    #expect(Self.wait(retry, before: 4)?.rule == .schedule)
    #expect(retry.wait(at: .zero).rule == .retryAfter)
    #expect(retry.wait(at: .second(9)).rule == .schedule)
  }

  @Test func `a full window decides until it has room`() throws {
    var retry = Self.retry()
    retry.noteAttempt(at: .zero)
    #expect(Self.wait(retry, before: 0)?.rule == .schedule)
    retry.noteAttempt(at: .zero)
    let held = try #require(Self.wait(retry, before: 0))
    #expect((held.until, held.rule) == (.second(10), .window(Self.window)))
    #expect(Self.wait(retry, before: 5)?.rule == .schedule)
    #expect(retry.wait(at: .zero).rule == .window(Self.window))
  }

  @Test func `the breaker decides during its pause`() throws {
    var retry = Self.retry(breaker: Self.breaker)
    retry.noteFailure(at: .zero, retryAfter: nil)
    retry.noteFailure(at: .second(1), retryAfter: nil)
    let held = try #require(Self.wait(retry, before: 0, at: .second(1)))
    #expect((held.until, held.rule) == (.second(31), .breaker(Self.breaker)))
  }

  @Test func `a link explains its wait as long as it lasts`() throws {
    var harness = LinkHarness.connected(.socket)
    #expect(harness.link.wait == nil)
    harness.give(.lost(harness.attempt, .reset))
    while harness.link.status.retryAt == nil { harness.give(.lost(harness.attempt, .reset)) }
    let wait = try #require(harness.link.wait)
    #expect(wait.until == harness.link.status.retryAt)
    #expect(wait.base != nil)
    harness.give(.setIntent(.none))
    #expect(harness.link.wait == nil)
  }

  @Test(arguments: [(0, 1), (1, 1), (2, 2), (5, 16), (6, 30), (7, 30), (Int.max, 30)])
  func `a doubling wait begins with the first one and ends with the cap`(
    failures: Int, seconds: Int
  ) {
    let schedule = Schedule.doubling(from: .seconds(1), to: .seconds(30))
    #expect(schedule.wait(after: failures) == .seconds(seconds))
    #expect(schedule == .afterStoreFailures)
  }

  @Test func `the wait after the last attempt of a schedule is zero`() {
    let schedule = Schedule.list([.seconds(1), .seconds(3)])
    #expect((1...3).map(schedule.wait) == [.seconds(1), .seconds(3), .zero])
  }
}
