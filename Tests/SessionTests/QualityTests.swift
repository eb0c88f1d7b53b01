import HoldfastCore
import HoldfastSessionData
import HoldfastTestKit
import Testing

@testable import HoldfastSession

/// Tests of the connection quality that the user sees.
@Suite struct QualityTests {
  /// The first round trip counts three times because of the allowance for variation (RFC 6298). The
  /// bounds are 600 ms and 2 s.
  @Test(arguments: [
    (1, LinkQuality.good), (200, .good), (201, .degraded), (666, .degraded), (667, .poor),
  ])
  func `reports the first pong with its round trip and its quality`(
    milliseconds: Int, quality: LinkQuality
  ) {
    var harness = SessionHarness.connected()
    harness.answersPings = false
    harness.pass(.seconds(30))
    harness.pass(.milliseconds(milliseconds))
    harness.say(.pong)
    let qualities = harness.updates.compactMap { update in
      if case .quality(let quality, let roundTrip) = update { (quality, roundTrip) } else { nil }
    }
    #expect(qualities.map(\.0) == [quality])
    #expect(qualities.map(\.1) == [.milliseconds(milliseconds)])
  }
}
