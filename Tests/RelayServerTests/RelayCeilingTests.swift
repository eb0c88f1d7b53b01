import HoldfastCore
import HoldfastRelayFixtures
import HoldfastRelayServer
import HoldfastServerFixtures
import Testing

/// Tests of the maximums of phones below, at and above their value, and of what metrics tell of the
/// relay.
struct RelayCeilingTests {
  @Test(arguments: [(2_499, 0), (2_500, 0), (2_501, 1)])
  func `by default, 2,500 phones of one address connect`(count: Int, refused: Int) {
    var relay = Relayed()
    relay.checks = .quick
    for number in 1...count { _ = relay.open(UInt64(number), device: UInt64(number)) }
    #expect(relay.server.ceiling("phones_per_address") == (2_500, min(count, 2_500), refused))
    #expect(relay.server.ceiling("phones").used == min(count, 2_500))
  }

  @Test(arguments: [(1, 0), (2, 0), (3, 1)])
  func `phones up to the maximum connect`(count: Int, refused: Int) {
    var relay = Relayed { $0.maxSockets = 2 }
    for number in 1...count {
      _ = relay.open(UInt64(number), device: UInt64(number), from: "\(number)")
    }
    #expect(relay.server.ceiling("phones") == (2, min(count, 2), refused))
  }

  @Test func `the time of a question is told by its outcome`() {
    var relay = Relayed.paired()
    _ = relay.question()
    _ = relay.tick(at: .second(45))
    let text = relay.server.metricsText
    #expect(text.contains(#"holdfast_relay_question_seconds_count{outcome="timed_out"} 1"#))
    #expect(text.contains(#"holdfast_relay_question_seconds_sum{outcome="timed_out"} 45"#))
  }
}
