import HoldfastCommandKit
import Glibc
import HoldfastDemo
import HoldfastCore

/// The command `holdfast demo`: demonstrates a link that survives faults.
enum DemoCommand {
  private static let seed = Parameter.option(
    "seed", .integer("N", 0...Int.max), default: 1, "the seed of what the customers write")

  private static let chapters = Parameter.repeated(
    "chapter", .choice("NAME", of: Demo.names),
    "play this chapter, and what it needs; several times for more; all without it")

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
        "The chapters: "
          + zip(Demo.names, Demo.titles).map { "\($0) (\($1))" }.joined(separator: "; ") + ".",
      ],
      examples: [
        .init("holdfast demo", "watch it"),
        .init("holdfast demo --chapter feed", "play one chapter"),
        .init("holdfast demo --json", "the same as data; the last line is the ledger"),
      ],
      takes: chapters, seed, Shared.json, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    let console = call.console
    let narrator = Narrator(call[Shared.json] ? .json : .people(console.style))
    let demo = Demo(
      program: try program(), scenarios: Set(call[chapters]), seed: UInt64(call[seed]),
      narrator: narrator
    ) {
      show($0, on: console)
    }
    let isClean: Bool
    do throws(DemoFailure) {
      isClean = try await CommandSignals.cancelling(demo.run)
    } catch {
      throw CommandFailure(.failed, error.description)
    }
    guard isClean else { throw CommandFailure(.failed, "the ledger is not clean") }
  }

  /// Prints a line.
  ///
  /// If the reader has closed standard output, the demo receives SIGTERM, so that it can clean up
  /// before it ends.
  private static func show(_ line: String, on console: Console) {
    var output = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
    if unsafe poll(&output, 1, 0) > 0, output.revents & Int16(POLLERR | POLLHUP) != 0 {
      kill(getpid(), SIGTERM)
    } else {
      console.line(line)
    }
  }

  /// Returns the path of this program. The demo also launches this program as the phone.
  private static func program() throws(CommandFailure) -> String {
    guard let path = Demo.ownProgram else {
      throw CommandFailure(.failed, "the path of this program cannot be determined")
    }
    return path
  }
}
