import Foundation
import Holdfast
import HoldfastCommandKit
import HoldfastCore
import HoldfastSession

/// The command `HoldfastBench converse`, which runs an app's session in a separate process.
///
/// Each line of the input is a prompt in its own conversation. Each line of the output starts with
/// the monotonic clock in nanoseconds, as in the output of `follow`.
enum ConverseCommand {
  private static let server = Parameter<String>.operand(.text("URL"), "the server's sessions")
  private static let key = Parameter<String>.required("key-file", .text("FILE"), "its key")
  private static let data = Parameter<String>.required(
    "data", .text("DIR"), "where prompts and messages are kept")
  private static let authorities = Parameter<String?>.optional(
    "authorities", .text("FILE"), "a PEM file of authorities to trust")

  static var command: Command {
    Command(
      "converse", "send prompts and tell when each answer was shown",
      examples: [
        .init(
          "HoldfastBench converse ws://127.0.0.1:8787/session --key-file K --data D",
          "prompts from standard input")
      ], takes: server, key, data, authorities, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    do {
      let network = try HoldfastPlatform.network(
        authorities: call[authorities], proxy: "", allowsPlaintext: true)
      let key = try String(contentsOfFile: call[key], encoding: .utf8)
      var configuration = SessionConfiguration(
        call[server], storage: .directory(call[data]), tokens: .fixed(key))
      configuration.allowsPlaintext = true
      configuration.ports.network = network
      let session = try await HeldSession(configuration)
      Thread.detachNewThread { send(to: session) }
      for await update in session.lastingUpdates {
        switch update {
        case .status(let status):
          call.report("status \(status.phase == .connected ? "CONNECTED" : "LOST")")
        case .message(let entry, _, let news):
          call.report("message \(entry.text)")
          session.markShown(through: news)
        case .quality, .pending, .prompt, .part, .gap, .record, .notice: break
        }
      }
    } catch {
      throw CommandFailure(.failed, "cannot converse: \(error)")
    }
  }

  private static func send(to session: HeldSession) {
    var generator = SystemRandomNumberGenerator()
    while let line = readLine() {
      session.prompt(line, in: UUID128.random(using: &generator).description)
    }
  }
}

extension Invocation {
  /// Prints a line that starts with the monotonic clock in nanoseconds, which all processes share.
  func report(_ line: String) { console.line("\(Monotonic.nanoseconds) \(line)") }
}

/// The monotonic clock.
enum Monotonic {
  static var nanoseconds: Int64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}
