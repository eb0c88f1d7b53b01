import Testing

@testable import LinkCore

/// The standby of a link, used without one.
@Suite struct StandbyPartsTests {
  @Test func `probes wait twice as long each time, also beyond a thousand intervals`() throws {
    let policy = try LinkPolicy.messageStream.setting([
      ("standby.interval", "1s"), ("standby.probe", "5000s"), ("standby.slowProbe", "5000s"),
    ])
    var chance = Chance(seed: 1)
    var standby = Standby(policy)
    standby.armPoll(after: .refused, slow: false, at: .zero, chance: &chance)
    let now = Instant.zero.advanced(by: .seconds(10))
    let taken = standby.takePoll(at: now)
    let poll = try #require(taken)
    let isTime = standby.polled(poll, nil, at: now, chance: &chance)
    #expect(isTime)
    // Each wait is drawn from a power of two up to the next one; the last is that of the policy.
    var powers: [Int] = []
    for _ in 0...12 {
      standby.armPoll(after: .refused, slow: false, at: now, chance: &chance)
      guard case .polling(let polling) = standby.state else { continue }
      let seconds = now.duration(to: polling.nextProbe).components.seconds
      powers.append(Int64.bitWidth - 1 - seconds.leadingZeroBitCount)
    }
    #expect(powers == Array(0...12))
  }
}
