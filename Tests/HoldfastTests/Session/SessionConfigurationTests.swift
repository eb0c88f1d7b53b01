import Holdfast
import HoldfastTestKit
import HoldfastCore
import HoldfastFeaturePorts
import Testing

/// Tests of invalid values in the configuration of a session.
@Suite struct SessionConfigurationTests {
  @Test(arguments: [(999, false), (1_000, true), (1_001, true)])
  func `the answer time-out is at least 1 s`(
    milliseconds: Int, isTaken: Bool
  ) async throws {
    let clock = TestClock()
    let store = MemoryClientSessionStore()
    var configuration = SessionConfiguration("ws://127.0.0.1:1/session", store: store) { "key" }
    configuration.network = FakeNetwork(clock: clock)
    configuration.reachability = AlwaysReachable()
    configuration.clock = clock
    configuration.answerTimeout = .milliseconds(milliseconds)
    do throws(LinkFailure) {
      try await HeldSession(configuration).close()
      #expect(isTaken)
    } catch {
      #expect(!isTaken && error == .local(detail: "answerTimeout is at least 1 s"))
    }
  }
}
