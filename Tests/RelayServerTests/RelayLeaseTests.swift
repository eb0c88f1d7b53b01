import HoldfastCore
import HoldfastHealth
import HoldfastRelayData
import HoldfastRelayFixtures
import HoldfastRelayServer
import Testing

/// Tests for the results that a phone sends under the lease of its first question.
struct RelayLeaseTests {
  private var relay = Relayed()
  private let ask: RequestID

  init() {
    relay.phone(1)
    relay.login(1)
    _ = relay.complete(relay.gone(1))
    (ask, _) = relay.question(1)
    _ = relay.pull(.lease(LeaseRequest(max: 1)))
  }

  private mutating func say(_ message: PhoneMessage) -> (RequestID, [RelayServer.Effect]) {
    let (id, effects) = relay.pull(.result(LeasedResult(lease: "a-l1", message: message)))
    return (id, effects.unstored)
  }

  private mutating func say(_ index: Int, of texts: [String]) -> (RequestID, [RelayServer.Effect]) {
    let part = HealthPart(
      kind: .healthData, index: index, count: texts.count, text: texts[index])
    return say(.part(RelayStage.request("a-1"), part))
  }

  @Test(arguments: [#"{"success":1}"#, #"{"success":true,"count":-1}"#, #"{"success":true}"#])
  mutating func `a malformed result in parts can be sent again correctly`(text: String) {
    let halves = [String(text.prefix(5)), String(text.dropFirst(5))]
    for _ in 0..<2 {
      let (first, taken) = say(0, of: halves)
      #expect(taken == [.respond(first, .taken)])
      let (second, effects) = say(1, of: halves)
      let isRefused = effects.contains {
        if case .respond(second, .refused(.malformed)) = $0 { true } else { false }
      }
      #expect(isRefused)
    }
    let (id, effects) = say(0, of: [#"{"success":true,"health_data":[]}"#])
    let whole = HealthObject(
      succeeded: true, bytes: Array(#"{"success":true,"health_data":[]}"#.utf8))
    #expect(effects == [.answer(ask, .data(whole)), .respond(id, .taken)])
  }

  @Test mutating func `a failure without a reason has a default message for the assistant`() {
    let (id, effects) = say(.failure(RelayStage.request("a-1"), reason: ""))
    let object = HealthObject.failure("the phone could not answer")
    #expect(effects == [.answer(ask, .data(object)), .respond(id, .taken)])
    let (again, known) = say(.failure(RelayStage.request("a-1"), reason: ""))
    #expect(known == [.respond(again, .taken)])
  }

  @Test(arguments: [25, 26])
  mutating func `a lease ends on time, even before the clock has returned its question`(
    seconds: Int
  ) {
    relay.pass(.seconds(seconds))
    let (id, effects) = say(.failure(RelayStage.request("a-1"), reason: "x"))
    #expect(effects == [.respond(id, .refused(.leaseExpired))])
  }
}
