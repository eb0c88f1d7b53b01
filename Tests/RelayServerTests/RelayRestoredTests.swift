import HoldfastCore
import HoldfastRelayData
import HoldfastRelayFixtures
import Testing

@testable import HoldfastRelayServer

/// Tests for restoring stored state, including inconsistent state, and for restored questions.
struct RelayRestoredTests {
  private static let address = PushAddress.hook("bell")
  private static let old = RelayStage.request("old-1")

  private static func phone(
    _ number: UInt64 = 1, resume: String? = nil, push: PushAddress? = nil, left: Int = 0
  ) -> StoredPhone {
    StoredPhone(
      id: RelayStage.phone(number), device: RelayStage.device(1),
      resume: RelayStage.hash(resume ?? "resume-\(number)"), push: push,
      leftAt: RelayStage.dawn.advanced(by: .seconds(left)))
  }

  private static func access(_ number: Int = 1) -> StoredAccess {
    StoredAccess(
      token: RelayStage.hash("token-\(number)"), phone: RelayStage.phone(1),
      expiresAt: RelayStage.dawn.advanced(by: .seconds(7_200)))
  }

  private static func question(
    _ number: Int = 1, within time: Duration = .seconds(100)
  ) -> StoredQuestion {
    StoredQuestion(
      id: RelayStage.request("old-\(number)"), phone: RelayStage.phone(1),
      caller: RelayStage.hash("token-1"), question: RelayStage.question(number),
      deadline: RelayStage.dawn.advanced(by: time))
  }

  private func restored(
    _ phones: [StoredPhone], _ accesses: [StoredAccess] = [access()],
    _ questions: [StoredQuestion] = [],
    _ change: (inout RelayServerPolicy) -> Void = { _ in }
  ) -> (Relayed, [Relayed.Effect]) {
    var relay = Relayed(life: "b", change)
    let stored = StoredRelay(phones: phones, accesses: accesses, questions: questions)
    let effects = relay.take(.restored(stored, wall: relay.wall))
    return (relay, effects)
  }

  private func push(_ relay: Relayed, within seconds: Int = 45) -> RelayServer.Effect {
    let expiresAt = relay.wall.advanced(by: .seconds(seconds))
    return .push(RelayStage.phone(1), Self.address, expiresAt: expiresAt)
  }

  // MARK: Restored entries

  @Test func `a lost phone stays lost when its device connects as a new phone`() {
    var (relay, _) = restored([Self.phone(1), Self.phone(2)])
    _ = relay.complete(relay.tick(at: .second(600)))
    relay.phone(3, device: 1)
    let (id, effects) = relay.question()
    let refusal = RelayRefusal.phoneAway(since: .seconds(600), .pairAgain)
    #expect(effects == [.answer(id, .refused(refusal))])
  }

  @Test func `entries that were stored twice are restored once`() {
    let (relay, _) = restored(
      [Self.phone(), Self.phone(resume: "other")], [Self.access(), Self.access()],
      [Self.question(), Self.question()])
    #expect(relay.server.phones.count == 1)
    let resumed = ["resume-1", "other"].map { text in
      relay.server.phones.resumed(by: RelayStage.hash(text))
    }
    #expect(resumed == [RelayStage.phone(1), nil])
    let tokens = relay.server.tokens.tokens(of: RelayStage.phone(1))
    #expect(tokens == [RelayStage.hash("token-1")])
    #expect(relay.server.questions.questions(to: RelayStage.phone(1)).map(\.id) == [Self.old])
  }

  @Test func `a question to a phone that no longer exists is removed`() {
    let (_, effects) = restored([], [Self.access()], [Self.question()])
    #expect(effects.changes == [.endQuestion(Self.old)])
  }

  @Test(arguments: [(0, false), (1, true)])
  func `a restored question ends at its deadline`(nanoseconds: Int64, isStored: Bool) {
    let question = Self.question(within: .nanoseconds(nanoseconds))
    let (_, effects) = restored([Self.phone()], [Self.access()], [question])
    #expect(effects.changes == (isStored ? [] : [.endQuestion(Self.old)]))
  }

  @Test(arguments: [true, false])
  func `the number of restored questions is limited like that of open ones`(isOfPhone: Bool) {
    let questions = (1...3).map { Self.question($0) }
    let (_, effects) = restored([Self.phone()], [Self.access()], questions) {
      if isOfPhone { $0.callsPerPhone = 2 } else { $0.maxCalls = 2 }
    }
    #expect(effects.changes == [.endQuestion(RelayStage.request("old-3"))])
  }

  @Test func `the time at which a phone disconnected is restored`() {
    var (relay, _) = restored([Self.phone(push: Self.address, left: -30)])
    let effects = relay.take(.pushed(RelayStage.phone(1), to: Self.address, .gone))
    #expect(effects.changes == [.phone(Self.phone(left: -30))])
  }

  // MARK: More than one phone of a device

  private func met(_ relay: inout Relayed) -> [RelayChange] {
    let effects = relay.open(3)
    let met = relay.take(
      .tokenDrawn(
        .phone(
          ConnectionID(3), RelayStage.phone(3), RelayStage.secret("resume-3"),
          RelayStage.pair(3))))
    return effects.changes + met.changes
  }

  @Test func `a resumed phone ends when its device connects as a new phone`() {
    var (relay, _) = restored([Self.phone(1), Self.phone(2)], [])
    #expect(relay.open(1, resume: "resume-1").changes.contains(.endPhone(RelayStage.phone(2))))
    #expect(met(&relay).contains(.endPhone(RelayStage.phone(1))))
  }

  @Test func `the end of a device's earlier phone does not end its current one`() {
    var (relay, _) = restored([Self.phone(1, left: -300), Self.phone(2)], [])
    #expect(relay.tick(at: .second(300)).changes == [.endPhone(RelayStage.phone(1))])
    #expect(met(&relay).contains(.endPhone(RelayStage.phone(2))))
  }

  // MARK: Restored questions

  @Test func `a push expires with the current questions, not with a restored one`() {
    var (relay, _) = restored(
      [Self.phone(push: Self.address)], [Self.access(1), Self.access(2)], [Self.question()])
    let (_, effects) = relay.question(7, bearer: "token-2")
    #expect(effects.unstored == [push(relay)])
  }

  @Test func `a restored question that is asked again wakes the phone like a new one`() {
    var (relay, _) = restored(
      [Self.phone(push: Self.address)], [Self.access(1), Self.access(2)], [Self.question()])
    _ = relay.question(7, bearer: "token-2")
    relay.pass(.seconds(21))
    let (_, effects) = relay.question()
    #expect(effects.unstored == [push(relay)])
  }

  @Test func `a push expires with the waiting questions, not with the leased ones`() {
    var (relay, _) = restored(
      [Self.phone(push: Self.address)], [Self.access(1), Self.access(2)], [Self.question()])
    _ = relay.question(7, bearer: "token-2")
    relay.pass(.seconds(5))
    _ = relay.question()
    _ = relay.pull(.lease(LeaseRequest(max: 2)))
    relay.pass(.seconds(5))
    _ = relay.pull(.lease(LeaseRequest(max: 1)))
    let effects = relay.tick(at: .second(30)).unstored
    #expect(effects == [push(relay, within: 15)])
  }

  @Test func `a restored question that is not asked again is not refused before its deadline`() {
    var (relay, _) = restored([Self.phone()], [Self.access()], [Self.question()])
    #expect(relay.tick(at: .second(10)) == [])
    #expect(relay.tick(at: .second(45)).changes == [.endQuestion(Self.old)])
  }

  @Test(arguments: [(9.999, false), (10, true)])
  func `a restored question that is asked again waits for its phone as long as a new one`(
    seconds: Double, ends: Bool
  ) {
    var (relay, _) = restored([Self.phone()], [Self.access()], [Self.question()])
    relay.pass(.seconds(5))
    let (id, _) = relay.question()
    let refusal = RelayRefusal.phoneAway(since: .seconds(10), .mayReturn)
    #expect(
      relay.tick(at: .second(seconds)).unstored == (ends ? [.answer(id, .refused(refusal))] : []))
  }

  @Test func `a question whose assistant is unknown is removed`() {
    let (relay, effects) = restored([Self.phone()], [], [Self.question()])
    #expect(effects.changes == [.endQuestion(Self.old)])
    #expect(relay.server.questions.isEmpty)
  }

  @Test(arguments: [[1, 2, 3], [3, 2, 1], [2, 3, 1]])
  func `restored tokens are in the order in which they were granted`(order: [Int]) {
    // The first token was stored by an earlier version, which did not store when it was granted.
    let times = [1: (since: nil, until: 10), 2: (20, 90), 3: (30, 80)] as [Int: (Int?, Int)]
    let accesses = order.map { number in
      var access = Self.access(number)
      access.since = times[number]?.0.map { RelayStage.dawn.advanced(by: .seconds($0)) }
      access.expiresAt = RelayStage.dawn.advanced(by: .seconds(times[number]?.1 ?? 0))
      return access
    }
    let (relay, _) = restored([Self.phone()], accesses)
    let tokens = (1...3).map { RelayStage.hash("token-\($0)") }
    #expect(relay.server.tokens.tokens(of: RelayStage.phone(1)) == tokens)
  }

  @Test func `a restored question behind another one can still be asked again`() {
    var (relay, _) = restored([Self.phone()], [Self.access()], [Self.question()])
    relay.pass(.seconds(1))
    let (late, _) = relay.question(7)
    relay.pass(.seconds(4))
    _ = relay.question()
    relay.pass(.seconds(3))
    _ = relay.open(1, resume: "resume-1")
    let effects = relay.take(.tokenDrawn(.pair(RelayStage.phone(1), RelayStage.pair(1)))).unstored
    #expect(effects.last == .send(ConnectionID(1), .question(Self.old, RelayStage.question())))
    let refusal = RelayRefusal.tooManyWaiting(retryAfter: .seconds(2))
    #expect(relay.tick(at: .second(46)).contains(.answer(late, .refused(refusal))))
  }
}
