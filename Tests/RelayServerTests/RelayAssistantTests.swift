import HoldfastCore
import HoldfastHealth
import HoldfastRelayData
import HoldfastRelayFixtures
import HoldfastRelayServer
import Testing

/// Tests for listing and ending the assistants of a phone.
struct RelayAssistantTests {
  private let phone = RelayStage.phone(1)
  private let one = ConnectionID(1)

  /// Pairs one more assistant with phone 1.
  private func login(_ relay: inout Relayed, _ number: Int) -> [RelayServer.Effect] {
    _ = relay.take(.tokenDrawn(.pair(phone, RelayStage.pair(1))))
    let (ask, _) = relay.ask(
      .login(
        word: "anchor", code: RelayStage.pair(1).code,
        assistant: AssistantName("app \(number)", version: "\(number).0")))
    return relay.complete(relay.take(.tokenDrawn(.access(ask, RelayStage.secret("t\(number)")))))
  }

  private func list(
    _ relay: inout Relayed, _ order: AssistantsOrder = .list
  ) -> PairedAssistants? {
    for effect in relay.complete(relay.pull(.assistants(order)).1) {
      if case .respond(_, .assistants(let list)) = effect { return list }
    }
    return nil
  }

  @Test func `lists each assistant with its name, pairing time and last question`() {
    var relay = Relayed.withPhone()
    #expect(list(&relay) == PairedAssistants(limit: 8, assistants: []))
    let dawn = relay.wall
    _ = login(&relay, 1)
    relay.pass(.seconds(5))
    _ = login(&relay, 2)
    relay.pass(.seconds(5))
    _ = relay.question(bearer: "t1")
    let wanted = [1, 2].map { number in
      PairedAssistants.Assistant(
        id: RelayStage.hash("t\(number)").shortName,
        name: AssistantName("app \(number)", version: "\(number).0"),
        since: dawn.advanced(by: .seconds(number == 1 ? 0 : 5)),
        lastQuestion: number == 1 ? relay.wall : nil,
        expiresAt: dawn.advanced(by: .seconds(number == 1 ? 7_200 : 7_205)))
    }
    #expect(list(&relay) == PairedAssistants(limit: 8, assistants: wanted))
  }

  @Test func `ends one assistant, which receives the reason, and leaves the others`() {
    var relay = Relayed.withPhone()
    for number in 1...2 { _ = login(&relay, number) }
    let left = list(&relay, .end(RelayStage.hash("t1").shortName))
    #expect(left?.assistants.map(\.id) == [RelayStage.hash("t2").shortName])
    let (id, effects) = relay.question(bearer: "t1")
    #expect(effects == [.answer(id, .refused(.signedOut(.byUser)))])
    #expect(relay.question(bearer: "t2").1.count == 1)
    let (request, unknown) = relay.pull(.assistants(.end("none")))
    #expect(unknown == [.respond(request, .refused(.unknownAssistant))])
    #expect(list(&relay, .endAll)?.assistants == [])
  }

  @Test func `another device's token lists nothing`() {
    var relay = Relayed.withPhone()
    let (request, effects) = relay.pull(.assistants(.list), as: 2)
    #expect(effects == [.respond(request, .refused(.notSignedIn))])
  }

  @Test func `the ninth login ends the first, and both sides receive a notice`() {
    var relay = Relayed.withPhone()
    for number in 1...8 { _ = login(&relay, number) }
    _ = relay.take(.tokenDrawn(.pair(phone, RelayStage.pair(1))))
    let (ask, _) = relay.ask(.login(word: "anchor", code: RelayStage.pair(1).code))
    // The next pair is shown before the login is stored.
    _ = relay.take(.tokenDrawn(.pair(phone, RelayStage.pair(1))))
    let effects = relay.complete(relay.take(.tokenDrawn(.access(ask, RelayStage.secret("t9")))))
    let notices = effects.compactMap { effect -> String? in
      if case .send(one, .connectionCode(let code)) = effect { code.message } else { nil }
    }
    #expect(
      notices == [
        "app 1 1.0 was signed out: another assistant was paired, and a phone has at most 8. "
          + "Give this word and code to your assistant. They work once."
      ])
    let (id, refused) = relay.question(bearer: "t1")
    #expect(refused == [.answer(id, .refused(.signedOut(.byAnother(limit: 8))))])
    #expect(relay.question(bearer: "t2").1.count == 1)
    #expect(list(&relay)?.assistants.count == 8)
  }

  @Test(arguments: [true, false])
  func `tokens stay in order even if the wall clock goes back`(isStored: Bool) {
    var relay = Relayed.withPhone()
    var effects: [RelayServer.Effect] = []
    var times: [Timestamp?] = []
    for number in 1...3 {
      _ = relay.take(.tokenDrawn(.pair(phone, RelayStage.pair(1))))
      let (ask, _) = relay.ask(.login(word: "anchor", code: RelayStage.pair(1).code))
      let stored = relay.take(.tokenDrawn(.access(ask, RelayStage.secret("t\(number)"))))
      times += stored.changes.map { if case .access(let access) = $0 { access.since } else { nil } }
      effects += isStored ? relay.complete(stored) : stored
      relay.clock = .seconds(-100)
    }
    let first = RelayStage.dawn
    #expect(times == (0...2).map { first.advanced(by: .nanoseconds($0)) })
    _ = relay.complete(effects)
    #expect(list(&relay)?.assistants.map(\.since) == times)
  }

  @Test func `an assistant that is signed out while it waits receives the reason`() {
    var relay = Relayed.withPhone { $0.tokensPerPhone = 1 }
    _ = login(&relay, 1)
    let (first, _) = relay.question(bearer: "t1")
    let another = RelayRefusal.signedOut(.byAnother(limit: 1))
    #expect(login(&relay, 2).contains(.answer(first, .refused(another))))
    let (second, _) = relay.question(bearer: "t2")
    let ended = relay.pull(.assistants(.endAll)).1
    #expect(ended.contains(.answer(second, .refused(.signedOut(.byUser)))))
  }

  @Test func `a phone without a pair to show receives the notice with its next pair, once`() {
    var relay = Relayed.withPhone { $0.tokensPerPhone = 1 }
    for number in 1...2 { _ = login(&relay, number) }
    func messages(_ effects: [RelayServer.Effect]) -> [String] {
      effects.compactMap {
        if case .send(_, .connectionCode(let code)) = $0 { code.message } else { nil }
      }
    }
    let next = messages(relay.take(.tokenDrawn(.pair(phone, RelayStage.pair(1)))))
    #expect(next.first?.hasPrefix("app 1 1.0 was signed out") == true)
    relay.pass(.seconds(600))
    _ = relay.tick(at: relay.now)
    let later = messages(relay.take(.tokenDrawn(.pair(phone, RelayStage.pair(2)))))
    #expect(later == ["Give this word and code to your assistant. They work once."])
  }

  @Test func `an assistant whose token has expired is not listed`() {
    var relay = Relayed.withPhone()
    _ = login(&relay, 1)
    relay.pass(.milliseconds(7_199_999))
    #expect(list(&relay)?.assistants.count == 1)
    relay.pass(.milliseconds(1))
    #expect(list(&relay)?.assistants == [])
  }

  @Test(arguments: [(7_199_999, true), (7_200_000, false)])
  func `the user is notified only of a signed-out assistant whose token was still valid`(
    milliseconds: Int, isReported: Bool
  ) {
    var relay = Relayed.withPhone { $0.tokensPerPhone = 1 }
    _ = login(&relay, 1)
    relay.pass(.milliseconds(milliseconds))
    _ = login(&relay, 2)
    let effects = relay.take(.tokenDrawn(.pair(phone, RelayStage.pair(1))))
    let isNoted = effects.contains {
      if case .send(_, .connectionCode(let code)) = $0 {
        code.message.hasPrefix("app 1 1.0 was signed out")
      } else {
        false
      }
    }
    #expect(isNoted == isReported)
  }

  @Test func `the time of the last question is stored within a minute`() {
    var relay = Relayed.withPhone()
    _ = login(&relay, 1)
    relay.pass(.seconds(1))
    let asked = relay.wall
    _ = relay.question(bearer: "t1")
    relay.pass(.seconds(2))
    let later = relay.wall
    _ = relay.question(2, bearer: "t1")
    #expect(later != asked)
    relay.pass(.milliseconds(57_999))
    #expect(relay.tick(at: relay.now).changes.isEmpty)
    relay.pass(.milliseconds(1))
    var found: StoredAccess?
    for change in relay.tick(at: relay.now).changes {
      if case .access(let access) = change { found = access }
    }
    #expect(found?.lastAsked == later)
  }

  @Test(arguments: [
    (#""id":"a","expires_at":"2026-01-01T00:00:00Z""#, true), (#""id":"a""#, false),
    (#""id":"a","expires_at":null"#, false),
    (#""id":"a","expires_at":"2026-01-01T00:00:00Z","name":"\#(text(1_024))""#, true),
    (#""id":"a","expires_at":"2026-01-01T00:00:00Z","name":"\#(text(1_025))""#, false),
    (
      #""id":"a","expires_at":"2026-01-01T00:00:00Z","name":"a","version":"\#(text(1_025))""#, false
    ),
    (#""id":"\#(text(65))","expires_at":"2026-01-01T00:00:00Z""#, false),
  ])
  func `a list with texts that are too long or without an expiry is refused`(
    members: String, isRead: Bool
  ) {
    let list = Array(#"{"limit":8,"assistants":[{\#(members)}]}"#.utf8)
    #expect(((try? PairedAssistants.read(list)) != nil) == isRead)
  }

  @Test(arguments: ["", "}", " x"])
  func `a list with an invalid end is refused`(end: String) {
    let list = Array((#"{"limit":8,"assistants":[]"# + end).utf8)
    #expect(((try? PairedAssistants.read(list)) != nil) == (end == "}"))
  }

  private static func text(_ length: Int) -> String { String(repeating: "a", count: length) }

  @Test(arguments: [
    (AssistantsOrder.list, "{}"), (.endAll, #"{"end":"all"}"#), (.end("abc"), #"{"end":"abc"}"#),
  ])
  func `an order is read as it was written`(order: AssistantsOrder, text: String) throws {
    #expect(String(decoding: order.bytes, as: UTF8.self) == text)
    #expect(try AssistantsOrder.read(Array(text.utf8)) == order)
  }

  @Test func `a list is read as it was written`() throws {
    let list = PairedAssistants(
      limit: 8,
      assistants: [
        PairedAssistants.Assistant(
          id: "0a", name: AssistantName("claude", version: "1"), since: RelayStage.dawn,
          lastQuestion: RelayStage.dawn, expiresAt: RelayStage.dawn),
        PairedAssistants.Assistant(
          id: "0b", name: nil, since: nil, lastQuestion: nil, expiresAt: RelayStage.dawn),
      ])
    #expect(try PairedAssistants.read(list.bytes) == list)
  }

  private static let point =
    #"{"type":"STEPS","value":{"n":1},"date_from":"a","date_to":"b","runtimeType":"raw"}"#

  @Test(arguments: [
    (#"{"success":true,"results":[{"data":{"count":-1}}]}"#, "count is no number of points"),
    (#"{"success":true,"results":[{},{"data":{"health_data":[{}]}}]}"#, "a point has no date_from"),
    (#"{"success":true,"results":[1]}"#, nil),
    (#"{"success":true,"results":3}"#, nil),
    (#"{"success":true,"results":[{"data":{"success":true}}]}"#, "it has no health_data"),
    (#"{"success":true,"results":[{"data":null},{"data":{"health_data":[\#(point)]}}]}"#, ""),
  ])
  func `the data of each summary result must have the shape of an answer`(
    text: String, fault: String?
  ) {
    var relay = Relayed.withPhone()
    _ = login(&relay, 1)
    let (id, _) = relay.ask(.question(RelayStage.summary), bearer: "t1")
    let object = HealthObject(succeeded: true, bytes: Array(text.utf8))
    let effects = relay.said(1, .summary(RelayStage.request("a-1"), object))
    let inner = fault.map { "data of a result: \($0)" }
    let words =
      inner
      ?? (text.contains("[1]")
        ? "results contains an element that is not an object" : "results is not a list")
    #expect(
      effects == [
        .answer(id, fault == "" ? .data(object) : .refused(.malformed(reason: words)))
      ])
  }

  @Test(arguments: [
    (#"{"success":true}"#, "it has no results"),
    (#"{"success":true,"results":null}"#, "it has no results"),
    (#"{"success":true,"results":[{"success":true}]}"#, "a result has no data"),
    (#"{"success":true,"results":[{"success":true,"data":null}]}"#, "a result has no data"),
  ])
  func `a summary without the requested data is refused`(text: String, fault: String) {
    var relay = Relayed.withPhone()
    _ = login(&relay, 1)
    let (id, _) = relay.ask(.question(RelayStage.summary), bearer: "t1")
    let object = HealthObject(succeeded: true, bytes: Array(text.utf8))
    let effects = relay.said(1, .summary(RelayStage.request("a-1"), object))
    #expect(effects == [.answer(id, .refused(.malformed(reason: fault)))])
  }

  @Test(arguments: [
    (#"{"success":true,"count":-1}"#, "count is no number of points"),
    (#"{"success":true,"count":1.5}"#, "count is no number of points"),
    (#"{"success":true,"count":"3"}"#, "count is no number of points"),
    (#"{"success":true,"health_data":{}}"#, "health_data is not a list"),
    (
      #"{"success":true,"health_data":[1]}"#,
      "health_data contains an element that is not an object"
    ),
    (
      #"{"success":true,"count":2,"health_data":[\#(point)]}"#,
      "count is 2, but there are 1 points"
    ),
    (#"{"success":true,"health_data":[{}]}"#, "a point has no date_from"),
    (
      #"{"success":true,"health_data":[{"type":"STEPS","date_from":"a","date_to":"b"}]}"#,
      "a point has no value"
    ),
    (
      #"{"success":true,"health_data":[{"type":"STEPS","value":1,"date_from":2,"date_to":"b"}]}"#,
      "date_from of a point is not a text"
    ),
    (#"{"success":true,"is_aggregated":1}"#, "is_aggregated is not true or false"),
    (#"{"success":false,"error_message":3}"#, "error_message is not a text"),
    // An assistant would mistake each of these for an answer without data.
    (#"{"success":true}"#, "it has no health_data"),
    (#"{"success":true,"count":0}"#, "it has no health_data"),
    (#"{"success":true,"count":0,"health_data":null}"#, "it has no health_data"),
    (#"{"success":true,"results":[]}"#, "it has no health_data"),
  ])
  func `an answer of the wrong shape is refused`(text: String, fault: String) {
    let (_, id, effects) = answered(text)
    #expect(effects == [.answer(id, .refused(.malformed(reason: fault)))])
  }

  @Test(arguments: [
    #"{"success":true,"count":0,"health_data":[],"group_by":null,"is_aggregated":false}"#,
    #"{"success":true,"count":1,"health_data":[\#(point)],"more":[1]}"#,
    #"{"success":true,"count":1.0,"health_data":[\#(point)]}"#,
    #"{"success":false,"error_message":"no permission"}"#, #"{"success":false}"#,
  ])
  func `an answer of the right shape is passed to the assistant`(text: String) {
    let (object, id, effects) = answered(text)
    #expect(effects == [.answer(id, .data(object))])
  }

  /// Answers a question with the given JSON, and returns the answer, the call's id and the effects.
  private func answered(_ text: String) -> (HealthObject, RequestID, [RelayServer.Effect]) {
    var relay = Relayed.withPhone()
    _ = login(&relay, 1)
    let (id, _) = relay.question(bearer: "t1")
    let object = HealthObject(succeeded: true, bytes: Array(text.utf8))
    return (object, id, relay.said(1, .healthData(RelayStage.request("a-1"), object)))
  }
}
