import Foundation
import HoldfastCommandKit
import HoldfastCore
import HoldfastTestKit
import Testing

/// Tests of the output of `stream`, including output that nobody reads.
@Suite(.timeLimit(.minutes(60))) struct StreamCommandOutputTests {
  @Test(arguments: [false, true])
  func `ends soon although nobody reads the output`(isAll: Bool) async throws {
    try await CommandShop.run { shop in
      let arguments = shop.arguments("stream", ["--data", shop.directory, "--json"])
      let player = try LabProcess(
        ["python3", "-c", Self.blocked, isAll ? "all" : "output", CommandProcess.path] + arguments,
        environment: ["HOLDFAST_TOKEN": try await shop.token()])
      _ = try await shop.logged("opened")
      player.send("end it")
      let outcome = await CommandProcess.outcome(of: player)
      let said = "holdfast stream: standard output is blocked; ended without writing the rest"
      #expect(outcome.output == (isAll ? ["1"] : ["1", said]))
      #expect(outcome.errors == [])
    }
  }

  /// A Python script that runs a command with a full pipe as its output, and stops the command on
  /// request.
  private static let blocked = """
    import fcntl, os, subprocess, sys
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    try:
        while os.write(writer, b"x" * 4096): pass
    except BlockingIOError: pass
    os.set_blocking(writer, True)
    errors = writer if sys.argv[1] == "all" else subprocess.PIPE
    run = subprocess.Popen(sys.argv[2:], stdout=writer, stderr=errors, text=True)
    sys.stdin.readline()
    run.terminate()
    said = run.communicate()[1]
    print(run.returncode)
    if said: print(said, end="")
    """

  @Test func `counts a repeated notice instead of printing it again`() async throws {
    try await CommandProcess.scratch { directory in
      let arguments = [
        "stream", "--server", "http://127.0.0.1:1", "--shop", "bakery", "--data", directory,
        "--set", "standby.interval=1s", "--set", "retry.windows=100/1m",
        "--set", "retry.serverJitter=1ms", "--duration", "15s",
      ]
      let token = ["HOLDFAST_TOKEN": "any.good.token"]
      let plain = try await CommandProcess.run(arguments, environment: token)
      let notice = "-- fetch-failed: messages could not be fetched: the connection was refused"
      #expect(
        plain.output.contains {
          $0.wholeMatch(of: /-- the last notice came \d+ more times/) != nil
        })
      #expect(
        !zip(plain.output, plain.output.dropFirst()).contains { $0 == notice && $1 == notice })
      let json = try await CommandProcess.run(arguments + ["--json"], environment: token)
      #expect(json.output.count { $0.contains("fetch-failed") } > 3)
    }
  }

  @Test func `prints the count before a different line, and every 10 minutes`() {
    var repeats = Repeats()
    func lines(_ text: String, _ seconds: Int64, isNotice: Bool = true) -> [String] {
      repeats.lines([text], isNotice: isNotice, at: .zero.advanced(by: .seconds(seconds)))
    }
    #expect(lines("a", 0) == ["a"])
    #expect(lines("a", 30) == [])
    #expect(lines("b", 60) == ["-- the last notice came 1 more time", "b"])
    #expect(lines("b", 659) == [])
    #expect(lines("b", 660) == ["-- the last notice came 2 more times"])
    #expect(lines("b", 1_259) == [])
    #expect(
      lines("message", 1_259, isNotice: false)
        == ["-- the last notice came 1 more time", "message"])
    #expect(lines("message", 1_259, isNotice: false) == ["message"])
    #expect(lines("b", 1_260) == ["b"])
    #expect(repeats.counted() == [])
    #expect(lines("b", 1_261) == [])
    #expect(repeats.lines([], isNotice: false, at: .zero) == [])
    #expect(repeats.counted() == ["-- the last notice came 1 more time"])
  }

  @Test func `reports that older messages exist, and shows as many as requested`() async throws {
    try await CommandShop.run { shop in
      try await shop.post((1...160).map { "\($0)" })
      let first = try await run(shop, [])
      #expect(first.texts == (111...160).map { "\($0)" })
      #expect(first.notices == ["older messages exist; `stream --older N` shows them"])
      let history = try await CommandProcess.run(
        "history", "--data", shop.directory, "--limit", "50")
      #expect(
        history.output.first
          == "-- the server may have older messages; `stream --older N` fetches them")
      #expect(history.output.count == 51)
      let second = try await run(shop, ["--older", "60"])
      #expect(second.texts == (111...160).map { "\($0)" } + (51...110).map { "\($0)" })
      #expect(second.notices.count == 1)
      let all = try await run(shop, ["--older", "1000"])
      #expect(all.texts == (111...160).map { "\($0)" } + (1...110).map { "\($0)" })
      #expect(all.notices == [])
      let plain = try await CommandProcess.run(
        "history", "--data", shop.directory, "--limit", "160")
      #expect(plain.output.count == 160)
    }
  }

  private func run(
    _ shop: CommandShop, _ more: [String]
  ) async throws -> (texts: [String], notices: [String]) {
    let outcome = try await CommandProcess.run(
      shop.arguments("stream", ["--data", shop.directory, "--json", "--once"] + more),
      environment: ["HOLDFAST_TOKEN": try await shop.token()])
    #expect(outcome.status == 0)
    let events = try outcome.output.map { try [String: Any].reading($0) }
    return (
      events.filter { $0["event"] as? String == "message" }.compactMap { $0["text"] as? String },
      events.compactMap { $0["detail"] as? String }
    )
  }
}
