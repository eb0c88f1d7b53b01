import Foundation
import HoldfastTestKit
import Testing

/// Tests of the standard input of `stream`.
@Suite(.timeLimit(.minutes(60))) struct StreamCommandInputTests {
  /// The maximum number of messages that wait to be sent.
  private static let limit = 1_000

  @Test func `reads only as many lines as can wait`() async throws {
    try await CommandProcess.scratch { directory in
      let stream = CommandEvents(try piped("yes", Self.arguments(directory)))
      // After each failed attempt, the first messages are reported again with a higher number of
      // tries.
      for _ in 1...Self.limit {
        #expect(await stream.line(with: #""event":"outbox""#, #""tries":0"#) != "")
      }
      // If the command had read another line, its message would have been refused.
      let (rest, _) = await stream.end()
      #expect(rest.filter { $0.contains(#""state":"failed""#) } == [])
      let history = try await CommandProcess.run(
        "history", "--data", directory, "--json", "--limit", "2000")
      #expect(history.output.count == Self.limit)
    }
  }

  @Test func `refuses a typed line that is not UTF-8`() async throws {
    try await CommandProcess.scratch { directory in
      let arguments = ([CommandProcess.path] + Self.arguments(directory)).filter { $0 != "--json" }
      let shell = try LabProcess(
        [
          "python3", "-c",
          """
          import os, pty, sys
          child, terminal = pty.fork()
          if child == 0:
            os.environ["TERM"] = "xterm"
            os.execv(sys.argv[1], sys.argv[1:])
          shown = b""
          def wait(text):
            global shown
            while text not in shown: shown += os.read(terminal, 4096)
          wait(b"CONNECTING")
          os.write(terminal, b"caf\\xe9\\r")
          wait(b"-- not-utf-8: the text was not sent: it is not valid UTF-8")
          os.write(terminal, b"ok\\r")
          wait(b"waiting to be sent")
          print(b"caf" in shown.split(b"waiting to be sent")[1], "done")
          os.write(terminal, b"\\x04")
          os.waitpid(child, 0)
          """,
        ] + arguments, environment: ["HOLDFAST_TOKEN": "any.good.token"])
      let outcome = await CommandProcess.outcome(of: shell)
      #expect(outcome.output == ["False done"])
    }
  }

  @Test func `a time limit ends the command although its input is endless`() async throws {
    try await CommandProcess.scratch { directory in
      let stream = try piped("yes", Self.arguments(directory) + ["--duration", "300ms"])
      let outcome = await CommandProcess.outcome(of: stream)
      #expect(outcome.status == 0)
      #expect(outcome.errors == [])
    }
  }

  @Test func `refuses lines that are too long, each once and as a whole`() async throws {
    try await CommandShop.run { shop in
      let script = """
        import sys
        for line in ["first", "x" * 10001, "x" * 10000, "", "é" * 20001, "y" * 123456, "last"]:
            print(line)
        """
      let arguments = shop.arguments(
        "stream", ["--data", shop.directory, "--json", "--send-stdin", "--once"])
      let token = ["HOLDFAST_TOKEN": try await shop.token()]
      let outcome = await CommandProcess.outcome(
        of: try piped("python3 -c '\(script)'", arguments, token))
      let events = try outcome.output.map { try [String: Any].reading($0) }
      #expect(
        events.filter { $0["kind"] as? String == "too-long" }.map { $0["detail"] as? String } == [
          "line 2 was not sent: it has 10001 characters; a message has at most 10000",
          "line 5 was not sent: it has 40002 bytes; the limit is 40000",
          "line 6 was not sent: it has 123456 bytes; the limit is 40000",
        ])
      let sent = events.filter { $0["event"] as? String == "message" }.map { $0["text"] as? String }
      #expect(sent == ["first", String(repeating: "x", count: 10_000), "last"])
      #expect(outcome.status == 1)
      #expect(
        outcome.errors == [
          "holdfast stream: 3 messages were not sent; the output shows which, and why"
        ])
    }
  }

  @Test func `refuses a line that is not valid UTF-8, and sends the others`() async throws {
    try await CommandShop.run { shop in
      let arguments = shop.arguments(
        "stream", ["--data", shop.directory, "--json", "--send-stdin", "--once"])
      let outcome = await CommandProcess.outcome(
        of: try piped(
          #"printf 'first\na\377b\nlast\n'"#, arguments, ["HOLDFAST_TOKEN": try await shop.token()])
      )
      let events = try outcome.output.map { try [String: Any].reading($0) }
      let sent = events.filter { $0["event"] as? String == "message" }.map { $0["text"] as? String }
      #expect(sent == ["first", "last"])
      let faults = events.compactMap { $0["detail"] as? String }
      #expect(faults == ["line 2 was not sent: it is not valid UTF-8"])
      #expect(outcome.status == 1)
    }
  }

  @Test func `--once sends all of its input before it ends`() async throws {
    try await CommandShop.run { shop in
      _ = try await CommandProcess.run(
        [
          "send", "--server", "http://127.0.0.1:1", "--shop", CommandShop.name, "--data",
          shop.directory, "--timeout", "2s", "0",
        ], environment: ["HOLDFAST_TOKEN": "any.good.token"])
      let arguments = shop.arguments(
        "stream", ["--data", shop.directory, "--json", "--send-stdin", "--once"])
      let outcome = await CommandProcess.outcome(
        of: try piped("seq 1 200", arguments, ["HOLDFAST_TOKEN": try await shop.token()]))
      #expect(outcome.status == 0)
      #expect(outcome.errors == [])
      let events = try outcome.output.map { try [String: Any].reading($0) }
      let sent = events.filter { $0["event"] as? String == "message" }.map { $0["text"] as? String }
      #expect(sent == (0...200).map { "\($0)" })
      #expect(events.count { $0["event"] as? String == "sent" } == 201)
    }
  }

  private static func arguments(_ directory: String) -> [String] {
    [
      "stream", "--server", "http://127.0.0.1:1", "--shop", "bakery", "--data", directory,
      "--json", "--send-stdin",
    ]
  }

  /// Starts `holdfast` with its input piped from another command.
  ///
  /// A signal to the returned process reaches `holdfast` itself.
  private func piped(
    _ source: String, _ arguments: [String], _ environment: [String: String] = [:]
  ) throws -> LabProcess {
    let line = ([CommandProcess.path] + arguments).joined(separator: " ")
    return try LabProcess(
      ["bash", "-c", "exec \(line) < <(\(source) 2> /dev/null)"],
      environment: ["HOLDFAST_TOKEN": "any.good.token"].merging(environment) { $1 })
  }

  @Test func `a line that could not be stored ends the command with 1, and is not shown as queued`()
    async throws
  {
    try await CommandProcess.scratch { directory in
      let stream = CommandEvents(
        try LabProcess(
          [CommandProcess.path] + Self.arguments(directory),
          environment: ["HOLDFAST_TOKEN": "any.good.token"]))
      stream.process.send("first")
      #expect(await stream.line(with: "outbox", "first") != "")
      try FileManager.default.removeItem(atPath: directory + "/timeline.sqlite")
      stream.process.send("second")
      let (lines, status) = await stream.rest()
      #expect(status == 1)
      #expect(!lines.contains { $0.contains("second") })
      #expect(lines.contains { $0.contains(#""kind":"store""#) })
      var errors: [String] = []
      for await line in stream.process.diagnostics { errors.append(line) }
      #expect(errors.contains { $0.contains("a message was not stored") })
    }
  }
}
