import Foundation
import HoldfastBackend
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastMessageData
import HoldfastTestKit
import Testing

/// Tests of the exit statuses of `stream` and `send`.
@Suite(.timeLimit(.minutes(60))) struct StreamCommandEndTests {
  @Test(arguments: ["stream", "send"])
  func `a rejected token means that the user must sign in`(command: String) async throws {
    try await CommandShop.run { shop in
      let outcome = try await run(command, shop, token: "no.good.token")
      #expect(outcome.status == 3)
      #expect(
        outcome.errors == [
          "holdfast \(command): the server rejected the token, which may have expired; sign in "
            + "again, or provide a token that this server accepts; --token-command gets a new one "
            + "whenever one expires"
        ])
    }
  }

  @Test(arguments: ["stream", "send"])
  func `a missing token means that the user must sign in`(command: String) async throws {
    try await CommandShop.run { shop in
      let outcome = try await run(command, shop, token: "")
      #expect(
        outcome
          == .failure(
            3,
            "holdfast \(command): there is no token; set HOLDFAST_TOKEN, or add --token-file FILE; "
              + "`holdfast token` creates one"))
    }
  }

  @Test(arguments: ["stream", "send"])
  func `a user who is not a member is forbidden`(command: String) async throws {
    try await CommandShop.run { shop in
      let token = try await shop.token(shops: ["cellar"])
      let outcome = try await run(command, shop, token: token)
      #expect(outcome.status == 4)
      #expect(
        outcome.errors == [
          "holdfast \(command): the token's user is not a member of shop bakery; "
            + "ask to be added, or follow another shop"
        ])
    }
  }

  @Test(arguments: ["stream", "send"])
  func `an unknown certificate is a security error`(command: String) async throws {
    try await CommandProcess.scratch { directory in
      let certificate = try await Self.certificate(in: directory)
      try await CommandShop.run(certificate: certificate) { shop in
        let outcome = try await run(command, shop, token: "any.good.token")
        #expect(outcome.status == 5)
        #expect(outcome.errors.first?.contains("the server's certificate was not accepted") == true)
      }
    }
  }

  @Test func `a certificate of a named authority is accepted`() async throws {
    try await CommandProcess.scratch { directory in
      let certificate = try await Self.certificate(in: directory)
      try await CommandShop.run(certificate: certificate) { shop in
        let outcome = try await run(
          "send", shop, token: try await shop.token(), ["--ca", certificate.chainPath])
        #expect(outcome.status == 0)
        #expect(outcome.errors == [])
      }
    }
  }

  @Test func `a message to an unreachable server ends with 6`() async throws {
    let outcome = try await CommandProcess.run(
      "send", "--server", "http://127.0.0.1:1", "--shop", "bakery", "--timeout", "60s", "hello",
      environment: ["HOLDFAST_TOKEN": "any.good.token"])
    #expect(
      outcome
        == .failure(
          6,
          "holdfast send: the server did not confirm the message within 1m: "
            + "the connection was refused; it did not arrive; send it again later"))
  }

  @Test func `a message to a server that falls silent may have arrived`() async throws {
    try await CommandShop.run { shop in
      let proxy = try FaultProxy(upstream: shop.port)
      try await proxy.set(.blackhole())
      let outcome = try await CommandProcess.run(
        "send", "--server", "http://127.0.0.1:\(proxy.port)", "--shop", CommandShop.name,
        "--timeout", "60s", "hello", environment: ["HOLDFAST_TOKEN": try await shop.token()])
      #expect(outcome.status == 6)
      let line = try #require(outcome.errors.first)
      #expect(line.hasPrefix("holdfast send: the server did not confirm the message within 1m"))
      #expect(line.hasSuffix("; it may have arrived; check before you send it again"))
      #expect(outcome.errors.count == 1)
    }
  }

  @Test func `a stream keeps retrying an unreachable server`() async throws {
    try await CommandProcess.scratch { directory in
      let stream = CommandEvents(
        try CommandProcess.start(
          [
            "stream", "--server", "http://127.0.0.1:1", "--shop", "bakery", "--data", directory,
            "--json", "--set", "standby.interval=1s",
          ], environment: ["HOLDFAST_TOKEN": "any.good.token"]))
      #expect(await stream.line(with: #""mode":"polling","reason":"refused""#) != "")
      for _ in 1...3 { #expect(await stream.line(with: "fetch-failed") != "") }
      #expect(await stream.end().status == 0)
    }
  }

  @Test(arguments: [[], ["--set", "failure.refused=retry", "--set", "retry.first=100ms,100ms"]])
  func `a stream with --once ends if the server is unreachable`(settings: [String]) async throws {
    try await CommandProcess.scratch { directory in
      let outcome = try await CommandProcess.run(
        [
          "stream", "--server", "http://127.0.0.1:1", "--shop", "bakery", "--data", directory,
          "--once",
        ] + settings, environment: ["HOLDFAST_TOKEN": "any.good.token"])
      #expect(outcome.status == 6)
      #expect(
        outcome.errors == [
          "holdfast stream: the server cannot be reached: the connection was refused; "
            + "check the URL of the server and the network"
        ])
    }
  }

  @Test(arguments: [
    (["--server", "example.com"], "--server is not a valid URL; it must begin with https://"),
    (
      ["--server", "https://user:secret@example.com"],
      "--server is not a valid URL; it must not contain a user name"
    ),
    (
      ["--server", "https://example.com?token=secret"],
      "--server is not a valid URL; it must not contain a query"
    ),
    (
      ["--server", "http://example.com"],
      "http:// to example.com would let everyone on the network path read what is sent; use"
    ),
    (
      ["--server", "https://example.com", "--token", "a", "--token-file", "b"],
      "only one of --token, --token-file and --token-command can be given"
    ),
    (["--server", "http://127.0.0.1:99999", "--token", "a"], "a number from 1 to 65535"),
    (["--server", "https://[::1]:x", "--token", "a"], "a number from 1 to 65535"),
    (
      ["--server", "https://example.com", "--token", "two words"], "the token is not a valid token"
    ),
    (
      ["--server", "https://example.com", "--token", "a", "--set", "retry.frist=1s"],
      "retry.frist"
    ),
  ])
  func `reports an invalid command line without secrets`(arguments: [String], cause: String)
    async throws
  {
    let outcome = try await CommandProcess.run(
      ["stream", "--shop", "bakery"] + arguments, environment: ["HOLDFAST_TOKEN": ""])
    #expect(outcome.status == 2)
    #expect(outcome.errors.first?.contains(cause) == true)
    #expect(!outcome.errors.contains { $0.contains("secret") })
  }

  @Test func `a store in use ends the command with advice`() async throws {
    try await CommandShop.run { shop in
      let other = try await shop.stream()
      await other.live()
      let outcome = try await run("stream", shop, token: try await shop.token())
      #expect(outcome.status == 1)
      #expect(outcome.errors.first?.contains("use another data directory") == true)
    }
  }

  private func run(
    _ command: String, _ shop: CommandShop, token: String, _ more: [String] = []
  ) async throws -> CommandProcess.Outcome {
    let own = command == "stream" ? ["--data", shop.directory] : ["hello"]
    return try await CommandProcess.run(
      shop.arguments(command, own + more), environment: ["HOLDFAST_TOKEN": token])
  }

  private static func certificate(
    in folder: String
  ) async throws -> BackendConfiguration.Certificate {
    let certificate = BackendConfiguration.Certificate(
      chainPath: folder + "/certificate.pem", keyPath: folder + "/key.pem")
    let made = await CommandProcess.outcome(
      of: try LabProcess([
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
        "-nodes", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2",
        "-keyout", certificate.keyPath, "-out", certificate.chainPath,
      ]))
    #expect(made.status == 0)
    return certificate
  }

  @Test func `a time limit that ends before everything is done is a failure`() async throws {
    try await CommandProcess.scratch { directory in
      let outcome = try await CommandProcess.run(
        "stream", "--server", "http://127.0.0.1:1", "--shop", "bakery", "--data", directory,
        "--once", "--duration", "15s", "--set", "failure.refused=retry",
        environment: ["HOLDFAST_TOKEN": "any.good.token"])
      #expect(outcome.status == 6)
      #expect(outcome.errors.first?.contains("the server cannot be reached: ") == true)
    }
  }

  @Test func `a stream with --once ends if pages cannot be read although its socket is open`()
    async throws
  {
    try await CommandProcess.scratch { directory in
      let backend = Backend(
        BackendConfiguration(dataDirectory: directory + "/server"), stores: [UnreadablePages()])
      let address = try await backend.start()
      let shop = try #require(ShopID("bakery"))
      let token = try await backend.issueToken(
        user: "ann", name: "Ann", shops: [shop], ttl: .seconds(600))
      let outcome = try await CommandProcess.run(
        "stream", "--server", address.url, "--shop", "bakery", "--data", directory + "/client",
        "--once", environment: ["HOLDFAST_TOKEN": token])
      await backend.kill()
      #expect(outcome.status != 0)
      #expect(!(outcome.output + outcome.errors).contains { $0.contains("detail:") })
    }
  }

  @Test func `signals that arrive before they are handled do not end the command`() async throws {
    try await CommandProcess.scratch { directory in
      let pipe = directory + "/token"
      #expect(unsafe mkfifo(pipe, 0o600) == 0)
      let stream = CommandEvents(
        try CommandProcess.start([
          "stream", "--server", "http://127.0.0.1:1", "--shop", "bakery", "--data", directory,
          "--json", "--token-file", pipe,
        ]))
      // The pipe can be opened for writing once the command reads it. At that time, the command
      // does not handle signals yet.
      let writer = try #require(FileHandle(forWritingAtPath: pipe))
      for signal in [SIGHUP, SIGUSR1, SIGUSR2] { stream.process.signal(signal) }
      try writer.write(contentsOf: Data("any.good.token".utf8))
      try writer.close()
      #expect(await stream.line(with: "fetch-failed") != "")
      #expect(await stream.end().status == 0)
    }
  }
}

/// A log that reports a newest position, but cannot return any page.
private struct UnreadablePages: MessageLog {
  func append(_ requests: [LogRequest]) -> [Result<LogOutcome, StoreFailure>] {
    requests.map { _ in .failure(.other(detail: "appends fail")) }
  }

  func page(_ query: PageQuery, of shop: ShopID) throws(StoreFailure) -> Page {
    guard query == .page(number: 1, limit: 1) else { throw .other(detail: "pages fail") }
    return Page(messages: [], hasNext: false, head: head(of: shop))
  }

  func count(_ query: PageQuery, of shop: ShopID) throws(StoreFailure) -> UInt64 { 1 }

  func head(of shop: ShopID) -> ShopPosition { ShopPosition(epoch: "e", offset: 5) }

  func shop(of id: MessageID) -> ShopID? { nil }

  func addImage(_ image: StoredImage, atMost most: Int) -> Bool { false }

  func oldestUnclaimedImage(of user: String) -> Timestamp? { nil }

  func image(_ id: MessageID) -> StoredImage? { nil }

  func deleteImage(_ id: MessageID) {}

  func deleteUnclaimedImages(before time: Timestamp) {}

  func deletedImages() -> [MessageID] { [] }

  func forgetImages(_ ids: [MessageID]) {}

  func removeTraces() {}

  func check() {}

  func close() {}
}
