public import HoldfastCore

/// A feature whose links can be observed: its model, and the meaning and the texts of what it does.
///
/// A journal and a simulated world observe a link in the same way. The simulator adds the world
/// around the link; see `SimulatedFeature` in `Sources/Simulator`.
public protocol ObservedFeature: SendableMetatype {
  /// The model whose link is observed.
  associatedtype Model: CheckedModel
  /// A kind of observable fact that is specific to this feature.
  associatedtype Fact: Sendable, Equatable = Never
  /// The feature's part of a phone's state. The checkers use it in addition to the link's state.
  associatedtype State: Sendable
  /// The checkers of the feature's own guarantees that need no more than a journal contains.
  associatedtype Checkers: FeatureCheckers where Checkers.Feature == Self

  typealias Input = Model.Input
  typealias Effect = Model.Effect
  typealias Seen = Observation<Self>

  /// The name of the feature on the command line.
  static var name: String { get }
  /// The policy of the feature's link.
  static var policy: LinkPolicy { get }

  // The checkers. Implement these methods with the concrete type, so that the compiler specializes
  // the checkers of links for it.
  /// Passes a step of a phone's model to the checkers, with `CheckerSet.stepped`.
  static func step(
    _ phone: HostID, _ input: Input?, isLate: Bool, _ effects: [Effect],
    _ checkers: inout CheckerSet<Self>)
  /// Passes an observation that is not a step to the checkers, with `CheckerSet.handle`.
  static func observe(_ seen: Observation<Self>, of phone: Int?, _ checkers: inout CheckerSet<Self>)

  // Guarantees of the link that depend on the feature.
  /// The additional time for which the feature may treat a dead connection as alive, where the
  /// feature itself has a reason for the silence.
  static var timeLimit: Duration { get }
  /// Returns whether the feature's state meets the requirements of the calm phase, apart from the
  /// connected link.
  static func isHealed(_ phoneState: PhoneState<Self>) -> Bool
  /// Returns the end of a `Retry-After` interval that the link itself does not receive.
  static func restsUntil(_ phoneState: PhoneState<Self>) -> Instant?
  /// Describes the work that remains, for use in findings.
  static func remains(_ phoneState: PhoneState<Self>) -> String
  /// Calls `found` for each amount in memory that exceeds its bound.
  static func checkBounds(
    _ phoneState: PhoneState<Self>, _ found: (_ what: String, _ count: Int, _ bound: Int) -> Void)
  /// Passes each text that an effect stores, sends or shows to `look`, together with its
  /// destination.
  static func expose(_ effect: Effect, _ look: (_ text: String, _ destination: String) -> Void)
  /// Returns whether an effect is frequent and its description may be logged.
  ///
  /// The description must not contain secrets. Every eighth such effect is searched for them.
  static func isLogged(_ effect: Effect) -> Bool

  // Traces.
  /// Describes an input.
  static func describe(_ input: Input) -> TracePart
  /// Returns whether a short trace includes an input with these consequences.
  static func isWorth(_ input: Input, _ consequences: [TracePart]) -> Bool
  /// Describes an effect. Returns `nil` if the trace omits the effect.
  static func describe(_ effect: Effect, isVerbose: Bool) -> TracePart?
  /// Describes the status that an effect shows. Consecutive equal descriptions appear once.
  static func statusLabel(_ effect: Effect) -> String?
  static func describe(_ fact: Fact) -> [TracePart]
}

// Defaults for the parts that most features share.
extension ObservedFeature {
  public static var timeLimit: Duration { .zero }
  public static func isHealed(_ phoneState: PhoneState<Self>) -> Bool { true }
  public static func restsUntil(_ phoneState: PhoneState<Self>) -> Instant? { nil }
  public static func remains(_ phoneState: PhoneState<Self>) -> String { "" }
  public static func checkBounds(
    _ phoneState: PhoneState<Self>, _ found: (_ what: String, _ count: Int, _ bound: Int) -> Void
  ) {}
  public static func expose(
    _ effect: Effect, _ look: (_ text: String, _ destination: String) -> Void
  ) {}
  public static func isLogged(_ effect: Effect) -> Bool { false }

  // Traces.
  public static func describe(_ input: Input) -> TracePart {
    TraceText.cause(input, of: Model.self)
  }
  public static func describe(_ effect: Effect, isVerbose: Bool) -> TracePart? {
    TraceText.effect(effect, of: Model.self, isVerbose: isVerbose)
  }
  public static func describe(_ fact: Fact) -> [TracePart] { [(.server, "\(fact)")] }
  public static func statusLabel(_ effect: Effect) -> String? { nil }
  public static func isWorth(_ input: Input, _ consequences: [TracePart]) -> Bool { true }
}

/// One part of a trace line: the actor, and the description of its action.
public typealias TracePart = (who: TraceActor, what: String)

/// The actor of a trace line.
public enum TraceActor: String, Sendable, Hashable, CaseIterable {
  /// The plan begins or ends a fault.
  case plan
  case user
  /// The app acts.
  case app
  /// The app shows something.
  case screen
  case phone
  case disk
  case network
  case server
  /// A checker reports a violation.
  case checker
}
