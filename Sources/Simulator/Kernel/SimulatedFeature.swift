import HoldfastCore
public import HoldfastLinkChecks

/// A feature that the simulator runs in seeded worlds: its plans, traffic, checkers and defects.
///
/// A feature consists of one line in `Worlds.all`, and of these parts, each in its own folder:
///
/// 1. An enumeration that conforms to `ObservedFeature`, in `Sources/Base/LinkChecks`. It names the model
///    under test, its texts, and the checkers that need no more than a journal contains.
/// 2. A conformance of the enumeration to this protocol. It names the types that pass over the
///    network (`Hello`, `Packet`, `Question`, `Reply`), and the event kinds, numbers and presets of
///    its plans.
/// 3. A world: an internal structure that conforms to `SimulatedWorld`. It holds the kernel, the
///    models of its phones and the actual rules of its servers. It translates the kernel's reports
///    (`boot`, `upgradeArrived`, `arrived`, …) into inputs of models and servers, and their effects
///    into the kernel's operations (`dial`, `deliver`, `ask`, `answer`, `write`, `later`, `note`).
/// 4. Checkers of the feature's other guarantees (`WorldCheckers`).
/// 5. Deliberate defects (`Defect`). The kernel provides the defects of a link; see `LinkDefect`.
///
/// The kernel provides time, kills, suspension, disks, lines, exchanges, network conditions, plans,
/// traces, shrinking, the corpus and the command line. This protocol and `SimulatedWorld` have
/// defaults for the parts that most features share.
public protocol SimulatedFeature: ObservedFeature where Model: SimulatedModel {
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
  /// The checkers of the feature's own guarantees that need to know the world around the phone.
  associatedtype WorldCheckers: FeatureCheckers = NoCheckers<Self>
  where WorldCheckers.Feature == Self
  /// The feature's counters, in addition to the kernel's.
  associatedtype Counter: RunCounter

  typealias Plan = WorldPlan<Self>
  typealias Planned = TimedEvent<EventKind>
  typealias Outcome = RunOutcome<Self>

  /// The help text of the world on the command line: a first line, then paragraphs.
  static var summary: String { get }
  /// Additional paragraphs of the help text.
  static var details: [String] { get }
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

  // The digest: the contents that distinguish values with the same role.
  /// Mixes in the contents that distinguish an input from other inputs of the same kind.
  static func mix(_ input: Input, into digest: inout Digest)
  static func mix(_ effect: Effect, into digest: inout Digest)
  static func mix(_ fact: Fact, into digest: inout Digest)
}

extension SimulatedFeature {
  /// Runs a plan without a watcher.
  public static func play(_ plan: Plan, _ setup: RunSetup<Self> = RunSetup()) -> Outcome {
    play(plan, setup, watch: nil)
  }
}

/// A quantity that a feature counts in its runs.
public protocol RunCounter: RawRepresentable<String>, CaseIterable, Sendable, Hashable {
  /// The name shown in tables.
  var label: String { get }
}

/// An empty value. It is the default content of upgrade requests and exchanges.
public struct Nothing: Sendable, Equatable {
  public init() {}
}

// Defaults for the parts that most features share.
extension SimulatedFeature {
  public static var presets: [DayPreset] { DayPreset.allCases }
  public static func hosts(_ numbers: Numbers) -> [HostKind] { [.phone, .backend] }

  // By default, the description of a value is mixed in. It distinguishes values, but it is slow.
  public static func mix(_ input: Input, into digest: inout Digest) { digest.mix("\(input)") }
  public static func mix(_ effect: Effect, into digest: inout Digest) { digest.mix("\(effect)") }
  public static func mix(_ fact: Fact, into digest: inout Digest) { digest.mix("\(fact)") }
}

extension Finding.Kind {
  /// The guarantees of every link, in the order in which tables list them.
  public static let ofLinks: [Finding.Kind] = [
    .stuck, .storm, .needless, .falselyConnected, .late, .unbounded, .brokenInvariant, .endless,
    .unhealed,
  ]
}
