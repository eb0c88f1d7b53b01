import HoldfastCore
import Testing

/// Tests of how a proven link affects earlier failures.
@Suite struct ProvenLinkTests {
  @Test func `failures before a proven link do not count for the breaker`() throws {
    let policy = try LinkPolicy.session.setting([("retry.breaker", "2/10m:5m")])
    var harness = LinkHarness.wanted(policy)
    harness.give(.lost(harness.attempt, .timeout(.connect)))
    harness.next()
    harness.connect()
    harness.give(.validData(harness.attempt))
    harness.opens = []
    harness.give(.lost(harness.attempt, .ended))
    harness.pass(.seconds(2))
    #expect(harness.opens.count == 1)
  }
}
