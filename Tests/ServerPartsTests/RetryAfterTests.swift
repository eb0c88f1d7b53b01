import HoldfastServerParts
import Testing

@Suite struct RetryAfterTests {
  private static let waits: [(Duration, Int64)] = [
    (.zero, 1), (.nanoseconds(1), 1), (.seconds(1), 1), (.seconds(-5), 1),
    (Duration(secondsComponent: 1, attosecondsComponent: 1), 2), (.milliseconds(1_999), 2),
    (.seconds(2), 2), (.seconds(120), 120),
  ]

  @Test(arguments: waits)
  func `seconds are rounded up, and at least one`(wait: Duration, seconds: Int64) {
    #expect(wait.retrySeconds == seconds)
  }
}
