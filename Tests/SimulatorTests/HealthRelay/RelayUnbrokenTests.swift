import HoldfastCore
import HoldfastHealthRelay
import HoldfastRelayData
import HoldfastRelayServer
import HoldfastWorlds
import Testing

@testable import HoldfastLinkChecks
@testable import HoldfastRelayChecks
@testable import HoldfastRelayWorld
@testable import HoldfastWorldKernel

/// Tests of the relay's checkers for findings that no deliberate defect causes.
struct RelayUnbrokenTests {
  private var checkers = RelayWorldCheckers()
  private var phoneState = PhoneState<RelayFeature>(
    policy: .healthRelayService, status: LinkStatus(phase: .connected), own: RelayState())

  /// Creates a state in which an assistant has logged in and asked a question, and in which its
  /// phone has disconnected.
  init() {
    phoneState.own.turn = .seconds(5)
    phoneState.own.state = .running
    var login = RelayCallFacts(assistant: 0)
    login.pair = RelayGivenPair(text: "word code", isGuess: false)
    let grant = RelayGrant(accessToken: "t", expiresIn: .seconds(7_200), user: "u")
    see(.called(RequestID(1), login), at: 0)
    see(.answered(RequestID(1), .loggedIn(grant)), at: 0)
    see(.joined(phone: 0, over: 7), at: 1)
    see(.called(RequestID(2), RelayCallFacts(assistant: 0, token: "t", question: 1)), at: 2)
    see(.parted(phone: 0, over: 7), at: 3)
  }

  private var found: [Finding.Kind] { checkers.findings.map(\.kind) }

  private mutating func see(_ fact: RelayFact, at second: Double) {
    phoneState.now = .second(second)
    checkers.handle(.fact(fact), phoneState)
  }

  private mutating func lease(_ name: String, at second: Double) {
    guard let id = RelayRequestID("q1") else { return }
    let question = LeasedQuestion(id: id, question: .numbered(1), lease: name)
    let leased = LeasedQuestions(questions: [question], expiresIn: .seconds(25))
    see(.leased(phone: 0, leased), at: second)
  }

  @Test mutating func `finds a question that is refused as cancelled without a cancellation`() {
    see(.answered(RequestID(2), .refused(.cancelled)), at: 4)
    #expect(found == [.dishonest])
  }

  @Test mutating func `finds an address that is locked out without a wrong pairing code`() {
    var facts = RelayCallFacts(assistant: 1)
    facts.pair = RelayGivenPair(text: "word code", isGuess: false)
    see(.called(RequestID(3), facts), at: 4)
    see(.answered(RequestID(3), .refused(.lockedOut(retryAfter: .seconds(9)))), at: 4)
    #expect(found == [.dishonest])
  }

  @Test mutating func `a question that is sent while it has a lease is detected`() throws {
    lease("l", at: 4)
    see(.joined(phone: 0, over: 8), at: 5)
    #expect(found == [])
    let id = try #require(RelayRequestID("q1"))
    see(.sent(phone: 0, id, question: 1, over: 8), at: 6)
    #expect(found == [.needless])
  }

  @Test mutating func `a second lease for a question is detected`() {
    lease("l", at: 4)
    #expect(found == [])
    lease("m", at: 5)
    #expect(found == [.needless])
  }
}
