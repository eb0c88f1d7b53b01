import LinkCore
import LinkServerCore
import Testing

@testable import LinkSimulator

/// The relay's own checkers before stories written by hand.
struct RelayCheckersTests {
  private var checkers = RelayCheckers()
  private var standing = Standing<RelayFeature>(
    policy: .healthRelayService, status: LinkStatus(phase: .disconnected), own: RelayState())
  private let limit = RelayServerPolicy().callLimit + .seconds(5)

  @Test(arguments: [RelayFact.left(AskID(1)), .backendEnded, nil])
  mutating func `a call has its outcome in time, whatever ends it`(end: RelayFact?) {
    for more in [Duration.zero, .seconds(1)] {
      checkers = RelayCheckers()
      standing.now = .zero
      checkers.met(.fact(.asked(AskID(1), RelayCallFacts(asker: 0, question: 1))), standing)
      standing.now = .zero.advanced(by: limit + more)
      if let end { checkers.met(.fact(end), standing) }
      checkers.conclude(standing)
      let detail = "\(AskID(1)) had no outcome for \(Words.length(limit + more))"
      let finding = Finding(.unanswered, at: standing.now, detail)
      #expect(checkers.findings == (more > .zero ? [finding] : []))
    }
  }
}
