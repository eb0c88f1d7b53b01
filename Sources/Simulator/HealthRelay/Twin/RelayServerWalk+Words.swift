import LinkCore
import LinkHealth
import LinkJSON
import LinkServerCore
import LinkWire

// What assistants and phones say.
extension RelayServerWalk {
  static let addresses = [
    "a", "a", "b", "c", "00000000000000aa", "00000000000000ab", "00000000000100ab",
    "00000000000000AB", "0000000000000aag",
  ]

  // Assistants.

  private mutating func give(_ ask: RelayAsk, bearer: TokenHash? = nil) {
    let id = AskID(fresh())
    asks = asks.suffix(5) + [id]
    self.bearer = bearer
    give(.ask(id, ask, bearer: bearer, from: one(Self.addresses), wall: wall))
  }

  mutating func logIn(by pair: RelayPair) {
    give(.login(word: pair.word, code: pair.code))
  }

  /// An assistant asks again what it asked before a restart.
  mutating func askAgain(_ kept: KeptQuestion) {
    give(.question(happens(6) ? question() : kept.question), bearer: kept.asker)
  }

  mutating func logIn() {
    let names = [nil, AssistantName("claude"), AssistantName("claude", version: "1")]
    let name = one(names)
    guard let pair = pairs.last, !happens(mood == .guesses ? 2 : 9) else {
      return give(.login(word: "no-body", code: "000000", assistant: name))
    }
    let (word, code) = (happens(9) ? one(pairs).word : pair.word, pair.code)
    let forms = [
      (word, code), (word, code), (word, code), (word, code), (word, code), (word, code),
      (word.uppercased(), " " + code),
      (word + "x", code), (word, code + "0"), (word, "-" + String(code.dropLast()) + "z"),
      (word + String(repeating: " ", count: 64 - word.utf8.count), code),
      (word + String(repeating: " ", count: 65 - word.utf8.count), code),
      (word.replacing("-", with: " "), String(code.prefix(3)) + "-" + String(code.suffix(3))),
    ]
    let form = one(forms)
    give(.login(word: form.0, code: form.1, assistant: name))
  }

  private static let times = (
    HealthTime.local(CivilTime(nanoseconds: 0)), HealthTime.local(CivilTime(nanoseconds: 5))
  )

  private mutating func question() -> HealthQuestion {
    let (start, end) = Self.times
    return one([
      .healthData(HealthDataQuery(valueType: .steps, start: start, end: end)),
      .healthData(HealthDataQuery(valueType: .sleep, start: start, end: end)),
      .summary(SummaryQuery(start: start, end: end)),
    ])
  }

  mutating func ask() {
    let bearer = tokens.isEmpty || happens(30) ? nil : one(tokens)
    give(happens(30) ? .logout : .question(question()), bearer: bearer)
  }

  // Phones.

  /// A phone says something about a question that it was given.
  mutating func speak() {
    guard let (line, id, question) = given.last.map({ happens(5) ? one(given) : $0 }) else {
      return
    }
    let connection = happens(20) ? socket() : line
    if happens(12) {
      let fault = RelayWireError(.wrongType(field: "type"), id: happens(2) ? id : nil)
      return give(.phoneUnreadable(connection, fault))
    }
    let said = message(id, question.kind, isLeased: false)
    give(.phoneSaid(connection, said))
    if case .part = said { return }
    if !happens(4) { given.removeAll { $0.id == id } }
  }

  private mutating func message(
    _ id: RelayRequestID, _ kind: HealthQuestion.Kind, isLeased: Bool
  ) -> PhoneMessage {
    let other: HealthQuestion.Kind = kind == .summary ? .healthData : .summary
    switch number(0...15) {
    case 0: return .unknown(type: "news", id: happens(2) ? id : nil)
    case 1: return .failure(happens(2) ? id : nil, reason: happens(2) ? "no" : "")
    case 2: return .answer(other, id, object(other))
    case 3: return .answer(kind, RelayRequestID("none") ?? id, object(kind))
    case 4...7: return .part(id, part(id, kind))
    case _: break
    }
    return .answer(kind, id, object(kind))
  }

  /// Mostly the next part of an answer.
  private mutating func part(_ id: RelayRequestID, _ kind: HealthQuestion.Kind) -> HealthPart {
    var rest = parts[id] ?? []
    if rest.isEmpty {
      let text = String(decoding: object(kind).bytes, as: UTF8.self)
      let texts =
        happens(3) ? [text] : [String(text.prefix(9)), String(text.dropFirst(9))]
      rest = texts.enumerated().map {
        HealthPart(kind: kind, index: $0.offset, count: texts.count, text: $0.element)
      }
    }
    var part = rest[0]
    if !happens(6) { rest.removeFirst() }
    if happens(20) { part.index += 1 }
    if happens(20) { part.count += 1 }
    if happens(20) { part.kind = part.kind == .summary ? .healthData : .summary }
    parts[id] = rest
    return part
  }

  /// An answer, often of a length that is just allowed or just not.
  private mutating func object(_ kind: HealthQuestion.Kind) -> HealthObject {
    var text = RelayShapeWalk.text(kind, &chance, isShort: !happens(4))
    if happens(4) {
      let room = policy.maxAnswerBytes + number(0...1) - text.utf8.count
      text += String(repeating: " ", count: min(max(room, 0), 500))
    }
    return HealthObject(succeeded: !happens(3), bytes: Array(text.utf8))
  }

  // Pulls.

  mutating func pull() {
    let token = resumes.last.map { happens(4) ? one(resumes).token : $0.token }
    let bearer = happens(20) ? nil : happens(20) ? tokens.last : token
    let request = RequestID(fresh())
    puller = bearer
    switch number(0...9) {
    case 0...2: lease(request, bearer)
    case 3...6: answer(request, bearer)
    case 7: register()
    case 8:
      let name = tokens.isEmpty ? "none" : RelayHouse.name(of: one(tokens))
      let orders: [AssistantsOrder] = [.list, .list, .list, .end(name), .end("none"), .endAll]
      give(.pull(request, .assistants(one(orders)), bearer: bearer, wall: wall))
    case _: lease(request, bearer)
    }
  }

  /// A phone says where it is woken.
  mutating func register() {
    puller = resumes.last?.token
    let address = PushAddress.hook(one(["x", "y"]))
    give(.pull(RequestID(fresh()), .push(address), bearer: puller, wall: wall))
  }

  mutating func listAssistants() {
    puller = resumes.last?.token
    give(.pull(RequestID(fresh()), .assistants(.list), bearer: puller, wall: wall))
  }

  private mutating func lease(_ request: RequestID, _ bearer: TokenHash?) {
    give(
      .pull(request, .lease(LeaseOrder(max: one([1, 1, 2, 100]))), bearer: bearer, wall: wall))
    guard let bearer, let found = lastReply(to: request) else { return }
    leased = leased.suffix(4) + found.map { (bearer, $0) }
    if !found.isEmpty, happens(2) { answer(RequestID(fresh()), bearer) }
  }

  private mutating func answer(_ request: RequestID, _ bearer: TokenHash?) {
    guard let (token, question) = leased.last.map({ happens(4) ? one(leased) : $0 }) else {
      return lease(request, bearer)
    }
    var lease = question.lease
    if happens(12) { lease = one(leased).question.lease }
    let said = message(question.id, question.question.kind, isLeased: true)
    let result = LeasedResult(lease: lease, message: said)
    puller = happens(20) ? bearer : token
    give(.pull(request, .result(result), bearer: puller, wall: wall))
    if case .part = said {} else if !happens(4) { leased.removeAll { $0.question == question } }
  }

  /// What became of a push.
  mutating func ring() {
    guard let (phone, address) = pushes.last.map({ happens(3) ? one(pushes) : $0 }) else { return }
    let outcomes: [PushOutcome] = [
      .delivered, .failed(cause: "none"), .tooMany(retryAfter: .seconds(3)),
      .failed(cause: "none"), .tooMany(retryAfter: .seconds(1)), happens(2) ? .gone : .delivered,
    ]
    give(.pushed(phone, to: happens(9) ? .hook("z") : address, one(outcomes)))
  }
}
