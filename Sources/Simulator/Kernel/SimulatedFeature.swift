public import LinkCore

/// A feature that is played in seeded worlds: its types, its plans, its checkers and its texts.
///
/// A feature plugs in with four parts, in a folder of its own, and one line in `Worlds.all`:
///
/// 1. An enumeration that conforms to this protocol. It names the model under test (`Model`, a
///    `LinkModel` or a `SimulatedModel`), the types that pass over the network (`Hello`, `Packet`,
///    `Question`, `Reply`), the event kinds, numbers and presets of its plans, and its texts.
/// 2. A world: an internal structure that conforms to `SimulatedWorld`. It holds the kernel, the
///    models of its phones and the real rules of its servers. It maps the kernel's reports (`boot`,
///    `upgradeArrived`, `arrived`, …) to their inputs, and their effects to the kernel's operations
///    (`dial`, `deliver`, `ask`, `answer`, `write`, `later`, `note`).
/// 3. Checkers of its own promises (`Checkers`). Those of the link come with the kernel.
/// 4. Deliberate defects (`Defect`). The kernel makes those of a link: see `LinkDefect`.
///
/// The kernel provides time, kills, suspension, disks, lines, exchanges, network conditions, plans,
/// traces, shrinking, the corpus and the command line. This protocol and `SimulatedWorld` have
/// defaults for the parts that most features share.
public protocol SimulatedFeature: SendableMetatype {
  /// The model whose link is under test.
  associatedtype Model: SimulatedModel
  /// The kinds of planned events in addition to the kernel's `CommonEventKind`.
  associatedtype EventKind: PlanEventKind
  /// The numbers that a plan fixes for a whole run, in addition to the network conditions.
  associatedtype Numbers: PlanNumbers = NoNumbers
  /// The servers that the feature can be played against; `OneServer` if there is only one.
  associatedtype Server: ServerChoice = OneServer
  associatedtype Defect: DeliberateDefect where Defect.Server == Server
  /// The content of a phone's upgrade request.
  associatedtype Hello: Sendable = Nothing
  /// A message on a line, in either direction.
  associatedtype Packet: Sendable
  /// A request of an exchange.
  associatedtype Question: Sendable = Nothing
  /// The response of an exchange.
  associatedtype Reply: Sendable = Nothing
  /// A scheduled event that only this feature has.
  associatedtype ScheduledEvent: Sendable = Never
  /// A fact that only this feature can observe.
  associatedtype Fact: Sendable, Equatable = Never
  /// The feature's state of a phone that its checkers see, in addition to the link's.
  associatedtype State: Sendable
  associatedtype Checkers: FeatureCheckers where Checkers.Feature == Self
  /// The feature's counts, in addition to the kernel's.
  associatedtype Counter: RunCounter

  typealias Input = Model.Input
  typealias Effect = Model.Effect
  typealias Plan = WorldPlan<Self>
  typealias Planned = TimedEvent<EventKind>
  typealias Outcome = RunOutcome<Self>
  typealias Seen = Observation<Self>

  /// The name of the world on the command line.
  static var name: String { get }
  /// The help of the world on the command line: its first line, and paragraphs.
  static var summary: String { get }
  /// Further paragraphs of the help.
  static var details: [String] { get }
  /// The policy of the feature's link.
  static var policy: LinkPolicy { get }
  /// The promises that this feature's checkers check, in the order of tables.
  static var kinds: [Finding.Kind] { get }
  /// The presets from which the feature can draw plans.
  static var presets: [DayPreset] { get }
  /// Returns the hosts of a world with some numbers, phones first. Plans can name no others.
  static func hosts(_ numbers: Numbers) -> [HostKind]

  /// Draws a plan from a preset.
  static func draw(_ preset: DayPreset, _ builder: inout PlanBuilder<Self>)
  /// Plays a plan. Implement this with the concrete world, so that the compiler specializes it.
  ///
  /// - Parameter watch: Receives every observation, with the state of the phone right after it.
  static func play(_ plan: Plan, _ setup: RunSetup<Self>, watch: RunWatch<Self>?) -> Outcome

  // Promises of the link that depend on the feature.
  /// The additional time for which the feature may consider a dead connection alive, where the
  /// feature itself explains the silence.
  static var patience: Duration { get }
  /// Returns whether the feature's state is as the calm phase requires, apart from a connected
  /// link.
  static func isHealed(_ phoneState: PhoneState<Self>) -> Bool
  /// Returns when a `Retry-After` ends that the link itself does not receive.
  static func restsUntil(_ phoneState: PhoneState<Self>) -> Instant?
  /// Describes the work that remains, for findings.
  static func remains(_ phoneState: PhoneState<Self>) -> String
  /// Reports each amount in memory that exceeds its bound.
  static func checkBounds(
    _ phoneState: PhoneState<Self>, _ found: (_ what: String, _ count: Int, _ bound: Int) -> Void)
  /// Passes each text that an effect stores, sends or shows, together with its destination.
  static func expose(_ effect: Effect, _ look: (_ text: String, _ destination: String) -> Void)
  /// Returns whether an effect is frequent and its description may be logged. Every eighth of these
  /// is searched for secrets, which it must not contain.
  static func isLogged(_ effect: Effect) -> Bool

  // The digest: the contents that distinguish values of the same role.
  /// Mixes in the contents that distinguish a value from others of its kind.
  static func mix(_ input: Input, into digest: inout Digest)
  static func mix(_ effect: Effect, into digest: inout Digest)
  static func mix(_ fact: Fact, into digest: inout Digest)

  // Traces.
  /// Describes an input.
  static func describe(_ input: Input) -> TracePart
  /// Returns whether a short trace includes an input with these consequences.
  static func isWorth(_ input: Input, _ consequences: [TracePart]) -> Bool
  /// Describes an effect. Returns `nil` if the trace omits it, or includes it only if verbose.
  static func describe(_ effect: Effect, isVerbose: Bool) -> TracePart?
  /// Describes the status that an effect shows. Repeated descriptions appear once.
  static func statusLabel(_ effect: Effect) -> String?
  static func describe(_ fact: Fact) -> [TracePart]
}

extension SimulatedFeature {
  /// Plays a plan without a watcher.
  public static func play(_ plan: Plan, _ setup: RunSetup<Self> = RunSetup()) -> Outcome {
    play(plan, setup, watch: nil)
  }
}

/// A function that receives every observation of a run and the state of the phone after it.
public typealias RunWatch<Feature: SimulatedFeature> =
  (Observation<Feature>, PhoneState<Feature>) -> Void

/// A quantity that a feature counts in its runs.
public protocol RunCounter: RawRepresentable<String>, CaseIterable, Sendable, Hashable {
  /// The name in tables.
  var label: String { get }
}

/// The list of all worlds, which the command line, `make sim` and `make nightly` iterate over.
public enum Worlds {
  /// The worlds, one line each.
  public static let all: [any SimulatedFeature.Type] = [
    StreamFeature.self, RelayFeature.self, HeldFeature.self, SessionsFeature.self,
    SyncFeature.self, BottleFeature.self,
  ]
}

/// An empty value: the default content of upgrade requests and exchanges.
public struct Nothing: Sendable, Equatable {
  public init() {}
}

// Defaults for the parts that most features share.
extension SimulatedFeature {
  public static var presets: [DayPreset] { DayPreset.allCases }
  public static func hosts(_ numbers: Numbers) -> [HostKind] { [.phone, .backend] }
  public static var patience: Duration { .zero }
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

  // The digest: a description distinguishes values, although it is slow.
  public static func mix(_ input: Input, into digest: inout Digest) { digest.mix("\(input)") }
  public static func mix(_ effect: Effect, into digest: inout Digest) { digest.mix("\(effect)") }
  public static func mix(_ fact: Fact, into digest: inout Digest) { digest.mix("\(fact)") }

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

extension Finding.Kind {
  /// The promises of every link, in the order of tables.
  public static let ofLinks: [Finding.Kind] = [
    .stuck, .storm, .needless, .falselyConnected, .late, .unbounded, .brokenInvariant, .endless,
    .unhealed,
  ]
}
