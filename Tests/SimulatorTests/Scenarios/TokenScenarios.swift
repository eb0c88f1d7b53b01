import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageStream
import HoldfastWorlds
import Testing

/// Tests of group F: tokens that expire, are revoked, or belong to a user who has lost access.
struct TokenScenarios {
  @Test func `connects after one refresh if the upgrade is refused`() {
    let recording = whole(
      .short([(100, Action(.revokeTokens, 0, TokenRefresh.works.rawValue)), (101, Action(.reset))]))
    #expect(recording.refreshes == 1)
    #expect(recording.opens(after: 101).map { $0 < .second(103) } == true)
  }

  @Test func `reconnects after one refresh if closed with 4401`() {
    let recording = whole(
      .short([(100, Action(.close, 4401)), (130, Action(.others, 1))]))
    #expect(recording.refreshes == 1)
    #expect(recording.shown("other 1").map { $0 < .second(132) } == true)
  }

  @Test(arguments: [Action(.upgradeStatus, 403, for: .seconds(200)), Action(.close, 4403)])
  func `a forbidden user does not retry`(_ refusal: Action) {
    let recording = whole(.short([(100, refusal), (101, Action(.reset))]))
    let tries = recording.opens.filter { $0 > .second(100) && $0 < .second(299) }
    #expect(tries.count <= 1)
    #expect(recording.refreshes == 0)
  }

  @Test func `a refused refresh asks the user to sign in, and the link then resumes`() {
    let recording = whole(
      .short([
        (100, Action(.revokeTokens, 0, TokenRefresh.isRefused.rawValue)), (101, Action(.reset)),
        (105, Action(.send)),
        (150, Action(.others, 1)),
      ]))
    let isAsked = recording.effects.contains { $0.effect == .update(.notice(.signIn)) }
    #expect(isAsked)
    #expect(recording.shown("other 1") != nil)
    #expect(recording.texts.contains("own 1"))
  }

  @Test func `a token that expired during sleep is renewed before it is used`() {
    var plan = Plan.short([(100, Action(.sleep, for: .seconds(900)))]) {
      $0.numbers.tokenLife = .seconds(300)
    }
    plan.length = .seconds(1200)
    let recording = whole(plan)
    let refused = recording.losses.filter {
      if case .http(status: 401, _, _) = $0.failure { true } else { false }
    }
    #expect(refused.isEmpty)
  }

  @Test func `short-lived tokens are renewed in advance, and no expired one is used`() {
    let recording = whole(.short([]) { $0.numbers.tokenLife = .seconds(120) })
    #expect((8...20).contains(recording.refreshes))
    let refused = recording.losses.filter {
      if case .http(status: 401, _, _) = $0.failure { true } else { false }
    }
    #expect(refused.isEmpty)
  }
}
