import HoldfastCore
import HoldfastHealth
import HoldfastJSON
import HoldfastRelayData
import HoldfastRelayFixtures
import HoldfastRelayServer
import Testing

/// Tests that questions to a connected phone are queued, asked one at a time and ended once.
struct RelayCallTests {
  private let one = ConnectionID(1)

  private func request(_ number: Int) -> RelayRequestID { RelayStage.request("a-\(number)") }

  @Test func `a question is sent to the phone and its answer to the caller`() {
    var relay = Relayed.paired()
    let (id, effects) = relay.question()
    #expect(effects == [.send(one, .question(request(1), RelayStage.question()))])
    let object = RelayStage.object("7")
    #expect(relay.said(1, .healthData(request(1), object)) == [.answer(id, .data(object))])
  }

  @Test func `an error of the phone is an answer, too`() {
    var relay = Relayed.paired()
    let (id, _) = relay.question()
    #expect(
      relay.said(1, .failure(request(1), reason: "no permission"))
        == [.answer(id, .data(.failure("no permission")))])
  }

  @Test func `questions of all callers are asked one at a time, in order`() {
    var relay = Relayed.paired()
    _ = relay.take(.tokenDrawn(.pair(RelayStage.phone(1), RelayStage.pair(1))))
    relay.login(1, token: "token-2")
    let (first, _) = relay.question(1)
    let (second, waits) = relay.question(2, bearer: "token-2")
    let (third, waitsToo) = relay.question(3)
    #expect(waits == [] && waitsToo == [])
    #expect(
      relay.said(1, .healthData(request(1), RelayStage.object("1"))) == [
        .answer(first, .data(RelayStage.object("1"))),
        .send(one, .question(request(2), RelayStage.question(2))),
      ])
    #expect(
      relay.said(1, .healthData(request(2), RelayStage.object("2"))) == [
        .answer(second, .data(RelayStage.object("2"))),
        .send(one, .question(request(3), RelayStage.question(3))),
      ])
    #expect(
      relay.said(1, .failure(request(3), reason: "x"))
        == [.answer(third, .data(.failure("x")))])
  }

  @Test func `repeated answers and answers to unknown questions change nothing`() {
    var relay = Relayed.paired()
    _ = relay.question(1)
    let (second, _) = relay.question(2)
    _ = relay.said(1, .healthData(request(1), RelayStage.object("1")))
    #expect(relay.said(1, .healthData(request(1), RelayStage.object("again"))) == [])
    #expect(relay.said(1, .healthData(request(9), RelayStage.object("9"))) == [])
    #expect(
      relay.said(1, .healthData(request(2), RelayStage.object("2")))
        == [.answer(second, .data(RelayStage.object("2")))])
  }

  @Test func `a phone cannot answer another phone's question or one that is still queued`() {
    var relay = Relayed.paired()
    relay.phone(2)
    _ = relay.question(1)
    _ = relay.question(2)
    #expect(relay.said(2, .healthData(request(1), RelayStage.object("forged"))) == [])
    #expect(relay.said(1, .healthData(request(2), RelayStage.object("early"))) == [])
  }

  @Test func `an answer of another kind is refused`() {
    var relay = Relayed.paired()
    let (id, _) = relay.question()
    #expect(
      relay.said(1, .summary(request(1), RelayStage.object("1")))
        == [.answer(id, .refused(.malformed(reason: "it answers another question")))])
  }

  @Test(arguments: [(44.999, false), (45, true), (45.001, true)])
  func `a question without an answer ends after 45 s, and the phone receives a cancel`(
    seconds: Double, ends: Bool
  ) {
    var relay = Relayed.paired()
    let (id, _) = relay.question(1)
    let (waiting, _) = relay.question(2)
    let effects = relay.tick(at: .second(seconds)).filter { $0 != .ping(one) }
    let ended: [RelayServer.Effect] = [
      .answer(id, .refused(.timedOut(after: .seconds(45)))),
      .send(one, .cancel(request(1))),
      .send(one, .question(request(2), RelayStage.question(2))),
      .answer(waiting, .refused(.timedOut(after: .seconds(45)))),
      .send(one, .cancel(request(2))),
    ]
    #expect(effects == (ends ? ended : []))
    let late = relay.said(1, .healthData(request(1), RelayStage.object("late")))
    #expect(late.isEmpty == ends)
  }

  @Test func `a caller that disconnects receives nothing, and the next question is asked`() {
    var relay = Relayed.paired()
    let (id, _) = relay.question(1)
    _ = relay.question(2)
    #expect(
      relay.take(.abandoned(id)) == [
        .send(one, .cancel(request(1))),
        .send(one, .question(request(2), RelayStage.question(2))),
      ])
    #expect(relay.said(1, .healthData(request(1), RelayStage.object("late"))) == [])
    #expect(relay.take(.abandoned(id)) == [])
  }

  @Test func `a queued question whose caller disconnects is never asked`() {
    var relay = Relayed.paired()
    _ = relay.question(1)
    let (waiting, _) = relay.question(2)
    #expect(relay.take(.abandoned(waiting)) == [])
    #expect(relay.said(1, .healthData(request(1), RelayStage.object("1"))).count == 1)
  }

  @Test(arguments: [\RelayServerPolicy.callsPerPhone, \.maxCalls], [(2, false), (3, true)])
  func `the open questions of a phone and of the relay are limited`(
    bound: any WritableKeyPath<RelayServerPolicy, Int> & Sendable,
    count: (asked: Int, isRefused: Bool)
  ) {
    var relay = Relayed.paired { $0[keyPath: bound] = 2 }
    for _ in 1..<count.asked { _ = relay.question() }
    let (id, effects) = relay.question()
    let refused = RelayServer.Effect.answer(
      id, .refused(.tooManyWaiting(retryAfter: .seconds(2))))
    #expect(effects.contains(refused) == count.isRefused)
  }

  @Test func `an unreadable answer ends the question that it names`() {
    var relay = Relayed.paired()
    let (id, _) = relay.question()
    let error = RelayWireError(.missing(field: "health_data"), id: request(1))
    #expect(
      relay.take(.phoneUnreadable(one, error))
        == [.answer(id, .refused(.malformed(reason: "health_data is missing")))])
  }

  @Test func `a plain phone's error without an id refers to the question in progress`() {
    var relay = Relayed.paired(plain: true)
    let (id, _) = relay.question()
    #expect(
      relay.said(1, .failure(nil, reason: "bad")) == [.answer(id, .data(.failure("bad")))])
  }

  @Test func `a plain phone receives no cancel, and its late error affects no other question`() {
    var relay = Relayed.paired(plain: true)
    let (first, _) = relay.question(1)
    let (second, _) = relay.question(2)
    #expect(
      relay.take(.abandoned(first))
        == [.send(one, .question(request(2), RelayStage.question(2)))])
    #expect(relay.said(1, .failure(nil, reason: "about the first")) == [])
    #expect(
      relay.said(1, .failure(nil, reason: "about the second"))
        == [.answer(second, .data(.failure("about the second")))])
  }

  @Test func `an unreadable message without an id is treated like an error without an id`() {
    var relay = Relayed.paired(plain: true)
    let (id, _) = relay.question()
    let error = RelayWireError(.malformed(detail: "no JSON"))
    #expect(
      relay.take(.phoneUnreadable(one, error))
        == [.answer(id, .refused(.malformed(reason: "no JSON")))])
    #expect(relay.take(.phoneUnreadable(one, error)) == [])
  }

  // MARK: Parts

  private func part(_ index: Int, of count: Int, _ text: String) -> PhoneMessage {
    .part(request(1), HealthPart(kind: .healthData, index: index, count: count, text: text))
  }

  @Test func `parts are joined into one answer`() {
    var relay = Relayed.paired()
    let (id, _) = relay.question()
    #expect(relay.said(1, part(0, of: 3, #"{"success"#)) == [])
    #expect(relay.said(1, part(0, of: 3, #"{"success"#)) == [])
    #expect(relay.said(1, part(1, of: 3, #"":true,"health_da"#)) == [])
    let whole = HealthObject(
      succeeded: true, bytes: Array(#"{"success":true,"health_data":[]}"#.utf8))
    #expect(relay.said(1, part(2, of: 3, #"ta":[]}"#)) == [.answer(id, .data(whole))])
  }

  @Test func `a missing part makes the answer malformed`() {
    var relay = Relayed.paired()
    let (id, _) = relay.question()
    _ = relay.said(1, part(0, of: 3, "{"))
    let effects = relay.said(1, part(2, of: 3, "}"))
    #expect(
      effects == [
        .answer(id, .refused(.malformed(reason: "index is out of bounds"))),
        .send(one, .cancel(request(1))),
      ])
  }

  @Test(arguments: [(33, false), (32, true)])
  func `the size of an answer in parts is limited`(limit: Int, isRefused: Bool) {
    var relay = Relayed.paired { $0.maxAnswerBytes = limit }
    let (id, _) = relay.question()
    _ = relay.said(1, part(0, of: 2, #"{"success":"#))
    let effects = relay.said(1, part(1, of: 2, #"true,"health_data":[]}"#))
    #expect(
      effects.contains(.answer(id, .refused(.answerTooLarge(limit: limit)))) == isRefused)
  }

  @Test(arguments: [(33, false), (32, true)])
  func `the size of an answer in one piece is limited`(limit: Int, isRefused: Bool) {
    var relay = Relayed.paired { $0.maxAnswerBytes = limit }
    let (id, _) = relay.question()
    let whole = HealthObject(
      succeeded: true, bytes: Array(#"{"success":true,"health_data":[]}"#.utf8))
    let effects = relay.said(1, .healthData(request(1), whole))
    #expect(
      effects.contains(.answer(id, .refused(.answerTooLarge(limit: limit)))) == isRefused)
  }

  @Test func `the unfinished answers of all phones share a limit and release their bytes`() {
    var relay = Relayed.paired { $0.maxGatheredBytes = 10 }
    relay.phone(2)
    relay.login(2)
    let (mine, _) = relay.question()
    let (other, _) = relay.question(bearer: "token-2")
    _ = relay.said(1, part(0, of: 2, "12345678"))
    let second = PhoneMessage.part(
      request(2), HealthPart(kind: .healthData, index: 0, count: 2, text: "123"))
    #expect(
      relay.said(2, second).first
        == .answer(other, .refused(.tooManyWaiting(retryAfter: .seconds(2)))))
    _ = relay.take(.abandoned(mine))
    let (again, _) = relay.question(bearer: "token-2")
    let third = PhoneMessage.part(
      request(3), HealthPart(kind: .healthData, index: 0, count: 2, text: "123"))
    #expect(relay.said(2, third) == [])
    #expect(relay.take(.abandoned(again)).count == 1)
  }
}
