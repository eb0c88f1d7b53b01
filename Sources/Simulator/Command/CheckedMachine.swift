import HoldfastBottleChecks
import HoldfastCore
import HoldfastDriver
import HoldfastHealthRelay
import HoldfastHeldChecks
import HoldfastLinkChecks
import HoldfastMessageChecks
import HoldfastRelayChecks
import HoldfastSessionChecks
import HoldfastSyncChecks
import HoldfastWorlds

/// A machine whose journals `holdfast-sim judge` can check.
struct CheckedMachine: Sendable {
  static let all = [
    CheckedMachine(StreamFeature.self), CheckedMachine(RelayFeature.self),
    CheckedMachine(HeldFeature.self), CheckedMachine(BottleFeature.self),
    CheckedMachine(SessionsFeature.self), CheckedMachine(SyncFeature.self),
  ]

  /// The machine's name in journals.
  let name: String
  /// The kinds of findings that a journal can reveal.
  let checked: [Finding.Kind]
  /// The kinds of findings for which a journal has too little information.
  let unchecked: [Finding.Kind]
  /// Replays a journal of this machine and applies the checkers to it.
  let check: @Sendable (_ path: String) throws(JournalError) -> CheckResult

  private init<Feature: SimulatedFeature & ReplayedFeature>(_: Feature.Type)
  where Feature.Model: Journaled {
    name = Feature.Model.journalName
    checked = Feature.checkedInJournals
    unchecked = Feature.kinds.filter { !Feature.checkedInJournals.contains($0) }
    check = { path throws(JournalError) in
      var recorded: Recorded<Feature>?
      let result = try Replay<Feature.Model>.run(journal: path) {
        recorded = Recorded($0)
      } watch: { step, _, model in
        recorded?.see(step.cause.input, at: step.at, effects: step.effects, then: model)
      }
      recorded?.conclude()
      return CheckResult(
        steps: result.steps, diverged: result.diverged, findings: recorded?.findings ?? [])
    }
  }
}

/// The result of checking one recorded run.
struct CheckResult {
  let steps: UInt64
  /// The number of steps whose effects differ from the recorded effects.
  let diverged: UInt64
  let findings: [Finding]
}
