import HoldfastCore
import HoldfastRelayData
import HoldfastRelayFixtures
import HoldfastRelayServer
import HoldfastServerFixtures
import HoldfastServerParts
import Testing

/// Tests for the drain of a relay, and for its restart from stored state.
struct RelayLifeTests {
  private let phone = RelayStage.phone(1)
  private let one = ConnectionID(1)

  private func stored(leftAt: Timestamp? = RelayStage.dawn, push: PushAddress? = nil) -> StoredRelay
  {
    StoredRelay(
      phones: [
        StoredPhone(
          id: phone, device: RelayStage.device(1), resume: RelayStage.hash("resume-1"),
          push: push, leftAt: leftAt)
      ],
      accesses: [access(expiresAt: .seconds(7_200))],
      questions: [question()])
  }

  private func access(expiresAt: Duration) -> StoredAccess {
    StoredAccess(
      token: RelayStage.hash("token-1"), phone: phone,
      expiresAt: RelayStage.dawn.advanced(by: expiresAt))
  }

  private func question() -> StoredQuestion {
    StoredQuestion(
      id: RelayStage.request("old-1"), phone: phone, caller: RelayStage.hash("token-1"),
      question: RelayStage.question(), deadline: RelayStage.dawn.advanced(by: .seconds(45)))
  }

  private func restored(_ stored: StoredRelay, after time: Duration = .zero) -> (
    Relayed, [Relayed.Effect]
  ) {
    var relay = Relayed(life: "b")
    relay.pass(time)
    let effects = relay.take(.restored(stored, wall: relay.wall))
    return (relay, effects)
  }

  @Test func `after a restart a phone resumes and its assistants need not log in again`() {
    var (relay, effects) = restored(stored())
    #expect(effects == [])
    #expect(relay.open(1, resume: "resume-1").unstored == [.accept(one), .drawToken(.pair(phone))])
    _ = relay.take(.tokenDrawn(.pair(phone, RelayStage.pair(1))))
    #expect(
      relay.question(2).1
        == [.send(one, .question(RelayStage.request("b-2"), RelayStage.question(2)))])
  }

  @Test(arguments: [false, true])
  func `a phone that resumes ends the earlier pairing of its device that the store failed to end`(
    isLast: Bool
  ) {
    var old = stored()
    let new = StoredPhone(
      id: RelayStage.phone(2), device: RelayStage.device(1), resume: RelayStage.hash("resume-2"),
      push: nil, leftAt: RelayStage.dawn)
    old.phones.insert(new, at: isLast ? 1 : 0)
    var (relay, _) = restored(old)
    let opened = relay.open(1, resume: "resume-2")
    #expect(opened.changes.contains(.endPhone(phone)))
    let (id, effects) = relay.question()
    #expect(effects == [.answer(id, .refused(.phoneReplaced))])
    #expect(relay.open(2, resume: "resume-1").unstored.count == 2)
  }

  @Test func `a list after a restart includes name, pairing time and last question`() {
    var old = stored()
    let asked = RelayStage.dawn.advanced(by: .seconds(61))
    old.accesses[0].assistant = AssistantName("app", version: "2.0")
    old.accesses[0].since = RelayStage.dawn
    old.accesses[0].lastAsked = asked
    var (relay, _) = restored(old, after: .seconds(90))
    let (id, effects) = relay.pull(.assistants(.list))
    let wanted = PairedAssistants.Assistant(
      id: RelayStage.hash("token-1").shortName, name: AssistantName("app", version: "2.0"),
      since: RelayStage.dawn, lastQuestion: asked,
      expiresAt: RelayStage.dawn.advanced(by: .seconds(7_200)))
    #expect(
      effects.unstored
        == [.respond(id, .assistants(PairedAssistants(limit: 8, assistants: [wanted])))])
  }

  @Test func `a restored question is asked under its old id when its caller asks it again`() {
    var (relay, _) = restored(stored())
    _ = relay.open(1, resume: "resume-1")
    let greeted = relay.take(.tokenDrawn(.pair(phone, RelayStage.pair(1))))
    #expect(greeted.count == 1)
    relay.pass(.seconds(5))
    let (id, effects) = relay.question()
    #expect(
      effects.unstored
        == [.send(one, .question(RelayStage.request("old-1"), RelayStage.question()))])
    let object = RelayStage.object("1")
    let answered = relay.said(1, .healthData(RelayStage.request("old-1"), object))
    #expect(answered.unstored == [.answer(id, .data(object))])
    #expect(answered.changes == [.endQuestion(RelayStage.request("old-1"))])
  }

  @Test(arguments: [(49.999, false), (50, true)])
  func `a restored question that is asked again waits as long as a new one`(
    seconds: Double, ends: Bool
  ) {
    var (relay, _) = restored(stored())
    _ = relay.open(1, resume: "resume-1")
    _ = relay.take(.tokenDrawn(.pair(phone, RelayStage.pair(1))))
    relay.pass(.seconds(5))
    let (id, effects) = relay.question()
    var again = question()
    again.deadline = RelayStage.dawn.advanced(by: .seconds(50))
    #expect(effects.changes == [.question(again)])
    let answers = relay.tick(at: .second(seconds)).filter {
      if case .answer = $0 { true } else { false }
    }
    let late = RelayRefusal.timedOut(after: .seconds(45))
    #expect(answers == (ends ? [.answer(id, .refused(late))] : []))
  }

  @Test func `another assistant that asks the same does not take over a restored question`() {
    var before = stored()
    before.accesses.append(
      StoredAccess(
        token: RelayStage.hash("token-2"), phone: phone,
        expiresAt: RelayStage.dawn.advanced(by: .seconds(7_200))))
    var (relay, _) = restored(before)
    _ = relay.open(1, resume: "resume-1")
    _ = relay.take(.tokenDrawn(.pair(phone, RelayStage.pair(1))))
    let (other, effects) = relay.question(bearer: "token-2")
    #expect(
      effects == [.send(one, .question(RelayStage.request("b-2"), RelayStage.question()))])
    let (own, _) = relay.question(bearer: "token-1")
    _ = relay.ask(.logout, bearer: "token-1")
    let object = RelayStage.object("1")
    let answered = relay.said(1, .healthData(RelayStage.request("b-2"), object))
    #expect(answered.unstored == [.answer(other, .data(object))])
    #expect(relay.said(1, .healthData(RelayStage.request("old-1"), object)) == [])
    #expect(own != other)
  }

  @Test func `a restored question is not leased and ends at its deadline`() {
    var (relay, _) = restored(stored())
    let (lease, none) = relay.pull(.lease(LeaseRequest(max: 5)))
    #expect(
      none.unstored
        == [
          .respond(
            lease, .leased(LeasedQuestions(questions: [], expiresIn: .seconds(25))))
        ])
    #expect(relay.question(7).1.unstored == [])
    let effects = relay.tick(at: .second(45))
    #expect(effects.changes.contains(.endQuestion(RelayStage.request("old-1"))))
    #expect(effects.unstored.count == 1)
  }

  @Test func `a phone that was connected when the process ended counts as just disconnected`() {
    var (relay, effects) = restored(stored(leftAt: nil), after: .seconds(30))
    #expect(effects.changes.count == 1)
    #expect(relay.tick(at: .second(629.999)).changes.last != .endPhone(phone))
    #expect(relay.tick(at: .second(630)).changes == [.endPhone(phone)])
  }

  @Test func `restored entries that have expired are removed`() {
    var (relay, effects) = restored(stored(), after: .seconds(10_800))
    #expect(
      effects.changes == [
        .endAccess(RelayStage.hash("token-1")), .endQuestion(RelayStage.request("old-1")),
      ])
    #expect(relay.server.deadline == .second(600))
    #expect(relay.tick(at: .second(10_800)).changes == [.endPhone(phone)])
    #expect(relay.question().1 == [.answer(RequestID(1), .refused(.notSignedIn))])
  }

  @Test func `a token of a phone that no longer exists is refused with that reason`() {
    var (relay, _) = restored(StoredRelay(accesses: [access(expiresAt: .seconds(100))]))
    relay.pass(.seconds(3))
    let (id, effects) = relay.question()
    #expect(effects == [.answer(id, .refused(.phoneAway(since: .seconds(3), .pairAgain)))])
  }

  @Test func `a wall clock that stepped back disconnects nobody`() {
    var relay = Relayed(life: "b")
    var old = stored(leftAt: RelayStage.dawn.advanced(by: .seconds(5_000)))
    old.questions = []
    #expect(relay.take(.restored(old, wall: relay.wall)) == [])
    #expect(relay.server.deadline == .second(600))
  }

  @Test func `removals that the store fails to write are retried`() {
    var relay = Relayed.withPhone()
    _ = relay.gone(1)
    let over = relay.tick(at: .second(600))
    #expect(over.changes == [.endPhone(phone)])
    #expect(relay.complete(over, failure: .full(detail: "disk")) == [])
    #expect(relay.tick(at: .second(604.999)) == [])
    let again = relay.tick(at: .second(605))
    #expect(again.changes == [.endPhone(phone)])
    #expect(relay.complete(again) == [])
    #expect(relay.server.deadline == nil)
  }

  @Test func `a phone that the store fails to write is written later in its current state`() {
    var relay = Relayed.paired()
    _ = relay.complete(relay.gone(1))
    relay.pass(.seconds(100))
    let back = relay.open(2, device: 1, resume: "resume-1")
    let isHere = RelayChange.phone(
      StoredPhone(
        id: phone, device: RelayStage.device(1), resume: RelayStage.hash("resume-1")))
    #expect(back.changes == [isHere])
    _ = relay.complete(back, failure: .locked(detail: "another process has it"))
    let again = relay.tick(at: .second(105))
    #expect(again.changes == [isHere])
    _ = relay.complete(again)
    #expect(relay.tick(at: .second(110)).changes == [])
  }

  @Test func `a phone that has ended is not written again`() {
    var relay = Relayed.paired()
    _ = relay.complete(relay.gone(1), failure: .full(detail: "disk"))
    relay.pass(.seconds(1))
    _ = relay.complete(relay.open(2, device: 1))
    let met = relay.take(
      .tokenDrawn(
        .phone(
          ConnectionID(2), RelayStage.phone(2), RelayStage.secret("resume-2"), RelayStage.pair(2))))
    #expect(met.changes.contains(.endPhone(phone)))
    _ = relay.complete(met)
    #expect(relay.tick(at: .second(5)).changes == [])
  }

  @Test func `no pair is sent after the close frame of a socket`() {
    var relay = Relayed.withPhone()
    let closed = relay.take(.overflowed(one))
    #expect(closed.contains { if case .close(one, _) = $0 { true } else { false } })
    let tokenDrawn = relay.take(.tokenDrawn(.pair(phone, RelayStage.pair(9))))
    #expect(!tokenDrawn.contains { if case .send = $0 { true } else { false } })
  }

  // MARK: The end

  @Test func `an idle relay closes its phones at once and finishes when they have disconnected`() {
    var relay = Relayed.withPhone()
    #expect(
      relay.take(.drain(within: .seconds(5)))
        == [.close(one, .draining(within: .seconds(5)))])
    let gone = relay.gone(1, code: 1001)
    #expect(gone.unstored == [])
    #expect(relay.complete(gone) == [.finished])
  }

  @Test func `the time of a question is stored before the end, and only once`() {
    var relay = Relayed.paired()
    _ = relay.question()
    _ = relay.said(1, .healthData(RelayStage.request("a-1"), RelayStage.object("1")))
    let leaving = relay.take(.drain(within: .seconds(5)))
    #expect(leaving.changes.count == 1)
    #expect(relay.complete(leaving + relay.gone(1, code: 1001)) == [leaving[1], .finished])
    // After the relay has finished no deadline remains, not even that of the phone's grace period.
    #expect(relay.server.deadline == nil)
    #expect(relay.tick(at: .second(600)) == [])
  }

  @Test func `during a drain, open questions get one second and are then refused`() {
    var relay = Relayed.paired()
    let (id, _) = relay.question()
    #expect(relay.take(.drain(within: .seconds(5))) == [])
    let (late, refused) = relay.question()
    #expect(refused == [.answer(late, .refused(.stopping(retryAfter: .seconds(2))))])
    #expect(
      relay.open(2, device: 2)
        == [.refuse(ConnectionID(2), HTTPRefusal(503, "draining", retryAfter: .seconds(2)))])
    let (pull, busy) = relay.pull(.lease(LeaseRequest(max: 1)))
    #expect(busy == [.respond(pull, .refused(.busy(retryAfter: .seconds(2))))])
    let asked = relay.wall
    let effects = relay.tick(at: .second(1))
    #expect(
      effects.unstored == [
        .answer(id, .refused(.stopping(retryAfter: .seconds(5)))),
        .send(one, .cancel(RelayStage.request("a-1"))),
        .close(one, .draining(within: .seconds(5))),
      ])
    let access = StoredAccess(
      token: RelayStage.hash("token-1"), phone: RelayStage.phone(1),
      expiresAt: asked.advanced(by: .seconds(7_200)), since: asked, lastAsked: asked)
    #expect(effects.changes == [.access(access)])
  }

  @Test func `a login that waits for the store is refused once by a drain, and its token ends`() {
    var relay = Relayed.withPhone()
    let (id, _) = relay.ask(.login(word: "anchor", code: RelayStage.pair(1).code))
    let granted = relay.take(.tokenDrawn(.access(id, RelayStage.secret("token-1"))))
    guard case .store(let write, _)? = granted.first else {
      return #expect(Bool(false), "the token was not stored")
    }
    _ = relay.take(.drain(within: .seconds(5)))
    #expect(
      relay.tick(at: .second(1)).unstored == [
        .answer(id, .refused(.stopping(retryAfter: .seconds(5)))),
        .close(one, .draining(within: .seconds(5))),
      ])
    let late = relay.take(.stored(write, failure: nil))
    #expect(late.unstored == [])
    #expect(late.changes == [.endAccess(RelayStage.hash("token-1"))])
  }

  @Test func `at the drain limit, open sockets are dropped and the store is not waited for`() {
    var relay = Relayed.withPhone { $0.closeWait = .seconds(100) }
    _ = relay.pull(.push(.hook("x")))
    _ = relay.take(.drain(within: .seconds(5)))
    #expect(
      relay.tick(at: .second(10)) == [
        .drop(one), .respond(RequestID(1), .refused(.busy(retryAfter: .seconds(2)))),
        .finished,
      ])
    #expect(relay.gone(1) == [])
    #expect(relay.server.deadline == nil || relay.server.deadline == .second(600))
  }

  @Test func `a drain without work finishes at once`() {
    var relay = Relayed()
    #expect(relay.take(.drain(within: .zero)) == [.finished])
    #expect(relay.server.serviceHealth == .draining)
  }

  @Test func `metrics and health report the state and no secret`() {
    var relay = Relayed.paired()
    _ = relay.question()
    let text = relay.server.metricsText
    #expect(text.contains("holdfast_relay_phones 1\n"))
    #expect(text.contains("holdfast_relay_questions 1\n"))
    #expect(text.contains(#"holdfast_relay_calls_total{outcome="logged_in"} 1"#))
    #expect(!text.contains("token") && !text.contains("anchor"))
    let health = String(decoding: relay.server.healthBytes, as: UTF8.self)
    #expect(health == #"{"status":"ok","phones":1,"questions":1}"#)
  }
}
