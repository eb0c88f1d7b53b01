import HoldfastCore
import HoldfastDriver
import HoldfastLinkChecks
import HoldfastLinkTrace

/// The trace of a journal, with the findings of the checkers that a journal allows.
struct JournalTrace {
  var header: TraceHeader
  var facts: [TraceFact]

  /// Replays a journal and writes its trace.
  ///
  /// - Parameter name: The name of the link, unless the journal contains one.
  /// - Throws: An error if the journal cannot be read.
  init<Feature: ReplayedFeature & TracedFeature>(
    _ feature: Feature.Type, journal path: String, name: String
  ) throws(JournalError) where Feature.Model: Journaled {
    let begin = try JournalReader<Feature.Model>(path: path).header.startedAt
    let shared = SharedTeller<Feature>()
    var recorded: Recorded<Feature>?
    var (policy, own) = (LinkPolicy?.none, String?.none)
    _ = try Replay<Feature.Model>.run(journal: path) { model in
      (policy, own) = (model.policy, Feature.linkName(of: model))
      recorded = Recorded(model) { shared.see($0, $1) }
    } watch: { step, line, model in
      shared.line = line
      if shared.teller == nil {
        shared.teller = LinkTeller(start: step.at, startedAt: begin)
      }
      recorded?.see(step.cause.input, at: step.at, effects: step.effects, then: model)
    } notes: { note, line in
      shared.teller?.see(note.note, of: note.attempt, at: note.at, line: line)
    }
    recorded?.conclude()
    for finding in recorded?.findings ?? [] { shared.teller?.add(finding) }
    facts = shared.teller?.finished() ?? []
    header = TraceHeader(
      .journal, machine: Feature.Model.journalName, name: own ?? name, startedAt: begin,
      end: facts.last.map { max($0.at, $0.until ?? .zero) } ?? .zero,
      policy: policy ?? Feature.policy)
  }

  /// The trace as JSON Lines.
  var text: [UInt8] { TraceWriter.text(header, facts) }
}

/// The teller of a journal, which the closures of a replay share.
private final class SharedTeller<Feature: TracedFeature> {
  var teller: LinkTeller<Feature>?
  var line = 1

  func see(_ seen: Observation<Feature>, _ state: PhoneState<Feature>) {
    teller?.see(seen, state, line: line)
  }
}
