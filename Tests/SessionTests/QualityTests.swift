import HoldfastTestKit
import LinkCore
import LinkWire
import Testing

@testable import Session

/// The quality of a session's connection, as its user sees it.
@Suite struct QualityTests {
  @Test(arguments: [
    (1, LinkQuality.good), (600, .good), (601, .degraded), (2_000, .degraded), (2_001, .poor),
  ])
  func `the first pong is told with its round trip and its quality`(
    milliseconds: Int, quality: LinkQuality
  ) {
    var bench = SessionBench.connected()
    bench.answersPings = false
    bench.pass(.seconds(30))
    bench.pass(.milliseconds(milliseconds))
    bench.say(.pong)
    let told = bench.updates.compactMap { update in
      if case .quality(let quality, let roundTrip) = update { (quality, roundTrip) } else { nil }
    }
    #expect(told.map(\.0) == [quality])
    #expect(told.map(\.1) == [.milliseconds(milliseconds)])
  }
}
