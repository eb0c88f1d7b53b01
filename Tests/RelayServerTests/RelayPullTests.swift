import HoldfastCore
import HoldfastHealth
import HoldfastRelayData
import HoldfastRelayFixtures
import HoldfastRelayServer
import HoldfastServerParts
import Testing

/// Tests for phones in the background, which are woken, lease waiting questions and post results.
struct RelayPullTests {
  private let phone = RelayStage.phone(1)
  private let address = PushAddress.hook("bell")

  private func request(_ number: Int) -> RelayRequestID { RelayStage.request("a-\(number)") }

  /// Returns a relay with a paired phone that registered a push address and then disconnected.
  private func away(_ change: (inout RelayServerPolicy) -> Void = { _ in }) -> Relayed {
    var relay = Relayed(change)
    relay.phone(1)
    relay.login(1)
    let (_, effects) = relay.pull(.push(address))
    _ = relay.complete(effects)
    _ = relay.complete(relay.gone(1))
    return relay
  }

  private func leased(_ questions: (Int, Int)...) -> LeasedQuestions {
    LeasedQuestions(
      questions: questions.map { number, lease in
        LeasedQuestion(
          id: request(number), question: RelayStage.question(number), lease: "a-l\(lease)")
      }, expiresIn: .seconds(25))
  }

  private func result(_ number: Int, _ text: String, lease: Int) -> RelayPull {
    .result(
      LeasedResult(
        lease: "a-l\(lease)", message: .healthData(request(number), RelayStage.object(text))))
  }

  @Test func `a push address is stored before its registration is confirmed`() {
    var relay = Relayed.withPhone()
    let (id, effects) = relay.pull(.push(address))
    let stored = StoredPhone(
      id: phone, device: RelayStage.device(1), resume: RelayStage.hash("resume-1"),
      push: address)
    #expect(effects == [.store(StoreToken(2), [.phone(stored)])])
    #expect(relay.complete(effects) == [.respond(id, .registered)])
    let (next, again) = relay.pull(.push(address))
    #expect(
      relay.complete(again, failure: .full(detail: "disk"))
        == [.respond(next, .refused(.storeFailed(retryAfter: .seconds(2))))])
  }

  @Test func `a pull without a known resume token is refused`() {
    var relay = away()
    for pull in [RelayPull.lease(LeaseRequest(max: 1)), result(1, "x", lease: 1), .push(address)] {
      let (id, effects) = relay.pull(pull, as: 2)
      #expect(effects == [.respond(id, .refused(.notSignedIn))])
    }
  }

  @Test func `a question wakes the phone and is leased, and its result is sent to the caller`() {
    var relay = away()
    let (ask, asked) = relay.question(1)
    #expect(
      asked.unstored
        == [.push(phone, address, expiresAt: relay.wall.advanced(by: .seconds(45)))])
    relay.pass(.seconds(3))
    let (lease, effects) = relay.pull(.lease(LeaseRequest(max: 5)))
    #expect(effects.unstored == [.respond(lease, .leased(leased((1, 1))))])
    let (id, posted) = relay.pull(result(1, "7", lease: 1))
    #expect(
      posted.unstored == [
        .answer(ask, .data(RelayStage.object("7"))), .respond(id, .taken),
      ])
    #expect(posted.changes.last == .endQuestion(request(1)))
    let (empty, nothing) = relay.pull(.lease(LeaseRequest(max: 5)))
    #expect(nothing.unstored == [.respond(empty, .leased(leased()))])
  }

  @Test func `a lease that is requested twice is the same one`() {
    var relay = away()
    _ = relay.question(1)
    _ = relay.question(2)
    let (_, first) = relay.pull(.lease(LeaseRequest(max: 1)))
    let (_, second) = relay.pull(.lease(LeaseRequest(max: 1)))
    let (id, both) = relay.pull(.lease(LeaseRequest(max: 5)))
    #expect(first.unstored == [.respond(RequestID(2), .leased(leased((1, 1))))])
    #expect(second.unstored == [.respond(RequestID(3), .leased(leased((1, 1))))])
    #expect(both.unstored == [.respond(id, .leased(leased((1, 1), (2, 2))))])
  }

  @Test func `a result that is posted twice is accepted once`() {
    var relay = away()
    _ = relay.question(1)
    _ = relay.pull(.lease(LeaseRequest(max: 1)))
    _ = relay.pull(result(1, "7", lease: 1))
    let (id, again) = relay.pull(result(1, "7", lease: 1))
    #expect(again.unstored == [.respond(id, .taken)])
    let (other, foreign) = relay.pull(result(1, "7", lease: 9))
    #expect(foreign.unstored == [.respond(other, .refused(.notWanted))])
  }

  @Test(arguments: [(24.999, true), (25, false)])
  func `a lease lasts 25 s, and then the question is available again`(seconds: Double, holds: Bool)
  {
    var relay = away()
    let (ask, _) = relay.question(1)
    _ = relay.pull(.lease(LeaseRequest(max: 1)))
    let back = relay.tick(at: .second(seconds))
    #expect(back.contains { if case .push = $0 { true } else { false } } == !holds)
    let (id, posted) = relay.pull(result(1, "7", lease: 1))
    #expect(
      posted.unstored
        == (holds
          ? [.answer(ask, .data(RelayStage.object("7"))), .respond(id, .taken)]
          : [.respond(id, .refused(.leaseExpired))]))
    let (next, anew) = relay.pull(.lease(LeaseRequest(max: 1)))
    #expect(anew.unstored == [.respond(next, .leased(holds ? leased() : leased((1, 2))))])
  }

  @Test func `a result with another phone's lease or for an unknown question is refused`() {
    var relay = away()
    relay.phone(2)
    _ = relay.gone(2)
    _ = relay.question(1)
    _ = relay.pull(.lease(LeaseRequest(max: 1)))
    let (wrong, lease) = relay.pull(result(1, "x", lease: 2))
    #expect(lease.unstored == [.respond(wrong, .refused(.leaseExpired))])
    let (foreign, stolen) = relay.pull(result(1, "x", lease: 1), as: 2)
    #expect(stolen.unstored == [.respond(foreign, .refused(.unknownQuestion))])
    let (unknown, none) = relay.pull(result(7, "x", lease: 1))
    #expect(none.unstored == [.respond(unknown, .refused(.unknownQuestion))])
  }

  @Test func `a malformed result can be corrected while the lease lasts`() {
    var relay = away()
    let (ask, _) = relay.question(1)
    _ = relay.pull(.lease(LeaseRequest(max: 1)))
    let wrong = LeasedResult(
      lease: "a-l1", message: .summary(request(1), RelayStage.object("x")))
    let (id, refused) = relay.pull(.result(wrong))
    let reason = "it answers another question"
    #expect(refused.unstored == [.respond(id, .refused(.malformed(reason: reason)))])
    let (next, taken) = relay.pull(result(1, "7", lease: 1))
    #expect(
      taken.unstored == [.answer(ask, .data(RelayStage.object("7"))), .respond(next, .taken)])
  }

  @Test func `a result may arrive in parts, each of which may be repeated`() {
    var relay = away()
    let (ask, _) = relay.question(1)
    _ = relay.pull(.lease(LeaseRequest(max: 1)))
    let parts = [#"{"success"#, #"":true,"health_data":[]}"#].enumerated().map { index, text in
      RelayPull.result(
        LeasedResult(
          lease: "a-l1",
          message: .part(
            request(1), HealthPart(kind: .healthData, index: index, count: 2, text: text))))
    }
    for part in [parts[0], parts[0]] {
      let (id, effects) = relay.pull(part)
      #expect(effects.unstored == [.respond(id, .taken)])
    }
    let (id, effects) = relay.pull(parts[1])
    let whole = HealthObject(
      succeeded: true, bytes: Array(#"{"success":true,"health_data":[]}"#.utf8))
    #expect(effects.unstored == [.answer(ask, .data(whole)), .respond(id, .taken)])
    let (again, last) = relay.pull(parts[1])
    #expect(last.unstored == [.respond(again, .taken)])
  }

  @Test(arguments: [(33, false), (32, true)])
  func `the size of a result is limited`(limit: Int, isRefused: Bool) {
    var relay = away { $0.maxAnswerBytes = limit }
    let (ask, _) = relay.question(1)
    _ = relay.pull(.lease(LeaseRequest(max: 1)))
    let whole = HealthObject(
      succeeded: true, bytes: Array(#"{"success":true,"health_data":[]}"#.utf8))
    let message = PhoneMessage.healthData(request(1), whole)
    let (id, effects) = relay.pull(.result(LeasedResult(lease: "a-l1", message: message)))
    #expect(
      effects.unstored
        == (isRefused
          ? [
            .answer(ask, .refused(.answerTooLarge(limit: limit))),
            .respond(id, .refused(.tooLarge(limit: limit))),
          ]
          : [.answer(ask, .data(whole)), .respond(id, .taken)]))
  }

  @Test func `a result whose caller has disconnected is refused`() {
    var relay = away()
    let (ask, _) = relay.question(1)
    _ = relay.pull(.lease(LeaseRequest(max: 1)))
    #expect(relay.take(.abandoned(ask)).unstored == [])
    let (id, effects) = relay.pull(result(1, "7", lease: 1))
    #expect(effects.unstored == [.respond(id, .refused(.notWanted))])
  }

  @Test func `a lease is limited by the policy and includes questions sent on the socket`() {
    var relay = Relayed.paired { $0.maxLeased = 2 }
    let (ask, _) = relay.question(1)
    _ = relay.question(2)
    _ = relay.question(3)
    let (id, effects) = relay.pull(.lease(LeaseRequest(max: 100)))
    #expect(effects == [.respond(id, .leased(leased((1, 1), (2, 2))))])
    let object = RelayStage.object("1")
    #expect(relay.said(1, .healthData(request(1), object)) == [.answer(ask, .data(object))])
    let (late, taken) = relay.pull(result(1, "1", lease: 1))
    #expect(taken == [.respond(late, .taken)])
  }

  @Test func `a question whose lease expires while its phone is connected is asked again there`() {
    var relay = away()
    _ = relay.question(1)
    _ = relay.pull(.lease(LeaseRequest(max: 1)))
    let back = relay.open(2, resume: "resume-1")
    #expect(back.unstored == [.accept(ConnectionID(2)), .drawToken(.pair(phone))])
    #expect(relay.take(.tokenDrawn(.pair(phone, RelayStage.pair(2)))).count == 1)
    #expect(
      relay.tick(at: .second(25)).contains(
        .send(ConnectionID(2), .question(request(1), RelayStage.question(1)))))
  }

  // MARK: Pushes

  @Test func `questions that arrive together share a push, and later ones wait for the gap`() {
    var relay = away()
    #expect(relay.question(1).1.unstored.count == 1)
    #expect(relay.question(2).1.unstored == [])
    relay.pass(.seconds(1))
    #expect(relay.question(3).1.unstored == [])
    #expect(relay.tick(at: .second(19.999)).unstored == [])
    let deadline = RelayStage.dawn.advanced(by: .seconds(46))
    #expect(
      relay.tick(at: .second(20)).unstored == [.push(phone, address, expiresAt: deadline)])
    #expect(relay.tick(at: .second(41)).unstored == [])
  }

  @Test func `a phone whose last lease was empty is woken at once for the next question`() {
    var relay = away()
    #expect(relay.question(1).1.unstored.count == 1)
    _ = relay.pull(.lease(LeaseRequest(max: 1)))
    _ = relay.pull(result(1, "1", lease: 1))
    // The phone may still be awake, and its next lease would include this question.
    relay.pass(.seconds(1))
    #expect(relay.question(2).1.unstored == [])
    _ = relay.pull(.lease(LeaseRequest(max: 1)))
    _ = relay.pull(result(2, "2", lease: 2))
    let (id, none) = relay.pull(.lease(LeaseRequest(max: 1)))
    #expect(none.unstored == [.respond(id, .leased(leased()))])
    relay.pass(.seconds(1))
    let deadline = RelayStage.dawn.advanced(by: .seconds(47))
    #expect(relay.question(3).1.unstored == [.push(phone, address, expiresAt: deadline)])
    // The phone was just woken, so the push gap applies again.
    relay.pass(.seconds(1))
    #expect(relay.question(4).1.unstored == [])
  }

  @Test func `a phone that answers each push is still woken at a limited rate`() {
    var relay = away {
      $0.pushBurst = 2
      $0.pushInterval = .seconds(100)
    }
    for number in 1...2 {
      #expect(relay.question(1).1.unstored.count == 1)
      _ = relay.pull(.lease(LeaseRequest(max: 1)))
      _ = relay.pull(result(number, "x", lease: number))
      _ = relay.pull(.lease(LeaseRequest(max: 1)))
      relay.pass(.seconds(1))
    }
    #expect(relay.question(1).1.unstored == [])
  }

  @Test func `the rate of pushes to a phone is limited`() {
    var relay = away {
      $0.pushBurst = 2
      $0.pushInterval = .seconds(100)
    }
    for second in [0.0, 30] {
      _ = relay.tick(at: .second(second))
      #expect(relay.question(1).1.unstored.count == 1)
    }
    _ = relay.tick(at: .second(99))
    #expect(relay.question(1).1.unstored == [])
    #expect(relay.tick(at: .second(100)).unstored.count == 1)
  }

  @Test func `a refusal states that the phone was woken but did not connect`() {
    var relay = away()
    let (id, _) = relay.question(1)
    #expect(
      relay.tick(at: .second(45)).unstored
        == [.answer(id, .refused(.phoneAway(since: .seconds(45), .wasWoken)))])
  }

  @Test func `a failed push does not count as a wake and is retried after the gap`() {
    var relay = away()
    let (id, _) = relay.question(1)
    #expect(relay.take(.pushed(phone, to: address, .failed(cause: "x"))) == [])
    #expect(relay.tick(at: .second(20)).unstored.count == 1)
    _ = relay.take(.pushed(phone, to: address, .tooMany(retryAfter: .seconds(100))))
    #expect(
      relay.tick(at: .second(45)).unstored
        == [.answer(id, .refused(.phoneAway(since: .seconds(45), .mayReturn)))])
  }

  @Test func `a push address that no longer exists is removed`() {
    var relay = away()
    _ = relay.question(1)
    let effects = relay.take(.pushed(phone, to: address, .gone))
    let stored = StoredPhone(
      id: phone, device: RelayStage.device(1), resume: RelayStage.hash("resume-1"),
      leftAt: relay.wall)
    #expect(effects.changes == [.phone(stored)])
    for second in [45.0, 60] { _ = relay.tick(at: .second(second)) }
    #expect(relay.tick(at: .second(600)).changes == [.endPhone(phone)])
  }

  @Test func `a new address is not affected by outcomes of pushes to the old one`() {
    var relay = away()
    _ = relay.question(1)
    let (_, registered) = relay.pull(.push(.hook("new")))
    _ = relay.complete(registered)
    let outcomes: [PushOutcome] = [
      .gone, .failed(cause: "x"), .tooMany(retryAfter: .seconds(100)), .delivered,
    ]
    for outcome in outcomes {
      #expect(relay.take(.pushed(phone, to: address, outcome)) == [])
    }
    _ = relay.tick(at: .second(20))
    let (_, effects) = relay.question(2)
    let expiresAt = relay.wall.advanced(by: .seconds(45))
    #expect(effects.unstored == [.push(phone, .hook("new"), expiresAt: expiresAt)])
  }

  @Test(arguments: [(7_199.999, false), (7_200, true)])
  func `a disconnected phone with a push address stays until its pairings expire`(
    seconds: Double, isOver: Bool
  ) {
    var relay = away()
    #expect(relay.tick(at: .second(seconds)).changes.contains(.endPhone(phone)) == isOver)
  }

  @Test(arguments: [(0, false), (1, false), (2, true), (3, true)])
  func `nothing new begins while too many store writes are pending`(waiting: Int, isRefused: Bool) {
    var relay = away { $0.maxWrites = 2 }
    var writes: [Relayed.Effect] = []
    for _ in 0..<min(waiting, 2) { writes += relay.pull(.lease(LeaseRequest(max: 1))).1 }
    if waiting == 3 { writes += relay.take(.pushed(phone, to: address, .gone)) }
    #expect(writes.changes.count == waiting)
    let wait = Duration.seconds(2)
    let upgrade = relay.open(2, device: 2)
    #expect(
      upgrade.contains(.refuse(ConnectionID(2), HTTPRefusal(503, "too busy", retryAfter: wait)))
        == isRefused)
    let (pull, polled) = relay.pull(result(9, "x", lease: 9))
    #expect(polled.contains(.respond(pull, .refused(.busy(retryAfter: wait)))) == isRefused)
  }

  @Test func `calls are refused while store writes are pending, and accepted afterwards`() {
    var relay = away { $0.maxWrites = 1 }
    let (_, writes) = relay.pull(.lease(LeaseRequest(max: 1)))
    let (ask, refused) = relay.question(1)
    #expect(refused == [.answer(ask, .refused(.tooManyWaiting(retryAfter: .seconds(2))))])
    _ = relay.complete(writes)
    #expect(relay.question(1).1.unstored.count == 1)
  }

  @Test func `a pull extends the grace period of a phone`() {
    var relay = Relayed.withPhone()
    _ = relay.gone(1)
    relay.pass(.seconds(500))
    let (_, effects) = relay.pull(.lease(LeaseRequest(max: 1)))
    #expect(effects.changes.count == 1)
    #expect(relay.tick(at: .second(1_099.999)) == [])
    #expect(relay.tick(at: .second(1_100)).changes == [.endPhone(phone)])
  }

  @Test func `the number of remembered leases is limited by the policy`() {
    var relay = away { $0.maxEnded = 1 }
    _ = relay.question(1)
    _ = relay.question(2)
    _ = relay.pull(.lease(LeaseRequest(max: 2)))
    _ = relay.pull(result(1, "1", lease: 1))
    _ = relay.pull(result(2, "2", lease: 2))
    let (first, forgotten) = relay.pull(result(1, "1", lease: 1))
    #expect(forgotten.unstored == [.respond(first, .refused(.unknownQuestion))])
    let (second, known) = relay.pull(result(2, "2", lease: 2))
    #expect(known.unstored == [.respond(second, .taken)])
  }
}
