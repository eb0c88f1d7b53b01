import Foundation
import Holdfast
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastMessageData
import HoldfastTestKit
import Testing

@Suite(.timeLimit(.minutes(60))) struct HistoryCommandTests {
  @Test func `shows stored messages next to a running stream and without a server`() async throws {
    try await CommandShop.run { shop in
      for number in 1...5 { try await shop.post("message \(number)") }
      let stream = try await shop.stream()
      await stream.live()
      let newest = try await CommandProcess.run(
        "history", "--data", shop.directory, "--limit", "2", "--json")
      #expect(newest.status == 0)
      #expect(
        newest.output.map(normal)
          == ["message 4", "message 5"].map { StreamCommandTests.message($0, via: "history") })
      await shop.kill()
      let id = try [String: Any].reading(newest.output.first)["id"] as? String ?? "none"
      let older = try await CommandProcess.run(
        "history", "--data", shop.directory, "--shop", "bakery", "--limit", "2", "--before", id)
      #expect(
        older.output.map(normal) == ["LOCAL  WRITER  message 2", "LOCAL  WRITER  message 3"])
    }
  }

  @Test func `shows waiting messages, and lists shops if there are several`() async throws {
    try await CommandProcess.scratch { directory in
      for shop in ["bakery", "cellar"] {
        _ = try await CommandProcess.run(
          "send", "--server", "http://127.0.0.1:1", "--shop", shop, "--data", directory,
          "--timeout", "2s", "to the \(shop)", environment: ["HOLDFAST_TOKEN": "a.good.token"])
      }
      let shops = try await CommandProcess.run("history", "--data", directory)
      #expect(shops == .init(status: 0, output: ["bakery", "cellar"], errors: []))
      let json = try await CommandProcess.run("history", "--data", directory, "--json")
      #expect(
        json.output == [
          #"{"event":"shop","shop":"bakery"}"#, #"{"event":"shop","shop":"cellar"}"#,
        ])
      let one = try await CommandProcess.run("history", "--data", directory, "--shop", "cellar")
      #expect(one.output.count == 1)
      #expect(one.output.first?.hasPrefix("-- waiting to be sent") == true)
      #expect(one.output.first?.hasSuffix(": to the cellar") == true)
    }
  }

  @Test func `shows at most as many waiting messages as requested`() async throws {
    try await CommandProcess.scratch { directory in
      let line = [
        CommandProcess.path, "stream", "--server", "http://127.0.0.1:1", "--shop", "bakery",
        "--data", directory, "--json", "--send-stdin",
      ].joined(separator: " ")
      let stream = CommandEvents(
        try LabProcess(
          ["bash", "-c", "exec \(line) < <(seq 1 60)"],
          environment: ["HOLDFAST_TOKEN": "any.good.token"]))
      #expect(await stream.line(with: "outbox", #""60""#) != "")
      _ = await stream.end()
      for (limit, count) in [("59", 59), ("60", 60), ("61", 60)] {
        let arguments = ["history", "--data", directory, "--limit", limit]
        let json = try await CommandProcess.run(arguments + ["--json"])
        #expect(json.output.count == count)
        #expect(json.output.last?.contains(#""60""#) == true)
        let plain = try await CommandProcess.run(arguments)
        let hidden = "-- 1 older one is omitted here; --limit shows more"
        #expect(plain.output.contains(hidden) == (count == 59))
      }
    }
  }

  @Test func `shows gaps in their position, and why a message was not sent`() async throws {
    try await CommandProcess.scratch { directory in
      try await Self.fill(directory)
      let json = try await CommandProcess.run("history", "--data", directory, "--json")
      #expect(
        json.output.map(normal) == [
          StreamCommandTests.message("one", via: "history", by: "Ann", position: "null"),
          #"{"at":"MS","event":"gap","from":"TIME","to":"TIME"}"#,
          StreamCommandTests.message("two", via: "history", by: "Ann", position: "null"),
          #"{"at":"MS","event":"outbox","key":"ID","text":"three","state":"failed","#
            + #""reason":"no member of this shop"}"#,
        ])
      let plain = try await CommandProcess.run("history", "--data", directory)
      #expect(
        plain.output.map(normal) == [
          "LOCAL  Ann  one",
          "-- older messages are missing here; `stream --older N` fetches those that the server keeps",
          "LOCAL  Ann  two", "-- not sent (no member of this shop): three",
        ])
    }
  }

  @Test func `shows replies and ids`() async throws {
    try await CommandProcess.scratch { directory in
      let shop = try #require(ShopID("bakery"))
      let long = String(repeating: "x", count: Quoted.length) + "\nand more"
      let texts = [long, "two", "three", "four"]
      let parents: [UInt64?] = [nil, 1, 2, 77]
      let messages = zip(texts, parents).enumerated().map { index, pair in
        ShopMessage(
          id: MessageID(high: 0, low: UInt64(index + 1)), shop: shop, user: "ann", username: "Ann",
          text: pair.0, createdAt: Timestamp(nanoseconds: Int64(index + 1) * 1_000_000_000),
          parent: pair.1.map { MessageID(high: 0, low: $0) })
      }
      let store = try await HoldfastPlatform.store(in: directory)
      _ = try await store.commit(TimelineChange(messages: messages), to: shop)
      await store.close()
      let plain = try await CommandProcess.run("history", "--data", directory, "--limit", "3")
      let quote = String(repeating: "x", count: Quoted.length) + "…"
      #expect(
        plain.output.map(normal) == [
          "LOCAL  Ann  ↳ Ann: \"\(quote)\"  two", #"LOCAL  Ann  ↳ Ann: "two"  three"#,
          "LOCAL  Ann  ↳ message ID  four",
        ])
      let ids = try await CommandProcess.run("history", "--data", directory, "--ids")
      #expect(ids.output.last?.hasPrefix("\(messages[3].id)  19") == true)
      let json = try await CommandProcess.run("history", "--data", directory, "--json")
      let found = try json.output.map { try [String: Any].reading($0)["parentId"] as? String }
      #expect(found == messages.map { $0.parent?.description })
      let before = try await CommandProcess.run(
        "history", "--data", directory, "--before", "0000")
      #expect(
        before.errors.first?.hasPrefix(
          "holdfast history: 4 messages of shop bakery have an id that begins with 0000: ") == true)
    }
  }

  /// The bounds of a quoted text.
  private enum Quoted {
    static let length = 40
  }

  /// Fills a store with two messages, a gap between them, and an outgoing message that failed.
  private static func fill(_ directory: String) async throws {
    let shop = try #require(ShopID("bakery"))
    let messages = [(1, "one"), (2, "two")].map { number, text in
      ShopMessage(
        id: MessageID(high: 0, low: UInt64(number)), shop: shop, user: "ann", username: "Ann",
        text: text, createdAt: Timestamp(nanoseconds: Int64(number) * 1_000_000_000))
    }
    let entry = OutboxEntry(
      id: UUID128(high: 1, low: 1), shop: shop, text: "three",
      createdAt: Timestamp(nanoseconds: 3_000_000_000),
      state: .failed(reason: "no member of this shop"))
    let store = try await HoldfastPlatform.store(in: directory)
    _ = try await store.commit(
      TimelineChange(
        messages: messages, gaps: [ShopGap(after: messages[0].key, before: messages[1].key)],
        outboxPut: [entry]), to: shop)
    await store.close()
  }

  @Test func `reports a missing store and a missing message`() async throws {
    try await CommandShop.run { shop in
      let nowhere = try await CommandProcess.run("history", "--data", shop.directory)
      #expect(
        nowhere
          == .failure(
            1,
            "holdfast history: There is no store at \(shop.directory)/timeline.sqlite; "
              + "check the directory."))
      try await shop.post("here")
      let stream = try await shop.stream()
      await stream.live()
      _ = await stream.end()
      let id = "00000000-0000-4000-8000-000000000000"
      let outcome = try await CommandProcess.run(
        "history", "--data", shop.directory, "--before", id)
      #expect(
        outcome
          == .failure(
            1,
            "holdfast history: message \(id) is not stored; "
              + "use an id that `history --ids` shows"))
    }
  }
}
