import Foundation
import HoldfastTestKit
import Testing

/// Tests of several shops in one process, and of several processes on one directory.
@Suite(.timeLimit(.minutes(60))) struct StreamCommandShopsTests {
  private static let names = ["bakery", "cellar"]

  private func arguments(_ shop: CommandShop, _ more: [String]) -> [String] {
    ["stream", "--server", shop.url, "--data", shop.directory]
      + Self.names.flatMap { ["--shop", $0] } + more
  }

  private func post(_ text: String, to name: String, _ shop: CommandShop) async throws {
    let outcome = try await CommandProcess.run(
      ["send", "--server", shop.url, "--shop", name, text],
      environment: ["HOLDFAST_TOKEN": try await shop.token("writer", shops: Self.names)])
    #expect(outcome.status == 0)
  }

  @Test func `follows several shops, and each event names its shop`() async throws {
    try await CommandShop.run { shop in
      let token = ["HOLDFAST_TOKEN": try await shop.token(shops: Self.names)]
      try await post("bread", to: "bakery", shop)
      let stream = CommandEvents(
        try CommandProcess.start(arguments(shop, ["--json"]), environment: token))
      #expect(await stream.line(with: #""shop":"bakery""#, "bread") != "")
      try await post("wine", to: "cellar", shop)
      #expect(await stream.line(with: #""event":"message","shop":"cellar""#, "wine") != "")
      try await post("cake", to: "bakery", shop)
      #expect(await stream.line(with: #""event":"message","shop":"bakery""#, "cake") != "")
      #expect(await stream.end().status == 0)
      let plain = try await CommandProcess.run(arguments(shop, ["--once"]), environment: token)
      #expect(plain.status == 0)
      let messages = plain.output.filter { !$0.contains("-- ") }.map(normal).sorted()
      #expect(
        messages == [
          "[bakery] LOCAL  WRITER  bread", "[bakery] LOCAL  WRITER  cake",
          "[cellar] LOCAL  WRITER  wine",
        ])
    }
  }

  @Test func `a forbidden shop ends the command with its reason`() async throws {
    try await CommandShop.run { shop in
      let outcome = try await CommandProcess.run(
        arguments(shop, ["--json"]), environment: ["HOLDFAST_TOKEN": try await shop.token()])
      #expect(outcome.status == 4)
      #expect(
        outcome.errors == [
          "holdfast stream: the token's user is not a member of shop cellar; "
            + "ask to be added, or follow another shop"
        ])
    }
  }

  @Test func `lifecycle signals reach every shop`() async throws {
    try await CommandShop.run { shop in
      let token = ["HOLDFAST_TOKEN": try await shop.token(shops: Self.names)]
      let stream = CommandEvents(
        try CommandProcess.start(arguments(shop, ["--json"]), environment: token))
      var left = Set(Self.names)
      while !left.isEmpty, case let line = await stream.line(with: "CONNECTED"), !line.isEmpty {
        left = left.filter { !line.contains(#""shop":"\#($0)""#) }
      }
      stream.process.signal(SIGUSR1)
      left = Set(Self.names)
      while !left.isEmpty, case let line = await stream.line(with: "background"), !line.isEmpty {
        left = left.filter { !line.contains(#""shop":"\#($0)""#) }
      }
      #expect(left.isEmpty)
      #expect(await stream.end().status == 0)
    }
  }

  @Test func `a second process on the same directory is refused with advice`() async throws {
    try await CommandShop.run { shop in
      let stream = try await shop.stream()
      await stream.live()
      let outcome = try await CommandProcess.run(
        shop.arguments("stream", ["--data", shop.directory], shop: "cellar"),
        environment: ["HOLDFAST_TOKEN": try await shop.token()])
      #expect(
        outcome
          == .failure(
            1,
            "holdfast stream: another process uses \(shop.directory); end it, follow all shops in "
              + "one process by several --shop options, or use another data directory"))
      #expect(await stream.end().status == 0)
    }
  }

  @Test(arguments: [
    (
      ["--confirm", "--consumer", "a"],
      "--send-stdin, --confirm and --journal need a single --shop"
    ),
    (["--send-stdin"], "--send-stdin, --confirm and --journal need a single --shop"),
    (["--journal", "x"], "--send-stdin, --confirm and --journal need a single --shop"),
    (["--shop", "c", "--shop", "d", "--shop", "e", "--shop", "f"], "6 shops are given, and 5 can"),
  ])
  func `reports which options need a single shop`(
    more: [String], cause: String
  ) async throws {
    let outcome = try await CommandProcess.run(
      ["stream", "--server", "http://127.0.0.1:1", "--shop", "a", "--shop", "b"] + more,
      environment: ["HOLDFAST_TOKEN": "any.good.token"])
    #expect(outcome.status == 2)
    #expect(outcome.errors.first?.hasPrefix("holdfast stream: \(cause)") == true)
  }
}
