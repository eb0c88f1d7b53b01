import HoldfastCore
import HoldfastHealth
import HoldfastJSON
import HoldfastRelayData
import HoldfastRelayFixtures
import HoldfastRelayServer
import HoldfastServerParts
import Testing

/// Tests for messages of a phone that do not answer its current question.
struct RelayMismatchTests {
  private let one = ConnectionID(1)
  private let request = RelayStage.request("a-1")
  private static let whole = #"{"success":true,"health_data":[]}"#

  private func part(
    _ text: String, of count: Int = 1, kind: HealthQuestion.Kind = .healthData
  ) -> PhoneMessage {
    .part(request, HealthPart(kind: kind, index: 0, count: count, text: text))
  }

  @Test func `an unknown message ends the question that it names`() {
    var relay = Relayed.paired()
    let (id, _) = relay.question()
    let reason = "a message of an unknown type"
    #expect(
      relay.said(1, .unknown(type: "later", id: request))
        == [.answer(id, .refused(.malformed(reason: reason)))])
  }

  @Test func `an unreadable answer to another question does not end the current one`() {
    var relay = Relayed.paired()
    let (id, _) = relay.question()
    let error = RelayWireError(.malformed(detail: "x"), id: RelayStage.request("a-9"))
    #expect(relay.take(.phoneUnreadable(one, error)) == [])
    let object = RelayStage.object("1")
    #expect(relay.said(1, .healthData(request, object)) == [.answer(id, .data(object))])
  }

  @Test func `messages of a phone after its close frame are ignored`() {
    var relay = Relayed.paired()
    _ = relay.question()
    #expect(relay.take(.overflowed(one)) == [.close(one, .slowReader)])
    #expect(relay.said(1, .healthData(request, RelayStage.object("1"))) == [])
  }

  @Test func `a part of an answer of another kind is refused`() {
    var relay = Relayed.paired()
    let (id, _) = relay.question()
    #expect(
      relay.said(1, part(Self.whole, kind: .summary)) == [
        .answer(id, .refused(.malformed(reason: "it answers another question"))),
        .send(one, .cancel(request)),
      ])
  }

  @Test func `parts of an answer are discarded when its question is leased`() {
    var relay = Relayed.paired()
    let (ask, _) = relay.question()
    #expect(relay.said(1, part(#"{"succ"#, of: 2)) == [])
    _ = relay.pull(.lease(LeaseRequest(max: 1)))
    let result = LeasedResult(lease: "a-l1", message: part(Self.whole))
    let (id, effects) = relay.pull(.result(result))
    let object = HealthObject(succeeded: true, bytes: Array(Self.whole.utf8))
    #expect(effects == [.answer(ask, .data(object)), .respond(id, .taken)])
  }

  @Test func `unfinished answers may use exactly the limit of bytes`() {
    var relay = Relayed.paired { $0.maxGatheredBytes = 8 }
    _ = relay.question()
    #expect(relay.said(1, part("12345678", of: 2)) == [])
  }

  @Test func `a leased result above the limit of bytes is refused for now`() {
    var relay = Relayed.paired { $0.maxGatheredBytes = 8 }
    _ = relay.question()
    _ = relay.pull(.lease(LeaseRequest(max: 1)))
    let result = LeasedResult(lease: "a-l1", message: part("123456789", of: 2))
    let (id, effects) = relay.pull(.result(result))
    #expect(effects == [.respond(id, .refused(.busy(retryAfter: .seconds(2))))])
  }
}
