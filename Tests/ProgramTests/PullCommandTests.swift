import Foundation
import HoldfastBackend
import HoldfastCore
import HoldfastHealth
import HoldfastRelayData
import HoldfastRelayServer
import HoldfastTestKit
import Testing

/// Tests of the real programs: a phone, a push hook, and the pull that the hook starts.
@Suite(.timeLimit(.minutes(60))) struct `The command pulls` {
  @Test func `a push makes a phone in the background pull and answer`() async throws {
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
    guard let grant = try await logIn(with: phone, at: backend) else {
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
    // With `--wake`, the pairing outlives the program. A later pull still works, but finds no
    // questions.
    #expect(try await CommandProcess.run(common + ["--pull"]).status == 0)
    await backend.kill()
  }

  @Test func `a restarted phone keeps its assistants, which its user can list and remove`()
    async throws
  {
    let scratch = try Scratch()
    let backend = Backend(BackendConfiguration(dataDirectory: scratch("backend")))
    let address = try await backend.start()
    let common = ["--server", address.url, "--data", scratch("phone"), "--json"]
    let relay = ["relay", "--wake", "ann", "--time-zone", "UTC"] + common
    var phone = try CommandProcess.start(relay)
    let pair = try await event("pair", of: phone.lines)
    #expect(pair["mcp"] as? String == address.url + "/mcp")
    let word = try #require(pair["word"] as? String)
    let code = try #require(pair["code"] as? String)
    let login = RelayCall.login(word: word, code: code, assistant: AssistantName("claude"))
    guard case .loggedIn(let grant) = try await backend.ask(login) else {
      Issue.record("not paired")
      return await backend.kill()
    }
    // After the login, the phone stores the token and then prints the next pair.
    _ = try await event("pair", of: phone.lines)
    for signal in [SIGTERM, SIGKILL] {
      phone.signal(signal)
      _ = await phone.exit()
      phone = try CommandProcess.start(relay)
      _ = try await event("pair", of: phone.lines)
      guard case .data = try await backend.ask(Self.question(), bearer: grant.accessToken) else {
        Issue.record("the pairing was lost")
        return await backend.kill()
      }
    }
    try await seeAndEnd(common)
    let refused = try await backend.ask(Self.question(), bearer: grant.accessToken)
    #expect(refused == .refused(.signedOut(.byUser)))
    phone.signal(SIGTERM)
    _ = await phone.exit()
    await backend.kill()
  }

  @Test func `a new pairing excludes the assistants of the previous one`() async throws {
    let scratch = try Scratch()
    let backend = Backend(BackendConfiguration(dataDirectory: scratch("backend")))
    let address = try await backend.start()
    let relay = [
      "relay", "--time-zone", "UTC", "--server", address.url, "--data", scratch("phone"), "--json",
    ]
    var phone = try CommandProcess.start(relay)
    guard let grant = try await logIn(with: phone, at: backend) else {
      return await backend.kill()
    }
    _ = try await event("pair", of: phone.lines)
    for (more, isPaired) in [([], true), (["--new-pairing"], false)] {
      phone.signal(SIGKILL)
      _ = await phone.exit()
      phone = try CommandProcess.start(relay + more)
      _ = try await event("pair", of: phone.lines)
      let outcome = try await backend.ask(Self.question(), bearer: grant.accessToken)
      var isAnswered = false
      if case .data = outcome { isAnswered = true }
      #expect(isAnswered == isPaired, "\(more)")
    }
    phone.signal(SIGTERM)
    _ = await phone.exit()
    await backend.kill()
  }

  /// Lists the only assistant of a phone, and then ends the assistant's access.
  private func seeAndEnd(_ common: [String]) async throws {
    let list = try await CommandProcess.run(["relay", "assistants"] + common)
    #expect(list.status == 0 && list.output.count == 1)
    let assistant = try [String: Any].reading(list.output.first)
    #expect(assistant["name"] as? String == "claude")
    #expect(assistant["last_question"] != nil)
    let id = try #require(assistant["id"] as? String)
    // Without health sync, nothing is read while the phone is away.
    #expect(assistant["synced"] as? Bool == false)
    let all = try await CommandProcess.run(
      ["relay", "assistants", "--allow-synced", "all"] + common.dropLast())
    #expect(all.status == 0, "\(all)")
    #expect(all.output.first?.contains("synced samples") == true)
    #expect(all.output.last?.hasPrefix("No assistant reads synced samples until") == true)
    let wrong = try await CommandProcess.run(["relay", "assistants", "--end", "none"] + common)
    #expect(wrong.status == 1)
    let ended = try await CommandProcess.run(["relay", "assistants", "--end", id] + common)
    #expect(ended == CommandProcess.Outcome(status: 0, output: [], errors: []))
  }

  @Test func `without a stored pairing the list of assistants fails`() async throws {
    let scratch = try Scratch()
    let list = try await CommandProcess.run(
      "relay", "assistants", "--server", "http://127.0.0.1:9", "--data", scratch("phone"))
    #expect(list.status == 3)
    #expect(list.errors.first?.contains("not paired, or no longer") == true)
  }

  private static func question() throws -> RelayCall {
    let day = try #require(HealthTime("2026-01-01"))
    return .question(
      .healthData(HealthDataQuery(valueType: .steps, start: day, end: day)))
  }

  /// Creates a push hook that runs a pull for the phone, and returns its path.
  ///
  /// The hook reads the URL of the backend from the file `url`. It writes the output of the pull to
  /// a pipe that the test reads.
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

  /// Logs in an assistant with the pair that a phone shows, and returns the assistant's grant.
  private func logIn(with phone: LabProcess, at backend: Backend) async throws -> RelayGrant? {
    let pair = try await event("pair", of: phone.lines)
    let word = try #require(pair["word"] as? String)
    let code = try #require(pair["code"] as? String)
    let outcome = try await backend.ask(.login(word: word, code: code))
    guard case .loggedIn(let grant) = outcome else {
      Issue.record("not paired")
      return nil
    }
    return grant
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
