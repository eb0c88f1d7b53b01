import HoldfastLinkChecks
import HoldfastMessageChecks
import HoldfastMessageStream
import HoldfastWorlds

// These are short names for the world of message streams, which most of these tests use.
typealias Plan = WorldPlan<StreamFeature>
typealias Action = PlannedEvent<StreamEventKind>
typealias Planned = TimedEvent<StreamEventKind>
typealias Facts = PhoneState<StreamFeature>
typealias StreamObservation = Observation<StreamFeature>
typealias Setup = RunSetup<StreamFeature>
typealias Outcome = RunOutcome<StreamFeature>
typealias Counts = RunCounts<StreamCounter>
typealias Summary = RunSummary<StreamFeature>
typealias Case = CorpusCase<StreamFeature>

/// Runs a plan with a client and all checkers.
func play<Client: StreamClient>(
  _ plan: Plan, _ setup: Setup = Setup(), as client: Client.Type,
  watch: RunWatch<StreamFeature>? = nil
) -> Outcome {
  StreamFeature.play(plan, setup, as: client, watch: watch)
}
