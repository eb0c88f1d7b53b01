import Foundation
import Holdfast
import HoldfastTestKit
import LinkRuntime
import Testing

@Suite(.timeLimit(.minutes(1))) struct SendCommandTests {
  @Test func `prints what the server confirmed`() async throws {
    try await CommandShop.run { shop in
      let token = ["HOLDFAST_TOKEN": try await shop.token()]
      let json = try await CommandProcess.run(
        shop.words("send", ["--json", "hello"]), environment: token)
      #expect(json.status == 0)
      #expect(json.errors == [])
      #expect(
        json.output.map(normal) == [
          #"{"at":"MS","event":"sent","key":"ID","id":"ID","createdAt":"TIME"}"#
        ])
      let plain = try await CommandProcess.run(shop.words("send", ["hello"]), environment: token)
      #expect(plain.output.map(normal) == ["sent ID at TIME"])
    }
  }

  @Test func `keeps a message until the server is there`() async throws {
    try await CommandShop.run { shop in
      let token = ["HOLDFAST_TOKEN": try await shop.token()]
      let first = try await CommandProcess.run(
        [
          "send", "--server", "http://127.0.0.1:1", "--shop", CommandShop.name, "--data",
          shop.directory, "--timeout", "100ms", "patient",
        ], environment: token)
      #expect(first.status == 6)
      #expect(first.errors.first?.contains("the next stream or send with this --data") == true)
      let second = try await CommandProcess.run(
        shop.words("send", ["--data", shop.directory, "urgent"]), environment: token)
      #expect(second.status == 0)
      let stream = try await shop.stream()
      #expect(await stream.line(with: "message", "patient") != "")
      #expect(await stream.line(with: "message", "urgent") != "")
      #expect(await stream.end().status == 0)
    }
  }

  @Test func `goes beside a stream that holds the directory`() async throws {
    try await CommandShop.run { shop in
      let stream = try await shop.stream()
      await stream.live()
      let outcome = try await CommandProcess.run(
        shop.words("send", ["--data", shop.directory, "beside"]),
        environment: ["HOLDFAST_TOKEN": try await shop.token()])
      #expect(outcome.status == 0)
      #expect(
        outcome.errors == [
          "holdfast send: \(shop.directory) is in use, probably by a stream; sending without it"
        ])
      #expect(await stream.line(with: "message", "beside") != "")
    }
  }

  @Test func `takes the message from its input`() async throws {
    try await CommandShop.run { shop in
      let stream = try await shop.stream()
      await stream.live()
      let line = ([CommandProcess.path] + shop.words("send", ["-"])).joined(separator: " ")
      let outcome = await CommandProcess.outcome(
        of: try LabProcess(
          ["sh", "-c", "printf 'one\\ntwo\\n\\n' | \(line)"],
          environment: ["HOLDFAST_TOKEN": try await shop.token()]))
      #expect(outcome.status == 0)
      #expect(await stream.line(with: "message", #"one\ntwo","#) != "")
    }
  }

  @Test func `tells why a message was refused`() async throws {
    try await CommandShop.run { shop in
      let outcome = try await CommandProcess.run(
        shop.words("send", [String(repeating: "x", count: 10_001)]),
        environment: ["HOLDFAST_TOKEN": try await shop.token()])
      #expect(outcome == .failure(1, "holdfast send: the message was refused: too long to send"))
    }
  }

  @Test func `the store that leaves no trace keeps the contract of stores`() async throws {
    try await timelineStoreContract { Platform.memoryStore() }
  }
}
