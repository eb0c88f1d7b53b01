import HoldfastBottleLink
import HoldfastHealthRelay
import HoldfastHealthSync
import HoldfastHeldSocket
import HoldfastCore
import HoldfastDriver
import HoldfastMessageStream
import HoldfastSession

/// A machine whose journals `holdfast replay` can read.
struct JournaledMachine: Sendable {
  static let all = [
    JournaledMachine(StreamModel.self), JournaledMachine(RelayModel.self),
    JournaledMachine(PullModel.self), JournaledMachine(SocketModel.self),
    JournaledMachine(BottleModel.self), JournaledMachine(SessionModel.self),
    JournaledMachine(SyncModel.self),
  ]

  /// The machine's name in journals.
  let name: String
  /// The names of the module and the type of the machine, which are removed from printed values.
  let qualifiers: [String]
  /// Replays a journal of the machine. Returns the first divergences, at most `limit`.
  let replay: @Sendable (_ path: String, _ limit: Int) throws(JournalError) -> ReplayOutcome

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
