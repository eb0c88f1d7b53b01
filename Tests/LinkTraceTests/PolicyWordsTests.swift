import HoldfastCore
import Testing

@testable import HoldfastLinkTrace

@Suite struct PolicyWordsTests {
  @Test(arguments: [
    (Duration.milliseconds(1_900), 2, " (drawn from 1.5 s to 2.5 s)"),
    (.milliseconds(2_501), 2, " (drawn from 1.5 s to 2.5 s)"),
    (.seconds(9), 2, " (the policy's own wait is at most 2.5 s)"),
    (.milliseconds(10), 2, ""), (.zero, 2, ""), (.seconds(1), 0, ""),
  ])
  func `a wait is explained by the policy`(wait: Duration, attempt: Int, text: String) {
    let status = LinkStatus(phase: .reconnecting, attempt: attempt, reason: .failure(.refused))
    #expect(PolicyWords.explain(wait, status, .socket) == text)
  }

  @Test func `a wait whose reason is shown is not explained again`() {
    let status = LinkStatus(phase: .reconnecting, attempt: 2, reason: .limited)
    #expect(PolicyWords.explain(.seconds(9), status, .socket) == "")
  }

  @Test func `a polling link asks by requests in each phase`() {
    for phase in [LinkStatus.Phase.standby, .reconnecting, .connecting] {
      let status = LinkStatus(phase: phase, attempt: 1, mode: .polling)
      let say = Sentence.of(status, wait: .seconds(2), "")
      #expect(say == "Asks by requests in place of a connection; connects in 2 s.")
      #expect(Sentence.phase(status) == .standby)
    }
  }
}
