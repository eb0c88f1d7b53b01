import Foundation
import Holdfast
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastMessageData
import HoldfastPorts
import HoldfastTestKit
import Testing

@Suite(.timeLimit(.minutes(60))) struct OutboxCommandTests {
  private static let keys = (1...4).map { UUID128(high: 1, low: $0).description }

  /// Runs `body` with a store of four outgoing messages.
  ///
  /// Three messages are for the bakery, and the second and third of them failed. The fourth message
  /// is for the cellar and failed, too.
  private func run(_ body: (String) async throws -> Void) async throws {
    try await CommandProcess.scratch { directory in
      let store = try await HoldfastPlatform.store(in: directory)
      let states: [(String, OutboxEntry.State)] = [
        ("bakery", .queued(tries: 2)), ("bakery", .failed(reason: "too long to send")),
        ("bakery", .failed(reason: "no member of this shop")),
        ("cellar", .failed(reason: "no answer from the server")),
      ]
      for (index, (name, state)) in states.enumerated() {
        let shop = try #require(ShopID(name))
        let entry = OutboxEntry(
          id: UUID128(high: 1, low: UInt64(index + 1)), shop: shop, text: "text \(index + 1)",
          createdAt: Timestamp(nanoseconds: Int64(index)), state: state)
        _ = try await store.commit(TimelineChange(outboxPut: [entry]), to: shop)
      }
      await store.close()
      try await body(directory)
    }
  }

  /// Returns the output of `outbox list`, with each key replaced by its number.
  private func list(_ directory: String, _ more: [String] = []) async throws -> [String] {
    let outcome = try await CommandProcess.run(["outbox", "list", "--data", directory] + more)
    // If there is nothing to show, the command prints a note on standard error.
    #expect(outcome.status == 0 && outcome.errors.isEmpty == !outcome.output.isEmpty)
    return outcome.output.map { line in
      Self.keys.enumerated().reduce(line) { $0.replacing($1.element, with: "\($1.offset + 1)") }
    }
  }

  private func expect(
    _ lines: [String], in directory: String, _ more: [String] = []
  ) async throws {
    let found = try await list(directory, more)
    #expect(found == lines)
  }

  private static let all = [
    "1  bakery  -- waiting to be sent after 2 attempts: text 1",
    "2  bakery  -- not sent (too long to send): text 2",
    "3  bakery  -- not sent (no member of this shop): text 3",
    "4  cellar  -- not sent (no answer from the server): text 4",
  ]

  @Test func `lists waiting and failed messages`() async throws {
    try await run { directory in
      try await expect(Self.all, in: directory)
      try await expect(Array(Self.all.prefix(3)), in: directory, ["--shop", "bakery"])
      try await expect([], in: directory, ["--shop", "attic"])
      let json = try await list(directory, ["--json"])
      #expect(
        json.prefix(2) == [
          #"{"event":"outbox","shop":"bakery","key":"1","text":"text 1","state":"queued","#
            + #""tries":2}"#,
          #"{"event":"outbox","shop":"bakery","key":"2","text":"text 2","state":"failed","#
            + #""reason":"too long to send"}"#,
        ])
    }
  }

  @Test func `retries failed messages, by key or all`() async throws {
    try await run { directory in
      let arguments = ["outbox", "retry", "--data", directory]
      let one = try await CommandProcess.run(arguments + [Self.keys[1], "--json"])
      #expect(
        one.output == [
          #"{"event":"outbox","shop":"bakery","key":"\#(Self.keys[1])","text":"text 2","#
            + #""state":"queued","tries":0}"#
        ])
      var left = Self.all
      left[1] = "2  bakery  -- waiting to be sent: text 2"
      try await expect(left, in: directory)
      let rest = try await CommandProcess.run(arguments + ["--failed", "--shop", "cellar"])
      #expect(rest.output == ["\(Self.keys[3])  cellar  -- waiting to be sent: text 4"])
      left[3] = "4  cellar  -- waiting to be sent: text 4"
      try await expect(left, in: directory)
      let waiting = try await CommandProcess.run(arguments + [Self.keys[2], Self.keys[0]])
      #expect(
        waiting
          == .failure(
            1,
            "holdfast outbox retry: message \(Self.keys[0]) has not failed; `stream` will send "
              + "it"))
      try await expect(left, in: directory)
    }
  }

  @Test func `discards named messages, or all failed ones`() async throws {
    try await run { directory in
      let arguments = ["outbox", "discard", "--data", directory]
      let one = try await CommandProcess.run(arguments + [Self.keys[0]])
      #expect(one.output == ["\(Self.keys[0])  bakery  -- discarded: text 1"])
      try await expect(Array(Self.all.dropFirst()), in: directory)
      let rest = try await CommandProcess.run(arguments + ["--failed", "--json"])
      #expect(rest.output.count == 3)
      #expect(rest.output.first?.hasPrefix(#"{"event":"discarded","shop":"bakery","#) == true)
      try await expect([], in: directory)
    }
  }

  @Test func `changes nothing if an argument or the store is invalid`() async throws {
    try await run { directory in
      let unknown = UUID128(high: 9, low: 9).description
      for verb in ["retry", "discard"] {
        let name = "holdfast outbox \(verb)"
        let arguments = ["outbox", verb, "--data", directory]
        let stranger = try await CommandProcess.run(arguments + [Self.keys[1], unknown])
        #expect(
          stranger
            == .failure(
              1,
              "\(name): message \(unknown) is not in the outbox; use a key that `outbox list` shows"
            ))
        for more in [[], ["--failed", Self.keys[1]]] {
          let outcome = try await CommandProcess.run(arguments + more)
          #expect(outcome.status == 2)
          #expect(outcome.errors.first?.contains("either keys or --failed must be given") == true)
        }
        let wrong = try await CommandProcess.run(arguments + ["key"])
        #expect(wrong.status == 2)
        let store = try await HoldfastPlatform.store(in: directory)
        let locked = try await CommandProcess.run(arguments + ["--failed"])
        #expect(locked.status == 1)
        await store.close()
        let nowhere = directory + "/nowhere"
        let none = try await CommandProcess.run("outbox", verb, "--failed", "--data", nowhere)
        #expect(none.status == 1)
        #expect(!FileManager.default.fileExists(atPath: nowhere))
      }
      try await expect(Self.all, in: directory)
    }
  }

  @Test func `the next stream sends a retried message`() async throws {
    try await CommandShop.run { shop in
      let bakery = try #require(ShopID("bakery"))
      let entry = OutboxEntry(
        id: UUID128(high: 1, low: 1), shop: bakery, text: "at last",
        createdAt: BootClock().wall, state: .failed(reason: "no answer from the server"))
      let store = try await HoldfastPlatform.store(in: shop.directory)
      _ = try await store.commit(TimelineChange(outboxPut: [entry]), to: bakery)
      await store.close()
      let outcome = try await CommandProcess.run(
        "outbox", "retry", "--failed", "--data", shop.directory)
      #expect(outcome.status == 0)
      let stream = try await shop.stream()
      #expect(await stream.line(with: "sent", "00000000-0000-0001-0000-000000000001") != "")
      _ = await stream.end()
    }
  }
}
