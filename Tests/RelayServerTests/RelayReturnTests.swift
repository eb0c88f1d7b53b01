import HoldfastCore
import HoldfastHealth
import HoldfastRelayData
import HoldfastRelayFixtures
import HoldfastRelayServer
import HoldfastServerParts
import Testing

/// Tests for phones that disconnect and reconnect.
struct RelayReturnTests {
  private let phone = RelayStage.phone(1)
  private let one = ConnectionID(1)
  private let two = ConnectionID(2)
  private let address = PushAddress.hook("bell")

  /// Returns a relay with a paired phone, which no longer shows a pair.
  private func paired(isWoken: Bool = false) -> Relayed {
    var relay = Relayed.paired()
    if isWoken { _ = relay.complete(relay.pull(.push(address)).1) }
    return relay
  }

  private func met(_ number: UInt64, on connection: UInt64) -> RelayServer.Input {
    .tokenDrawn(
      .phone(
        ConnectionID(connection), RelayStage.phone(number), RelayStage.secret("resume-\(number)"),
        RelayStage.pair(number)))
  }

  @Test(arguments: [true, false])
  func `a refusal tells whether a phone that is being greeted was asked`(wasAsked: Bool) {
    var relay = paired()
    if !wasAsked { _ = relay.complete(relay.gone(1)) }
    let (id, _) = relay.question()
    if wasAsked { _ = relay.complete(relay.gone(1)) }
    _ = relay.complete(relay.open(2, resume: "resume-1"))
    let refusal: RelayRefusal =
      wasAsked ? .timedOut(after: .seconds(45)) : .phoneAway(since: .zero, .mayReturn)
    #expect(relay.tick(at: .second(45)).contains(.answer(id, .refused(refusal))))
  }

  @Test func `a socket may disconnect or be closed before its phone has an id`() {
    var relay = Relayed()
    _ = relay.open(1)
    #expect(relay.gone(1) == [])
    #expect(relay.take(met(1, on: 1)) == [])
    _ = relay.open(2)
    #expect(relay.take(.overflowed(two)) == [.close(two, .slowReader)])
    #expect(relay.take(met(2, on: 2)) == [])
  }

  @Test func `the limit of sockets per address may be one`() {
    var relay = Relayed { $0.socketsPerAddress = 1 }
    #expect(relay.open(1).first == .accept(one))
    let refusal = HTTPRefusal(429, "too many sockets", retryAfter: .seconds(2))
    #expect(relay.open(2) == [.refuse(two, refusal)])
  }

  @Test func `the phone that has been disconnected longest is evicted`() {
    var relay = Relayed { $0.maxPhones = 2 }
    for number in UInt64(1)...2 { relay.phone(number) }
    _ = relay.complete(relay.gone(2))
    relay.pass(.seconds(1))
    _ = relay.complete(relay.gone(1))
    #expect(relay.open(3, device: 3).changes == [.endPhone(RelayStage.phone(2))])
  }

  @Test func `a pair that another phone shows is generated again, and not sent`() {
    var relay = paired()
    relay.phone(2)
    _ = relay.complete(relay.open(3, resume: "resume-1"))
    #expect(relay.take(.tokenDrawn(.pair(phone, RelayStage.pair(3)))).count == 1)
    #expect(relay.take(.tokenDrawn(.pair(phone, RelayStage.pair(2)))) == [.drawToken(.pair(phone))])
  }

  @Test func `parts of an answer are discarded with their socket`() {
    var relay = paired()
    let (id, _) = relay.question()
    let begin = HealthPart(kind: .healthData, index: 0, count: 2, text: #"{"succ"#)
    #expect(relay.said(1, .part(RelayStage.request("a-1"), begin)) == [])
    _ = relay.complete(relay.gone(1))
    _ = relay.complete(relay.open(2, resume: "resume-1"))
    _ = relay.take(.tokenDrawn(.pair(phone, RelayStage.pair(2))))
    let whole = HealthPart(
      kind: .healthData, index: 0, count: 1, text: #"{"success":true,"health_data":[]}"#)
    let object = HealthObject(succeeded: true, bytes: Array(whole.text.utf8))
    let effects = relay.said(2, .part(RelayStage.request("a-1"), whole))
    #expect(effects.unstored == [.answer(id, .data(object))])
  }

  @Test func `waiting logins count toward the limit of calls`() {
    var relay = Relayed { $0.maxCalls = 2 }
    for number in UInt64(1)...2 { relay.phone(number) }
    relay.login(1)
    _ = relay.question()
    let pair = RelayStage.pair(2)
    _ = relay.ask(.login(word: pair.word, code: pair.code))
    let (id, effects) = relay.question(2)
    #expect(effects == [.answer(id, .refused(.tooManyWaiting(retryAfter: .seconds(2))))])
  }

  @Test func `a pair for a phone that has disconnected is not shown`() {
    var relay = paired()
    _ = relay.complete(relay.gone(1))
    #expect(relay.take(.tokenDrawn(.pair(phone, RelayStage.pair(2)))) == [])
    #expect(
      relay.open(2, resume: "resume-1").unstored == [.accept(two), .drawToken(.pair(phone))])
  }

  @Test func `a phone whose first pair expired is greeted with another one among other phones`() {
    var relay = Relayed { $0.pairLife = .seconds(10) }
    _ = relay.open(1)
    let stored = relay.take(met(1, on: 1))
    #expect(relay.tick(at: .second(10)) == [.drawToken(.pair(phone))])
    #expect(relay.complete(stored) == [])
    _ = relay.open(2, device: 2)
    _ = relay.take(met(2, on: 2))
    let code = RelayStage.code(RelayStage.pair(3), expiresIn: .seconds(10), token: "resume-1")
    #expect(relay.take(.tokenDrawn(.pair(phone, RelayStage.pair(3)))) == [.send(one, code)])
  }

  @Test func `a phone that connected and disconnected is woken again for a waiting question`() {
    var relay = paired(isWoken: true)
    _ = relay.complete(relay.gone(1))
    let (_, asked) = relay.question()
    let push = RelayServer.Effect.push(
      phone, address, expiresAt: relay.wall.advanced(by: .seconds(45)))
    #expect(asked.unstored == [push])
    _ = relay.complete(relay.open(2, resume: "resume-1"))
    relay.pass(.seconds(30))
    #expect(relay.gone(2).unstored == [push])
  }

  @Test func `a phone is woken at a new address although the old one asked for a pause`() {
    var relay = paired(isWoken: true)
    _ = relay.complete(relay.gone(1))
    _ = relay.question()
    _ = relay.take(.pushed(phone, to: address, .tooMany(retryAfter: .seconds(1_000))))
    let (id, effects) = relay.pull(.push(.hook("new")))
    let expiresAt = relay.wall.advanced(by: .seconds(45))
    #expect(
      relay.complete(effects)
        == [.respond(id, .registered), .push(phone, .hook("new"), expiresAt: expiresAt)])
  }

  @Test(arguments: [(1_099.999, false), (1_100, true)])
  func `registering an address extends the grace period of a disconnected phone`(
    seconds: Double, isOver: Bool
  ) {
    var relay = Relayed.withPhone()
    _ = relay.complete(relay.gone(1))
    relay.pass(.seconds(500))
    _ = relay.complete(relay.pull(.push(address)).1)
    #expect(relay.tick(at: .second(seconds)).changes == (isOver ? [.endPhone(phone)] : []))
  }

  @Test(arguments: [(599.999, false), (600, true)])
  func `a push address does not keep a phone whose last assistant has logged out`(
    seconds: Double, isOver: Bool
  ) {
    var relay = paired(isWoken: true)
    _ = relay.complete(relay.gone(1))
    _ = relay.complete(relay.ask(.logout, bearer: "token-1").1)
    #expect(relay.tick(at: .second(seconds)).changes == (isOver ? [.endPhone(phone)] : []))
  }

  @Test func `a phone id that is in use is generated again`() {
    var relay = paired()
    _ = relay.open(2, device: 2)
    #expect(relay.take(met(1, on: 2)) == [.drawToken(.phone(two))])
    #expect(relay.complete(relay.take(met(2, on: 2))).count == 1)
  }

  @Test func `the outcome of a push is ignored after its phone has ended`() {
    var relay = paired(isWoken: true)
    _ = relay.complete(relay.gone(1))
    _ = relay.question()
    _ = relay.open(2)
    _ = relay.complete(relay.take(met(2, on: 2)))
    #expect(relay.take(.pushed(phone, to: address, .gone)) == [])
  }
}
