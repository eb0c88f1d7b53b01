import LinkCore
import LinkHealth
import LinkServerCore
import LinkWire

/// A phone that answers in any shape, beside the second account of shapes.
struct RelayShapeWalk: TwinWalk {
  var chance: Chance
  var stray: String?
  var server: RelayServer
  private var last: UInt64 = 0

  private static let line = ConnectionID(1)
  private static let wall = Timestamp(nanoseconds: 1_768_000_000_000_000_000)
  private static let token = TokenHash([UInt8](repeating: 7, count: 32))

  init(_ chance: Chance) {
    self.chance = chance
    server = RelayServer(life: "a", at: .zero)
  }

  /// Lets the phone answer so many questions; returns the first difference.
  mutating func walk(_ steps: Int) -> String? {
    pair()
    for _ in 0..<steps where stray == nil {
      let kind = one(HealthQuestion.Kind.allCases)
      let text = Self.text(kind, &chance, isShort: false)
      stray = stray(of: Array(text.utf8), kind).map { "\($0): \(text)" }
    }
    return stray
  }

  private mutating func give(_ input: RelayServer.Input) -> [RelayServer.Effect] {
    server.handle(input, at: .zero)
  }

  /// Pairs an assistant with a plain phone.
  private mutating func pair() {
    guard let token = Self.token else { return }
    let phone = PhoneID(UUID128(high: 1, low: 2))
    let drawn = RelaySecret(text: "t", hash: token)
    let pair = RelayPair(code: "123456", word: "ab-cd")
    let login = RelayAsk.login(word: pair.word, code: pair.code)
    var effects = give(.phoneOpened(Self.line, .init(address: "a"), wall: Self.wall))
    effects += give(.minted(.phone(Self.line, phone, drawn, pair)))
    effects += give(.ask(AskID(0), login, bearer: nil, from: "a", wall: Self.wall))
    effects += give(.minted(.access(AskID(0), drawn)))
    for effect in effects {
      if case .store(let token, _) = effect { effects = give(.stored(token, failure: nil)) }
    }
  }

  /// What becomes of an answer otherwise than it must.
  mutating func stray(of bytes: [UInt8], _ kind: HealthQuestion.Kind) -> String? {
    last += 1
    let time = HealthTime.local(CivilTime(nanoseconds: 0))
    let question: HealthQuestion =
      switch kind {
      case .healthData: .healthData(HealthDataQuery(valueType: .steps, start: time, end: time))
      case .summary: .summary(SummaryQuery(start: time, end: time))
      }
    let ask = AskID(last)
    let asked = give(
      .ask(ask, .question(question), bearer: Self.token, from: "a", wall: Self.wall))
    guard case .send(_, .question(let id, _))? = asked.first else { return "nothing is asked" }
    let object = HealthObject(succeeded: true, bytes: bytes)
    let found = give(.phoneSaid(Self.line, .answer(kind, id, object)))
    return Self.difference(found, to: ask, of: object, kind)
  }

  /// What a server does about an answer otherwise than it must.
  static func difference(
    _ found: [RelayServer.Effect], to ask: AskID, of object: HealthObject,
    _ kind: HealthQuestion.Kind
  ) -> String? {
    let fault = RelayHouseShape.fault(object.bytes, kind)
    let must = fault.map { RelayOutcome.refused(.malformed(reason: $0)) } ?? .data(object)
    return found == [.answer(ask, must)] ? nil : "an answer becomes \(found), not \(must)"
  }

  // Texts.

  /// An answer, most often with something odd in it.
  static func text(_ kind: HealthQuestion.Kind, _ chance: inout Chance, isShort: Bool) -> String {
    var writing = RelayShapeWriting(chance: chance)
    defer { chance = writing.chance }
    if writing.happens(60) { return writing.one(["[]", #"{"count":1"#, #"{"count" 1}"#, ""]) }
    return isShort ? #"{"success":true}"# : writing.answer(kind, isNested: false)
  }
}

/// The members of answers, by chance.
private struct RelayShapeWriting: RandomWalk {
  var chance: Chance

  mutating func answer(_ kind: HealthQuestion.Kind, isNested: Bool) -> String {
    var members = [#""success":true"#]
    let isData = kind == .healthData ? !happens(9) : happens(9)
    let list = isData ? "health_data" : "results"
    let count = number(0...2)
    if happens(2) { members.append(#""count":\#(happens(4) ? odd() : "\(count)")"#) }
    if happens(4) { members.append(#""\#(one(["is_aggregated", "truncated"]))":\#(odd("true"))"#) }
    if happens(4) {
      let names = [
        "error_message", "value_type", "statistic_type", "group_by", "start_time", "end_time",
      ]
      members.append(#""\#(one(names))":\#(odd(#""a""#))"#)
    }
    if happens(6) { members.append(#""other":\#(odd())"#) }
    let elements = (0..<count).map { _ in
      happens(12) ? odd() : isData ? point() : result(isNested: isNested)
    }
    let value = happens(12) ? odd() : "[\(elements.joined(separator: ","))]"
    let place = number(0...members.count)
    members.insert(#""\#(list)":\#(value)"#, at: place)
    return "{\(members.joined(separator: ","))}"
  }

  /// A value, half of the time one that may be right.
  private mutating func odd(_ right: String? = nil) -> String {
    if let right, happens(2) { return right }
    return one(["null", "true", #""a""#, "0", "2", "-1", "1.5", "[]", "{}", "1e1"])
  }

  private mutating func point() -> String {
    var members: [String] = []
    for name in ["type", "value", "date_from", "date_to"] where !happens(12) {
      let isText = name != "value" && !happens(12)
      members.append(#""\#(name)":\#(isText ? #""a""# : odd())"#)
    }
    return "{\(members.joined(separator: ","))}"
  }

  private mutating func result(isNested: Bool) -> String {
    let data = isNested || happens(5) ? odd() : answer(.healthData, isNested: true)
    return #"{"\#(one(["data", "data", "other"]))":\#(data)}"#
  }
}
