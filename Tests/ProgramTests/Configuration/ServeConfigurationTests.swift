import Foundation
import HoldfastRigs
import HoldfastTestKit
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// Tests of the options of `serve` in a file and in variables, and of `--check`.
@Suite(.timeLimit(.minutes(60))) struct ServeConfigurationTests {
  /// A folder with a configuration file, a data directory and keys.
  private struct Site {
    let scratch: Scratch
    var file: String { scratch("holdfast.toml") }
    var data: String { scratch("data") }

    init(_ text: String = "") throws {
      scratch = try Scratch()
      try write(text)
    }

    func write(_ text: String) throws { try scratch.write(text.utf8, to: "holdfast.toml") }

    func check(
      _ arguments: String..., environment: [String: String] = [:]
    ) async throws -> CommandProcess.Outcome {
      try await CommandProcess.run(
        ["serve", "--check", "--config", file, "--data", data] + arguments,
        environment: environment)
    }

    /// Returns the options that `--check --json` prints, by name.
    func options(
      _ arguments: String..., environment: [String: String] = [:]
    ) async throws -> [String: [String: Any]] {
      let run = try await CommandProcess.run(
        ["serve", "--check", "--json", "--config", file, "--data", data] + arguments,
        environment: environment)
      #expect(run.status == 0 && run.errors == [])
      let objects = try run.output.map { try [String: Any].reading($0) }
      return Dictionary(objects.map { ($0["option"] as? String ?? "", $0) }) { $1 }
    }
  }

  @Test func `--check prints each option with its source, and creates nothing`() async throws {
    let site = try Site("port = 0\nallow-host = [\"a.example\", \"b.example\"]\nplain = true\n")
    let run = try await site.check(
      "--max-per-address", "9", environment: ["HOLDFAST_DRAIN_WINDOW": "2s"])
    #expect(run.status == 0 && run.errors == [])
    let rows = run.output.map { $0.split(separator: " ").map(String.init) }
    #expect(rows.first == ["OPTION", "VALUE", "FROM"])
    for row in [
      ["port", "0", "\(site.file):1:8"], ["plain", "true", "\(site.file):3:9"],
      ["allow-host", "a.example", "b.example", "\(site.file):2:14"],
      ["drain-window", "2s", "$HOLDFAST_DRAIN_WINDOW"], ["host", "127.0.0.1", "default"],
      ["max-per-address", "9", "command", "line"], ["no-stream", "false", "default"],
      ["config", site.file, "command", "line"], ["tls-cert", "none", "default"],
    ] {
      #expect(rows.contains(row), "\(row)")
    }
    #expect(!rows.contains { $0.first == "check" })
    #expect(!FileManager.default.fileExists(atPath: site.data))
  }

  @Test func `--check --json tells the source of each option`() async throws {
    let site = try Site("port = 0\nallow-origin = [\"http://a.example\"]")
    try site.scratch.write("3s\n".utf8, to: "window")
    let options = try await site.options(
      "--host", "localhost",
      environment: ["HOLDFAST_PLAIN": "true", "HOLDFAST_DRAIN_WINDOW_FILE": site.scratch("window")])
    let port = try #require(options["port"])
    #expect(port["value"] as? String == "0" && port["from"] as? String == "file")
    #expect(port["file"] as? String == site.file)
    #expect(port["line"] as? Int == 1 && port["column"] as? Int == 8)
    #expect(options["allow-origin"]?["value"] as? [String] == ["http://a.example"])
    #expect(options["host"]?["from"] as? String == "command line")
    #expect(options["plain"]?["value"] as? Bool == true)
    #expect(options["plain"]?["variable"] as? String == "HOLDFAST_PLAIN")
    let window = try #require(options["drain-window"])
    #expect(window["value"] as? String == "3s" && window["from"] as? String == "environment")
    #expect(window["variable"] as? String == "HOLDFAST_DRAIN_WINDOW_FILE")
    #expect(window["file"] as? String == site.scratch("window"))
    #expect(options["database"]?["value"] == nil)
    #expect(
      options["database"]?["usual"] as? String == "messages.sqlite in the data directory")
    #expect(options["max-per-address"]?["value"] as? String == "256")
    #expect(options["max-per-address"]?["from"] as? String == "default")
  }

  @Test(arguments: [
    ("port = 0\nprot = 1", "2:1: unknown option prot; did you mean port?"),
    ("port = 70000", "1:8: port cannot be \"70000\"; it must be a whole number from 0 to 65535"),
    (
      "host = 'a' port = 1",
      "1:12: the line does not end after the value; give each key a line of its own"
    ),
    (
      "new-epoch = true",
      "1:1: new-epoch cannot be given in a file; use --new-epoch on the command line"
    ),
    (
      "ping-interval = '1m'\npong-timeout = '30s'",
      "2:16: --pong-timeout must be longer than --ping-interval; "
        + "otherwise every socket is closed before its first ping"
    ),
    ("host = \"a\\u0000b\"", "1:8: host contains a NUL character; remove it"),
    (
      "tls-cert = 'c'",
      "1:12: TLS needs a certificate and its key; use both --tls-cert and --tls-key"
    ),
  ])
  func `an error names the file, the line and the column, with and without --check`(
    text: String, message: String
  ) async throws {
    let site = try Site(text)
    let error = CommandProcess.Outcome.failure(2, "holdfast serve: \(site.file):\(message)")
    #expect(try await site.check() == error)
    #expect(
      try await CommandProcess.run("serve", "--config", site.file, "--data", site.data) == error)
    #expect(!FileManager.default.fileExists(atPath: site.data))
  }

  @Test func `an error that concerns a variable names it`() async throws {
    let site = try Site()
    let run = try await site.check(environment: ["HOLDFAST_BUS": "nats://a"])
    #expect(
      run
        == .failure(
          2,
          "holdfast serve: --bus needs --database with the URL of a PostgreSQL database "
            + "(--bus is $HOLDFAST_BUS); add it, or leave --bus out"))
    let close = try await site.check(environment: ["HOLDFAST_PROT": "1"])
    #expect(close.status == 0)
    #expect(
      close.errors == ["holdfast serve: $HOLDFAST_PROT is not used; did you mean $HOLDFAST_PORT?"])
    let missing = try await CommandProcess.run(
      "serve", "--check", environment: ["HOLDFAST_CONFIG": site.scratch("none.toml")])
    #expect(
      missing
        == .failure(
          1,
          "holdfast serve: \(site.scratch("none.toml")) cannot be read: No such file or directory; "
            + "check its name and its permissions"))
  }

  @Test func `a variable of an option that is only typed is not used, and --check tells`()
    async throws
  {
    let run = try await Site().check(environment: ["HOLDFAST_NEW_EPOCH": "true"])
    #expect(run.status == 0)
    #expect(
      run.errors == [
        "holdfast serve: $HOLDFAST_NEW_EPOCH is not used; give --new-epoch on the command line"
      ])
  }

  @Test func `--check reads the secrets and keys for operators`() async throws {
    let site = try Site()
    let files = [("hook", 31, 0o600), ("admin", 31, 0o600), ("keys", 31, 0o644)]
    for (name, length, mode) in files {
      try site.scratch.write(String(repeating: "s", count: length).utf8, to: name)
      try FileManager.default.setAttributes(
        [.posixPermissions: mode], ofItemAtPath: site.scratch(name))
    }
    try site.write(
      """
      hook-url = "http://127.0.0.1:9"
      hook-secret-file = "\(site.scratch("hook"))"
      admin-listen = "127.0.0.1:8789"
      admin-token-file = "\(site.scratch("admin"))"
      jwks-file = "\(site.scratch("keys"))"
      token-issuer = "https://id.example"
      token-audience = "holdfast"
      """)
    let run = try await site.check()
    #expect(run.status == 1)
    let causes = [
      "\(site.scratch("hook")): the secret has less than 32 bytes",
      "\(site.scratch("keys")): the document is no key set",
      "\(site.scratch("admin")): the file must contain only a token",
    ]
    #expect(run.errors.count == causes.count)
    for (line, cause) in zip(run.errors, causes) {
      #expect(line.hasPrefix("holdfast serve: \(cause)"), "\(line)")
    }
    // A token that is missing is created by the start.
    try FileManager.default.removeItem(atPath: site.scratch("admin"))
    #expect(try await site.check().errors.count == 2)
    #expect(!FileManager.default.fileExists(atPath: site.scratch("admin")))
  }

  @Test func `--check reads the files that the options name`() async throws {
    let site = try Site()
    try site.scratch.write("no certificate".utf8, to: "chain.pem")
    try site.scratch.write("no key".utf8, to: "session-key")
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o600], ofItemAtPath: site.scratch("session-key"))
    try site.write(
      """
      tls-cert = "\(site.scratch("chain.pem"))"
      tls-key = "\(site.scratch("key.pem"))"
      session-key-file = "\(site.scratch("session-key"))"
      push-hook = "\(site.scratch("hook"))"
      """)
    let run = try await site.check()
    #expect(run.status == 1)
    #expect(run.output.first?.hasPrefix("OPTION") == true)
    let causes = [
      "the certificate cannot be used: \(site.scratch("chain.pem")): no start line",
      "\(site.scratch("session-key")): the file must contain only a session key",
      "the push hook \(site.scratch("hook")) cannot be run: No such file or directory",
    ]
    #expect(run.errors.count == causes.count)
    for (line, cause) in zip(run.errors, causes) {
      #expect(line.hasPrefix("holdfast serve: \(cause)"), "\(line)")
    }
  }

  @Test func `SIGHUP takes what can change, and names what needs a restart`() async throws {
    let site = try Site("port = 0\nlog-format = 'json'\nlog-level = 'debug'\nposts-per-second = 9")
    let served = try await ServedConfiguration(site.file, data: site.data)
    try site.write(
      "port = 0\nlog-format = 'json'\nlog-level = 'info'\nposts-per-second = 10\nplain = true")
    served.process.signal(SIGHUP)
    #expect(try await served.logged("reload")["detail"] as? String == "log-level")
    #expect(
      try await served.logged("restart_needed")["detail"] as? String == "posts-per-second, plain")
    // An invalid file changes nothing, and the log shows no value.
    try site.write("log-level = 'error'\nposts-per-second = 'hush'")
    served.process.signal(SIGHUP)
    let failed = try await served.logged("reload_failed")
    #expect(
      failed["detail"] as? String
        == "\(site.file):2:20: the value of posts-per-second is not valid; "
        + "it must be a whole number from 1 to 1000")
    try site.write("port = 0\nposts-per-second = 9\nlog-level = 'info'\nlog-format = 'text'")
    served.process.signal(SIGHUP)
    while case let line = await served.log.next(), !line.isEmpty {
      if line.hasSuffix(" reload detail=log-format") { break }
      #expect(!line.contains("restart"), "\(line)")
    }
    served.process.signal(SIGHUP)
    while case let line = await served.log.next(), !line.isEmpty {
      if line.hasSuffix(#" reload detail="no option has changed""#) { break }
      #expect(!line.contains("restart"), "\(line)")
    }
    served.process.signal(SIGTERM)
    #expect(await served.process.exit() == 0)
  }

  @Test func `the example names every option with its default, and all its values are valid`()
    async throws
  {
    let folders = URL(filePath: #filePath).pathComponents.dropLast(4)
    let path = folders.dropFirst().reduce("") { $0 + "/" + $1 } + "/packaging/holdfast.toml"
    let text = try String(contentsOfFile: path, encoding: .utf8)
    let lines = text.split(separator: "\n").compactMap { line -> (name: String, value: String)? in
      guard let match = line.wholeMatch(of: /#([a-z-]+) = (.+)/) else { return nil }
      return (String(match.1), String(match.2))
    }
    let site = try Site(text)
    let options = try await site.options()
    // These can only be given on the command line.
    let names = Set(options.keys).subtracting(["config", "new-epoch"])
    #expect(Set(lines.map(\.name)).symmetricDifference(names) == [], "add them to the example")
    #expect(lines.count == names.count)
    for (name, value) in lines {
      // The test itself gives these.
      if ["data", "json"].contains(name) { continue }
      switch options[name]?["value"] {
      case let usual as String:
        #expect(value == usual || value == "\"\(usual)\"", "\(name)")
      case let usual as Bool: #expect(value == "\(usual)", "\(name)")
      case let usual as [String]: #expect(usual == [] && value == "[]", "\(name)")
      case _: break
      }
    }
    // Some of the files do not exist, but no value is wrong. Keys come from one place.
    let together = lines.filter { $0.name != "jwks-file" }
    try site.write(together.map { "\($0.name) = \($0.value)" }.joined(separator: "\n"))
    let run = try await site.check()
    #expect(run.status != 2 && run.status != 0, "\(run.errors)")
  }
}

/// A running backend whose options are in a file.
private struct ServedConfiguration {
  let process: LabProcess
  let log: LineReader

  init(_ file: String, data: String) async throws {
    process = try CommandProcess.start(["serve", "--config", file, "--json", "--data", data])
    log = LineReader(process.diagnostics)
    #expect(await LineReader(process.lines).next().contains("listening"))
  }

  /// Returns the next log entry for `event`, or an empty dictionary if the log ends first.
  func logged(_ event: String) async throws -> [String: Any] {
    while case let line = await log.next(), !line.isEmpty {
      let object = try [String: Any].reading(line)
      if object["event"] as? String == event { return object }
    }
    return [:]
  }
}
