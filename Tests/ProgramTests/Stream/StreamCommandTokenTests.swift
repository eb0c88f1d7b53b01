import Foundation
import HoldfastRigs
import HoldfastTestKit
import Testing

/// Tests of tokens from commands and pipes that hang, fail or print too much.
@Suite(.timeLimit(.minutes(60))) struct StreamCommandTokenTests {
  @Test func `a hanging command is killed with its children, and run again`() async throws {
    try await CommandShop.run { shop in
      try await CommandProcess.scratch { directory in
        try (try await shop.token()).write(
          toFile: directory + "/token", atomically: true, encoding: .utf8)
        let command = """
          if mkdir \(directory)/once 2> /dev/null; then sleep 600 & echo $$ $! >&2; wait; \
          else cat \(directory)/token; fi
          """
        let stream = CommandEvents(
          try CommandProcess.start(
            shop.arguments(
              "stream",
              [
                "--data", shop.directory, "--json", "--token-command", command, "--set",
                "gate.refreshTimeout=10s",
              ])))
        var diagnostics = stream.process.diagnostics.makeAsyncIterator()
        let numbers = await diagnostics.next()?.split(separator: " ").compactMap { Int32($0) } ?? []
        #expect(numbers.count == 2)
        #expect(await diagnostics.next().map(isKilled) == true)
        for number in numbers { await hasEnded(number) }
        await stream.live()
        #expect(await stream.end().status == 0)
      }
    }
  }

  @Test func `a hanging command ends with the stream`() async throws {
    try await CommandShop.run { shop in
      let stream = CommandEvents(
        try CommandProcess.start(
          shop.arguments(
            "stream",
            [
              "--data", shop.directory, "--json", "--token-command",
              "sleep 600 & echo $$ $! >&2; wait",
            ])))
      var diagnostics = stream.process.diagnostics.makeAsyncIterator()
      let numbers = await diagnostics.next()?.split(separator: " ").compactMap { Int32($0) } ?? []
      #expect(numbers.count == 2)
      #expect(await stream.end().status == 0)
      for number in numbers { await hasEnded(number) }
    }
  }

  private func isKilled(_ line: String) -> Bool {
    let pattern = /holdfast stream: the token command did not end within [0-9.]+m?s, and was killed/
    return line.wholeMatch(of: pattern) != nil
  }

  /// Waits until no process has this number. A process that has ended but was not reaped does not
  /// count.
  private func hasEnded(_ number: Int32) async {
    while let stat = try? String(contentsOfFile: "/proc/\(number)/stat", encoding: .utf8),
      let state = stat.split(separator: ")").last?.split(separator: " ").first, state != "Z"
    { await Task.yield() }
  }

  @Test(arguments: [
    ("exit 3", 3, "the token command reports that the user must sign in (status 3); sign in again"),
    ("exit 4", 1, "the token command failed with status 4"),
    ("kill -9 $$", 1, "the token command was ended by signal 9"),
    ("yes", 1, "the token command printed more than 65536 bytes, and was killed"),
    ("true", 1, "the token command did not print a token"),
    ("echo two words", 1, "the token command did not print a token"),
  ])
  func `the failure of a token command is reported with its cause`(
    command: String, status: Int32, cause: String
  ) async throws {
    let outcome = try await CommandProcess.run(
      "send", "--server", "http://127.0.0.1:1", "--shop", "bakery", "--token-command", command,
      "--timeout", "600s", "hello")
    #expect(outcome.status == status)
    #expect(outcome.errors.first == "holdfast send: \(cause)")
  }

  @Test(arguments: [
    (nil, "is a pipe that no program writes to; start the program that writes to it first"),
    ("sleep 1000", "did not end within 100ms; its writer must close it"),
  ])
  func `a pipe without a token blocks no longer than the time limit`(
    writer: String?, cause: String
  ) async throws {
    let scratch = try Scratch()
    let pipe = scratch("pipe")
    try await Shell.run(["mkfifo", pipe])
    // This way of opening a pipe does not wait for its reader.
    let writing = try writer.map {
      try LabProcess(["sh", "-c", "exec 9<> \(pipe); echo ready; exec \($0)"])
    }
    if let writing { #expect(await LineReader(writing.lines).next() == "ready") }
    let outcome = try await CommandProcess.run(
      "send", "--server", "http://127.0.0.1:1", "--shop", "bakery", "--token-file", pipe,
      "--timeout", "100ms", "hello")
    writing?.signal(SIGKILL)
    #expect(outcome == .failure(1, "holdfast send: \(pipe) \(cause)"))
  }

  @Test func `an error at the end names a token command that has not ended`() async throws {
    try await CommandShop.run { shop in
      let outcome = try await CommandProcess.run(
        shop.arguments(
          "stream",
          [
            "--data", shop.directory, "--token-command", "exec sleep 1000", "--once", "--duration",
            "5s",
          ]))
      #expect(outcome.status == 1)
      let cause = "there is no token: the token command had not ended after"
      #expect(outcome.errors.last?.hasPrefix("holdfast stream: \(cause)") == true)
    }
  }

  @Test func `a token can be read from a pipe once`() async throws {
    try await CommandShop.run { shop in
      let line = ([CommandProcess.path] + shop.arguments("send", [])).joined(separator: " ")
      let outcome = await CommandProcess.outcome(
        of: try LabProcess(
          ["bash", "-c", "\(line) --token-file <(echo $TOKEN) hello"],
          environment: ["TOKEN": try await shop.token(), "HOLDFAST_TOKEN": ""]))
      #expect(outcome.errors == [])
      #expect(outcome.status == 0)
    }
  }
}
