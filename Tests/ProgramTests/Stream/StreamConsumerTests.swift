import Foundation
import HoldfastTestKit
import Testing

/// Tests of the options `--consumer`, `--from` and `--confirm` of `stream`, and of `consumer`.
@Suite(.timeLimit(.minutes(60))) struct StreamConsumerTests {
  /// A delivery that the command printed.
  private struct Seen: Equatable {
    var number: Int
    var text: String
  }

  private static func seen(_ lines: [String]) throws -> [Seen] {
    try lines.compactMap { line in
      let event = try [String: Any].reading(line)
      guard let number = event["delivery"] as? Int, let text = event["text"] as? String else {
        return nil
      }
      return Seen(number: number, text: text)
    }
  }

  private static func wanted(_ numbers: ClosedRange<Int>) -> [Seen] {
    numbers.map { Seen(number: $0, text: "m\($0)") }
  }

  private func run(
    _ shop: CommandShop, _ arguments: String...
  ) async throws -> CommandProcess.Outcome {
    try await CommandProcess.run(
      shop.arguments("stream", ["--json", "--data", shop.directory, "--once"] + arguments),
      environment: ["HOLDFAST_TOKEN": try await shop.token()])
  }

  @Test func `the next run continues after the last delivery`() async throws {
    try await CommandShop.run { shop in
      try await shop.post((1...3).map { "m\($0)" })
      let first = try await run(shop, "--consumer", "indexer")
      #expect(try Self.seen(first.output) == Self.wanted(1...3))
      try await shop.post(["m4", "m5"])
      let second = try await run(shop, "--consumer", "indexer")
      #expect(try Self.seen(second.output) == Self.wanted(4...5))
      let third = try await run(shop, "--consumer", "indexer")
      #expect(try Self.seen(third.output) == [])
      #expect([first, second, third].map(\.status) == [0, 0, 0])
    }
  }

  @Test func `messages stored by another run are delivered`() async throws {
    try await CommandShop.run { shop in
      try await shop.post("m1")
      _ = try await run(shop, "--consumer", "indexer")
      try await shop.post(["m2", "m3"])
      let plain = try await run(shop)
      #expect(plain.output.contains { $0.contains(#""text":"m3""#) })
      #expect(
        try Self.seen(try await run(shop, "--consumer", "indexer").output) == Self.wanted(2...3))
      #expect(
        try Self.seen(try await run(shop, "--consumer", "other").output) == Self.wanted(1...3))
    }
  }

  @Test func `a killed run repeats unconfirmed deliveries and omits none`() async throws {
    try await CommandShop.run { shop in
      try await shop.post((1...20).map { "m\($0)" })
      var confirmed = 0
      for step in [0, 3, 7, 10] {
        let stream = try await shop.stream("--consumer", "indexer", "--confirm")
        confirmed += step
        var found: [Seen] = []
        while found.last?.number != 20 {
          let line = await stream.line(with: #""delivery""#)
          guard !line.isEmpty else { break }
          found += try Self.seen([line])
        }
        // Before the first confirmation, deliveries start at 1.
        #expect(found == Self.wanted(max(1, confirmed - step + 1)...20))
        if confirmed > 0 { stream.process.send("\(confirmed)") }
        if confirmed > 0 { try await Self.acknowledged(confirmed, in: shop) }
        stream.process.signal(SIGKILL)
        _ = await stream.rest()
      }
      #expect(try Self.seen(try await run(shop, "--consumer", "indexer").output) == [])
    }
  }

  /// Waits until `consumer list` shows that a delivery is confirmed.
  private static func acknowledged(_ number: Int, in shop: CommandShop) async throws {
    while true {
      let list = try await CommandProcess.run(
        "consumer", "list", "--json", "--data", shop.directory)
      let found = try [String: Any].reading(list.output.first)
      if found["acknowledged"] as? Int == number { return }
      try Task.checkCancellation()
    }
  }

  @Test func `at most 1,000 deliveries wait for confirmation`() async throws {
    try await CommandShop.run { shop in
      try await shop.post((1...1_100).map { "m\($0)" })
      _ = try await run(shop, "--older", "1200")
      let stream = try await shop.stream("--consumer", "indexer", "--from", "all", "--confirm")
      var numbers: [Int] = []
      while numbers.count < 768 {
        numbers += try Self.seen([await stream.line(with: #""delivery""#)]).map(\.number)
      }
      #expect(numbers == Array(1...768))
      // There is room for 232 more deliveries, but the next batch may contain 256.
      stream.process.send("23")
      try await Self.acknowledged(23, in: shop)
      stream.process.send("24")
      while numbers.count < 1_024 {
        numbers += try Self.seen([await stream.line(with: #""delivery""#)]).map(\.number)
      }
      #expect(numbers == Array(1...1_024))
      _ = await stream.end()
    }
  }

  @Test func `--once waits for the confirmations, and reports the missing ones`() async throws {
    try await CommandShop.run { shop in
      try await shop.post(["m1", "m2", "m3"])
      let stream = try await shop.stream("--consumer", "indexer", "--confirm", "--once")
      #expect(await stream.line(with: #""delivery":3"#) != "")
      stream.process.send("x\n2\n9")
      #expect(await stream.line(with: "line 1 is not the number of a delivery") != "")
      #expect(await stream.line(with: "Delivery 9 does not exist; the last one is 3.") != "")
      stream.process.endInput()
      let diagnostics = stream.process.diagnostics
      let (_, status) = await stream.rest()
      #expect(status == 1)
      var errors: [String] = []
      for await line in diagnostics { errors.append(line) }
      #expect(
        errors == [
          "holdfast stream: 1 message was not confirmed before standard input ended; "
            + "it is delivered again"
        ])
      #expect(
        try Self.seen(try await run(shop, "--consumer", "indexer").output) == Self.wanted(3...3))
    }
  }

  @Test func `a new consumer is notified of older messages that are not stored`() async throws {
    try await CommandShop.run { shop in
      try await shop.post((1...300).map { "m\($0)" })
      let cases = [
        ["--from", "all"], ["--consumer", "new"], ["--consumer", "new"],
        ["--consumer", "all", "--from", "all"], ["--from", "all", "--older", "60"],
        ["--from", "2026-01-01T00:00:00Z"], ["--from", "2199-01-01T00:00:00Z"],
        ["--from", "all", "--older", "300"], ["--from", "all"],
      ]
      var notes: [Bool] = []
      for more in cases {
        let outcome = try await CommandProcess.run(
          shop.arguments("stream", ["--json", "--data", shop.directory, "--once"] + more),
          environment: ["HOLDFAST_TOKEN": try await shop.token()])
        notes.append(outcome.output.contains { $0.contains(#""kind":"older-messages""#) })
      }
      // At first 50 of the 300 messages are stored, later more, and in the end all of them.
      #expect(notes == [true, true, false, true, true, true, false, false, false])
    }
  }

  @Test func `a killed run with only --from leaves no consumer in the list`() async throws {
    try await CommandShop.run { shop in
      try await shop.post(["m1"])
      let stream = try await shop.stream("--from", "all")
      #expect(await stream.line(with: #""delivery":1"#) != "")
      stream.process.signal(SIGKILL)
      _ = await stream.process.exit()
      let list = ["consumer", "list", "--data", shop.directory]
      let none = "holdfast consumer list: there is no consumer; `stream --consumer NAME` adds one"
      #expect(try await CommandProcess.run(list) == .failure(0, none))
      #expect(try Self.seen(try await run(shop, "--from", "all").output) == Self.wanted(1...1))
    }
  }

  @Test func `--from prints stored messages from a time or a position on`() async throws {
    try await CommandShop.run { shop in
      try await shop.post((1...60).map { "m\($0)" })
      let first = try await run(shop, "--older", "100")
      let events = try first.output.map { try [String: Any].reading($0) }
      let messages = events.filter { $0["event"] as? String == "message" }
      let fifth = try #require(messages.first(where: { $0["text"] as? String == "m5" }))
      let time = try #require(fifth["createdAt"] as? String)
      let position = try #require(fifth["position"] as? String)
      for (start, first) in [("all", 1), (time, 5), (position, 6)] {
        let outcome = try await run(shop, "--from", start)
        #expect(outcome.status == 0, "\(outcome.errors)")
        let texts = try Self.seen(outcome.output).map(\.text)
        #expect(texts == (first...60).map { "m\($0)" })
      }
      let newest = try await run(shop, "--consumer", "new")
      #expect(try Self.seen(newest.output).map(\.text) == (11...60).map { "m\($0)" })
      let list = try await CommandProcess.run("consumer", "list", "--data", shop.directory)
      #expect(list.output == ["new of bakery: 50 acknowledged, 0 wait"])
      let unknown = try await run(shop, "--from", "elsewhere:4")
      #expect(unknown.status == 1)
      #expect(
        unknown.errors == [
          "holdfast stream: No stored message has a position of the epoch elsewhere. Name a time, "
            + "or all messages."
        ])
    }
  }

  @Test func `conflicting options are refused`() async throws {
    let arguments = ["stream", "--server", "http://127.0.0.1:1", "--shop", "a"]
    let cases = [
      (["--confirm"], "--confirm needs --consumer and --json"),
      (["--confirm", "--json"], "--confirm needs --consumer and --json"),
      (
        ["--confirm", "--json", "--consumer", "c", "--send-stdin"],
        "--confirm and --send-stdin both read standard input; choose one"
      ),
      (
        ["--consumer", "-"],
        "--consumer cannot be \"-\"; it must be 1 to 128 letters, digits, dots, dashes or "
          + "underscores, and not - alone"
      ),
      (
        ["--from", "yesterday"],
        "--from cannot be \"yesterday\"; it must be all, a time such as 2026-11-20T08:00:00Z, or "
          + "a position"
      ),
    ]
    for (options, reason) in cases {
      let outcome = try await CommandProcess.run(arguments + options)
      #expect(outcome.status == 2)
      #expect(outcome.errors.first == "holdfast stream: " + reason)
    }
  }

  @Test func `consumers are listed and removed`() async throws {
    try await CommandShop.run { shop in
      let none = try await CommandProcess.run("consumer", "list", "--data", shop.directory)
      #expect(
        none
          == .failure(
            1,
            "holdfast consumer list: There is no store at \(shop.directory)/timeline.sqlite; check "
              + "the directory."))
      try await shop.post(["m1", "m2"])
      for name in ["b", "a"] { _ = try await run(shop, "--consumer", name) }
      let list = try await CommandProcess.run(
        "consumer", "list", "--json", "--data", shop.directory)
      #expect(
        list.output == [
          #"{"event":"consumer","shop":"bakery","name":"a","acknowledged":2,"last":2}"#,
          #"{"event":"consumer","shop":"bakery","name":"b","acknowledged":2,"last":2}"#,
        ])
      let removed = try await CommandProcess.run(
        "consumer", "remove", "a", "c", "--data", shop.directory)
      #expect(removed.output == ["a of bakery was removed"])
      #expect(
        removed.errors == [
          "holdfast consumer remove: there is no consumer c; `consumer list` shows them"
        ])
      #expect(removed.status == 1)
      #expect(
        try Self.seen(try await run(shop, "--consumer", "a").output) == Self.wanted(1...2))
    }
  }
}
