import LinkCore

/// One thing that happens in a plan: a verb with its arguments.
///
/// Each trouble ends by itself, so that a plan stays sensible whatever is taken out of it.
public struct Act<Own: PlanVerb>: Sendable, Hashable {
  /// What happens.
  public var verb: Verb<Own>
  /// The kind of host that it concerns, where that is not the verb's own: the store of a backend
  /// can be full as well.
  public var kind: HostKind?
  /// The number of the host among those of its kind; `nil` for all of them.
  public var host: Int?
  /// What the verb takes.
  public var values: ActValues

  /// An act of the kernel's verbs.
  public init(
    _ verb: CommonVerb, _ number: Int = 0, _ word: String = "", by time: Duration = .zero,
    for span: Duration = .zero, at kind: HostKind? = nil, on host: Int? = nil
  ) {
    self.verb = .common(verb)
    self.kind = kind
    self.host = host
    values = ActValues(number: number, word: word, time: time, span: span)
  }

  /// An act of the feature's own verbs.
  public init(
    _ verb: Own, _ number: Int = 0, _ word: String = "", by time: Duration = .zero,
    for span: Duration = .zero, at kind: HostKind? = nil, on host: Int? = nil
  ) {
    self.verb = .own(verb)
    self.kind = kind
    self.host = host
    values = ActValues(number: number, word: word, time: time, span: span)
  }

  /// Its number; see `ActValues`.
  public var number: Int { values.number }
  /// Its word.
  public var word: String { values.word }
  /// Its delay, or how far a clock jumps.
  public var time: Duration { values.time }
  /// How long it lasts.
  public var span: Duration { values.span }
  var form: VerbForm { verb.form }

  /// The name of the verb, as tables and files write it.
  public var name: String { verb.name }

  /// What happens, as a person would say it.
  public var words: String {
    let words = form.words(values)
    guard kind != nil || host != nil else { return words }
    let number = host.map { " \($0)" } ?? ""
    return "\(words) (\((kind ?? form.host).rawValue)\(number))"
  }

  /// How long the act is under way in a run; `nil` for what is over at once.
  var lasting: Duration? {
    switch form.lasting {
    case .span: span
    case .spanAnd(let rest): span + rest
    case .exactly(let time): time
    case .none: nil
    }
  }

  /// The length that its text names; zero without one.
  public var length: Duration { form.arguments.contains(.span) ? span : .zero }

  /// Simpler variants for shrinking, the simplest first.
  var simpler: [Act] {
    if form.arguments.contains(where: \.isCount) {
      return [1, number / 2, number - 1].filter { $0 > 0 && $0 < number }.map {
        var act = self
        act.values.number = $0
        return act
      }
    }
    let whole = Duration.seconds(length.components.seconds)
    let half = Duration.milliseconds(length.nanoseconds / 2_000_000)
    return [.seconds(1), .seconds(10), .seconds(60), half, whole].filter {
      $0 > .zero && $0 < length
    }.map {
      var act = self
      act.values.span = $0
      return act
    }
  }
}

/// The arguments of an act; those that its verb does not take are zero or empty.
public struct ActValues: Sendable, Hashable {
  /// A count, a status, a close code, bytes per second.
  public var number = 0
  /// One of the words that the verb allows.
  public var word = ""
  /// A delay, or how far a clock jumps.
  public var time = Duration.zero
  /// How long it lasts.
  public var span = Duration.zero
}

/// A verb of the kernel, or one of the feature.
public enum Verb<Own: PlanVerb>: Sendable, Hashable {
  case common(CommonVerb)
  case own(Own)

  /// As text writes it.
  var name: String {
    switch self {
    case .common(let verb): verb.rawValue
    case .own(let verb): verb.rawValue
    }
  }

  var form: VerbForm {
    switch self {
    case .common(let verb): verb.form
    case .own(let verb): verb.form
    }
  }

  init?(_ name: String) {
    if let verb = CommonVerb(rawValue: name) {
      self = .common(verb)
    } else if let verb = Own(rawValue: name) {
      self = .own(verb)
    } else {
      return nil
    }
  }
}
