import HealthRelay
import HeldSocket
import LinkCore
import LinkRuntime
import LinkSimulator
import MessageStream

/// The machines whose journals `holdfast replay` reads: one line each.
enum JournaledMachines {
  static let all: [any ReplayableMachine] = [
    Replayable<StreamModel> { Recorded<StreamFeature>($0) },
    Replayable<RelayModel>(),
    Replayable<PullModel>(),
    Replayable<SocketModel>(),
  ]
}

/// A machine that can be replayed, whatever its inputs and effects are.
protocol ReplayableMachine: Sendable {
  /// The machine's name in journals.
  var name: String { get }

  /// Replays a journal of this machine; keeps the first `limit` divergences.
  func replay(_ path: String, limit: Int) throws(JournalError) -> ReplayOutcome
}

/// The result of a replay, as it is shown.
struct ReplayOutcome {
  /// A step whose effects differ from the recorded ones; texts of its values.
  struct Divergence {
    var path: String
    var line: Int
    var cause: String
    /// From the first effect on that differs; one text for each.
    var expected: [String]
    var got: [String]
  }

  var steps: UInt64
  var diverged: UInt64
  var divergences: [Divergence]
  /// What the machine's checkers found; `nil` if it has none.
  var check: Check?

  struct Check {
    /// The promises that a journal can show to be broken, and those that it cannot.
    var checked, unchecked: [Finding.Kind]
    var findings: [Finding]
  }
}

/// The checkers of recorded runs of one machine.
protocol RunChecker<Model> {
  associatedtype Model: Journaled
  /// The promises that a journal can show to be broken, and those that it cannot.
  static var checked: [Finding.Kind] { get }
  static var unchecked: [Finding.Kind] { get }
  var findings: [Finding] { get }

  /// Takes one step of the run, and the machine after it.
  mutating func see(
    _ input: Model.Input?, at now: Instant, effects: [Model.Effect], then model: Model)

  /// Takes the end of the run.
  mutating func conclude()
}

extension Recorded: RunChecker where Feature.Model: Journaled {
  static var checked: [Finding.Kind] { Feature.checkedInJournals }
  static var unchecked: [Finding.Kind] {
    Feature.kinds.filter { !Feature.checkedInJournals.contains($0) }
  }
}

/// One machine of the list, with the checkers of its recorded runs if there are any.
struct Replayable<M: Journaled>: ReplayableMachine {
  private let checker: (@Sendable (M) -> any RunChecker<M>)?

  init(checker: (@Sendable (M) -> any RunChecker<M>)? = nil) {
    self.checker = checker
  }

  var name: String { M.journalName }

  func replay(_ path: String, limit: Int) throws(JournalError) -> ReplayOutcome {
    var checking: (any RunChecker<M>)?
    let result = try Replay<M>.run(journal: path, limit: limit) {
      checking = checker?($0)
    } watch: { step, machine in
      checking?.see(step.input, at: step.at, effects: step.effects, then: machine)
    }
    checking?.conclude()
    return ReplayOutcome(
      steps: result.steps, diverged: result.diverged,
      divergences: result.divergences.map(Self.texts), check: checking.map { Self.check($0) })
  }

  private static func check(_ checker: some RunChecker<M>) -> ReplayOutcome.Check {
    let kind = type(of: checker)
    return ReplayOutcome.Check(
      checked: kind.checked, unchecked: kind.unchecked, findings: checker.findings)
  }

  private static func texts(_ divergence: Replay<M>.Divergence) -> ReplayOutcome.Divergence {
    let same = zip(divergence.expected, divergence.got).prefix { $0 == $1 }.count
    let cause =
      switch divergence.cause {
      case .tick: "a deadline"
      case .input(let input): String(describing: input)
      }
    return ReplayOutcome.Divergence(
      path: divergence.path, line: divergence.line, cause: cause,
      expected: divergence.expected.dropFirst(same).map { String(describing: $0) },
      got: divergence.got.dropFirst(same).map { String(describing: $0) })
  }
}
