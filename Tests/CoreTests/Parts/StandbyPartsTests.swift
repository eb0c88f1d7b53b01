import Testing

@testable import HoldfastCore

/// Tests of the standby of a link, without a link.
@Suite struct StandbyPartsTests {
  private static let teapot = LinkFailure.http(status: 418, retryAfter: nil, detail: "")

  private var generator = RandomSource(seed: 1)
  private var standby: Standby
  private var now = Instant.zero

  init() throws {
    standby = Standby(
      try LinkPolicy.messageStream.setting([
        ("standby.interval", "1s"), ("standby.probe", "5000s"), ("standby.slowProbe", "5000s"),
      ]))
  }

  /// Starts polling. If polling has already started, this reports that a probe has failed.
  private mutating func arm(after failure: LinkFailure) {
    standby.armPoll(after: failure, slow: false, at: now, generator: &generator)
  }

  /// Sends a poll 10 s later and answers it immediately. Returns whether a probe is due.
  private mutating func poll(_ failure: LinkFailure?) throws -> Bool {
    now = now.advanced(by: .seconds(10))
    let taken = standby.takePoll(at: now)
    return standby.polled(try #require(taken), failure, at: now, generator: &generator)
  }

  /// Lets a probe fail. Returns the base-2 logarithm, rounded down, of the seconds until the next
  /// probe.
  private mutating func failProbe() -> Int? {
    arm(after: .refused)
    guard case .polling(let polling) = standby.state else { return nil }
    let seconds = now.duration(to: polling.nextProbe).components.seconds
    return Int64.bitWidth - 1 - seconds.leadingZeroBitCount
  }

  @Test
  mutating func `the wait between probes doubles each time, even beyond a thousand intervals`()
    throws
  {
    arm(after: .refused)
    let isTime = try poll(nil)
    #expect(isTime)
    // Each wait lies between one power of two and the next. The last wait is that of the policy.
    var powers: [Int?] = []
    for _ in 0...12 { powers.append(failProbe()) }
    #expect(powers == Array(0...12))
  }

  @Test mutating func `a failed first probe is followed by a wait of one interval for any server`()
    throws
  {
    arm(after: Self.teapot)
    let isTime = try poll(nil)
    #expect(!isTime)
    let powers = [failProbe(), failProbe()]
    #expect(powers == [0, 1])
  }

  @Test mutating func `the wait between probes returns to one interval after the server recovers`()
    throws
  {
    arm(after: .refused)
    _ = try poll(nil)
    let before = [failProbe(), failProbe(), failProbe()]
    _ = try poll(.refused)
    _ = try poll(nil)
    let after = [failProbe(), failProbe()]
    #expect(before == [0, 1, 2])
    #expect(after == [0, 1])
  }
}
