import HoldfastBottleChecks
import HoldfastBottleLink
import HoldfastCommandKit
import HoldfastCore
import HoldfastDriver
import HoldfastHealthRelay
import HoldfastHealthSync
import HoldfastHeldChecks
import HoldfastHeldSocket
import HoldfastLinkChecks
import HoldfastLinkTrace
import HoldfastMessageChecks
import HoldfastMessageStream
import HoldfastRelayChecks
import HoldfastSession
import HoldfastSessionChecks
import HoldfastSyncChecks

/// A machine whose journals `holdfast replay` can read.
struct JournaledMachine: Sendable {
  static let all = [
    JournaledMachine(of: StreamFeature.self), JournaledMachine(of: RelayFeature.self),
    JournaledMachine(PullModel.self), JournaledMachine(of: HeldFeature.self),
    JournaledMachine(of: BottleFeature.self), JournaledMachine(of: SessionsFeature.self),
    JournaledMachine(of: SyncFeature.self),
  ]

  /// The machine's name in journals.
  let name: String
  /// The names of the module and the type of the machine, which are removed from printed values.
  let qualifiers: [String]
  /// Replays a journal of the machine. Returns the first divergences, at most `limit`.
  let replay: @Sendable (_ path: String, _ limit: Int) throws(JournalError) -> ReplayOutcome
  /// Returns the trace of a journal of the machine. The value is `nil` if the machine has none.
  private(set) var trace:
    (@Sendable (_ path: String, _ name: String) throws(JournalError) -> JournalTrace)?

  private init<Feature: ReplayedFeature & TracedFeature>(of feature: Feature.Type)
  where Feature.Model: Journaled {
    self.init(Feature.Model.self)
    trace = { path, name throws(JournalError) in
      try JournalTrace(Feature.self, journal: path, name: name)
    }
  }

  private init<M: Journaled>(_: M.Type) {
    name = M.journalName
    qualifiers = String(reflecting: M.self).split(separator: ".").map(String.init)
    replay = { path, limit throws(JournalError) in
      ReplayOutcome(try Replay<M>.run(journal: path, limit: limit))
    }
  }
}

/// The result of a replay as text, for any machine.
struct ReplayOutcome {
  /// A step whose effects differ from the recorded effects. Both lists begin at the first
  /// difference.
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

  init<M: Journaled>(_ result: Replay<M>.Result) {
    steps = result.steps
    diverged = result.diverged
    divergences = result.divergences.map {
      let same = zip($0.expected, $0.got).prefix { $0 == $1 }.count
      return Divergence(
        path: $0.path, line: $0.line, cause: $0.cause.input.map { "\($0)" } ?? "a deadline",
        expected: $0.expected.dropFirst(same).map { "\($0)" },
        got: $0.got.dropFirst(same).map { "\($0)" })
    }
  }
}

extension JournaledMachine {
  /// Returns the machine of a journal.
  init(of path: String) throws(JournalError) {
    let name = try JournalFormat.machine(of: path)
    guard let machine = Self.all.first(where: { $0.name == name }) else {
      throw JournalError(path: path, line: 1, .machine(name, known: Self.all.map(\.name)))
    }
    self = machine
  }

  /// Calls a function that reads journals. Its errors become failures of the command.
  static func reading<Value>(
    _ body: () throws(JournalError) -> Value
  ) throws(CommandFailure) -> Value {
    do throws(JournalError) {
      return try body()
    } catch {
      let text = error.description
      throw CommandFailure(.failed, text.count <= 1_000 ? text : text.prefix(1_000) + "…")
    }
  }
}
