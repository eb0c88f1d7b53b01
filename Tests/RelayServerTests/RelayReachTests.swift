import HoldfastCore
import HoldfastRelayData
import HoldfastRelayFixtures
import HoldfastRelayServer
import Testing

/// Tests for how long a question waits for a disconnected phone.
@Suite struct RelayReachTests {
  private func away(_ seconds: Double) -> RelayServer.Effect.Outcome {
    .refused(.phoneAway(since: .seconds(seconds), .mayReturn))
  }

  @Test func `a phone that cannot be woken is waited for 10 s, and then refused at once`() {
    var relay = Relayed.paired()
    _ = relay.gone(1)
    let (first, effects) = relay.question()
    #expect(effects.unstored == [])
    #expect(effects.changes.count == 1)
    #expect(relay.tick(at: .second(9.999)).unstored == [])
    #expect(relay.server.deadline == .second(10))
    #expect(relay.tick(at: .second(10)).unstored == [.answer(first, away(10))])
    let (second, later) = relay.question()
    #expect(later == [.answer(second, away(10))])
  }

  @Test func `a question in progress waits as long after the phone disconnects`() {
    var relay = Relayed.paired()
    let (id, _) = relay.question()
    _ = relay.tick(at: .second(5))
    _ = relay.gone(1)
    #expect(relay.tick(at: .second(14.999)).unstored == [])
    #expect(relay.tick(at: .second(15)).unstored == [.answer(id, away(10))])
  }

  @Test func `a phone that reconnects in time is asked`() {
    var relay = Relayed.paired()
    _ = relay.gone(1)
    let (id, _) = relay.question()
    _ = relay.tick(at: .second(9.999))
    _ = relay.complete(relay.open(2, resume: "resume-1"))
    let back = relay.take(.tokenDrawn(.pair(RelayStage.phone(1), RelayStage.pair(9))))
    #expect(
      back.contains { if case .send(_, .question) = $0 { true } else { false } })
    #expect(relay.tick(at: .second(11)).unstored.allSatisfy { $0.answered != id })
  }

  @Test func `a question to a phone that can be woken waits until its deadline`() {
    var relay = Relayed.paired()
    let address = PushAddress.hook("ann")
    relay.register(address)
    _ = relay.gone(1)
    let (id, _) = relay.question()
    #expect(relay.tick(at: .second(44.999)).unstored.allSatisfy { $0.answered != id })
    #expect(relay.tick(at: .second(45)).unstored.contains { $0.answered == id })
  }

  @Test func `a phone that disconnects during a question is woken for it`() {
    var relay = Relayed.paired()
    relay.register(.hook("ann"))
    _ = relay.question()
    let deadline = relay.wall.advanced(by: .seconds(45))
    _ = relay.tick(at: .second(5))
    #expect(
      relay.gone(1).unstored == [.push(RelayStage.phone(1), .hook("ann"), expiresAt: deadline)])
  }

  @Test func `a phone that connected after a push is woken again for waiting questions`() {
    var relay = Relayed.paired()
    relay.register(.hook("ann"))
    _ = relay.gone(1)
    #expect(relay.question(1).1.unstored.count == 1)
    _ = relay.question(2)
    _ = relay.tick(at: .second(5))
    _ = relay.complete(relay.open(2, resume: "resume-1"))
    _ = relay.take(.tokenDrawn(.pair(RelayStage.phone(1), RelayStage.pair(9))))
    _ = relay.said(2, .failure(RelayStage.request("a-1"), reason: "x"))
    _ = relay.said(2, .failure(RelayStage.request("a-2"), reason: "x"))
    _ = relay.question(3)
    let (waiting, _) = relay.question(4)
    _ = relay.gone(2)
    _ = relay.take(.abandoned(RequestID(waiting.number - 1)))
    let pushes = relay.tick(at: .second(20)).unstored
    #expect(pushes.contains { if case .push = $0 { true } else { false } })
  }

  @Test func `a phone that disconnects without a question is not woken`() {
    var relay = Relayed.paired()
    relay.register(.hook("ann"))
    #expect(relay.gone(1).unstored == [])
  }

  @Test func `a push address that could not be stored is used until the process ends`() {
    var relay = Relayed.paired()
    let address = PushAddress.hook("ann")
    _ = relay.complete(relay.gone(1))
    _ = relay.question()
    let (id, effects) = relay.pull(.push(address))
    let phone = RelayStage.phone(1)
    #expect(
      relay.complete(effects, failure: .full(detail: "disk")) == [
        .respond(id, .refused(.storeFailed(retryAfter: .seconds(2)))),
        .push(phone, address, expiresAt: relay.wall.advanced(by: .seconds(45))),
      ])
  }

  @Test func `a phone whose push address no longer exists cannot be woken`() {
    var relay = Relayed.paired()
    let address = PushAddress.hook("ann")
    relay.register(address)
    _ = relay.gone(1)
    let (id, _) = relay.question()
    _ = relay.tick(at: .second(20))
    let effects = relay.take(.pushed(RelayStage.phone(1), to: address, .gone))
    #expect(effects.unstored.isEmpty)
    #expect(relay.tick(at: .second(20)).unstored == [.answer(id, away(20))])
  }
}

extension Relayed {
  fileprivate mutating func register(_ address: PushAddress) {
    let (_, effects) = pull(.push(address))
    _ = complete(effects)
  }
}

extension RelayServer.Effect {
  fileprivate typealias Outcome = RelayOutcome

  /// The call that this effect answers.
  fileprivate var answered: RequestID? {
    if case .answer(let id, _) = self { id } else { nil }
  }
}
