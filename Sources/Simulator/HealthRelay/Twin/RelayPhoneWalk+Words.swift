import HealthRelay
import LinkCore
import LinkHealth
import LinkJSON
import LinkWire

// What is said to a phone in a walk.
extension RelayPhoneWalk {
  /// What a backend says to a connected phone, and what the phone's store does.
  mutating func talk() {
    let id = name(number(0...9))
    switch number(0...15) {
    case 0...3: ask(number(0...9))
    case 4...6: give(.prepared(happens(9) ? WorkID(UInt64(number(1...9))) : reading, answer()))
    case 7...9: give(.pong(attempt, happens(9) ? one(pings) : pings[pings.count - 1]))
    case 10: give(.pong(AttemptID(attempt.number &- 1), pings[pings.count - 1]))
    case 11: give(.message(attempt, read(.cancel(twin.line.isEmpty ? id : one(twin.line).id))))
    case 12: give(.message(attempt, nonsense()))
    case 13: give(.message(attempt, welcome()))
    case 14: if happens(4) { give(.lost(attempt, failure())) }
    case _: give(happens(2) ? .ping(attempt) : .oversized(attempt, bytes: 70_000))
    }
  }

  /// What comes from another socket, too late, or seldom.
  mutating func odd() {
    let here = attempt
    let other = happens(3) ? here : AttemptID(UInt64(number(1...3)) &+ here.number &- 2)
    switch number(0...10) {
    case 0: give(.opened(other))
    case 1: give(.message(other, welcome()))
    case 2: give(.message(other, .asked(name(number(0...9)), question())))
    case 3: give(.ping(other))
    case 4: give(.pong(other, one(pings)))
    case 5: give(.oversized(other, bytes: UInt64(number(65_537...65_539))))
    case 6: give(.lost(other, failure()))
    case 7: give(.unsent(other))
    case 8: give(.closed(other))
    case 9: give(.prepared(WorkID(reading.number &+ 1), answer()))
    case _: event(other)
    }
  }

  /// Gives what any link can be told.
  private mutating func event(_ of: AttemptID) {
    let failure = failure()
    let pairs: [(LinkEvent, RelayModel.Input)] = [
      (.device(.again), .start), (.device(.woke), .woke),
      (.device(.lifecycle(.background)), .lifecycle(.background)),
      (.device(.reachability(.unreachable)), .reachability(.unreachable)),
      (.ping(of), .ping(of)), (.pong(of, 3), .pong(of, 3)),
      (.oversized(of, bytes: 9), .oversized(of, bytes: 9)),
      (.lost(of, failure), .lost(of, failure)),
    ]
    let (event, must) = one(pairs)
    let input = RelayModel.Input(event, at: Timestamp(nanoseconds: 0))
    if input != must { stray = stray ?? "the phone takes \(event) as \(input)" }
    give(must)
  }

  private mutating func failure() -> LinkFailure {
    let odd = number(0...12)
    let failures: [LinkFailure] = [
      .tls(.expired, detail: "odd"), .http(status: 403, retryAfter: nil, detail: ""),
      .http(status: 503, retryAfter: .seconds(3), detail: ""), .closed(code: 4409, reason: ""),
      .closed(code: 1001, reason: ""), .timeout(.connect), .refused,
    ]
    return odd < failures.count ? failures[odd] : .reset
  }

  /// Asks by the name with a number.
  mutating func ask(_ number: Int) {
    give(.message(attempt, read(.question(name(number), question()))))
  }

  // Words.

  private func name(_ number: Int) -> RelayRequestID {
    guard let id = RelayRequestID("q\(number)") else { preconditionFailure("it has few bytes") }
    return id
  }

  private mutating func question() -> HealthQuestion {
    if !happens(3) { return .numbered(number(1...4)) }
    let start = HealthTime.instant(Timestamp(nanoseconds: 0), minutesEast: nil)
    return .summary(SummaryQuery(start: start, end: start))
  }

  private mutating func answer() -> RelayModel.Prepared {
    let content: RelayModel.Prepared.Content
    switch number(0...5) {
    case 0: content = .refused(reason: "a type without sums")
    case 1: content = .unreadable(reason: "locked")
    case _: content = .points(number(0...3), isTruncated: happens(2))
    }
    return RelayModel.Prepared(parts: one([1, 1, 2, 3]), content: content)
  }

  /// What a phone does not understand.
  mutating func nonsense() -> RelayModel.Message {
    let id = happens(2) ? name(number(0...9)) : nil
    if happens(2) { return read(.unknown(type: one(["news", "hello"]), id: id)) }
    let fault: FieldFault = one([
      .missing(field: "request_id"), .tooLong(bytes: 65_537), .malformed(detail: "no JSON"),
    ])
    let kind: HealthQuestion.Kind? = one([nil, .healthData, .summary])
    return .malformed(RelayWireError(fault, id: id, kind: kind))
  }

  /// A code as a backend sends it; a token is kept only if it can stand in a header field.
  mutating func welcome() -> RelayModel.Message {
    let tokens: [String?] = [
      nil, "", "t1", "t2", "!~", "a b", "a\u{7F}", "a\u{1F}", "\u{E9}", "a\n",
    ]
    var code = ConnectionCode(code: "\(number(100_000...999_999))", word: "anchor", message: "say")
    code.resumeToken = one(tokens)
    code.expiresIn = one([nil, .seconds(600)])
    code.resumed = happens(2)
    code.acceptsParts = happens(2)
    return read(.connectionCode(code))
  }

  /// The code of a backend that knows the phone and takes parts, or of a plain one.
  mutating func greeting() -> RelayModel.Message {
    var code = ConnectionCode(code: "123456", word: "meadow", message: "")
    if twin.token == Secret("t1") || happens(3) {
      code.resumeToken = "t1"
      code.resumed = twin.token != nil
      code.acceptsParts = true
    }
    return read(.connectionCode(code))
  }

  /// The message that stands for what was read, which is checked.
  private mutating func read(_ said: BackendMessage) -> RelayModel.Message {
    let must: RelayModel.Message
    switch said {
    case .connectionCode(let code):
      let pair = RelayPair(
        code: Secret(code.code), word: Secret(code.word), message: Secret(code.message),
        expiresIn: code.expiresIn)
      must = .paired(
        RelayModel.Welcome(
          pair: pair, resume: Self.token(code.resumeToken), isResumed: code.resumed,
          acceptsParts: code.acceptsParts))
    case .question(let id, let question): must = .asked(id, question)
    case .cancel(let id): must = .cancelled(id)
    case .unknown(let type, let id): must = .unknown(type: type, id)
    }
    let message = RelayModel.Message(said)
    if message != must { stray = stray ?? "the phone reads \(message), not \(must)" }
    return must
  }

  /// A token of visible ASCII, at least one letter; any other counts as none.
  static func token(_ text: String?) -> Secret? {
    guard let text, text != "" else { return nil }
    for scalar in text.unicodeScalars where scalar <= " " || scalar > "~" { return nil }
    return Secret(text)
  }

  // Bounds.

  /// About as many questions as stand in line at the most.
  mutating func crowd() {
    guard model.link.currentAttempt != nil else { return }
    for _ in 0..<max(0, number(31...35) - twin.line.count) { ask() }
    if happens(2) { give(.message(attempt, .asked(name(10 + lastNew), question()))) }
  }

  /// Asks something new.
  private mutating func ask() {
    lastNew += 1
    give(.message(attempt, .asked(name(10 + lastNew), question())))
  }

  /// About as many words that are not understood as are refused in a minute.
  mutating func babble() {
    for _ in 0..<number(18...22) - min(twin.refusedAt.count, 17) {
      give(.message(attempt, nonsense()))
      if happens(2) { now = now.advanced(by: .milliseconds(number(1...900))) }
    }
  }

  /// As many answered questions as are remembered, and a few of them again.
  mutating func fill() {
    guard model.link.currentAttempt != nil else { return }
    let room = 32 - twin.line.count
    let first = lastNew + 1 + room
    for _ in 0..<room + number(255...258) { ask() }
    for place in [first, first + 1, first + 2, lastNew] {
      give(.message(attempt, .asked(name(10 + place), .numbered(1))))
    }
  }
}
