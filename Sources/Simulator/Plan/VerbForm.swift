import LinkCore

/// What can happen in plans of a feature. Each verb is declared once, in `forms`.
public protocol PlanVerb: RawRepresentable<String>, CaseIterable, Sendable, Hashable {
  /// What each verb takes, concerns and says.
  static var forms: [Self: VerbForm] { get }
}

extension PlanVerb {
  /// The declaration of the verb; one that was forgotten takes nothing and says its name.
  var form: VerbForm { Self.forms[self] ?? VerbForm { _ in rawValue } }
}

/// The declaration of a verb: its arguments, how long it lasts, and its words in stories.
public struct VerbForm: Sendable {
  /// In the order in which text writes them.
  let arguments: [VerbArgument]
  /// What kind of host it concerns.
  let host: HostKind
  /// Kinds of hosts that it can concern as well, if an act names them.
  let others: [HostKind]
  /// Whether a person does it, as opposed to trouble.
  let isOfPeople: Bool
  let lasting: Lasting
  let words: @Sendable (ActValues) -> String

  /// How long an act is under way.
  public enum Lasting: Sendable {
    /// It is over at once.
    case none
    /// For the span that its text names.
    case span
    /// For that span and a time that the world needs.
    case spanAnd(Duration)
    case exactly(Duration)
  }

  /// A verb that lasts for its span if it takes one, unless `lasting` says otherwise.
  public init(
    _ arguments: VerbArgument..., of host: HostKind = .phone, or others: [HostKind] = [],
    isOfPeople: Bool = false, lasting: Lasting? = nil,
    _ words: @escaping @Sendable (ActValues) -> String
  ) {
    self.arguments = arguments
    self.host = host
    self.others = others
    self.isOfPeople = isOfPeople
    self.lasting = lasting ?? (arguments.contains(.span) ? .span : .none)
    self.words = words
  }
}

/// One argument of a verb, and which values text may give it.
public enum VerbArgument: Sendable, Hashable {
  case span
  /// A delay.
  case time
  /// How far a clock jumps; negative for back.
  case jump
  case number(ClosedRange<Int>)
  /// A number that shrinking makes smaller.
  case count(ClosedRange<Int>)
  case word([String])

  var isCount: Bool { if case .count = self { true } else { false } }

  func text(_ values: ActValues) -> String {
    switch self {
    case .span: values.span.text
    case .time: values.time.text
    case .jump: values.time < .zero ? "-" + (.zero - values.time).text : values.time.text
    case .number, .count: "\(values.number)"
    case .word: values.word
    }
  }

  /// Reads a word into the values; `false` where it is not allowed.
  func read(_ word: String, into values: inout ActValues) -> Bool {
    switch self {
    case .span:
      guard let span = Duration(text: word) else { return false }
      values.span = span
    case .time:
      guard let time = Duration(text: word) else { return false }
      values.time = time
    case .jump:
      let isBack = word.hasPrefix("-")
      guard let time = Duration(text: isBack ? word.dropFirst() : word[...]) else { return false }
      values.time = isBack ? .zero - time : time
    case .number(let range), .count(let range):
      guard let number = Int(word), range.contains(number) else { return false }
      values.number = number
    case .word(let words):
      guard words.contains(word) else { return false }
      values.word = word
    }
    return true
  }

  /// The description of the words that it takes, with their range.
  var form: String {
    switch self {
    case .span: "a span of \(Duration.written.text)"
    case .time: "a delay of \(Duration.written.text)"
    case .jump:
      "a jump of -\(Duration.written.upperBound.text) to \(Duration.written.upperBound.text)"
    case .number(let range), .count(let range): "\(range.lowerBound) to \(range.upperBound)"
    case .word(let words): words.joined(separator: "|")
    }
  }
}

// How acts are written in files: a name, then arguments, such as `restStatus 503 30s`. Which host
// is meant stands behind the name: `unreachable@1 30s`, `storeFull@backend 30s`, `kill@backend0 5s`
extension Act {
  /// The short form that `init(text:)` reads.
  public var text: String {
    let host = host.map { "\($0)" } ?? ""
    let place = kind == nil && host.isEmpty ? "" : "@" + (kind?.rawValue ?? "") + host
    return ([name + place] + form.arguments.map { $0.text(values) }).joined(separator: " ")
  }

  /// Reads what `text` writes; `nil` otherwise.
  public init?(text: some StringProtocol) {
    let words = text.split { $0 == " " }.map { String($0) }
    guard let head = words.first?.split(separator: "@", omittingEmptySubsequences: false),
      (1...2).contains(head.count), let verb = Verb<Own>(String(head[0]))
    else { return nil }
    var values = ActValues()
    let arguments = verb.form.arguments
    guard words.count == arguments.count + 1 else { return nil }
    for (argument, word) in zip(arguments, words.dropFirst()) {
      guard argument.read(word, into: &values) else { return nil }
    }
    self.verb = verb
    self.values = values
    guard head.count == 2 else { return }
    let digits = head[1].drop { !$0.isNumber }
    let kind = head[1].prefix { !$0.isNumber }
    self.kind = HostKind(rawValue: String(kind))
    host = Int(digits)
    let isKnown = (self.kind != nil || kind.isEmpty) && (host != nil || digits.isEmpty)
    guard isKnown, !head[1].isEmpty, (0..<Self.mostHosts).contains(host ?? 0),
      ([form.host] + form.others).contains(self.kind ?? form.host)
    else { return nil }
  }

  /// The arguments of the verb that a text begins with, or all verbs if it is none, for errors.
  private static func form(of text: String) -> String {
    let name = text.prefix { $0 != " " && $0 != "@" }
    guard let verb = Verb<Own>(String(name)) else {
      let names = CommonVerb.allCases.map(\.rawValue) + Own.allCases.map(\.rawValue)
      return "; in this world there are \(names.joined(separator: ", "))"
    }
    let arguments = verb.form.arguments.map(\.form)
    return "; it is \(([String(name)] + arguments).joined(separator: ", "))"
  }

  /// Hosts of one kind that a plan can name.
  static var mostHosts: Int { 100 }
}

extension Act: Codable {
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard let act = Act(text: text) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "no action: \(text)\(Self.form(of: text))")
    }
    self = act
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }
}
