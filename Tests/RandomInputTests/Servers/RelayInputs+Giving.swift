import LinkCore
import LinkHealth
import LinkJSON
import LinkWire

@testable import LinkServerCore

// What assistants, phones, the store and the generator of secrets do.
extension RelayInputs {
  private static let addresses = [
    "a", "a", "b", "c", "00000000000000aa", "00000000000000ab", "00000000000100ab",
    "00000000000000AB", "0000000000000aag",
  ]

  var wall: Timestamp {
    Timestamp(nanoseconds: Self.wallAtZero + now.nanoseconds).advanced(by: skew)
  }

  private mutating func fresh() -> UInt64 {
    last += 1
    return last
  }

  /// An open socket; seldom one that there never was.
  private mutating func socket() -> ConnectionID {
    oneIn(60) || connections.open.isEmpty ? ConnectionID(9_999) : one(connections.open)
  }

  /// Lets phones come and assistants log in.
  mutating func settleIn() {
    arrive()
    for _ in 0..<number(1...2) {
      draw()
      write()
      if let pair = pairs.last { give(.login(word: pair.word, code: pair.code), bearer: nil) }
    }
    draw()
    write()
    if oneIn(2) { register() }
    if oneIn(2), let id = connections.open.last { leave(id) }
  }

  mutating func arrive() {
    let device = oneIn(4) ? nil : UUID128(high: 0xD, low: UInt64(number(1...3)))
    var arrival = RelayServer.Arrival(device: device, address: one(Self.addresses))
    if !oneIn(4), let known = resumes.last(where: { $0.device == device }) {
      arrival.resume = known.token
    }
    if oneIn(9), !resumes.isEmpty { arrival.resume = one(resumes).token }
    give(.phoneOpened(ConnectionID(fresh()), arrival, wall: wall))
  }

  private mutating func give(_ ask: RelayAsk, bearer: TokenHash?) {
    give(.ask(AskID(fresh()), ask, bearer: bearer, from: one(Self.addresses), wall: wall))
  }

  mutating func logIn() {
    let name = one([nil, AssistantName("claude"), AssistantName("claude", version: "1")])
    guard let pair = pairs.last, !oneIn(6) else {
      return give(.login(word: "no-body", code: "000000", assistant: name), bearer: nil)
    }
    let (word, code) = (oneIn(9) ? one(pairs).word : pair.word, pair.code)
    let spaces = String(repeating: " ", count: 64 - word.utf8.count)
    let forms = [
      (word, code), (word, code), (word, code), (word.uppercased(), " " + code),
      (word + "x", code), (word, code + "0"), (word + spaces, code), (word + spaces + " ", code),
      (word.replacing("-", with: " "), String(code.prefix(3)) + "-" + String(code.suffix(3))),
    ]
    let form = one(forms)
    give(.login(word: form.0, code: form.1, assistant: name), bearer: nil)
  }

  private mutating func question() -> HealthQuestion {
    let start = HealthTime.local(CivilTime(nanoseconds: 0))
    let end = HealthTime.local(CivilTime(nanoseconds: 5))
    return one([
      .healthData(HealthDataQuery(valueType: .steps, start: start, end: end)),
      .summary(SummaryQuery(start: start, end: end)),
    ])
  }

  mutating func ask() {
    if let question = kept.questions.first, oneIn(4) {
      return give(.question(question.question), bearer: question.asker)
    }
    let bearer = tokens.isEmpty || oneIn(30) ? revoked.min() : one(tokens)
    give(oneIn(12) ? .logout : .question(question()), bearer: bearer)
  }

  /// A phone says something about a question that it was given.
  mutating func speak() {
    guard let (line, id, question) = given.last.map({ oneIn(5) ? one(given) : $0 }) else { return }
    let connection = oneIn(20) ? socket() : line
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

  /// An answer, often of a length that is just allowed or just not.
  private mutating func object() -> HealthObject {
    var text = one([
      #"{"success":true}"#, #"{"success":true}"#, #"{"success":true}"#, #"{"count":"a"}"#,
      #"{"health_data":[{"type":"a","value":1,"date_from":"b","date_to":"c"}],"count":1}"#,
      #"{"health_data":[1]}"#, #"{"results":[{"data":{"count":-1}}]}"#, "[]", #"{"count":1"#, "",
    ])
    if oneIn(4) {
      let room = policy.maxAnswerBytes + number(0...1) - text.utf8.count
      text += String(repeating: " ", count: min(max(room, 0), 500))
    }
    return HealthObject(succeeded: !oneIn(3), bytes: Array(text.utf8))
  }

  private mutating func give(_ pull: RelayPull, by bearer: TokenHash?) {
    give(.pull(RequestID(fresh()), pull, bearer: bearer, wall: wall))
  }

  mutating func pull() {
    let token = resumes.last.map { oneIn(4) ? one(resumes).token : $0.token }
    let bearer = oneIn(20) ? one([nil, tokens.last]) : token
    switch number(0...9) {
    case 0...3: give(.lease(LeaseOrder(max: one([1, 1, 2, 100]))), by: bearer)
    case 4...7: giveResult(bearer)
    case 8: register()
    case _:
      let name = tokens.randomElement(using: &chance)?.shortName ?? "none"
      give(.assistants(one([.list, .list, .end(name), .end("none"), .endAll])), by: bearer)
    }
  }

  private mutating func giveResult(_ bearer: TokenHash?) {
    guard let (token, question) = leased.last.map({ oneIn(4) ? one(leased) : $0 }) else {
      return give(.lease(LeaseOrder(max: 2)), by: bearer)
    }
    let lease = oneIn(12) ? one(leased).question.lease : question.lease
    let message = message(question.id, question.question.kind)
    let result = LeasedResult(lease: lease, message: message)
    give(.result(result), by: oneIn(20) ? bearer : token)
  }

  /// A phone says where it is woken.
  mutating func register() {
    give(.push(.hook(one(["x", "y"]))), by: resumes.last?.token)
  }

  /// A push has come to something.
  mutating func ring() {
    guard let (phone, address) = pushes.randomElement(using: &chance) else { return }
    let outcomes: [PushOutcome] = [
      .delivered, .failed(cause: "none"), .tooMany(retryAfter: .seconds(3)), .gone,
    ]
    give(.pushed(phone, to: oneIn(9) ? .hook("z") : address, one(outcomes)))
  }

  /// A secure generator draws what is wanted.
  mutating func draw() {
    guard !mints.isEmpty else { return }
    let mint = mints.removeFirst()
    if oneIn(30) { mints.append(mint) }
    let code = String(String(1_000_000 + fresh()).dropFirst())
    let drawn = RelayPair(code: code, word: one(["ab-cd", "abcdefgh-ijklmnop"]))
    let pair = oneIn(9) ? shownPair ?? drawn : drawn
    switch mint {
    case .phone(let id):
      guard let secret = secret() else { return }
      let phone = PhoneID(UUID128(high: chance.next(), low: fresh()))
      give(.minted(.phone(id, phone, secret, pair)))
    case .pair(let id): give(.minted(.pair(id, pair)))
    case .access(let ask): if let secret = secret() { give(.minted(.access(ask, secret))) }
    }
  }

  /// A pair that a phone shows and nobody logs in with: one that was used is not drawn again.
  private var shownPair: RelayPair? {
    let isUsed = asks.values.contains { if case .login = $0.ask { true } else { false } }
    return isUsed
      ? nil : pairs.last { (shown[Self.pairText($0.word, $0.code)] ?? .zero) > now }
  }

  private mutating func secret() -> RelaySecret? {
    let text = "t\(fresh())"
    let bytes = (0..<32).map { _ in UInt8(truncatingIfNeeded: chance.next() >> 40) }
    return TokenHash(bytes).map { RelaySecret(text: text, hash: $0) }
  }

  /// The store answers: one change after the other.
  mutating func write() {
    guard let token = writes.first?.token else { return }
    give(.stored(token, failure: oneIn(12) ? one(Self.storeFailures) : nil))
  }

  mutating func leave() {
    leave(oneIn(4) ? socket() : connections.ending.first ?? socket())
  }

  private mutating func leave(_ id: ConnectionID) {
    give(.phoneGone(id, code: one([1000, 1006, 1009]), wall: wall))
  }

  mutating func seldom() {
    switch number(0...9) {
    case 0: give(.overflowed(socket()))
    case 1: for id in connections.open { give(.heard(id)) }
    case 2: if oneIn(9) { give(.drain(within: one([.zero, .seconds(3), .milliseconds(2_500)]))) }
    case 3: give(.stored(StoreToken(777_777), failure: nil))
    case 4: give(.abandoned(asks.keys.min() ?? AskID(777_777)))
    case 5: skew += one([.seconds(-1), .seconds(1), .seconds(-30), .seconds(9)])
    case 6: give(.phoneUnreadable(socket(), RelayWireError(.missing(field: "type"))))
    case 7: for id in connections.ending { leave(id) }
    case _: if oneIn(6) || machine.isFinished { restart() }
    }
  }

  /// The process ends and another begins; of what was on its way to the store, the first part
  /// arrived.
  private mutating func restart() {
    var kept = kept
    for write in writes.prefix(number(0...writes.count)) {
      for change in write.changes { kept.apply(change) }
    }
    give(.restored(kept, wall: wall))
  }
}
