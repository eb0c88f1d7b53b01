import HoldfastCore
public import HoldfastLinkChecks

/// A planned event: an event kind with its arguments.
///
/// Each fault ends without a further event, so that a plan remains valid when any event is removed
/// from it.
public struct PlannedEvent<Own: PlanEventKind>: Sendable, Hashable {
  /// The kind of the event.
  public var eventKind: EventKind<Own>
  /// The kind of host that the event affects, if it is not the default of the event kind. For
  /// example, the store of a backend can also be full.
  public var kind: HostKind?
  /// The index of the host among those of its kind; `nil` for all hosts of the kind.
  public var host: Int?
  /// The arguments of the event kind.
  public var values: EventValues

  /// Creates an event of one of the kernel's kinds.
  public init(
    _ eventKind: CommonEventKind, _ number: Int = 0, _ choice: String = "",
    by time: Duration = .zero,
    for span: Duration = .zero, at kind: HostKind? = nil, on host: Int? = nil
  ) {
    self.eventKind = .common(eventKind)
    self.kind = kind
    self.host = host
    values = EventValues(number: number, choice: choice, time: time, span: span)
  }

  /// Creates an event of one of the feature's own kinds.
  public init(
    _ eventKind: Own, _ number: Int = 0, _ choice: String = "", by time: Duration = .zero,
    for span: Duration = .zero, at kind: HostKind? = nil, on host: Int? = nil
  ) {
    self.eventKind = .own(eventKind)
    self.kind = kind
    self.host = host
    values = EventValues(number: number, choice: choice, time: time, span: span)
  }

  /// The numeric argument, as in `EventValues`.
  public var number: Int { values.number }
  /// The argument that is one of several names.
  public var choice: String { values.choice }
  /// The delay, or the amount by which a clock jumps.
  public var time: Duration { values.time }
  /// The duration of the event.
  public var span: Duration { values.span }
  /// How the event is read, written and described.
  public var form: EventForm { eventKind.form }
  /// Whether the event is the action of a person rather than a fault.
  public var isOfPeople: Bool { form.isOfPeople }

  /// The kind of host that the event affects.
  public var hostKind: HostKind { kind ?? form.host }

  /// The name of the event kind in tables and files.
  public var name: String { eventKind.name }

  /// A human-readable description of the event.
  public var description: String {
    let text = form.describe(values)
    guard kind != nil || host != nil else { return text }
    let number = host.map { " \($0)" } ?? ""
    return "\(text) (\((kind ?? form.host).rawValue)\(number))"
  }

  /// The time for which the event is in progress in a run; `nil` if it is instantaneous.
  var lasting: Duration? {
    switch form.lasting {
    case .span: span
    case .spanAnd(let rest): span + rest
    case .exactly(let time): time
    case .none: nil
    }
  }

  /// The span in the event's text; zero if the text has none.
  public var length: Duration { form.arguments.contains(.span) ? span : .zero }

  /// Simpler variants of the event for shrinking, the simplest first.
  var simpler: [PlannedEvent] {
    if form.arguments.contains(where: \.isCount) {
      return [1, number / 2, number - 1].filter { $0 > 0 && $0 < number }.map {
        var event = self
        event.values.number = $0
        return event
      }
    }
    let whole = Duration.seconds(length.components.seconds)
    let half = Duration.milliseconds(length.nanoseconds / 2_000_000)
    return [.seconds(1), .seconds(10), .seconds(60), half, whole].filter {
      $0 > .zero && $0 < length
    }.map {
      var event = self
      event.values.span = $0
      return event
    }
  }
}

extension ObservedEvent {
  /// Creates the observation of a planned event.
  init<Own>(_ event: PlannedEvent<Own>) {
    self.init(
      name: event.name, text: event.text, description: event.description,
      hostKind: event.hostKind, kind: event.kind, host: event.host,
      isOfPeople: event.isOfPeople, lasts: event.lasting != nil, length: event.length,
      serverJump: event.eventKind == .common(.serverClock) ? event.time : nil)
  }
}

/// The arguments of a planned event. Arguments that its kind does not take are zero or empty.
public struct EventValues: Sendable, Hashable {
  /// A count, a status, a close code, or bytes per second.
  public var number = 0
  /// One of the names that the event kind permits.
  public var choice = ""
  /// A delay, or the amount by which a clock jumps.
  public var time = Duration.zero
  /// The duration of the event.
  public var span = Duration.zero
}

/// An event kind of the kernel or of the feature.
public enum EventKind<Own: PlanEventKind>: Sendable, Hashable {
  case common(CommonEventKind)
  case own(Own)

  /// The name used in files.
  var name: String {
    switch self {
    case .common(let eventKind): eventKind.rawValue
    case .own(let eventKind): eventKind.rawValue
    }
  }

  /// How events of this kind are read, written and described.
  public var form: EventForm {
    switch self {
    case .common(let eventKind): eventKind.form
    case .own(let eventKind): eventKind.form
    }
  }

  init?(_ name: String) {
    if let eventKind = CommonEventKind(rawValue: name) {
      self = .common(eventKind)
    } else if let eventKind = Own(rawValue: name) {
      self = .own(eventKind)
    } else {
      return nil
    }
  }
}
