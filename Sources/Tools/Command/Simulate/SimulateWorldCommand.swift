import CommandKit
import HoldfastTestKit
import LinkCore
import LinkSimulator
import Synchronization

/// `holdfast simulate WORLD`: one declaration for every world.
enum SimulateWorldCommand<Feature: SimulatedFeature> {
  private typealias Asked = SimulateParameters

  static var command: Command {
    let server = SimulateParameters.server(Feature.Server.self)
    return Feature.Server.isChoice ? command(server) : command()
  }

  private static func command<each Value>(_ more: repeat Parameter<each Value>) -> Command {
    Command(
      Feature.name, Feature.summary, details: details, examples: examples,
      takes: repeat each more, Asked.preset(Feature.presets), Asked.seeds,
      Asked.policy(Feature.policy), Shared.settings, Asked.defect(Feature.Defect.self),
      Asked.jobs, Asked.runLimit, Asked.part, Asked.trace, Asked.isVerbose, Asked.shrink,
      Asked.corpus, Asked.plan, Shared.json, action: run)
  }

  private static var details: [String] {
    Feature.details + [
      """
      Ends with 0 when nothing was found. With --json each failure is one object (event \
      "failure", seed, \(Feature.Server.isChoice ? "server, " : "")findings, replay), and the last \
      line is event "summary".
      """
    ]
  }

  private static var examples: [Command.Example] {
    let line = "holdfast simulate \(Feature.name)"
    let choice = Feature.Server.isChoice ? " --server \(Feature.Server.usual.rawValue)" : ""
    let defect = Feature.Defect.allCases.first?.rawValue ?? "all"
    return [
      .init("\(line) --seeds 1..10000", "10,000 seeds"),
      .init("\(line) --seeds 7\(choice) --trace", "what happened in seed 7"),
      .init("\(line) --break all", "proves that the checkers can see"),
      .init("\(line) --break \(defect) --shrink", "the smallest world in which a defect shows"),
      .init(
        "\(line) --policy mine.json --set liveness.silence=20s",
        "the same worlds with other numbers"),
    ]
  }

  static func run(_ call: Invocation) async throws(CommandFailure) {
    let request = try SimulateRequest<Feature>(call)
    try await SimulateCommands.untilStopped(request.watchdog) { () async throws(CommandFailure) in
      try await work(request, call)
    }
  }

  private static func work(
    _ request: SimulateRequest<Feature>, _ call: Invocation
  ) async throws(CommandFailure) {
    if call[Asked.defect(Feature.Defect.self)] == .all {
      return try await SimulateBreaks(call: call, request: request).run()
    }
    if call[Asked.trace] {
      let plan = try request.onePlan(for: "--trace")
      return try SimulateCommands.conclude(
        request.watched(plan) {
          SimulateStory(call: call, setup: request.simulation.setup).tell(plan).findings.count
        })
    }
    let summary = await play(request, call)
    if call[Asked.shrink], let first = summary.failures.first {
      try await SimulateShrink(call: call, request: request).run(first)
    }
    try SimulateCommands.conclude(summary.findings)
  }

  /// Plays until a run fails as it should: the summary of that one, or of all if none does.
  private static func firstFailure(
    of request: SimulateRequest<Feature>, _ progress: SimulateProgress
  ) async -> RunSummary<Feature> {
    let kinds = request.simulation.setup.defect?.kinds ?? Feature.kinds
    let played = Mutex(RunSummary<Feature>())
    let failure = await request.simulation.firstFailure(seeds: request.seeds) { outcome in
      played.withLock { $0.add(outcome) }
      progress.add(outcome.findings.count)
      return outcome.kinds.contains(where: kinds.contains)
    }
    guard let failure else { return played.withLock { $0 } }
    var summary = RunSummary<Feature>()
    summary.add(failure)
    return summary
  }

  /// Plays everything and prints the result.
  private static func play(
    _ request: SimulateRequest<Feature>, _ call: Invocation
  ) async -> RunSummary<Feature> {
    let progress = SimulateProgress(total: request.runs, isWanted: !call[Shared.json])
    let simulation = request.simulation
    var summary = RunSummary<Feature>()
    if let plan = request.only {
      summary.add(simulation.player(plan, simulation.setup))
    } else if call[Asked.shrink] {
      summary = await firstFailure(of: request, progress)
    } else {
      summary = await simulation.run(seeds: request.seeds) { progress.add($0.findings.count) }
    }
    progress.end()
    let text = SimulateText(
      request: request, summary: summary, elapsed: progress.elapsed, isStopped: Task.isCancelled)
    guard !call[Shared.json] else {
      text.write(to: call.console)
      return summary
    }
    let style = call.console.style
    if !call[Asked.shrink] || summary.isClean {
      for line in text.lines(style) { call.console.line(line) }
      if !summary.isClean { call.console.line("") }
    }
    for line in text.failureLines(style) { call.console.line(line) }
    return summary
  }
}
