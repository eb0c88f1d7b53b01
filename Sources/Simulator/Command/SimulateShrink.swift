import HoldfastCommandKit
import HoldfastCore
import HoldfastJSON
import HoldfastLinkChecks
import HoldfastLinkTrace
import HoldfastSimulator
import HoldfastWorlds

/// The option `--shrink`: finds, prints and writes the smallest plan that fails in the same way.
struct SimulateShrink<Feature: SimulatedFeature & TracedFeature> {
  let call: Invocation
  let request: SimulateRequest<Feature>

  private var setup: RunSetup<Feature> { request.simulation.setup }

  /// Shrinks the plan of a failed run, prints the trace of the result, and writes the plan and a
  /// page of its run to files.
  @concurrent func run(_ outcome: RunOutcome<Feature>) async throws(CommandFailure) {
    let wanted = outcome.kinds.first { setup.defect?.kinds.contains($0) ?? true }
    guard let kind = wanted ?? outcome.kinds.first else { return }
    let plan = request.plan(outcome.seed, outcome.server)
    let smallest = Shrink<Feature>.shrunk(
      plan, setup, keeping: kind, isCancelled: { Task.isCancelled },
      play: request.simulation.player)
    let outcome = request.watched(smallest) {
      SimulateTrace(call: call, request: request).play(smallest)
    }
    let path = call[SimulateParameters.corpus] ?? name(of: outcome, kind)
    let policy = setup.policy == Feature.policy ? nil : setup.policy
    let corpusCase = CorpusCase<Feature>(
      name: title(of: outcome), plan: smallest, policy: policy, defect: setup.defect,
      expected: outcome.kinds, found: outcome.findings.map { "\($0.kind.rawValue): \($0.detail)" })
    try PlanFile<Feature>.write(corpusCase, to: path)
    var picture = SimulatePicture(call: call, request: request)
    picture.page = picture.page ?? SimulatePicture<Feature>.page(beside: path)
    try picture.draw(smallest)
    request.watch.output.put { report(path, from: plan, to: smallest) }
  }

  private func name(of outcome: RunOutcome<Feature>, _ kind: Finding.Kind) -> String {
    let middle = Feature.Server.isChoice ? outcome.server.rawValue : Feature.name
    return "\(setup.defect?.rawValue ?? kind.rawValue)-\(middle)-\(outcome.seed).json"
  }

  private func title(of outcome: RunOutcome<Feature>) -> String {
    let kinds = outcome.kinds.map(\.rawValue).joined(separator: ", ")
    let cause = setup.defect.map { "\($0.rawValue): " } ?? ""
    return "\(cause)\(kinds) (seed \(outcome.seed))"
  }

  private func report(_ path: String, from old: WorldPlan<Feature>, to new: WorldPlan<Feature>) {
    guard call[Shared.json] else {
      return call.console.line(
        "\(old.events.count) actions in \(old.length.rounded.text) became "
          + "\(new.events.count) in \(new.length.rounded.text); the plan is in \(path)")
    }
    call.console.object { writer in
      writer.key("event")
      writer.string("shrunk")
      writer.key("actions")
      writer.int(new.events.count)
      writer.key("before")
      writer.int(old.events.count)
      writer.key("path")
      writer.string(path)
    }
  }
}

extension Duration {
  /// The duration, rounded down to whole seconds.
  fileprivate var rounded: Duration { .seconds(components.seconds) }
}
