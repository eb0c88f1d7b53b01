public import HoldfastCore

/// A feature that the simulator runs in seeded worlds: its types, plans, checkers and texts.
///
/// A feature consists of one line in `Worlds.all` and four parts in its own folder:
///
/// 1. An enumeration that conforms to this protocol. It names the model under test (`Model`, a
///    `LinkModel` or a `SimulatedModel`), the types that pass over the network (`Hello`, `Packet`,
///    `Question`, `Reply`), the event kinds, numbers and presets of its plans, and its texts.
/// 2. A world: an internal structure that conforms to `SimulatedWorld`. It holds the kernel, the
///    models of its phones and the actual rules of its servers. It translates the kernel's reports
///    (`boot`, `upgradeArrived`, `arrived`, …) into inputs of models and servers, and their effects
///    into the kernel's operations (`dial`, `deliver`, `ask`, `answer`, `write`, `later`, `note`).
/// 3. Checkers for the feature's own guarantees (`Checkers`). The kernel provides the checkers for
///    a link's guarantees.
/// 4. Deliberate defects (`Defect`). The kernel provides the defects of a link; see `LinkDefect`.
///
/// The kernel provides time, kills, suspension, disks, lines, exchanges, network conditions, plans,
/// traces, shrinking, the corpus and the command line. This protocol and `SimulatedWorld` have
/// defaults for the parts that most features share.
public protocol SimulatedFeature: SendableMetatype {
  /// The model whose link is under test.
  associatedtype Model: SimulatedModel
  /// The kinds of planned events, in addition to the kernel's `CommonEventKind`.
  associatedtype EventKind: PlanEventKind
  /// The numbers that a plan fixes for a whole run, in addition to the network conditions.
  associatedtype Numbers: PlanNumbers = NoNumbers
  /// The servers that the feature can be tested against; `OneServer` if there is only one.
  associatedtype Server: ServerChoice = OneServer
  associatedtype Defect: DeliberateDefect where Defect.Server == Server
  /// The content of a phone's upgrade request.
  associatedtype Hello: Sendable = Nothing
  /// A message on a line, in either direction.
  associatedtype Packet: Sendable
  /// A request to a server.
  associatedtype Question: Sendable = Nothing
  /// A response to a request.
  associatedtype Reply: Sendable = Nothing
  /// A kind of scheduled event that is specific to this feature.
  associatedtype ScheduledEvent: Sendable = Never
  /// A kind of observable fact that is specific to this feature.
  associatedtype Fact: Sendable, Equatable = Never
  /// The feature's part of a phone's state. The checkers use it in addition to the link's state.
  associatedtype State: Sendable
  associatedtype Checkers: FeatureCheckers where Checkers.Feature == Self
  /// The feature's counters, in addition to the kernel's.
  associatedtype Counter: RunCounter

  typealias Input = Model.Input
  typealias Effect = Model.Effect
  typealias Plan = WorldPlan<Self>
  typealias Planned = TimedEvent<EventKind>
  typealias Outcome = RunOutcome<Self>
  typealias Seen = Observation<Self>

  /// The name of the world on the command line.
  static var name: String { get }
  /// The help text of the world on the command line: a first line, then paragraphs.
  static var summary: String { get }
  /// Additional paragraphs of the help text.
  static var details: [String] { get }
  /// The policy of the feature's link.
  static var policy: LinkPolicy { get }
  /// The guarantees that this feature's checkers check, in the order in which tables list them.
  static var kinds: [Finding.Kind] { get }
  /// The presets from which the feature can draw plans.
  static var presets: [DayPreset] { get }
  /// Returns the hosts of a world with the given numbers, phones first. Plans can name only these
  /// hosts.
  static func hosts(_ numbers: Numbers) -> [HostKind]

  /// Draws a plan from a preset.
  static func draw(_ preset: DayPreset, _ builder: inout PlanBuilder<Self>)
  /// Runs a plan. Implement this method with the concrete world type, so that the compiler
  /// specializes it.
  ///
  /// - Parameter watch: Receives every observation, with the state of the phone right after it.
  static func play(_ plan: Plan, _ setup: RunSetup<Self>, watch: RunWatch<Self>?) -> Outcome

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

  // The digest: the contents that distinguish values with the same role.
  /// Mixes in the contents that distinguish an input from other inputs of the same kind.
  static func mix(_ input: Input, into digest: inout Digest)
  static func mix(_ effect: Effect, into digest: inout Digest)
  static func mix(_ fact: Fact, into digest: inout Digest)

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

extension SimulatedFeature {
  /// Runs a plan without a watcher.
  public static func play(_ plan: Plan, _ setup: RunSetup<Self> = RunSetup()) -> Outcome {
    play(plan, setup, watch: nil)
  }
}

/// A function that receives every observation of a run, with the state of the phone right after it.
public typealias RunWatch<Feature: SimulatedFeature> =
  (Observation<Feature>, PhoneState<Feature>) -> Void

/// A quantity that a feature counts in its runs.
public protocol RunCounter: RawRepresentable<String>, CaseIterable, Sendable, Hashable {
  /// The name shown in tables.
  var label: String { get }
}

/// The list of all worlds. The command line, `make sim` and `make nightly` iterate over it.
public enum Worlds {
  /// The worlds, one line each.
  public static let all: [any SimulatedFeature.Type] = [
    StreamFeature.self, RelayFeature.self, HeldFeature.self, SessionsFeature.self,
    SyncFeature.self, BottleFeature.self,
  ]
}

/// An empty value. It is the default content of upgrade requests and exchanges.
public struct Nothing: Sendable, Equatable {
  public init() {}
}

// Defaults for the parts that most features share.
extension SimulatedFeature {
  public static var presets: [DayPreset] { DayPreset.allCases }
  public static func hosts(_ numbers: Numbers) -> [HostKind] { [.phone, .backend] }
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

  // By default, the description of a value is mixed in. It distinguishes values, but it is slow.
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
  /// The guarantees of every link, in the order in which tables list them.
  public static let ofLinks: [Finding.Kind] = [
    .stuck, .storm, .needless, .falselyConnected, .late, .unbounded, .brokenInvariant, .endless,
    .unhealed,
  ]
}
