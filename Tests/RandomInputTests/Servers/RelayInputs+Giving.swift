import HoldfastCore
import HoldfastHealth
import HoldfastJSON
import HoldfastRelayData
import HoldfastRelayServer

@testable import HoldfastServerParts

// MARK: Inputs from assistants, phones, the store and the secure generator
extension RelayInputs {
  private static let addresses = ["a", "a", "b", "00000000000000aa", "00000000000000ab"]

  /// Connects a phone, and logs assistants in.
  mutating func connectAll() {
    arrive()
    for _ in 0..<number(1...2) {
      draw()
      write()
      if let pair = pairs.last { give(.login(word: pair.word, code: pair.code), bearer: nil) }
    }
    draw()
    write()
    if oneIn(2) { register() }
    if oneIn(2), let id = notes.open.last { leave(id) }
  }

  mutating func arrive() {
    let device = oneIn(4) ? nil : UUID128(high: 0xD, low: UInt64(number(1...3)))
    var arrival = RelayServer.Arrival(device: device, address: one(Self.addresses))
    if !oneIn(4), let known = resumes.last(where: { $0.device == device }) {
      arrival.resume = known.token
    }
    if oneIn(9), !resumes.isEmpty { arrival.resume = one(resumes).token }
    give(.phoneOpened(ConnectionID(notes.fresh()), arrival, wall: wall))
  }

  private mutating func give(_ ask: RelayCall, bearer: TokenHash?) {
    give(
      .call(RequestID(notes.fresh()), ask, bearer: bearer, from: one(Self.addresses), wall: wall))
  }

  mutating func logIn() {
    let name = one([nil, AssistantName("claude"), AssistantName("claude", version: "1")])
    guard let pair = pairs.last, !oneIn(6) else {
      return give(.login(word: "no-body", code: "000000", assistant: name), bearer: nil)
    }
    let word = oneIn(9) ? one(pairs).word : pair.word
    let given = oneIn(6) ? word + "x" : word
    give(
      oneIn(3)
        ? .grant(word: given, code: pair.code, assistant: name)
        : .login(word: given, code: pair.code, assistant: name), bearer: nil)
  }

  private mutating func question() -> HealthQuestion {
    let start = HealthTime.local(CivilTime(nanoseconds: 0))
    let end = HealthTime.local(CivilTime(nanoseconds: 5))
    if oneIn(8) { return .types }
    if oneIn(2) { return .summary(SummaryQuery(start: start, end: end)) }
    return .healthData(HealthDataQuery(valueType: .steps, start: start, end: end))
  }

  mutating func ask() {
    if let question = stored.questions.first, oneIn(4) {
      return give(.question(question.question), bearer: question.caller)
    }
    let bearer = tokens.isEmpty || oneIn(30) ? nil : one(tokens)
    if oneIn(4), let grant = stored.accesses.last(where: { $0.generation != nil }) {
      let generation = grant.generation ?? 0
      return give(
        .renew(generation: oneIn(5) ? one([0, 1, generation + 1]) : generation),
        bearer: oneIn(20) ? bearer : grant.token)
    }
    give(oneIn(12) ? .logout : .question(question()), bearer: bearer)
  }

  /// Passes a phone's message about a question that the phone received.
  mutating func speak() {
    guard let (line, id, question) = given.last.map({ oneIn(5) ? one(given) : $0 }) else { return }
    let connection = oneIn(20) ? anySocket() : line
    if oneIn(12) {
      let error = RelayWireError(.wrongType(field: "type"), id: maybe(id))
      return give(.phoneUnreadable(connection, error))
    }
    let message = message(id, question.kind)
    give(.phoneSaid(connection, message))
    if case .part = message { return }
    if !oneIn(4) { given.removeAll { $0.id == id } }
  }

  private mutating func message(
    _ id: RelayRequestID, _ kind: HealthQuestion.Kind
  ) -> PhoneMessage {
    let other: HealthQuestion.Kind = kind == .summary ? .healthData : .summary
    switch number(0...15) {
    case 0: return .unknown(type: "news", id: maybe(id))
    case 1: return .failure(maybe(id), reason: one(["no", ""]))
    case 2: return .answer(other, id, object())
    case 3: return .answer(kind, RelayRequestID("none") ?? id, object())
    case 4...7:
      let (text, cut) = (String(decoding: object().bytes, as: UTF8.self), number(0...9))
      let count = number(1...2)
      let index = number(0...count - 1)
      let piece = count == 1 ? text : String(index == 0 ? text.prefix(cut) : text.dropFirst(cut))
      let part = HealthPart(
        kind: oneIn(20) ? other : kind, index: index, count: count, text: piece)
      return .part(id, part)
    case _: return .answer(kind, id, object())
    }
  }

  /// Returns an answer. Rarely, it is too long or truncated.
  private mutating func object() -> HealthObject {
    let short = #"{"success":true,"health_data":[],"results":[],"types":[]}"#
    let long = short + String(repeating: " ", count: 300)
    let text = one([
      short, short, long, #"{"success":true}"#, #"{"health_data":[],"count":1}"#, #"{"count":1"#,
    ])
    return HealthObject(succeeded: !oneIn(3), bytes: Array(text.utf8))
  }

  private mutating func give(_ pull: RelayPull, by bearer: TokenHash?) {
    give(.pull(RequestID(notes.fresh()), pull, bearer: bearer, wall: wall))
  }

  mutating func pull() {
    let token = resumes.last.map { oneIn(4) ? one(resumes).token : $0.token }
    let bearer = oneIn(20) ? one([nil, tokens.last]) : token
    switch number(0...10) {
    case 10:
      let user = SyncedUser("ann", zone: maybe("UTC"))
      give(
        .synced(one([.user(user), .user(user), .none, .unknownSecret]), from: one(Self.addresses)),
        by: bearer)
    case 0...3: give(.lease(LeaseRequest(max: one([1, 1, 2, 100]))), by: bearer)
    case 4...7: giveResult(bearer)
    case 8: register()
    case _:
      let name = tokens.randomElement(using: &generator)?.shortName ?? "none"
      let orders: [AssistantsOrder] = [
        .list, .list, .end(name), .end("none"), .endAll, .synced(name, allows: oneIn(2)),
        .synced("none", allows: true),
      ]
      give(.assistants(one(orders)), by: bearer)
    }
  }

  private mutating func giveResult(_ bearer: TokenHash?) {
    guard let (token, question) = leased.last.map({ oneIn(4) ? one(leased) : $0 }) else {
      return give(.lease(LeaseRequest(max: 2)), by: bearer)
    }
    let lease = oneIn(12) ? one(leased).question.lease : question.lease
    let message = message(question.id, question.question.kind)
    let result = LeasedResult(lease: lease, message: message)
    give(.result(result), by: oneIn(20) ? bearer : token)
  }

  /// Registers the push address of a phone.
  mutating func register() {
    give(.push(.hook(one(["x", "y"]))), by: resumes.last?.token)
  }

  /// Passes the answer of synced samples, or asks such a question.
  mutating func answerSynced() {
    guard let name = reading.randomElement(using: &generator) else {
      let user = SyncedUser("ann")
      give(.synced(.user(user), from: one(Self.addresses)), by: resumes.last?.token)
      write()
      return ask()
    }
    give(.synced(oneIn(9) ? given.last?.id ?? name : name, maybe(object())))
  }

  /// Reports the outcome of a push.
  mutating func ring() {
    guard let (phone, address) = pushes.randomElement(using: &generator) else { return }
    let outcome: PushOutcome = one([.delivered, .failed(cause: "none"), .gone])
    give(.pushed(phone, to: oneIn(9) ? .hook("z") : address, outcome))
  }

  /// Answers a token request in place of the secure generator.
  mutating func draw() {
    guard !tokenRequests.isEmpty else { return }
    let drawToken = tokenRequests.removeFirst()
    if oneIn(30) { tokenRequests.append(drawToken) }
    let code = String(String(1_000_000 + notes.fresh()).dropFirst())
    let drawn = RelayPair(code: code, word: one(["ab-cd", "abcdefgh-ijklmnop"]))
    let pair = oneIn(9) ? pairs.last ?? drawn : drawn
    switch drawToken {
    case .phone(let id):
      guard let secret = secret() else { return }
      let phone = PhoneID(UUID128(high: generator.next(), low: notes.fresh()))
      give(.tokenDrawn(.phone(id, phone, secret, pair)))
    case .pair(let id): give(.tokenDrawn(.pair(id, pair)))
    case .access(let ask), .grant(let ask):
      if let secret = secret() { give(.tokenDrawn(.access(ask, secret))) }
    }
  }

  private mutating func secret() -> RelaySecret? {
    let text = "t\(notes.fresh())"
    let bytes = (0..<32).map { _ in UInt8(truncatingIfNeeded: generator.next() >> 40) }
    return TokenHash(bytes).map { RelaySecret(text: text, hash: $0) }
  }

  /// Reports the outcome of the oldest pending change of the store.
  mutating func write() {
    guard let token = writes.first?.token else { return }
    give(.stored(token, failure: oneIn(12) ? storeFailure() : nil))
  }

  mutating func leave() {
    leave(oneIn(4) ? anySocket() : notes.ending.first ?? anySocket())
  }

  private mutating func leave(_ id: ConnectionID) {
    give(.phoneGone(id, code: one([1000, 1006, 1009]), wall: wall))
  }

  mutating func seldom() {
    switch number(0...9) {
    case 0: give(.overflowed(anySocket()))
    case 1: for id in notes.open { give(.received(id)) }
    case 2: if oneIn(9) { give(.drain(within: one([.zero, .seconds(3), .milliseconds(2_500)]))) }
    case 3: give(.stored(StoreToken(777_777), failure: nil))
    case 4: give(.abandoned(asks.keys.min() ?? RequestID(777_777)))
    case 5, 6: give(.phoneUnreadable(anySocket(), RelayWireError(.missing(field: "type"))))
    case 7: for id in notes.ending { leave(id) }
    case _: if oneIn(6) || machine.isFinished { beginAnew() }
    }
  }

  /// Restarts the process after the store has completed some of the pending changes, in order.
  private mutating func beginAnew() {
    var stored = stored
    for write in writes.prefix(number(0...writes.count)) {
      for change in write.changes { stored.apply(change) }
    }
    restart(RelayServer(policy: policy, life: "r\(notes.fresh())", at: now))
    give(.restored(stored, wall: wall))
  }
}
