import HoldfastCore
import HoldfastLinkChecks
import HoldfastSessionChecks
import HoldfastTestKit

/// A scenario in which prompts are sent over a session while both ends are killed.
///
/// Each prompt must be answered exactly once.
struct SessionPrompts: DemoScenario {
  let name = "session"
  let needsTraffic = false
  let title = "Prompts in a session, each answered once"
  let troubles = [Trouble.bothKilled]
  let link: DemoLink? = DemoLink(.session, "Session", SessionsFeature.self)

  private static let count = 24
  private static let conversation = "5e551011-0000-4000-8000-000000000001"

  func play(on environment: isolated DemoEnvironment) async throws(DemoFailure) {
    let server = environment.server(of: .session, directory: environment.scratch("session-server"))
    try await server.start()
    environment.atEnd { await server.crash() }
    let app = environment.app(
      .session, at: await server.url,
      ["--key-file", server.directory + "/session-key", "--conversation", Self.conversation]
        + SessionPace.arguments)
    try await app.launch()
    try await environment.wait { $0[.session].ending != nil || $0[.session].status.isConnected }
    environment.say(.app, "opens a session with a server that answers every prompt")
    let prompts = (1...Self.count).map { "question \($0)" }
    for prompt in prompts.prefix(Self.count / 2) { await app.type(prompt) }
    // From this point on, the app must not lose these prompts.
    try await environment.wait { $0.typed.count == Self.count / 2 }
    try await environment.play(
      .bothKilled, of: .session, lasting: .zero, recovered: "is connected, and has every answer,"
    ) { environment throws(DemoFailure) in
      await app.kill()
      await server.crash()
      environment.say(.app, "and its server die, as by kill -9, with prompts on their way")
    } end: { environment throws(DemoFailure) in
      try await server.start()
      try await app.launch()
      for prompt in prompts.dropFirst(Self.count / 2) { await app.type(prompt) }
      return { $0.ended.count == Self.count }
    }
    await app.quit()
    let facts = await environment.scene.facts
    let counts = SessionCounts(facts.prompts, of: prompts)
    environment.say(.app, "has the answers to \(counts.answered) prompts")
    environment.ledger.sections.append(counts.section)
    await server.crash()
  }
}

/// The arguments that shorten the waits of the session.
private enum SessionPace {
  private static let schedule = "100ms*1 max 100ms +-0.0 min 100ms xunlimited"
  static let arguments = [
    "--set", "retry.first=\(schedule)", "--set", "retry.reconnect=\(schedule)", "--set",
    "retry.windows=10/6s", "--set", "retry.serverJitter=100ms",
  ]
}

extension Trouble {
  /// A fault that kills the app and its server while prompts are being processed.
  static let bothKilled = Trouble("bothKilled", "app and server killed") { policy, work in
    .init(noticed: nil, whole: policy.establish.timeout + work)
  }
}

extension Scene.Facts {
  /// The texts of the prompts that the app has stored.
  fileprivate var typed: Set<String> {
    Set(prompts.joined().filter { $0.state == "queued" }.map(\.text))
  }

  /// The texts of the prompts that have ended.
  fileprivate var ended: Set<String> {
    Set(prompts.joined().filter { SessionCounts.ends.contains($0.state) }.map(\.text))
  }
}

/// Counts of prompts, by outcome.
struct SessionCounts: Sendable, Hashable {
  /// The number of prompts that the user typed.
  var asked = 0
  var answered = 0
  /// The number of prompts whose program was killed. Such prompts are reported and not run again.
  var interrupted = 0
  /// The number of prompts that ended in another way or not at all.
  var unanswered = 0
  /// The number of prompts whose end was printed more than once in a single run of the app.
  ///
  /// Repetitions in different runs are not counted. An app that is killed may have printed an end
  /// without recording it, and the next run then prints it again.
  var repeated = 0

  static let ends: Set<String> = ["answered", "failed", "interrupted", "unsure"]

  /// Counts the ends of prompts that the app has printed.
  ///
  /// - Parameter runs: The prompts that each run of the app has printed.
  init(_ runs: [[AppLine.Prompt]], of prompts: [String]) {
    asked = prompts.count
    for prompt in prompts {
      let ends = runs.map { shown in
        shown.filter { $0.text == prompt && Self.ends.contains($0.state) }
      }
      repeated += ends.contains { $0.count > 1 } ? 1 : 0
      switch ends.joined().first?.state {
      case "answered": answered += 1
      case "interrupted": interrupted += 1
      case _: unanswered += 1
      }
    }
  }

  /// The ledger's section about the session.
  var section: LedgerSection {
    LedgerSection(
      "session",
      [
        .init("prompts", key: "asked", asked, isGood: asked > 0),
        .init(
          "answered once", key: "answeredOnce", answered, isGood: answered + interrupted == asked),
        .init("interrupted", interrupted, isGood: true, isRare: true),
        .init("unanswered", unanswered, isGood: unanswered == 0),
        .init("repeated", repeated, isGood: repeated == 0),
      ])
  }
}
