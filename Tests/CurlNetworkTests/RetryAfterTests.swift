import HoldfastPorts
import HoldfastSocketEngine
import Testing

@testable import HoldfastCurlNetwork

@Suite(.timeLimit(.minutes(60)))
struct RetryAfterTests {
  /// 2015-10-21 07:28:00 UTC, which is close to the dates in the test cases.
  static let now = 1_445_412_480

  @Test(
    arguments: [
      ("0", .zero), ("1", .seconds(1)), ("120", .seconds(120)), ("007", .seconds(7)),
      ("9223372036854775807", .seconds(Int64.max)), ("9223372036854775808", nil),
    ] as [(String, Duration?)])
  func `a delay in seconds is used unchanged and ignored if it overflows`(
    value: String, retryAfter: Duration?
  ) {
    #expect(RetryAfter.duration(value, date: nil, now: Self.now) == retryAfter)
  }

  @Test(
    arguments: [
      "Wed, 21 Oct 2015 07:29:30 GMT", "Wednesday, 21-Oct-15 07:29:30 GMT",
      "Wed Oct 21 07:29:30 2015",
    ])
  func `a date in each HTTP format is relative to the response's own date`(value: String) {
    let date = "Wed, 21 Oct 2015 07:29:00 GMT"
    #expect(RetryAfter.duration(value, date: date, now: 0) == .seconds(30))
    #expect(RetryAfter.duration(value, date: nil, now: Self.now) == .seconds(90))
    #expect(RetryAfter.duration(value, date: "yesterday", now: Self.now) == .seconds(90))
  }

  @Test(arguments: [(59, Duration.seconds(1)), (60, .zero), (61, .zero)])
  func `a past date gives a delay of zero`(second: Int, retryAfter: Duration) {
    let value = "Wed, 21 Oct 2015 07:29:00 GMT"
    #expect(RetryAfter.duration(value, date: nil, now: Self.now + second) == retryAfter)
  }

  @Test(arguments: ["", " ", "soon", "-1", "+5", "1.5", "7 seconds", "0x10", "٣", "Wed, 21 Oct"])
  func `an invalid Retry-After is ignored`(value: String) {
    #expect(RetryAfter.duration(value, date: nil, now: Self.now) == nil)
  }

  @Test(
    arguments: [
      ([], nil), ([("Retry-After", "7")], .seconds(7)), ([("retry-after", "0")], .zero),
      ([("Retry-After", "later")], nil),
      (
        [
          ("Date", "Wed, 21 Oct 2015 07:28:00 GMT"),
          ("Retry-After", "Wed, 21 Oct 2015 07:30:00 GMT"),
        ], .seconds(120)
      ),
    ] as [([(String, String)], Duration?)])
  func `a response contains the retry-after`(headers: [(String, String)], retryAfter: Duration?)
    async throws
  {
    let server = try TestServer { peer in
      while peer.request() != nil { peer.answer(503, headers) }
    }
    #expect(try await CurlNetwork().send(.to(server.url)).retryAfter == retryAfter)
  }
}
