import CommandKit
import HoldfastDemo
import LinkCore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// `holdfast demo`: the story of a link that holds.
enum DemoCommand {
  private static let seed = Parameter.option(
    "seed", .integer("N", 0...Int.max), default: 1, "decides what the customers write")

  static var command: Command {
    Command(
      "demo", "show on this machine that a link holds, in less than a minute",
      details: [
        """
        Runs the backend, a proxy that plays the network and a phone, which is a process of its \
        own, on real sockets. Cuts the link, silences it, crashes the server, lets the token run \
        out, refuses connects and kills the phone. Then an assistant pairs with the phone, asks \
        over MCP, and the link is cut before the answer. Ends with a ledger, and with status 0 \
        only when it is clean.
        """
      ],
      examples: [
        .init("holdfast demo", "watch it"),
        .init("holdfast demo --json", "the same as data; the last line is the ledger"),
      ],
      takes: seed, Shared.json, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    let console = call.console
    let narrator = Narrator(call[Shared.json] ? .json : .people(console.style))
    let demo = Demo(
      program: try program(), seed: UInt64(call[seed]), narrator: narrator
    ) {
      show($0, on: console)
    }
    let signals = ServerSignals()
    let telling = Task { () -> Result<Bool, DemoFailure> in
      do throws(DemoFailure) {
        return .success(try await demo.run())
      } catch {
        return .failure(error)
      }
    }
    let listening = Task {
      for await _ in signals.stream { telling.cancel() }
    }
    defer {
      signals.finish()
      listening.cancel()
    }
    let isClean: Bool
    do throws(DemoFailure) {
      isClean = try await telling.value.get()
    } catch {
      throw CommandFailure(.failed, error.description)
    }
    guard isClean else { throw CommandFailure(.failed, "the ledger is not clean") }
  }

  /// When the reader went away the story ends as by a signal, so that it can clear up.
  private static func show(_ line: String, on console: Console) {
    var output = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
    if unsafe poll(&output, 1, 0) > 0, output.revents & Int16(POLLERR | POLLHUP) != 0 {
      kill(getpid(), SIGTERM)
    } else {
      console.line(line)
    }
  }

  /// The file of this very program, which is launched again as the phone.
  private static func program() throws(CommandFailure) -> String {
    guard let path = Demo.ownProgram else {
      throw CommandFailure(.failed, "this program's own file cannot be found")
    }
    return path
  }
}
