import Foundation
import Holdfast
import HoldfastTestKit
import Testing

/// Tests of the warnings that commands print before they fail, or when there is nothing to show.
@Suite(.timeLimit(.minutes(60))) struct CommandWarningsTests {
  private static let token = ["HOLDFAST_TOKEN": "any.good.token"]

  @Test func `an unknown shop is reported, with the nearest stored one`() async throws {
    try await CommandProcess.scratch { directory in
      _ = try await CommandProcess.run(
        "send", "--server", "http://127.0.0.1:1", "--shop", "bakery", "--data", directory,
        "--timeout", "2s", "hello", environment: Self.token)
      for (shop, hint) in [
        ("bakrey", "did you mean bakery?"), ("zoo", "messages are stored of bakery"),
      ] {
        let outcome = try await CommandProcess.run(
          "history", "--shop", shop, "--data", directory, "--json")
        #expect(
          outcome == .failure(0, "holdfast history: no message of shop \(shop) is stored; \(hint)"))
      }
    }
  }

  @Test func `an empty store is reported`() async throws {
    try await CommandProcess.scratch { directory in
      await (try HoldfastPlatform.store(in: directory)).close()
      #expect(
        try await CommandProcess.run("history", "--data", directory)
          == .failure(0, "holdfast history: \(directory) contains no messages of any shop"))
      #expect(
        try await CommandProcess.run("history", "--shop", "zoo", "--data", directory)
          == .failure(
            0, "holdfast history: no message of shop zoo is stored; nor of any other shop"))
      #expect(
        try await CommandProcess.run("outbox", "list", "--data", directory)
          == .failure(
            0, "holdfast outbox list: no message waits to be sent, and none has failed"))
      #expect(
        try await CommandProcess.run("outbox", "retry", "--failed", "--data", directory)
          == .failure(0, "holdfast outbox retry: no message has failed"))
    }
  }

  @Test(arguments: [
    (0o700, false), (0o755, false), (0o720, true), (0o775, true), (0o702, true), (0o777, true),
    (0o1777, true),
  ])
  func `a data directory that others can change is refused`(
    mode: Int, isOpen: Bool
  ) async throws {
    try await CommandProcess.scratch { directory in
      await (try HoldfastPlatform.store(in: directory)).close()
      try FileManager.default.setAttributes(
        [.posixPermissions: mode], ofItemAtPath: directory)
      let refusal =
        "users other than its owner can put files into the data directory \(directory); "
        + "run chmod 700 \(directory), or use another --data"
      let list = try await CommandProcess.run("outbox", "list", "--data", directory)
      #expect(list.status == (isOpen ? 1 : 0))
      #expect(list.errors.contains("holdfast outbox list: \(refusal)") == isOpen)
      guard isOpen else { return }
      for arguments in [
        ["serve", "--port", "0"], ["token", "--user", "ann", "--shops", "bakery"],
        ["send", "--server", "http://127.0.0.1:1", "--shop", "bakery", "hello"],
      ] {
        let outcome = try await CommandProcess.run(
          arguments + ["--data", directory], environment: Self.token)
        #expect(outcome.status == 1)
        #expect(outcome.errors.last?.hasSuffix(": \(refusal)") == true, "\(outcome.errors)")
      }
    }
  }

  @Test(arguments: [
    "::::", "http://", "ftp://proxy.example:3128", "http://proxy.example:0",
    "http://proxy.example:65536", "http://proxy.example:port", "http://a b:3128", "http://[::1",
    "socks5//proxy.example", "http://user:secret@",
  ])
  func `an invalid proxy is wrong usage, and is not repeated`(url: String) async throws {
    let outcome = try await CommandProcess.run(
      "send", "--server", "https://shop.example", "--shop", "bakery", "--proxy", url, "hello",
      environment: Self.token)
    #expect(outcome.status == 2)
    #expect(
      outcome.errors.first?.hasPrefix(
        "holdfast send: the value of --proxy is not valid; it must be [SCHEME://]") == true)
    #expect(outcome.errors.first?.contains("secret") == false)
  }

  @Test(arguments: [
    "proxy.example", "http://me:it's/so@[2001:db8::1]:1/", "me:p@ss@proxy.example:3128",
    "SOCKS5H://10.0.0.1:65535",
  ])
  func `reports that a proxy is not used for this machine`(url: String) async throws {
    let outcome = try await CommandProcess.run(
      "send", "--server", "http://[::1]:1", "--shop", "bakery", "--proxy", url, "--timeout",
      "60s", "hello", environment: Self.token)
    #expect(outcome.status == 6)
    #expect(outcome.errors.first == "holdfast send: --proxy is not used: ::1 is this machine")
    #expect(outcome.errors.last?.contains("the connection was refused") == true)
  }

  private static let broken = [
    ("", "holds no certificate in PEM form"), ("no certificate\n", "holds no certificate"),
    (
      "-----BEGIN CERTIFICATE-----\nxxxx\n-----END CERTIFICATE-----\n",
      "holds a certificate that cannot be parsed"
    ),
    ("-----BEGIN CERTIFICATE-----\nMIIB", "holds a certificate that cannot be parsed"),
  ]

  @Test(arguments: broken, ["stream", "send", "socket"])
  func `unusable authorities are a security error immediately`(
    content: (text: String, reason: String), command: String
  ) async throws {
    try await CommandProcess.scratch { directory in
      let file = directory + "/ca.pem"
      try content.text.write(toFile: file, atomically: true, encoding: .utf8)
      var arguments = [command, "--ca", file]
      switch command {
      case "socket": arguments += ["wss://127.0.0.1:1/"]
      case "send": arguments += ["--server", "https://127.0.0.1:1", "--shop", "bakery", "hello"]
      case _:
        arguments += ["--server", "https://127.0.0.1:1", "--shop", "bakery", "--data", directory]
      }
      let outcome = try await CommandProcess.run(arguments, environment: Self.token)
      #expect(outcome.status == 5)
      #expect(
        outcome.errors.first?.hasPrefix("holdfast \(command): \(file) \(content.reason)") == true)
      let missing = try await CommandProcess.run(
        arguments.map { $0 == file ? "/nowhere" : $0 }, environment: Self.token)
      #expect(missing.status == 5)
    }
  }

  @Test func `https to a port without TLS suggests http`() async throws {
    try await CommandShop.run { shop in
      let outcome = try await CommandProcess.run(
        "send", "--server", "https://127.0.0.1:\(shop.port)", "--shop", "bakery", "hello",
        environment: Self.token)
      #expect(outcome.status == 5)
      let line = outcome.errors.first ?? ""
      #expect(line.hasPrefix("holdfast send: the server does not speak TLS on this port"))
      #expect(line.contains("http://"))
      #expect(!line.contains("certificate"))
    }
  }

  @Test(arguments: ["send", "socket"])
  func `a failed token command is not reported as a refusal of the server`(command: String)
    async throws
  {
    try await CommandShop.run { shop in
      let socket = "ws" + shop.url.dropFirst(4) + "/messages/bakery/stream"
      let arguments =
        command == "send"
        ? shop.arguments("send", ["--timeout", "5s", "hello"]) : ["socket", socket, "--once"]
      let outcome = try await CommandProcess.run(arguments + ["--token-command", "exit 7"])
      #expect(outcome.status == 1)
      #expect(
        outcome.errors.last
          == "holdfast \(command): there is no token: the token command failed with status 7; "
          + "run the command of --token-command by itself to see why")
    }
  }

  @Test(arguments: [256, 257, 600])
  func `waits whose sum exceeds the clock's range are shown`(count: Int) async throws {
    let waits = Array(repeating: "10000h", count: count).joined(separator: ",")
    for format in [[], ["--json"]] {
      let outcome = try await CommandProcess.run(
        ["policy", "show", "session", "--set", "retry.first=\(waits)"] + format)
      #expect(outcome.status == 0)
      #expect(outcome.errors == [])
    }
  }

  @Test(arguments: [
    ("retry.windows", "1/2562047h"), ("retry.first", "1s*2 max 30s +-0.25 min 1s x1000000"),
    ("retry.stability", "2562047h"),
  ])
  func `policy values outside their range are wrong usage`(
    key: String, value: String
  ) async throws {
    let arguments = ["policy", "show", "message-stream", "--set", "\(key)=\(value)"]
    let outcome = try await CommandProcess.run(arguments)
    #expect(outcome.status == 2)
    #expect(outcome.errors.count == 1)
    #expect(outcome.errors.first?.contains("its range is ") == true)
  }
}
