import HoldfastCore
import HoldfastRelayData
import HoldfastRelayFixtures
import HoldfastRelayServer
import HoldfastServerParts
import Testing

/// Tests for phones that disconnect, resume, are replaced or fall silent.
struct RelayPhoneTests {
  private let one = ConnectionID(1)
  private let two = ConnectionID(2)
  private let phone = RelayStage.phone(1)

  private func paired() -> Relayed {
    var relay = Relayed.paired()
    _ = relay.take(.tokenDrawn(.pair(phone, RelayStage.pair(2))))
    return relay
  }

  private func stored(push: PushAddress? = nil, leftAt: Timestamp? = nil) -> StoredPhone {
    StoredPhone(
      id: phone, device: RelayStage.device(1), resume: RelayStage.hash("resume-1"), push: push,
      leftAt: leftAt)
  }

  @Test func `a phone that resumes keeps its pairings and its shown pair`() {
    var relay = paired()
    relay.pass(.seconds(20))
    let left = relay.gone(1)
    #expect(left.unstored == [])
    #expect(left.changes == [.phone(stored(leftAt: relay.wall))])
    relay.pass(.seconds(30))
    let back = relay.open(2, resume: "resume-1")
    #expect(
      back.unstored == [
        .accept(two),
        .send(
          two, RelayStage.code(RelayStage.pair(2), expiresIn: .seconds(550), resumed: true)),
      ])
    #expect(back.changes == [.phone(stored())])
    #expect(
      relay.question().1
        == [.send(two, .question(RelayStage.request("a-1"), RelayStage.question()))])
  }

  @Test func `a phone that resumes shows a new pair if the old one was used or has expired`() {
    var relay = paired()
    _ = relay.gone(1)
    relay.login(2, token: "token-2")
    #expect(relay.open(2, resume: "resume-1").unstored == [.accept(two), .drawToken(.pair(phone))])
    var second = RelayStage.assistant("token-2")
    second.since = RelayStage.dawn.advanced(by: .nanoseconds(1))  // after the first one
    let code = RelayStage.code(RelayStage.pair(3), resumed: true, newAssistants: [second])
    #expect(relay.take(.tokenDrawn(.pair(phone, RelayStage.pair(3)))) == [.send(two, code)])
  }

  @Test func `a question in progress is asked again with the same id after a resume`() {
    var relay = paired()
    let (id, asked) = relay.question()
    let left = relay.gone(1)
    let question = StoredQuestion(
      id: RelayStage.request("a-1"), phone: phone, caller: RelayStage.hash("token-1"),
      question: RelayStage.question(), deadline: relay.wall.advanced(by: .seconds(45)))
    #expect(left.unstored == [])
    #expect(left.changes == [.phone(stored(leftAt: relay.wall)), .question(question)])
    relay.pass(.seconds(44))
    let back = relay.open(2, resume: "resume-1")
    #expect(
      back.unstored.last == .send(two, .question(RelayStage.request("a-1"), RelayStage.question())))
    #expect(asked.count == 1)
    let object = RelayStage.object("1")
    let answered = relay.said(2, .healthData(RelayStage.request("a-1"), object))
    #expect(answered.unstored == [.answer(id, .data(object))])
    #expect(answered.changes == [.endQuestion(RelayStage.request("a-1"))])
  }

  @Test func `a question is not asked again after its deadline`() {
    var relay = paired()
    let (id, _) = relay.question()
    relay.pass(.seconds(5))
    _ = relay.gone(1)
    let late = relay.tick(at: .second(45))
    #expect(
      late.unstored
        == [.answer(id, .refused(.phoneAway(since: .seconds(40), .mayReturn)))])
    #expect(relay.open(2, resume: "resume-1").unstored.count == 2)
  }

  @Test func `an answer that arrives before the phone received its pair is ignored`() {
    var relay = Relayed.paired()
    let (id, _) = relay.question()
    _ = relay.complete(relay.gone(1))
    _ = relay.complete(relay.open(2, resume: "resume-1"))
    let object = RelayStage.object("7")
    let answer = PhoneMessage.healthData(RelayStage.request("a-1"), object)
    #expect(relay.said(2, answer) == [])
    _ = relay.take(.tokenDrawn(.pair(phone, RelayStage.pair(2))))
    #expect(relay.said(2, answer).unstored == [.answer(id, .data(object))])
  }

  @Test(arguments: [(599.999, true), (600, false)])
  func `the grace period of a phone is ten minutes`(seconds: Double, resumes: Bool) {
    var relay = paired()
    _ = relay.gone(1)
    let over = relay.tick(at: .second(seconds))
    #expect(over.changes == (resumes ? [] : [.endPhone(phone)]))
    let back = relay.open(2, resume: "resume-1")
    #expect(back.contains(.drawToken(.phone(two))) == !resumes)
    let (id, effects) = relay.question()
    #expect(
      effects.contains(.answer(id, .refused(.phoneAway(since: .seconds(600), .pairAgain))))
        == !resumes)
  }

  @Test func `a plain phone cannot resume, and callers are refused at once`() {
    var relay = Relayed()
    relay.phone(1, plain: true)
    relay.login(1)
    let (open, _) = relay.question()
    let gone = relay.gone(1)
    #expect(gone == [.answer(open, .refused(.phoneAway(since: .zero, .pairAgain)))])
    relay.pass(.seconds(3))
    let (id, effects) = relay.question()
    #expect(effects == [.answer(id, .refused(.phoneAway(since: .seconds(3), .pairAgain)))])
  }

  @Test func `the second connection of a phone closes the first`() {
    var relay = paired()
    let (id, _) = relay.question()
    let back = relay.open(2, resume: "resume-1")
    #expect(
      back.unstored == [
        .accept(two), .close(one, .replaced),
        .send(two, RelayStage.code(RelayStage.pair(2), resumed: true)),
        .send(two, .question(RelayStage.request("a-1"), RelayStage.question())),
      ])
    #expect(relay.said(1, .healthData(RelayStage.request("a-1"), RelayStage.object("1"))) == [])
    #expect(relay.gone(1, code: 4409) == [])
    let object = RelayStage.object("2")
    #expect(
      relay.said(2, .healthData(RelayStage.request("a-1"), object)) == [.answer(id, .data(object))])
  }

  @Test func `the same device without its token ends the first pairing`() {
    var relay = paired()
    let (id, _) = relay.question()
    _ = relay.open(2)
    let replaced = relay.take(
      .tokenDrawn(.phone(two, RelayStage.phone(2), RelayStage.secret("r2"), RelayStage.pair(9))))
    #expect(
      replaced.unstored
        == [.close(one, .replaced), .answer(id, .refused(.phoneReplaced))])
    #expect(replaced.changes.first == .endPhone(phone))
    #expect(
      relay.complete(replaced).last == .send(two, RelayStage.code(RelayStage.pair(9), token: "r2")))
    let (next, effects) = relay.question()
    #expect(effects == [.answer(next, .refused(.phoneReplaced))])
    #expect(
      relay.open(3, resume: "resume-1").unstored == [
        .accept(ConnectionID(3)), .drawToken(.phone(ConnectionID(3))),
      ])
  }

  @Test(arguments: [("resume-1", nil), ("resume-1", 2), ("other", 1)] as [(String, UInt64?)])
  func `a resume token works only for its own device`(token: String, device: UInt64?) {
    var relay = paired()
    _ = relay.gone(1)
    #expect(
      relay.open(2, device: device, resume: token) == [.accept(two), .drawToken(.phone(two))])
  }

  @Test func `a phone that disconnects before it received its token is forgotten`() {
    var relay = Relayed()
    _ = relay.open(1)
    let tokenDrawn = relay.take(
      .tokenDrawn(.phone(one, phone, RelayStage.secret("resume-1"), RelayStage.pair(1))))
    #expect(relay.gone(1).changes == [.endPhone(phone)])
    #expect(relay.complete(tokenDrawn) == [])
    #expect(relay.open(2, resume: "resume-1").contains(.drawToken(.phone(two))))
  }

  @Test func `a message that is too long ends its question instead of every later connection`() {
    var relay = paired()
    let (id, _) = relay.question()
    let gone = relay.gone(1, code: 1009)
    #expect(gone.unstored == [.answer(id, .refused(.answerTooLarge(limit: 8 << 20)))])
    #expect(relay.open(2, resume: "resume-1").unstored.count == 2)
  }

  @Test(arguments: [(59.999, false), (60, true)])
  func `silence of 60 s drops a socket that was pinged`(seconds: Double, drops: Bool) {
    var relay = Relayed.withPhone()
    #expect(relay.tick(at: .second(25)) == [.ping(one)])
    #expect(relay.tick(at: .second(50)) == [.ping(one)])
    #expect(relay.tick(at: .second(seconds)) == (drops ? [.drop(one)] : []))
  }

  @Test func `any byte counts as a sign of life`() {
    var relay = Relayed.withPhone()
    relay.pass(.seconds(30))
    _ = relay.server.tick(at: relay.now)
    _ = relay.take(.received(one))
    #expect(relay.tick(at: .second(89.999)).allSatisfy { $0 == .ping(one) })
    #expect(relay.tick(at: .second(90)).contains(.drop(one)))
  }

  @Test func `a slow reader is closed, and dropped if it does not answer`() {
    var relay = paired()
    #expect(relay.take(.overflowed(one)) == [.close(one, .slowReader)])
    #expect(relay.question().1 == [])
    #expect(relay.tick(at: .second(5)) == [.drop(one)])
    _ = relay.gone(1)
    #expect(relay.open(2, resume: "resume-1").unstored.count == 3)
  }

  @Test func `sockets, sockets per address and phones are limited`() {
    var relay = Relayed.withPhone {
      $0.maxSockets = 3
      $0.socketsPerAddress = 2
    }
    relay.phone(2)
    let refusal = HTTPRefusal(429, "too many sockets", retryAfter: .seconds(2))
    #expect(relay.open(3, device: 3) == [.refuse(ConnectionID(3), refusal)])
    #expect(relay.open(4, device: 4, from: "b").first == .accept(ConnectionID(4)))
    #expect(
      relay.open(5, device: 5, from: "c") == [
        .refuse(ConnectionID(5), HTTPRefusal(503, "too busy", retryAfter: .seconds(2)))
      ])
    _ = relay.gone(1)
    #expect(relay.open(6, device: 6).first == .accept(ConnectionID(6)))
    var known = Relayed { $0.maxPhones = 1 }
    known.phone(1)
    #expect(
      known.open(2, device: 2) == [
        .refuse(ConnectionID(2), HTTPRefusal(503, "too busy", retryAfter: .seconds(2)))
      ])
    #expect(known.open(2, resume: "resume-1").first == .accept(ConnectionID(2)))
  }

  @Test(arguments: [(3, false), (2, true)])
  func `at the limit of phones, a disconnected phone without a pairing is evicted`(
    bound: Int, makesRoom: Bool
  ) {
    var relay = Relayed.paired { $0.maxPhones = bound }
    _ = relay.complete(relay.gone(1))
    relay.phone(2)
    _ = relay.complete(relay.gone(2))
    let effects = relay.open(3, device: 3)
    #expect(effects.unstored.first == .accept(ConnectionID(3)))
    #expect(effects.changes == (makesRoom ? [.endPhone(RelayStage.phone(2))] : []))
  }

  @Test func `a phone that resumes needs no free slot`() {
    var relay = Relayed.withPhone { $0.maxPhones = 1 }
    _ = relay.complete(relay.gone(1))
    let effects = relay.open(2, resume: "resume-1")
    #expect(effects.unstored.first == .accept(ConnectionID(2)))
    #expect(!effects.changes.contains(.endPhone(RelayStage.phone(1))))
  }

  @Test func `a paired phone is never evicted`() {
    var relay = Relayed.paired { $0.maxPhones = 1 }
    _ = relay.complete(relay.gone(1))
    #expect(
      relay.open(2, device: 2) == [
        .refuse(ConnectionID(2), HTTPRefusal(503, "too busy", retryAfter: .seconds(2)))
      ])
  }
}
