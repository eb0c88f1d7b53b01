import HoldfastCommandKit
import HoldfastDemo
import HoldfastJSON
import HoldfastCore

/// The command `holdfast demo`: demonstrates a link that survives faults.
enum DemoCommand {
  private static let seed = Parameter.optional(
    "seed", .integer("N", 0...Int.max), usual: "1", "the seed of what the customers write")

  private static let chapters = Parameter.repeated(
    "chapter", .choice("NAME", of: Demo.names),
    "play this chapter, and what it needs; several times for more; all without it")

  private static let html = Parameter.optional(
    "html", .text("FILE"), "write a page that shows what happened to each link, on one time axis")

  private static let work = Parameter.optional(
    "work", .duration(.milliseconds(1) ... .seconds(3_600)), usual: "2s",
    "the time that this machine may need for each fault, beyond what the policies set")

  private static let web = Parameter.flag(
    "web", "show chapters on the page of `holdfast lab`, which presses its own buttons")

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
        "The chapters: "
          + zip(Demo.names, Demo.titles).map { "\($0) (\($1))" }.joined(separator: "; ") + ".",
      ],
      examples: [
        .init("holdfast demo", "watch it"),
        .init("holdfast demo --chapter feed", "play one chapter"),
        .init("holdfast demo --html demo.html", "also writes a picture of it"),
        .init("holdfast demo --web", "watch it in a browser, as it happens"),
        .init("holdfast demo --json", "the same as data, which ends with the ledger"),
      ],
      takes: chapters, seed, work, html, web, Shared.json, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    let console = call.console
    if call[web] {
      guard call[html] == nil, call[chapters].isEmpty, call[seed] == nil, call[work] == nil else {
        throw CommandFailure(
          .usage, "--web excludes --html, --chapter, --seed and --work", remedy: "remove them")
      }
      let lab = LabCommand.Choice(features: Lab.names, playsChapters: true)
      return try await LabCommand.show(lab, call)
    }
    let page = call[html].map { PrivateOutput($0, option: "--html") }
    try page?.check()
    let narrator = Narrator(call[Shared.json] ? .json : .people(console.style))
    let wrote = { @Sendable in
      guard let page else { return }
      call.put("wrote \(page.path)", event: "drawn") { $0.entry("file", page.path) }
    }
    let output = OrderlyOutput()
    let demo = Demo(
      program: try program(), scenarios: Set(call[chapters]), seed: UInt64(call[seed] ?? 1),
      narrator: narrator, page: page?.path, work: call[work] ?? .seconds(2), wrote: wrote
    ) {
      output.line($0)
    }
    let isClean: Bool
    do throws(DemoFailure) {
      isClean = try await CommandSignals.cancelling(output: output, demo.run)
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
