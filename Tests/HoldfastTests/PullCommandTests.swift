import Foundation
import HoldfastBackend
import HoldfastTestKit
import LinkCore
import LinkHealth
import LinkServerCore
import LinkWire
import Testing

/// The programs themselves: a phone, a hook, and the pull that the hook starts.
@Suite(.timeLimit(.minutes(5))) struct `The command pulls` {
  @Test func `a phone in background is rung, visits, and answers`() async throws {
    let scratch = try Scratch()
    let logged = Mailbox<String>()
    var configuration = BackendConfiguration(dataDirectory: scratch("backend"))
    configuration.log = { logged.put($0) }
    var push = PushConfiguration()
    push.hook = try await hook(scratch)
    let backend = Backend(configuration, pushes: try push.open())
    let address = try await backend.start()
    try scratch.write(Array(address.url.utf8), to: "url")
    let common = ["relay", "--server", address.url, "--data", scratch("phone")]
    let phone = try CommandProcess.start(
      common + ["--profile", "foreground", "--wake", "ann", "--time-zone", "UTC", "--json"])
    let pair = try await event("pair", of: phone.lines)
    let word = try #require(pair["word"] as? String)
    let code = try #require(pair["code"] as? String)
    guard case .loggedIn(let grant) = try await backend.ask(.login(word: word, code: code)) else {
      Issue.record("not paired")
      return await backend.kill()
    }
    await line(#""route":"push""#, in: logged)
    phone.signal(SIGUSR1)
    await line(#""event":"closed""#, in: logged)
    async let answer = backend.ask(try Self.question(), bearer: grant.accessToken)
    let visit = try await Shell.run(["cat", scratch("visited")])
    #expect(
      visit.contains(#""event":"pull","answered":1,"unwanted":0,"left":0,"ending":"finished""#))
    guard case .data(let object) = try await answer else {
      Issue.record("no answer")
      return await backend.kill()
    }
    #expect(object.succeeded)
    phone.signal(SIGTERM)
    #expect(await phone.exit() == 0)
    // The pairing is over, and so is what a pull would need.
    #expect(try await CommandProcess.run(common + ["--pull"]).status == 3)
    await backend.kill()
  }

  private static func question() throws -> RelayAsk {
    let day = try #require(HealthTime("2026-01-01"))
    return .question(
      .healthData(HealthDataQuery(valueType: .steps, start: day, end: day)))
  }

  /// A program that visits for the phone the backend of the file `url`, and lets the test see what
  /// came of it.
  private func hook(_ scratch: Scratch) async throws -> String {
    try await Shell.run(
      ["sh", "-c", "cat > \"$0\" && chmod 700 \"$0\"", scratch("ring")],
      input: """
        #!/bin/sh
        exec '\(CommandProcess.path)' relay --server "$(cat '\(scratch("url"))')" \
          --data '\(scratch("phone"))' --pull --json > '\(scratch("visited"))'

        """)
    try await Shell.run(["mkfifo", "-m", "600", scratch("visited")])
    return scratch("ring")
  }

  private func event(
    _ name: String, of lines: AsyncStream<String>
  ) async throws -> [String: Any] {
    for await line in lines {
      let object = try [String: Any].reading(line)
      if object["event"] as? String == name { return object }
    }
    throw NoJSONObject(line: nil)
  }

  private func line(_ part: String, in log: Mailbox<String>) async {
    while let line = await log.next(), !line.contains(part) {}
  }
}
