import HoldfastCore
import HoldfastRelayData
import HoldfastRelayFixtures
import HoldfastRelayServer
import HoldfastServerParts
import Testing

/// Tests for pairing, from a phone's first connection to an assistant's token, and for refusing
/// strangers.
struct RelayPairingTests {
  private let one = ConnectionID(1)
  private let phone = RelayStage.phone(1)

  @Test func `a phone receives its pair and resume token once they are stored`() {
    var relay = Relayed()
    #expect(relay.open(1) == [.accept(one), .drawToken(.phone(one))])
    let stored = StoredPhone(
      id: phone, device: RelayStage.device(1), resume: RelayStage.hash("resume"))
    let tokenDrawn = relay.take(
      .tokenDrawn(.phone(one, phone, RelayStage.secret("resume"), RelayStage.pair(7))))
    #expect(tokenDrawn == [.store(StoreToken(1), [.phone(stored)])])
    #expect(
      relay.take(.stored(StoreToken(1), failure: nil))
        == [.send(one, RelayStage.code(RelayStage.pair(7), token: "resume"))])
  }

  @Test func `a phone whose pair expires before it is stored receives the next one and its token`()
  {
    var relay = Relayed { $0.pairLife = .seconds(10) }
    _ = relay.open(1)
    let secret = RelayStage.secret("resume")
    let stored = relay.take(.tokenDrawn(.phone(one, phone, secret, RelayStage.pair(1))))
    #expect(relay.tick(at: .second(10)) == [.drawToken(.pair(phone))])
    #expect(relay.complete(stored) == [])
    let code = RelayStage.code(RelayStage.pair(2), expiresIn: .seconds(10), token: "resume")
    #expect(relay.take(.tokenDrawn(.pair(phone, RelayStage.pair(2)))) == [.send(one, code)])
  }

  @Test func `a phone does not receive a later pair before it is stored`() {
    var relay = Relayed { $0.pairLife = .seconds(10) }
    _ = relay.open(1)
    let secret = RelayStage.secret("resume")
    let stored = relay.take(.tokenDrawn(.phone(one, phone, secret, RelayStage.pair(1))))
    #expect(relay.tick(at: .second(10)) == [.drawToken(.pair(phone))])
    #expect(relay.take(.tokenDrawn(.pair(phone, RelayStage.pair(2)))) == [])
    let code = RelayStage.code(RelayStage.pair(2), expiresIn: .seconds(10), token: "resume")
    #expect(relay.complete(stored) == [.send(one, code)])
  }

  @Test func `a plain phone receives its pair at once, and no field that it does not know`() {
    var relay = Relayed()
    let effects = relay.phone(1, plain: true)
    #expect(
      effects == [
        .send(one, RelayStage.code(RelayStage.pair(1), expiresIn: nil, parts: false))
      ])
  }

  @Test func `a phone that cannot be stored is disconnected`() {
    var relay = Relayed()
    _ = relay.open(1)
    let tokenDrawn = relay.take(
      .tokenDrawn(.phone(one, phone, RelayStage.secret("resume-1"), RelayStage.pair(1))))
    let effects = relay.complete(tokenDrawn, failure: .full(detail: "disk"))
    #expect(effects == [.close(one, .tryAgainLater)])
    #expect(relay.server.serviceHealth == .failing(reason: "the disk of the relay's store is full"))
  }

  @Test func `a pair is exchanged for a token, which is sent once it is stored`() {
    var relay = Relayed.withPhone()
    relay.pass(.seconds(10))
    let (id, effects) = relay.ask(.login(word: "anchor", code: "000001"))
    #expect(effects == [.drawToken(.access(id)), .drawToken(.pair(phone))])
    let tokenDrawn = relay.take(.tokenDrawn(.access(id, RelayStage.secret("token"))))
    let access = StoredAccess(
      token: RelayStage.hash("token"), phone: phone,
      expiresAt: relay.wall.advanced(by: .seconds(7_200)), since: relay.wall)
    #expect(tokenDrawn == [.store(StoreToken(2), [.access(access)])])
    let grant = RelayGrant(
      accessToken: "token", expiresIn: .seconds(7_200), user: phone.description)
    #expect(
      relay.take(.stored(StoreToken(2), failure: nil)) == [.answer(id, .loggedIn(grant))])
  }

  @Test func `a token that cannot be stored is not sent`() {
    var relay = Relayed.withPhone()
    let (id, _) = relay.ask(.login(word: "anchor", code: "000001"))
    let tokenDrawn = relay.take(.tokenDrawn(.access(id, RelayStage.secret("token"))))
    let effects = relay.complete(tokenDrawn, failure: .full(detail: "disk"))
    let refusal = RelayRefusal.storeFailed(retryAfter: .seconds(2))
    #expect(effects == [.answer(id, .refused(refusal))])
    // The pair is used up, so a second attempt with it would count as a wrong pair.
    #expect(
      refusal.description.hasSuffix("to log in, with the word and code that the phone shows then."))
    #expect(relay.question(bearer: "token").1.last == .answer(RequestID(2), .refused(.notSignedIn)))
  }

  @Test func `a pair works once, and a new one is shown for the next assistant`() {
    var relay = Relayed.paired()
    let (id, again) = relay.ask(.login(word: "anchor", code: "000001"))
    #expect(again == [.answer(id, .refused(.wrongPair))])
    let code = RelayStage.code(
      RelayStage.pair(2), resumed: true, newAssistants: [RelayStage.assistant("token-1")])
    #expect(relay.take(.tokenDrawn(.pair(phone, RelayStage.pair(2)))) == [.send(one, code)])
    let (next, effects) = relay.ask(.login(word: "anchor", code: "000002"))
    #expect(effects == [.drawToken(.access(next)), .drawToken(.pair(phone))])
  }

  @Test(arguments: [(599.999, true), (600, false), (600.001, false)])
  func `a pair works for ten minutes`(seconds: Double, works: Bool) {
    var relay = Relayed.withPhone()
    let effects = relay.tick(at: .second(seconds)).filter { $0 == .drawToken(.pair(phone)) }
    #expect(effects == (works ? [] : [.drawToken(.pair(phone))]))
    let (id, login) = relay.ask(.login(word: "anchor", code: "000001"))
    #expect(login.contains(.drawToken(.access(id))) == works)
  }

  @Test func `a pair that another phone shows is generated again`() {
    var relay = Relayed.withPhone()
    _ = relay.open(2, device: 2)
    let drawn = relay.take(
      .tokenDrawn(
        .phone(ConnectionID(2), RelayStage.phone(2), RelayStage.secret("x"), RelayStage.pair(1))))
    #expect(drawn == [.drawToken(.phone(ConnectionID(2)))])
    relay.phone(3)
    _ = relay.login(3)
    #expect(
      relay.take(.tokenDrawn(.pair(RelayStage.phone(3), RelayStage.pair(1))))
        == [.drawToken(.pair(RelayStage.phone(3)))])
  }

  @Test func `the fifth wrong pair of an address locks out that address only`() {
    var relay = Relayed.withPhone()
    for _ in 1...5 {
      let (id, effects) = relay.ask(.login(word: "anchor", code: "999999"), from: "thief")
      #expect(effects == [.answer(id, .refused(.wrongPair))])
    }
    let right = RelayCall.login(word: "anchor", code: "000001")
    let (id, effects) = relay.ask(right, from: "thief")
    #expect(effects == [.answer(id, .refused(.lockedOut(retryAfter: .seconds(900))))])
    relay.pass(.milliseconds(899_999))
    let (late, stillOut) = relay.ask(right, from: "thief")
    #expect(stillOut == [.answer(late, .refused(.lockedOut(retryAfter: .milliseconds(1))))])
    #expect(relay.ask(.login(word: "a", code: "1"), from: "office").1.count == 1)
    relay.pass(.milliseconds(1))
    _ = relay.server.tick(at: relay.now)
    _ = relay.take(.tokenDrawn(.pair(phone, RelayStage.pair(1))))
    let (last, mayTry) = relay.ask(right, from: "thief")
    #expect(mayTry.contains(.drawToken(.access(last))))
  }

  @Test func `wrong pairs older than ten minutes do not count`() {
    var relay = Relayed()
    for _ in 1...4 { _ = relay.ask(.login(word: "a", code: "1")) }
    relay.pass(.seconds(600))
    for _ in 1...4 { _ = relay.ask(.login(word: "a", code: "1")) }
    let (id, effects) = relay.ask(.login(word: "a", code: "1"))
    #expect(effects == [.answer(id, .refused(.wrongPair))])
  }

  @Test(arguments: [(7_199.999, true), (7_200, false), (10_799.999, false)])
  func `a token is valid for two hours, and is then refused as expired`(
    seconds: Double, isGood: Bool
  ) {
    var relay = Relayed.paired { $0.pongWait = .seconds(100_000) }
    _ = relay.tick(at: .second(seconds))
    let (id, effects) = relay.question()
    #expect(effects.contains(.answer(id, .refused(.tokenExpired))) == !isGood)
  }

  @Test func `an expired token is forgotten an hour later`() {
    var relay = Relayed.paired { $0.pongWait = .seconds(100_000) }
    let effects = relay.tick(at: .second(10_800))
    #expect(effects.changes == [.endAccess(RelayStage.hash("token-1"))])
    #expect(relay.question().1 == [.answer(RequestID(2), .refused(.notSignedIn))])
  }

  @Test(arguments: [nil, "other"])
  func `a call without a valid token is refused`(bearer: String?) {
    var relay = Relayed.withPhone()
    let (id, effects) = relay.ask(.question(RelayStage.question()), bearer: bearer)
    #expect(effects == [.answer(id, .refused(.notSignedIn))])
    let (out, logout) = relay.ask(.logout, bearer: bearer)
    #expect(logout == [.answer(out, .refused(.notSignedIn))])
  }

  @Test func `a logout ends the token and its open questions at once`() {
    var relay = Relayed.paired()
    let (asked, _) = relay.question()
    let (id, effects) = relay.ask(.logout, bearer: "token-1")
    #expect(
      effects.unstored == [
        .answer(asked, .refused(.cancelled)),
        .send(one, .cancel(RelayStage.request("a-1"))),
      ])
    #expect(effects.changes == [.endAccess(RelayStage.hash("token-1"))])
    #expect(relay.complete(effects).last == .answer(id, .loggedOut))
    #expect(relay.question().1 == [.answer(RequestID(4), .refused(.notSignedIn))])
  }

  @Test(arguments: [(44.999, false), (45, true)])
  func `a login and a logout wait 45 s for the store`(seconds: Double, ends: Bool) {
    var relay = Relayed.paired()
    _ = relay.take(.tokenDrawn(.pair(phone, RelayStage.pair(1))))
    let (out, _) = relay.ask(.logout, bearer: "token-1")
    let (login, _) = relay.ask(.login(word: "anchor", code: RelayStage.pair(1).code))
    let stored = relay.take(.tokenDrawn(.access(login, RelayStage.secret("token-2"))))
    let failed = RelayOutcome.refused(.storeFailed(retryAfter: .seconds(2)))
    let answers = relay.tick(at: .second(seconds)).filter { $0 != .ping(one) }
    #expect(answers == (ends ? [.answer(out, failed), .answer(login, failed)] : []))
    let late = relay.complete(stored)
    #expect(late.contains { if case .answer = $0 { true } else { false } } == !ends)
  }

  @Test func `a login to a phone that was replaced before the token was stored is refused`() {
    var relay = Relayed.paired()
    _ = relay.take(.tokenDrawn(.pair(phone, RelayStage.pair(1))))
    let (id, _) = relay.ask(.login(word: "anchor", code: RelayStage.pair(1).code))
    let stored = relay.take(.tokenDrawn(.access(id, RelayStage.secret("token-2"))))
    _ = relay.open(2, device: 1)
    let met = relay.take(
      .tokenDrawn(
        .phone(
          ConnectionID(2), RelayStage.phone(2), RelayStage.secret("resume-2"), RelayStage.pair(2))))
    _ = relay.complete(met)
    #expect(relay.complete(stored) == [.answer(id, .refused(.phoneReplaced))])
  }

  @Test func `a logout that cannot be stored is refused`() {
    var relay = Relayed.paired()
    let (id, effects) = relay.ask(.logout, bearer: "token-1")
    #expect(
      relay.complete(effects, failure: .full(detail: "disk"))
        == [.answer(id, .refused(.storeFailed(retryAfter: .seconds(2))))])
  }

  @Test func `the ninth token of a phone ends the first`() {
    var relay = Relayed.withPhone()
    for number in 1...9 {
      relay.login(1, token: "t\(number)")
      _ = relay.take(.tokenDrawn(.pair(phone, RelayStage.pair(1))))
    }
    #expect(
      relay.question(bearer: "t1").1.last
        == .answer(RequestID(10), .refused(.signedOut(.byAnother(limit: 8)))))
    #expect(relay.question(bearer: "t2").1.count == 1)
  }

  @Test func `a login whose caller disconnects grants no token`() {
    var relay = Relayed.withPhone()
    let (id, _) = relay.ask(.login(word: "anchor", code: "000001"))
    let stored = relay.take(.tokenDrawn(.access(id, RelayStage.secret("t"))))
    #expect(relay.take(.abandoned(id)) == [])
    let effects = relay.complete(stored)
    #expect(effects == [])
    #expect(relay.question(bearer: "t").1.last == .answer(RequestID(2), .refused(.notSignedIn)))
  }
}
