import HoldfastCore
import HoldfastMessageStream
import Testing

/// Tests of the status of a stream.
@Suite struct StreamStatusTests {
  @Test(arguments: LinkStatus.Phase.allCases)
  func `a status has the text, the failure and the wait of the link's status`(
    phase: LinkStatus.Phase
  ) {
    let now = Instant(nanoseconds: 1_000)
    let reason: LinkStatus.Reason? =
      switch phase {
      case .disconnected: .ended(.leaving)
      case .held: .blocked(.unreachable)
      case .failed: .signIn
      case .connected: nil
      case .connecting, .reconnecting, .standby: .failure(.reset)
      }
    let link = LinkStatus(
      phase: phase, attempt: 2, maxAttempts: 10, retryAt: now.advanced(by: .seconds(3)),
      mode: phase == .standby ? .polling : .none, reason: reason)
    let status = StreamStatus(link)
    #expect(status.description == link.description)
    #expect(status.failure == link.failure)
    #expect(status.retryIn(at: now) == .seconds(3))
  }
}
