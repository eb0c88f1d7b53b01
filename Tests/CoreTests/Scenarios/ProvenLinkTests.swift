import LinkCore
import Testing

/// The effect of a proven link on earlier failures.
@Suite struct ProvenLinkTests {
  @Test func `failures before a proven link do not count for the breaker`() throws {
    let policy = try LinkPolicy.session.setting([("retry.breaker", "2/10m:5m")])
    var bench = LinkBench.wanted(policy)
    bench.give(.lost(bench.attempt, .timeout(.connect)))
    bench.next()
    bench.connect()
    bench.give(.validData(bench.attempt))
    bench.opens = []
    bench.give(.lost(bench.attempt, .ended))
    bench.pass(.seconds(2))
    #expect(bench.opens.count == 1)
  }
}
