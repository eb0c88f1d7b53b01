import CommandKit
import HoldfastTestKit
import LinkCore
import LinkSimulator
import MessageStream

/// `holdfast simulate message-stream`: many lives of one phone, before all judges.
enum SimulateStreamCommand {
  private typealias Asked = SimulateParameters

  static var command: Command {
    Command(
      "message-stream", "play many lives of a phone in a shop, before all judges",
      details: [
        """
        Each seed draws at least an hour of trouble for a phone, its network and a server: the \
        real client and the real server's rules in a world without a clock. Judges watch each \
        promise: nothing lost, twice or out of order, something always outstanding, no storm, no \
        false "connected". Then calm begins, and everything must become whole in a stated time.
        """,
        """
        Ends with 0 when nothing was found. With --json each failure is one object (event \
        "failure", seed, server, findings, replay), and the last line is event "summary".
        """,
      ],
      examples: [
        .init("holdfast simulate message-stream --seeds 1..10000", "10,000 seeds, both servers"),
        .init(
          "holdfast simulate message-stream --seeds 7 --server plain --trace",
          "what happened to the phone of seed 7"),
        .init("holdfast simulate message-stream --break all", "proves that the judges can see"),
        .init(
          "holdfast simulate message-stream --break noOverlap --shrink",
          "the smallest world in which a defect shows"),
        .init(
          "holdfast simulate message-stream --policy mine.json --set liveness.silence=20s",
          "the same worlds with other numbers"),
      ],
      takes: Asked.server, Asked.preset, Asked.seeds, Asked.policy, Shared.settings, Asked.defect,
      Asked.jobs, Asked.trace, Asked.isVerbose, Asked.shrink, Asked.corpus, Asked.plan,
      Shared.json, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    let request = try SimulateRequest(call)
    try await SimulateCommands.untilStopped { () async throws(CommandFailure) in
      try await work(request, call)
    }
  }

  private static func work(
    _ request: SimulateRequest, _ call: Invocation
  ) async throws(CommandFailure) {
    if call[Asked.defect] == .all {
      return try await SimulateBreaks(call: call, request: request).run()
    }
    if call[Asked.trace] {
      let plan = try request.onePlan(for: "--trace")
      return try SimulateCommands.judge(
        SimulateStory(call: call, setup: request.simulation.setup).tell(plan).findings.count)
    }
    let summary = await play(request, call)
    if call[Asked.shrink], let first = summary.failures.first {
      try await SimulateShrink(call: call, request: request).run(first)
    }
    try SimulateCommands.judge(Finding.Kind.allCases.map { summary[$0] }.reduce(0, +))
    if Task.isCancelled { throw SimulateCommands.stopped }
  }

  /// Plays everything and prints what came of it.
  private static func play(_ request: SimulateRequest, _ call: Invocation) async -> Summary {
    let progress = SimulateProgress(total: request.runs, isWanted: !call[Shared.json])
    var summary = Summary()
    if let plan = request.only {
      summary.add(
        LinkSimulator.play(plan, request.simulation.setup, as: StreamModel.self))
    } else if call[Asked.shrink] {
      let kinds = request.simulation.setup.defect?.kinds ?? Finding.Kind.allCases
      let failure = await request.simulation.firstFailure(
        of: StreamModel.self, seeds: request.seeds
      ) { $0.kinds.contains(where: kinds.contains) }
      if let failure { summary.add(failure) }
    } else {
      summary = await request.simulation.run(StreamModel.self, seeds: request.seeds) {
        progress.add($0)
      }
    }
    progress.end()
    let text = SimulateText(request: request, summary: summary, elapsed: progress.elapsed)
    guard !call[Shared.json] else {
      text.write(to: call.console)
      return summary
    }
    let style = call.console.style
    if !call[Asked.shrink] {
      for line in text.lines(style) { call.console.line(line) }
      if !summary.isClean { call.console.line("") }
    }
    for line in text.failureLines(style) { call.console.line(line) }
    return summary
  }
}
