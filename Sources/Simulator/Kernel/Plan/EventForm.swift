import HoldfastCore
public import HoldfastLinkChecks

/// An event kind in a feature's plans. Each kind is declared once, in `forms`.
public protocol PlanEventKind: RawRepresentable<String>, CaseIterable, Sendable, Hashable {
  /// The arguments, the host and the description of each kind.
  static var forms: [Self: EventForm] { get }
}

extension PlanEventKind {
  /// The declaration of the kind. A kind without a declaration has no arguments, and its name is
  /// its description.
  public var form: EventForm { Self.forms[self] ?? EventForm { _ in rawValue } }
}

/// The declaration of an event kind: its arguments, its duration and its description in traces.
public struct EventForm: Sendable {
  /// The arguments, in the order of the event's text form.
  let arguments: [EventArgument]
  /// The default kind of host that the event affects.
  public let host: HostKind
  /// Other kinds of hosts that the event can affect if a plan names them.
  let others: [HostKind]
  /// Whether the event is the action of a person rather than a fault.
  let isOfPeople: Bool
  let lasting: Lasting
  let describe: @Sendable (EventValues) -> String

  /// The time for which an event is in progress.
  public enum Lasting: Sendable {
    /// The event is instantaneous.
    case none
    /// The event lasts for the span in its text.
    case span
    /// The event lasts for the span in its text, plus a time that the world needs.
    case spanAnd(Duration)
    case exactly(Duration)
  }

  /// Creates the declaration of an event kind. By default, an event with a span lasts for that
  /// span.
  public init(
    _ arguments: EventArgument..., of host: HostKind = .phone, or others: [HostKind] = [],
    isOfPeople: Bool = false, lasting: Lasting? = nil,
    _ describe: @escaping @Sendable (EventValues) -> String
  ) {
    self.arguments = arguments
    self.host = host
    self.others = others
    self.isOfPeople = isOfPeople
    self.lasting = lasting ?? (arguments.contains(.span) ? .span : .none)
    self.describe = describe
  }
}

/// An argument of an event kind, and the values that are permitted in the event's text.
public enum EventArgument: Sendable, Hashable {
  case span
  /// A delay.
  case time
  /// The amount by which a clock jumps; negative for a jump backwards.
  case jump
  case number(ClosedRange<Int>)
  /// A number that shrinking reduces.
  case count(ClosedRange<Int>)
  case choice([String])

  var isCount: Bool { if case .count = self { true } else { false } }

  func text(_ values: EventValues) -> String {
    switch self {
    case .span: values.span.text
    case .time: values.time.text
    case .jump: values.time < .zero ? "-" + (.zero - values.time).text : values.time.text
    case .number, .count: "\(values.number)"
    case .choice: values.choice
    }
  }

  /// Parses a token into the values. Returns `false` if the token is not permitted.
  func read(_ token: String, into values: inout EventValues) -> Bool {
    switch self {
    case .span:
      guard let span = Duration(text: token) else { return false }
      values.span = span
    case .time:
      guard let time = Duration(text: token) else { return false }
      values.time = time
    case .jump:
      let isBack = token.hasPrefix("-")
      guard let time = Duration(text: isBack ? token.dropFirst() : token[...]) else { return false }
      values.time = isBack ? .zero - time : time
    case .number(let range), .count(let range):
      guard let number = Int(token), range.contains(number) else { return false }
      values.number = number
    case .choice(let names):
      guard names.contains(token) else { return false }
      values.choice = token
    }
    return true
  }

  /// A description of the permitted tokens, including their range.
  public var form: String {
    switch self {
    case .span: "a span of \(Duration.written.text)"
    case .time: "a delay of \(Duration.written.text)"
    case .jump:
      "a jump of -\(Duration.written.upperBound.text) to \(Duration.written.upperBound.text)"
    case .number(let range), .count(let range): "\(range.lowerBound) to \(range.upperBound)"
    case .choice(let names): names.joined(separator: "|")
    }
  }
}

// The text form of events in files: a name, then arguments, such as `restStatus 503 30s`. A host
// may follow the name: `unreachable@1 30s`, `storeFull@backend 30s`, `kill@backend0 5s`.
extension PlannedEvent {
  /// The text form, which `init(text:)` parses.
  public var text: String {
    let host = host.map { "\($0)" } ?? ""
    let suffix = kind == nil && host.isEmpty ? "" : "@" + (kind?.rawValue ?? "") + host
    return ([name + suffix] + form.arguments.map { $0.text(values) }).joined(separator: " ")
  }

  /// Parses the text form of an event. Returns `nil` if the text is invalid.
  public init?(text: some StringProtocol) {
    let tokens = text.split { $0 == " " }.map { String($0) }
    guard let head = tokens.first?.split(separator: "@", omittingEmptySubsequences: false),
      (1...2).contains(head.count), let eventKind = EventKind<Own>(String(head[0]))
    else { return nil }
    var values = EventValues()
    let arguments = eventKind.form.arguments
    guard tokens.count == arguments.count + 1 else { return nil }
    for (argument, token) in zip(arguments, tokens.dropFirst()) {
      guard argument.read(token, into: &values) else { return nil }
    }
    self.eventKind = eventKind
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

  /// Returns a description for errors: the arguments of the event kind that a text names, or all
  /// kinds if it names none.
  private static func form(of text: String) -> String {
    let name = text.prefix { $0 != " " && $0 != "@" }
    guard let eventKind = EventKind<Own>(String(name)) else {
      let names = CommonEventKind.allCases.map(\.rawValue) + Own.allCases.map(\.rawValue)
      return "; in this world there are \(names.joined(separator: ", "))"
    }
    let arguments = eventKind.form.arguments.map(\.form)
    return "; it is \(([String(name)] + arguments).joined(separator: ", "))"
  }

  /// The maximum number of hosts of the same kind that a plan can name.
  static var mostHosts: Int { 100 }
}

extension PlannedEvent: Codable {
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard let event = PlannedEvent(text: text) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "no action: \(text)\(Self.form(of: text))")
    }
    self = event
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }
}
