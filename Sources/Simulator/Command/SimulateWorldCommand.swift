import HoldfastCommandKit
import HoldfastCore
import HoldfastLinkChecks
import HoldfastLinkTrace
import HoldfastSimulator
import HoldfastWorlds
import Synchronization

/// The command `holdfast-sim simulate WORLD`, declared once for every world.
enum SimulateWorldCommand<Feature: SimulatedFeature & TracedFeature> {
  private typealias Options = SimulateParameters

  static var command: Command {
    let server = SimulateParameters.server(Feature.Server.self)
    return Feature.Server.isChoice ? command(server) : command()
  }

  private static func command<each Value>(_ more: repeat Parameter<each Value>) -> Command {
    Command(
      Feature.name, Feature.summary, details: details, examples: examples,
      takes: repeat each more, Options.preset(Feature.presets), Options.seeds,
      Options.policy(Feature.policy), Shared.settings, Options.defect(Feature.Defect.self),
      Options.jobs, Options.runLimit, Options.trace, Options.isVerbose, Options.shrink,
      Options.corpus, Options.html, Options.traceFile, Options.plan, Shared.json, action: run)
  }

  private static var details: [String] {
    Feature.details + [
      """
      Exits with 0 if nothing was found, even if a plan expects findings; missing ones are \
      reported. With --json each failure is one object (event "failure", seed, \
      \(Feature.Server.isChoice ? "server, " : "")findings, replay), and event "summary" follows, \
      for a plan with the missing findings. A trace is events "line" and "end"; --trace prints \
      nothing else, and --shrink prints one after the summary if a run failed, then event "shrunk".
      """,
      """
      The page of --html is one file that loads nothing. It shows the link of each phone on one \
      time axis: the faults, when the server ran, what it accepted, why the link dropped and what \
      came late. It opens at the first finding. --shrink writes such a page beside the plan. Each \
      file is named when it is written, with --json as event "drawn" with file.
      """,
    ]
  }

  private static var examples: [Command.Example] {
    let line = "holdfast-sim simulate \(Feature.name)"
    let choice = Feature.Server.isChoice ? " --server \(Feature.Server.usual.rawValue)" : ""
    let defect = Feature.Defect.allCases.first?.rawValue ?? "all"
    return [
      .init("\(line) --seeds 1..10000", "10,000 seeds"),
      .init("\(line) --seeds 7\(choice) --trace", "what happened in seed 7"),
      .init("\(line) --seeds 7\(choice) --html run.html", "a page that shows seed 7"),
      .init("\(line) --break all", "checks that each defect is caught"),
      .init("\(line) --break \(defect) --shrink", "the smallest plan in which a defect shows"),
      .init(
        "\(line) --policy mine.json --set retry.stability=20s",
        "the same worlds with other numbers"),
    ]
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    let watch = SimulateWatch(call)
    let request = try SimulateRequest<Feature>(call, watch)
    try await watch.untilStopped { () async throws(CommandFailure) in
      try await work(request, call)
    }
  }

  /// Runs the command. A signal cancels the calling task.
  ///
  /// - Parameter isOfAll: Whether the call plays all worlds.
  static func work(
    _ request: SimulateRequest<Feature>, _ call: Invocation, isOfAll: Bool = false
  ) async throws(CommandFailure) {
    if call[Options.defect(Feature.Defect.self)] == .all {
      return try await SimulateBreaks(call: call, request: request).run()
    }
    if call[Options.shrink] {
      try TextFile.mustBeWritable(call[Options.corpus] ?? SimulateParameters.usualCorpus)
    }
    let picture = SimulatePicture(call: call, request: request, isOfAll: isOfAll)
    try picture.check(corpus: call[Options.shrink] ? call[Options.corpus] : nil)
    if call[Options.trace] {
      let plan = try request.onePlan(for: "--trace")
      let found = request.watched(plan) {
        SimulateTrace(call: call, request: request).play(plan).findings.count
      }
      try picture.draw(plan)
      return try SimulateCommands.conclude(found)
    }
    let (summary, failure) = await play(request, call)
    if !call[Options.shrink] { try picture.draw(summary) }
    if let failure {
      do throws(CommandFailure) {
        try await SimulateShrink(call: call, request: request).run(failure)
      } catch {
        let found = SimulateCommands.counted(summary.findings)
        throw CommandFailure(error.code, "\(found); \(error.cause)", remedy: error.remedy)
      }
    }
    try SimulateCommands.conclude(summary.findings)
  }

  /// Plays all runs and prints the result.
  ///
  /// - Returns: The summary. If a plan is to be shrunk, the result also contains the first run that
  ///   failed as expected or, if there is none, the first failed run.
  private static func play(
    _ request: SimulateRequest<Feature>, _ call: Invocation
  ) async -> (summary: RunSummary<Feature>, toShrink: RunOutcome<Feature>?) {
    let (simulation, output) = (request.simulation, request.watch.output)
    let shrinks = call[Options.shrink]
    let results = results(of: request, shrinks: shrinks)
    let progress = SimulateProgress(total: request.runs, isWanted: !call[Shared.json])
    let show = { @Sendable (isStopped: Bool) in
      SimulateText(
        request: request, summary: results.summary, elapsed: progress.elapsed, isStopped: isStopped
      ).show(call)
    }
    output.begin {
      progress.abandon()
      show(true)
    }
    let take = { @Sendable (outcome: RunOutcome<Feature>) in
      progress.add(outcome.findings.count)
      return results.add(outcome)
    }
    var failure: RunOutcome<Feature>?
    if let plan = request.only {
      _ = take(simulation.player(plan, simulation.setup))
    } else {
      failure = await simulation.firstFailure(seeds: request.seeds, where: take)
    }
    let isStopped = Task.isCancelled
    // This comes before `conclude`, because `conclude` may block and a second signal then has to
    // wait.
    if isStopped { progress.abandon() } else { progress.end() }
    output.conclude { show(isStopped) }
    let summary = results.summary
    return (summary, shrinks ? failure ?? summary.failures.first : nil)
  }

  /// Creates the object that collects the results.
  ///
  /// If a plan is to be shrunk, the first run that fails as expected is the last one that counts.
  private static func results(
    of request: SimulateRequest<Feature>, shrinks: Bool
  ) -> SimulateResults<Feature> {
    let kinds = request.simulation.setup.defect?.kinds ?? Feature.kinds
    let fails = { @Sendable (outcome: RunOutcome<Feature>) in
      outcome.kinds.contains(where: kinds.contains)
    }
    return SimulateResults(of: request, until: shrinks ? fails : nil)
  }
}
