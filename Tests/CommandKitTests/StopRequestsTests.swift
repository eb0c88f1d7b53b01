import HoldfastCommandKit
import Testing

/// Tests of the signals that end a command.
struct StopRequestsTests {
  private static let int: Int32 = 2
  private static let term: Int32 = 15

  @Test(arguments: [
    (int, 0.0, StopRequests.Meaning.echo), (int, 0.099, .echo), (int, 0.1, .secondStop),
    (int, 5, .secondStop), (term, 0, .secondStop), (term, 0.099, .secondStop),
  ])
  func `the same signal within 100 ms is not a second request`(
    signal: Int32, seconds: Double, meaning: StopRequests.Meaning
  ) {
    var requests = StopRequests()
    let start = ContinuousClock.now
    #expect(requests.take(Self.int, at: start) == .stop)
    #expect(requests.take(signal, at: start + .seconds(seconds)) == meaning)
    #expect(requests.take(signal, at: start + .seconds(9)) == .secondStop)
  }
}
