import HoldfastCommandKit
import HoldfastCore
import HoldfastDemo
import HoldfastJSON

/// The command `holdfast demo`: demonstrates a link that survives faults.
enum DemoCommand {
  private static let seed = Parameter.optional(
    "seed", .integer("N", 0...Int.max), usual: "1", "the seed of what the customers write")

  private static let chapters = Parameter.repeated(
    "chapter", .choice("NAME", of: Demo.names + ClusterDemo.names),
    "play this chapter, and what it needs; several times for more; all without it")

  private static let html = Parameter.optional(
    "html", .text("FILE"), "write a page that shows what happened to each link, on one time axis")

  private static let work = Parameter.optional(
    "work", .duration(.milliseconds(1) ... .seconds(3_600)), usual: "2s",
    "the time that this machine may need for each fault, beyond what the policies set")

  private static let web = Parameter.flag(
    "web", "show chapters on the page of `holdfast lab`, which presses its own buttons")

  private static let cluster = Parameter.flag(
    "cluster", "kill each part of three nodes over PostgreSQL behind haproxy instead")

  static var command: Command {
    Command(
      "demo", "show on this machine that a link survives faults, in less than a minute",
      details: [
        """
        Runs the backend, a proxy that injects network faults and a phone, which is a process of \
        its own, on real sockets. In the last chapters an assistant asks the phone over MCP while \
        the link is cut, and an app holds a WebSocket to a server that knows nothing of Holdfast. \
        It ends with a ledger; the exit status is 0 only if the ledger is clean.
        """,
        """
        With --html, the page is one file that loads nothing: the chapters' faults, when the servers \
        ran, what each link did and why, and which message came late. With --json, event "drawn" \
        with file follows the ledger.
        """,
        """
        With --web, the address of a page is printed, and nothing else is: its chapters press the \
        buttons of `holdfast lab` for about three minutes. You may press them too. Ctrl-C ends it.
        """,
        "The chapters: " + list(Demo.names, Demo.titles),
        """
        With --cluster, three nodes, a PostgreSQL primary with a synchronous standby, three servers \
        of NATS and haproxy run on this machine for about a minute, and phones follow a shop while \
        each is killed. Needs the packages postgresql and haproxy. Without the package nats-server, \
        the database carries the reports between nodes. Its chapters:
        """ + " " + list(ClusterDemo.names, ClusterDemo.titles),
      ],
      examples: [
        .init("holdfast demo", "watch it"),
        .init("holdfast demo --chapter feed", "play one chapter"),
        .init("holdfast demo --html demo.html", "also writes a picture of it"),
        .init("holdfast demo --web", "watch it in a browser, as it happens"),
        .init("holdfast demo --cluster", "watch several nodes"),
        .init("holdfast demo --json", "the same as data, which ends with the ledger"),
      ],
      takes: chapters, seed, work, html, web, cluster, Shared.json, action: run)
  }

  private static func list(_ names: [String], _ titles: [String]) -> String {
    zip(names, titles).map { "\($0) (\($1))" }.joined(separator: "; ") + "."
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    try check(call)
    guard !call[web] else {
      let lab = LabCommand.Choice(features: Lab.names, playsChapters: true)
      return try await LabCommand.show(lab, call)
    }
    let page = call[html].map { PrivateOutput($0, option: "--html") }
    try page?.check()
    let wrote = { @Sendable in
      guard let page else { return }
      call.put("wrote \(page.path)", event: "drawn") { $0.entry("file", page.path) }
    }
    let narrator = Narrator(call[Shared.json] ? .json : .people(call.console.style))
    let names = Set(call[chapters])
    let (seed, work) = (UInt64(call[seed] ?? 1), call[work] ?? .seconds(2))
    let (program, output) = (try program(), OrderlyOutput())
    guard !call[cluster] else {
      let demo = ClusterDemo(
        program: program, scenes: names, seed: seed, narrator: narrator, work: work
      ) { output.line($0) }
      return try await play(demo.run, output)
    }
    let demo = Demo(
      program: program, scenarios: names, seed: seed, narrator: narrator, page: page?.path,
      work: work, wrote: wrote
    ) { output.line($0) }
    try await play(demo.run, output)
  }

  /// Checks that the options fit the demo that is played.
  private static func check(_ call: Invocation) throws(CommandFailure) {
    let isUsual =
      call[html] == nil && call[chapters].isEmpty && call[seed] == nil && call[work] == nil
    guard !call[web] || isUsual && !call[cluster] else {
      throw CommandFailure(
        .usage, "--web excludes --html, --chapter, --seed, --work and --cluster",
        remedy: "remove them")
    }
    guard !call[cluster] || call[html] == nil else {
      throw CommandFailure(.usage, "--cluster excludes --html", remedy: "remove one of them")
    }
    let known = call[cluster] ? ClusterDemo.names : Demo.names
    guard let other = call[chapters].first(where: { !known.contains($0) }) else { return }
    throw CommandFailure(
      .usage, "\(other) is a chapter \(call[cluster] ? "without" : "with") --cluster",
      remedy: "the chapters here are \(known.joined(separator: ", "))")
  }

  private static func play(
    _ demo: @escaping @Sendable () async throws(DemoFailure) -> Bool, _ output: OrderlyOutput
  ) async throws(CommandFailure) {
    let isClean: Bool
    do throws(DemoFailure) {
      isClean = try await CommandSignals.cancelling(output: output, demo)
    } catch {
      try output.check()
      throw CommandFailure(.failed, error.description)
    }
    guard isClean else { throw CommandFailure(.failed, "the ledger is not clean") }
  }

  /// Returns the path of this program. The demo also launches this program as the phone.
  private static func program() throws(CommandFailure) -> String {
    guard let path = Demo.ownProgram else {
      throw CommandFailure(.failed, "the path of this program cannot be determined")
    }
    return path
  }
}
