import BottleLink
import HealthRelay
import HealthSync
import HeldSocket
import LinkCore
import LinkRuntime
import LinkSimulator
import MessageStream
import Session

/// A machine whose journals `holdfast replay` reads.
struct JournaledMachine: Sendable {
  /// All of them: one line each, with the checker of recorded runs if there is one.
  static let all = [
    JournaledMachine(StreamModel.self) { Recorded<StreamFeature>($0) },
    JournaledMachine(RelayModel.self) { Recorded<RelayFeature>($0) },
    JournaledMachine(PullModel.self),
    JournaledMachine(SocketModel.self) { Recorded<HeldFeature>($0) },
    JournaledMachine(BottleModel.self) { Recorded<BottleFeature>($0) },
    JournaledMachine(SessionModel.self) { Recorded<SessionsFeature>($0) },
    JournaledMachine(SyncModel.self) { Recorded<SyncFeature>($0) },
  ]

  /// The machine's name in journals.
  let name: String
  /// The names of the machine's module and type, which are left out of printed values.
  let qualifiers: [String]
  /// Replays a journal of this machine; keeps so many of the first divergences.
  let replay: @Sendable (_ path: String, _ limit: Int) throws(JournalError) -> ReplayOutcome

  private init<M: Journaled>(
    _: M.Type, checker: (@Sendable (M) -> any RunChecker<M>)? = nil
  ) {
    name = M.journalName
    qualifiers = String(reflecting: M.self).split(separator: ".").map(String.init)
    replay = { path, limit throws(JournalError) in
      var checking: (any RunChecker<M>)?
      let result = try Replay<M>.run(journal: path, limit: limit) {
        checking = checker?($0)
      } watch: { step, machine in
        checking?.see(step.cause.input, at: step.at, effects: step.effects, then: machine)
      }
      checking?.conclude()
      return ReplayOutcome(result, checking)
    }
  }
}

/// A checker of recorded runs of one machine.
protocol RunChecker<Model> {
  associatedtype Model: Journaled
  /// The promises that a journal can show to be broken, and those that it cannot.
  static var checked: [Finding.Kind] { get }
  static var unchecked: [Finding.Kind] { get }
  /// Those that were broken so far.
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

/// The result of a replay as texts, of any machine.
struct ReplayOutcome {
  /// A step whose effects differ from the recorded ones, from the first effect on that differs.
  struct Divergence {
    var path: String
    var line: Int
    var cause: String
    var expected: [String]
    var got: [String]
  }

  let steps: UInt64
  let diverged: UInt64
  let divergences: [Divergence]
  /// The promises that were checked, and those of which a journal shows too little; `nil` if the
  /// machine has no checker.
  let promises: (checked: [Finding.Kind], unchecked: [Finding.Kind])?
  let findings: [Finding]

  init<M: Journaled>(_ result: Replay<M>.Result, _ checker: (any RunChecker<M>)?) {
    steps = result.steps
    diverged = result.diverged
    promises = checker.map { (type(of: $0).checked, type(of: $0).unchecked) }
    findings = checker?.findings ?? []
    divergences = result.divergences.map {
      let same = zip($0.expected, $0.got).prefix { $0 == $1 }.count
      return Divergence(
        path: $0.path, line: $0.line, cause: $0.cause.input.map { "\($0)" } ?? "a deadline",
        expected: $0.expected.dropFirst(same).map { "\($0)" },
        got: $0.got.dropFirst(same).map { "\($0)" })
    }
  }
}
