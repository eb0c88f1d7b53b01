import Foundation
import Holdfast
import HoldfastTestKit
import Testing

@Suite(.timeLimit(.minutes(60))) struct SendCommandTests {
  @Test func `prints what the server confirmed`() async throws {
    try await CommandShop.run { shop in
      let token = ["HOLDFAST_TOKEN": try await shop.token()]
      let json = try await CommandProcess.run(
        shop.arguments("send", ["--json", "hello"]), environment: token)
      #expect(json.status == 0)
      #expect(json.errors == [])
      #expect(
        json.output.map(normal) == [
          #"{"at":"MS","event":"sent","key":"ID","id":"ID","createdAt":"TIME"}"#
        ])
      let plain = try await CommandProcess.run(
        shop.arguments("send", ["hello"]), environment: token)
      #expect(plain.output.map(normal) == ["sent ID at TIME"])
    }
  }

  @Test func `stores a message until the server is available`() async throws {
    try await CommandShop.run { shop in
      let token = ["HOLDFAST_TOKEN": try await shop.token()]
      let first = try await CommandProcess.run(
        [
          "send", "--server", "http://127.0.0.1:1", "--shop", CommandShop.name, "--data",
          shop.directory, "--timeout", "2s", "patient",
        ], environment: token)
      #expect(first.status == 6)
      #expect(first.errors.first?.contains("the next stream or send with this --data") == true)
      let second = try await CommandProcess.run(
        shop.arguments("send", ["--data", shop.directory, "urgent"]), environment: token)
      #expect(second.status == 0)
      let stream = try await shop.stream()
      #expect(await stream.line(with: "message", "patient") != "")
      #expect(await stream.line(with: "message", "urgent") != "")
      #expect(await stream.end().status == 0)
    }
  }

  @Test func `sends without the store while a stream uses the directory`() async throws {
    try await CommandShop.run { shop in
      let stream = try await shop.stream()
      await stream.live()
      let outcome = try await CommandProcess.run(
        shop.arguments("send", ["--data", shop.directory, "beside"]),
        environment: ["HOLDFAST_TOKEN": try await shop.token()])
      #expect(outcome.status == 0)
      #expect(
        outcome.errors == [
          "holdfast send: \(shop.directory) is in use, probably by a stream; sending without it"
        ])
      #expect(await stream.line(with: "message", "beside") != "")
    }
  }

  @Test func `reads the message from standard input`() async throws {
    try await CommandShop.run { shop in
      let stream = try await shop.stream()
      await stream.live()
      let line = ([CommandProcess.path] + shop.arguments("send", ["-"])).joined(separator: " ")
      let outcome = await CommandProcess.outcome(
        of: try LabProcess(
          ["sh", "-c", "printf 'one\\ntwo\\n\\n' | \(line)"],
          environment: ["HOLDFAST_TOKEN": try await shop.token()]))
      #expect(outcome.status == 0)
      #expect(await stream.line(with: "message", #"one\ntwo","#) != "")
    }
  }

  @Test func `reports why a message was refused`() async throws {
    try await CommandShop.run { shop in
      let outcome = try await CommandProcess.run(
        shop.arguments("send", [String(repeating: "x", count: 10_001)]),
        environment: ["HOLDFAST_TOKEN": try await shop.token()])
      #expect(
        outcome
          == .failure(
            1,
            "holdfast send: the message was not sent: it has 10001 characters; "
              + "a message has at most 10000; send it in parts"))
      let wide = try await CommandProcess.run(
        shop.arguments("send", [String(repeating: "\u{20AC}", count: 5_000)]),
        environment: ["HOLDFAST_TOKEN": try await shop.token()])
      #expect(wide.status == 1)
      #expect(
        wide.errors.first?.hasPrefix(
          "holdfast send: the message was not sent: as JSON and with its author and times it has "
            + "at least 151") == true)
      // Only the server knows the name of the author.
      let close = try await CommandProcess.run(
        shop.arguments("send", [String(repeating: "\u{E9}", count: 5_010)]),
        environment: ["HOLDFAST_TOKEN": try await shop.token()])
      #expect(close.status == 1)
      #expect(
        close.errors.first?.hasPrefix("holdfast send: the message was refused: too long to send: ")
          == true)
    }
  }

  @Test func `reports the result when its output cannot be written`() async throws {
    try await CommandShop.run { shop in
      let line = ([CommandProcess.path] + shop.arguments("send", ["hello"])).joined(separator: " ")
      for option in ["", " --json"] {
        let outcome = await CommandProcess.outcome(
          of: try LabProcess(
            ["sh", "-c", "exec \(line)\(option) > /dev/full"],
            environment: ["HOLDFAST_TOKEN": try await shop.token()]))
        #expect(outcome.status == 1)
        #expect(
          outcome.errors.map(normal) == [
            "holdfast: standard output cannot be written: No space left on device; "
              + "the server has the message as ID"
          ])
      }
    }
  }

  @Test func `refuses endless input`() async throws {
    let line = [CommandProcess.path, "send", "--server", "http://127.0.0.1:1", "--shop", "bakery"]
    let outcome = await CommandProcess.outcome(
      of: try LabProcess(
        ["sh", "-c", "\(line.joined(separator: " ")) - < /dev/zero"],
        environment: ["HOLDFAST_TOKEN": "any.good.token"]))
    #expect(
      outcome
        == .failure(
          1, "holdfast send: standard input has more than 40000 bytes; use a smaller file"))
  }

  @Test func `reads the token from each supported place`() async throws {
    try await CommandShop.run { shop in
      try await CommandProcess.scratch { directory in
        let file = directory + "/token"
        try (try await shop.token() + "\n").write(toFile: file, atomically: true, encoding: .utf8)
        for option in [
          ["--token", "@\(file)"], ["--token-file", file], ["--token-command", "cat \(file)"],
        ] {
          let outcome = try await CommandProcess.run(
            shop.arguments("send", option + ["hello"]),
            environment: ["HOLDFAST_TOKEN": "not.this.one"])
          #expect(outcome.status == 0)
          #expect(outcome.errors == [])
        }
        let outcome = try await CommandProcess.run(
          shop.arguments("send", ["hello"]), environment: ["HOLDFAST_TOKEN": "@\(file)"])
        #expect(outcome.status == 0)
      }
    }
  }

  @Test func `uses the policy in a file`() async throws {
    try await CommandShop.run { shop in
      let file = shop.directory + ".policy"
      for (content, status) in [
        (#"{"preset":"message-stream","standby.interval":"1s"}"#, Int32(0)),
        (#"{"preset":"message-stream","standby.intervall":"1s"}"#, 2),
        (#"{"preset":"session"}"#, 2),
      ] {
        try content.write(toFile: file, atomically: true, encoding: .utf8)
        let outcome = try await CommandProcess.run(
          shop.arguments("send", ["--policy", file, "hello"]),
          environment: ["HOLDFAST_TOKEN": try await shop.token()])
        #expect(outcome.status == status)
      }
    }
  }

  @Test func `the memory store passes the contract suite of stores`() async throws {
    try await timelineStoreContract { HoldfastPlatform.memoryStore() }
  }

  @Test(arguments: [
    (#"printf '\377' | X send S -"#, "standard input is not valid UTF-8"),
    (#"X send S "$(printf 'a\377')""#, "an argument is not valid UTF-8"),
    (#"X send S '  '"#, "the message is blank"),
    (#"printf ' \n' | X send S -"#, "standard input contains no message"),
  ])
  func `refuses a message that is blank or not valid UTF-8`(script: String, cause: String)
    async throws
  {
    let line = script.replacing("X", with: CommandProcess.path)
      .replacing("S", with: "--server http://127.0.0.1:1 --shop bakery")
    let outcome = await CommandProcess.outcome(
      of: try LabProcess(
        ["bash", "-c", line], environment: ["HOLDFAST_TOKEN": "any.good.token"]))
    #expect(outcome.status == 2)
    #expect(outcome.errors.first?.contains(cause) == true)
  }
}
