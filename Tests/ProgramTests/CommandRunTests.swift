import Foundation
import HoldfastBackend
import HoldfastCore
import HoldfastIdentity
import HoldfastMessageData
import HoldfastPorts
import HoldfastTestKit
import Testing

@Suite(.timeLimit(.minutes(60))) struct CommandRunTests {
  @Test(arguments: [
    [], ["demo"], ["lab"], ["serve"], ["token"], ["stream"], ["send"], ["history"], ["outbox"],
    ["outbox", "list"], ["outbox", "retry"], ["outbox", "discard"], ["replay"], ["policy"],
    ["policy", "list"], ["policy", "show"], ["policy", "check"], ["health"], ["health", "import"],
    ["health", "generate"], ["health", "show"], ["mcp"], ["relay"], ["socket"],
  ])
  func `every command prints its help`(arguments: [String]) async throws {
    let help = try await CommandProcess.run(arguments + ["--help"])
    #expect(help.status == 0)
    #expect(help.errors == [])
    let name = (["holdfast"] + arguments).joined(separator: " ")
    #expect(help.output.first?.hasPrefix("\(name) - ") == true)
    #expect(help.output.contains { $0.hasPrefix("Usage: \(name)") })
    #expect(help.output.contains("Options:"))
    #expect(help.output.contains("  2  invalid command line"))
    #expect(
      help.output.allSatisfy { $0.count <= 80 || $0.hasPrefix("  ") && $0.contains("holdfast ") })
    #expect(try await CommandProcess.run(["help"] + arguments) == help)
  }

  @Test func `prints its version`() async throws {
    let version = try await CommandProcess.run("--version")
    #expect(version.status == 0)
    #expect(version.output.first?.wholeMatch(of: /holdfast \d+\.\d+\.\d+/) != nil)
  }

  @Test(arguments: [
    (
      [],
      "holdfast: a command is missing; one of demo, lab, serve, token, migrate, backup, restore, "
        + "nodes, admin, probe, stream, send, "
        + "edit, delete, history, image, outbox, consumer, replay, policy, health, mcp, relay, "
        + "socket, session, audit, bottle, version, completions, manual"
    ),
    (["serv"], "holdfast: unknown command serv; did you mean serve?"),
    (["serve", "--prot", "1"], "holdfast serve: unknown option --prot; did you mean --port?"),
    (
      ["serve", "--port", "65536"],
      #"holdfast serve: --port cannot be "65536"; it must be a whole number from 0 to 65535"#
    ),
    (
      ["serve", "--tls-key", "k"],
      "holdfast serve: TLS needs a certificate and its key; use both --tls-cert and --tls-key"
    ),
    (
      ["serve", "--pong-timeout", "54s"],
      "holdfast serve: --pong-timeout must be longer than --ping-interval; "
        + "otherwise every socket is closed before its first ping"
    ),
    (
      ["serve", "--jwks-file", "k", "--token-audience", "a"],
      "holdfast serve: tokens of an identity provider need an issuer and an audience; use "
        + "--token-issuer and --token-audience with the values of iss and aud in its tokens; without "
        + "them, tokens for other services would be accepted"
    ),
    (
      ["serve", "--jwks-file", "k", "--jwks-url", "https://id.example/certs"],
      "holdfast serve: --jwks-url and --jwks-file exclude each other; use one of them"
    ),
    (
      ["serve", "--token-claims", "user=sub"],
      "holdfast serve: --token-claims needs the public keys of an identity provider; add --jwks-url "
        + "or --jwks-file, or leave --token-claims out"
    ),
    (
      ["serve", "--jwks-url", "http://id.example/certs"],
      #"holdfast serve: --jwks-url cannot be "http://id.example/certs"; it must be an https URL "#
        + "without user and fragment, or http on this machine, such as "
        + "https://id.example/realms/main/protocol/openid-connect/certs"
    ),
    (
      ["serve", "--bus", "nats://a"],
      "holdfast serve: --bus needs --database with the URL of a PostgreSQL database; "
        + "add it, or leave --bus out"
    ),
    (
      ["serve", "--database", "mysql://db/shop"],
      "holdfast serve: --database does not support mysql; "
        + "use PATH.sqlite, or postgres://user@host/name"
    ),
    (
      ["serve", "--hook-timeout", "1s"],
      "holdfast serve: the options for hooks need the URL of the operator's backend; "
        + "add --hook-url, or leave the others out"
    ),
    (
      ["serve", "--hook-timeout", "99ms"],
      #"holdfast serve: --hook-timeout cannot be "99ms"; it must be a duration from 100ms to 30s, "#
        + "such as 90s or 15m"
    ),
    (
      ["serve", "--hook-timeout", "30001ms"],
      #"holdfast serve: --hook-timeout cannot be "30001ms"; "#
        + "it must be a duration from 100ms to 30s, such as 90s or 15m"
    ),
    (
      ["serve", "--hook-url", "http://hooks.example"],
      #"holdfast serve: --hook-url cannot be "http://hooks.example"; it must be an https URL "#
        + "without user and fragment, or http on this machine, such as "
        + "http://127.0.0.1:9000/holdfast"
    ),
    (
      ["serve", "--log-sample", "1.1"],
      #"holdfast serve: --log-sample cannot be "1.1"; it must be a number from 0 to 1, such as 0.01"#
    ),
    (
      ["policy", "show", "session", "--set", "retry.frist=1s"],
      "holdfast policy show: retry.frist is not a policy key; see `holdfast policy show session`"
    ),
  ])
  func `ends with 2 after wrong usage`(arguments: [String], line: String) async throws {
    #expect(try await CommandProcess.run(arguments) == .failure(2, line))
  }

  @Test func `creates tokens that the backend of the directory accepts`() async throws {
    try await CommandProcess.scratch { directory in
      let data = directory + "/deep/data"
      let begun = BootClock().wall
      let made = try await CommandProcess.run(
        "token", "--user", "ann", "--shops", "bakery,cellar", "--ttl", "15m", "--create", "--data",
        data)
      #expect(made.status == 0)
      let token = try #require(made.output.first)
      let claims = try Claims.decode(json: CompactToken.parse(token).payload)
      #expect(claims.user == "ann")
      #expect(claims.name == "ann")
      #expect(claims.shops.map(\.text) == ["bakery", "cellar"])
      #expect(begun.duration(to: claims.expiresAt) > .seconds(899))
      #expect(BootClock().wall.duration(to: claims.expiresAt) <= .seconds(900))
      #expect(try Tokens.open(in: data).verify(token) == .valid(claims))
      for (path, mode) in [("/deep", 0o700), ("/deep/data", 0o700), ("/deep/data/secret", 0o600)] {
        let facts = try FileManager.default.attributesOfItem(atPath: directory + path)
        #expect(facts[.posixPermissions] as? Int == mode, "\(path)")
      }
      let json = try await CommandProcess.run(
        "token", "--user", "ann", "--name", "Ann", "--shops", "bakery", "--data", data, "--json")
      let object = try [String: Any].reading(json.output.first)
      #expect(object["name"] as? String == "Ann")
      #expect(object["shops"] as? [String] == ["bakery"])
      #expect((object["expiresAt"] as? String)?.hasSuffix("Z") == true)
    }
  }

  @Test func `creates tokens of admins, who must be members`() async throws {
    try await CommandProcess.scratch { directory in
      let arguments = [
        "token", "--user", "mod", "--shops", "bakery,cellar", "--create", "--data", directory,
      ]
      let made = try await CommandProcess.run(arguments + ["--admin", "cellar"])
      let token = try #require(made.output.first)
      let claims = try Claims.decode(json: CompactToken.parse(token).payload)
      #expect(claims.admin.map(\.text) == ["cellar"])
      #expect(
        try await CommandProcess.run(arguments + ["--admin", "dairy"])
          == .failure(
            2,
            "holdfast token: --admin names dairy, which --shops does not; "
              + "an admin must be a member: add the shop to --shops"))
    }
  }

  @Test func `creates no token in a directory that is not a backend's`() async throws {
    try await CommandProcess.scratch { directory in
      let arguments = [
        "token", "--user", "ann", "--shops", "bakery", "--data", directory + "/typo",
      ]
      let outcome = try await CommandProcess.run(arguments)
      #expect(
        outcome
          == .failure(
            1,
            "holdfast token: \(directory)/typo is not the data directory of a backend; "
              + "run `holdfast serve` with it first, or add --create"))
      #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == [])
    }
  }

  @Test(arguments: ["ann\n", "\u{1B}[31mann", "\u{7F}", "a\u{85}b", "a\u{2028}b", ""])
  func `creates no token for a name that is not one line of text`(user: String) async throws {
    let outcome = try await CommandProcess.run("token", "--user", user, "--shops", "bakery")
    #expect(outcome.status == 2)
    #expect(outcome.errors.count == 1)
  }

  @Test func `stores data in the directory that the environment names`() async throws {
    try await CommandProcess.scratch { directory in
      let arguments = ["token", "--user", "ann", "--shops", "bakery", "--create"]
      let files = FileManager.default
      _ = try await CommandProcess.run(
        arguments, environment: ["XDG_DATA_HOME": directory + "/x", "HOME": directory + "/h"])
      #expect(files.fileExists(atPath: directory + "/x/holdfast/secret"))
      #expect(!files.fileExists(atPath: directory + "/h"))
      _ = try await CommandProcess.run(
        arguments, environment: ["XDG_DATA_HOME": "relative", "HOME": directory + "/h"])
      #expect(files.fileExists(atPath: directory + "/h/.local/share/holdfast/secret"))
      #expect(
        try await CommandProcess.run(arguments, environment: ["XDG_DATA_HOME": "", "HOME": ""])
          == .failure(
            2, "holdfast token: there is no home directory for the data; add --data DIR"))
    }
  }

  @Test(arguments: [("", "xterm", true), ("1", "xterm", false), ("", "dumb", false)])
  func `uses colors only on a terminal, and only if they are wanted`(
    noColor: String, terminal: String, isColourful: Bool
  ) async throws {
    let arguments = ["policy", "list"]
    let environment = ["NO_COLOR": noColor, "TERM": terminal]
    let plain = try await CommandProcess.run(arguments, environment: environment)
    #expect(plain.output.allSatisfy { !$0.contains("\u{1B}") })
    let process = try LabProcess(
      ["python3", "-c", "import pty, sys; pty.spawn(sys.argv[1:])", CommandProcess.path]
        + arguments,
      environment: environment)
    let shown = await CommandProcess.outcome(of: process).output
    #expect(shown.first?.contains("\u{1B}[1mNAME") == isColourful)
    #expect(shown.count == plain.output.count)
  }

  @Test func `ends quietly without a reader, and with an error if the output is full`()
    async throws
  {
    let unread = try LabProcess([
      "python3", "-c",
      """
      import os, subprocess
      reader, writer = os.pipe()
      os.close(reader)
      run = subprocess.run(
        ["\(CommandProcess.path)", "policy", "list"], stdout=writer, stderr=subprocess.PIPE)
      print(run.returncode, len(run.stderr))
      """,
    ])
    #expect(await CommandProcess.outcome(of: unread).output == ["0 0"])
    let full = try LabProcess(["sh", "-c", "exec \(CommandProcess.path) --version > /dev/full"])
    #expect(
      await CommandProcess.outcome(of: full)
        == .failure(1, "holdfast: standard output cannot be written: No space left on device"))
  }
}
