public import LinkCore

/// A feature that is played in seeded worlds: its types, its plans, its checkers and its words.
///
/// A feature plugs in with four parts, in a folder of its own, and one line in `Worlds.all`:
///
/// 1. An enumeration that conforms to this protocol. It names the model under test (`Model`, a
///    `LinkModel` or a `SimulatedModel`), what passes over the network (`Hello`, `Packet`,
///    `Question`, `Reply`), the verbs, numbers and presets of its plans, and its words.
/// 2. A world: an internal structure that conforms to `SimulatedWorld`. It holds the kernel, the
///    models of its phones and the real rules of its servers, and maps what the kernel reports
///    (`boot`, `upgradeArrived`, `arrived`, …) to their inputs, and their effects to what the
///    kernel offers (`dial`, `deliver`, `ask`, `answer`, `write`, `later`, `note`).
/// 3. Checkers of its own promises (`Checkers`). Those of the link come with the kernel.
/// 4. Deliberate defects (`Defect`). Those of a link are made by the kernel: see `LinkDefect`.
///
/// Time, kills, suspension, disks, lines, exchanges, weather, plans, stories, shrinking, corpus and
/// command line are the kernel's. What most features have in common need not be said: see the
/// defaults of this protocol and of `SimulatedWorld`.
public protocol SimulatedFeature: SendableMetatype {
  /// The model whose link is under test.
  associatedtype Model: SimulatedModel
  /// What can happen in plans beside the kernel's `CommonVerb`.
  associatedtype Verb: PlanVerb
  /// What plans fix for a whole run beside the weather.
  associatedtype Numbers: PlanNumbers = NoNumbers
  /// The servers that the feature can be played against; `OneServer` where there is no choice.
  associatedtype Server: ServerChoice = OneServer
  associatedtype Defect: DeliberateDefect where Defect.Server == Server
  /// What a phone says with its upgrade request.
  associatedtype Hello: Sendable = Nothing
  /// A message on a line, in either direction.
  associatedtype Packet: Sendable
  /// A request of an exchange.
  associatedtype Question: Sendable = Nothing
  /// The answer of an exchange.
  associatedtype Reply: Sendable = Nothing
  /// A future event of the feature's own.
  associatedtype Cue: Sendable = Never
  /// Something that happened and that only this feature knows.
  associatedtype Fact: Sendable, Equatable = Never
  /// What the feature's checkers see of a phone beside its link.
  associatedtype State: Sendable
  associatedtype Checkers: FeatureCheckers where Checkers.Feature == Self
  /// What the feature counts beside the kernel's counts.
  associatedtype Tally: RunTally

  typealias Input = Model.Input
  typealias Effect = Model.Effect
  typealias Plan = WorldPlan<Self>
  typealias Planned = PlannedAct<Verb>
  typealias Outcome = RunOutcome<Self>
  typealias Seen = Observation<Self>

  /// The name of the world on the command line.
  static var name: String { get }
  /// What the command line says about the world: a line, and paragraphs.
  static var summary: String { get }
  /// Paragraphs of its help.
  static var details: [String] { get }
  /// The policy of the feature's link.
  static var policy: LinkPolicy { get }
  /// The promises that the checkers of this feature check, in the order of tables.
  static var kinds: [Finding.Kind] { get }
  /// The kinds of days that it can draw.
  static var presets: [DayPreset] { get }
  /// The hosts of a world with these numbers, phones first; plans can name no others.
  static func hosts(_ numbers: Numbers) -> [HostKind]

  /// Draws the plan of a preset.
  static func draw(_ preset: DayPreset, _ sketch: inout Sketch<Self>)
  /// Plays a plan. Implement it with the concrete world, so that the compiler specialises it.
  ///
  /// - Parameter watch: Sees everything that happens, with how things stand right after it.
  static func play(_ plan: Plan, _ setup: RunSetup<Self>, watch: RunWatch<Self>?) -> Outcome

  // Promises of the link that need the feature's knowledge.
  /// How much longer than its policy says the feature may take a dead connection for alive, since
  /// something of its own explains the silence.
  static var patience: Duration { get }
  /// Whether everything is as it must be in calm, beside a connected link.
  static func isHealed(_ standing: Standing<Self>) -> Bool
  /// Until when a server asked the phone to be left alone, beside the wishes that a link hears.
  static func restsUntil(_ standing: Standing<Self>) -> Instant?
  /// What remains to be done, for findings.
  static func remains(_ standing: Standing<Self>) -> String
  /// Reports each amount in memory that is above its bound.
  static func checkBounds(
    _ standing: Standing<Self>, _ found: (_ what: String, _ count: Int, _ bound: Int) -> Void)
  /// Shows each text that an effect writes, sends or shows, with the place where it goes.
  static func expose(_ effect: Effect, _ look: (_ text: String, _ place: String) -> Void)
  /// Whether an effect is of a frequent kind whose description a log could hold: no secret may
  /// stand in it, which is looked at for every eighth of them.
  static func isLogged(_ effect: Effect) -> Bool

  // The tape: what of a value tells runs apart, beside its role.
  /// Mixes what tells a value from others of its kind.
  static func mix(_ input: Input, into digest: inout Digest)
  static func mix(_ effect: Effect, into digest: inout Digest)
  static func mix(_ fact: Fact, into digest: inout Digest)

  // Stories.
  /// What an input is, in words.
  static func words(_ input: Input) -> StoryPart
  /// Whether a short story tells an input that led to these parts.
  static func isWorth(_ input: Input, _ consequences: [StoryPart]) -> Bool
  /// What an effect is, in words; `nil` for what is not told, or only in a verbose story.
  static func words(_ effect: Effect, isVerbose: Bool) -> StoryPart?
  /// The words of a status that an effect shows; repeated ones are told once.
  static func statusWords(_ effect: Effect) -> String?
  static func words(_ fact: Fact) -> [StoryPart]
}

extension SimulatedFeature {
  /// Plays a plan before its checkers.
  public static func play(_ plan: Plan, _ setup: RunSetup<Self> = RunSetup()) -> Outcome {
    play(plan, setup, watch: nil)
  }
}

/// Sees everything that happens in a run.
public typealias RunWatch<Feature: SimulatedFeature> =
  (Observation<Feature>, Standing<Feature>) -> Void

/// What a feature counts in its runs.
public protocol RunTally: RawRepresentable<String>, CaseIterable, Sendable, Hashable {
  /// What tables call it.
  var label: String { get }
}

/// The list of all worlds; the command line, `make sim` and `make nightly` iterate it.
public enum Worlds {
  /// One line for each world.
  public static let all: [any SimulatedFeature.Type] = [
    StreamFeature.self, RelayFeature.self, HeldFeature.self, SessionsFeature.self,
    SyncFeature.self, BottleFeature.self,
  ]
}

/// Nothing: what a phone says with its upgrade request, or asks beside it, by default.
public struct Nothing: Sendable, Equatable {
  public init() {}
}

// What a feature has in common with most others, unless it says otherwise.
extension SimulatedFeature {
  public static var presets: [DayPreset] { DayPreset.allCases }
  public static func hosts(_ numbers: Numbers) -> [HostKind] { [.phone, .backend] }
  public static var patience: Duration { .zero }
  public static func isHealed(_ standing: Standing<Self>) -> Bool { true }
  public static func restsUntil(_ standing: Standing<Self>) -> Instant? { nil }
  public static func remains(_ standing: Standing<Self>) -> String { "" }
  public static func checkBounds(
    _ standing: Standing<Self>, _ found: (_ what: String, _ count: Int, _ bound: Int) -> Void
  ) {}
  public static func expose(_ effect: Effect, _ look: (_ text: String, _ place: String) -> Void) {}
  public static func isLogged(_ effect: Effect) -> Bool { false }

  // The tape: a description tells values apart, if not fast.
  public static func mix(_ input: Input, into digest: inout Digest) { digest.mix("\(input)") }
  public static func mix(_ effect: Effect, into digest: inout Digest) { digest.mix("\(effect)") }
  public static func mix(_ fact: Fact, into digest: inout Digest) { digest.mix("\(fact)") }

  // Stories.
  public static func words(_ input: Input) -> StoryPart { Words.cause(input, of: Model.self) }
  public static func words(_ effect: Effect, isVerbose: Bool) -> StoryPart? {
    Words.effect(effect, of: Model.self, isVerbose: isVerbose)
  }
  public static func words(_ fact: Fact) -> [StoryPart] { [(.server, "\(fact)")] }
  public static func statusWords(_ effect: Effect) -> String? { nil }
  public static func isWorth(_ input: Input, _ consequences: [StoryPart]) -> Bool { true }
}

extension Finding.Kind {
  /// The promises of every link, in the order of tables.
  public static let ofLinks: [Finding.Kind] = [
    .stuck, .storm, .needless, .falselyConnected, .late, .unbounded, .brokenInvariant, .endless,
    .unhealed,
  ]
}
