import Foundation
import Holdfast
import HoldfastBackend
import HoldfastCore
import HoldfastMessageServer
import HoldfastPorts
import HoldfastTestKit
import Testing

/// Tests of the commands that change a message, and of replies.
@Suite(.timeLimit(.minutes(60))) struct ChangeCommandTests {
  /// Runs a command for the shop. Returns its outcome.
  private static func run(
    _ command: String, _ more: [String], in shop: CommandShop, as token: String? = nil
  ) async throws -> CommandProcess.Outcome {
    let own = try await shop.token()
    return try await CommandProcess.run(
      shop.arguments(command, more), environment: ["HOLDFAST_TOKEN": token ?? own])
  }

  /// Sends a message. Returns its id.
  private static func send(
    _ text: String, _ more: [String] = [], in shop: CommandShop
  ) async throws -> String {
    let outcome = try await run("send", ["--json", text] + more, in: shop)
    return try [String: Any].reading(outcome.output.first)["id"] as? String ?? ""
  }

  @Test(arguments: [ShopServerPolicy.Dialect.positions, .plain])
  func `edits and deletes a message`(dialect: ShopServerPolicy.Dialect) async throws {
    try await CommandShop.run(dialect: dialect) { shop in
      let id = try await Self.send("one", in: shop)
      let edited = try await Self.run("edit", [id, "uno"], in: shop)
      #expect(edited == .init(status: 0, output: ["edited \(id)"], errors: []))
      let stream = try await shop.stream("--once")
      #expect(await stream.line(with: id, #""text":"uno""#) != "")
      _ = await stream.end()
      let deleted = try await Self.run("delete", ["--json", id], in: shop)
      #expect(deleted.status == 0 && deleted.errors == [])
      #expect(
        deleted.output.map(normal) == [#"{"at":"MS","event":"deleted","key":"ID","id":"ID"}"#])
      #expect(try await Self.run("delete", [id], in: shop).status == 0)
      let gone = try await Self.run("edit", [id, "x"], in: shop)
      #expect(
        gone == .failure(1, "holdfast edit: the message was deleted; `history` shows what is left"))
    }
  }

  @Test func `a running stream shows changes by the commands`() async throws {
    try await CommandShop.run { shop in
      let stream = try await shop.stream()
      await stream.live()
      let id = try await Self.send("one", in: shop)
      _ = try await Self.run("edit", [id, "uno"], in: shop)
      #expect(await stream.line(with: #""event":"edited""#, id, "uno") != "")
      _ = try await Self.run("delete", [id], in: shop)
      #expect(await stream.line(with: #""event":"deleted""#, id) != "")
      #expect(await stream.end().status == 0)
    }
  }

  @Test func `says why a change was refused, and admins may delete`() async throws {
    try await CommandShop.run { shop in
      let id = try await shop.post("theirs").id.description
      let edit = try await Self.run("edit", [id, "mine"], in: shop)
      #expect(
        edit
          == .failure(
            4,
            "holdfast edit: the edit was refused: only the author can edit a message; "
              + "use the token of its author, or send a new message"))
      let deletion = try await Self.run("delete", ["--data", shop.directory, id], in: shop)
      #expect(
        deletion
          == .failure(
            4,
            "holdfast delete: the deletion was refused: only the author and admins of the shop "
              + "can delete a message; use the token of its author or of an admin of the shop; "
              + "it is kept in \(shop.directory): use `outbox retry` or `outbox discard` with "
              + "that --data"))
      let long = String(repeating: "x", count: 10_001)
      let tooLong = try await Self.run("edit", [id, long], in: shop)
      #expect(
        tooLong
          == .failure(
            1,
            "holdfast edit: the message was not edited: it has 10001 characters; a message has at "
              + "most 10000; shorten it"))
      #expect(try await Self.run("edit", [id, " "], in: shop).status == 2)
      #expect(try await Self.run("edit", ["none", "x"], in: shop).status == 2)
      let admin = try await shop.backend.issueToken(
        user: "boss", name: "BOSS", shops: [shop.shop], admin: [shop.shop], ttl: .seconds(3_600))
      #expect(try await Self.run("delete", [id], in: shop, as: admin).status == 0)
    }
  }

  @Test(arguments: [ShopServerPolicy.Dialect.positions, .plain])
  func `an unknown message and one of another shop are not changed`(
    dialect: ShopServerPolicy.Dialect
  ) async throws {
    try await CommandShop.run(dialect: dialect) { shop in
      let id = try await Self.send("here", in: shop)
      let both = try await shop.token(shops: [CommandShop.name, "cellar"])
      let unknown = "00000000-0000-4000-8000-000000000000"
      for (name, target) in [("cellar", id), (CommandShop.name, unknown)] {
        for command in [["edit", target, "there"], ["delete", target]] {
          let outcome = try await CommandProcess.run(
            [command[0], "--server", shop.url, "--shop", name] + command.dropFirst(),
            environment: ["HOLDFAST_TOKEN": both])
          #expect(
            outcome
              == .failure(
                1,
                "holdfast \(command[0]): shop \(name) has no message \(target); check the id and "
                  + "the shop; `history --ids` shows the ids of stored messages"))
        }
      }
      let stream = try await shop.stream("--once")
      #expect(await stream.line(with: id, #""text":"here""#) != "")
      _ = await stream.end()
    }
  }

  @Test func `says when a token is refused and when there is no server`() async throws {
    try await CommandShop.run { shop in
      let id = try await Self.send("one", in: shop)
      let expired = try await shop.token(ttl: .seconds(-60))
      let other = try await shop.token(shops: ["cellar"])
      let token = try await shop.token()
      for command in [["send", "x"], ["edit", id, "x"], ["delete", id]] {
        let arguments = Array(command.dropFirst())
        #expect(try await Self.run(command[0], arguments, in: shop, as: expired).status == 3)
        #expect(try await Self.run(command[0], arguments, in: shop, as: other).status == 4)
        let line =
          [command[0], "--server", "http://127.0.0.1:1", "--shop", CommandShop.name]
          + ["--timeout", "1s"] + arguments
        let offline = try await CommandProcess.run(line, environment: ["HOLDFAST_TOKEN": token])
        #expect(offline.status == 6)
      }
    }
  }

  @Test func `the beginning of an id suffices for a stored message`() async throws {
    try await CommandShop.run { shop in
      let data = ["--data", shop.directory]
      let ids = [
        try await Self.send("one", data, in: shop), try await Self.send("two", data, in: shop),
      ]
      let short = ids.map { String($0.prefix(9)) }
      let edited = try await Self.run("edit", data + [short[0].uppercased(), "uno"], in: shop)
      #expect(edited == .init(status: 0, output: ["edited \(ids[0])"], errors: []))
      let reply = try await Self.send("three", data + ["--reply-to", short[0]], in: shop)
      #expect(try await shop.parents()[reply] == ids[0])
      #expect(
        try await Self.run("delete", data + [short[1]], in: shop).output == ["deleted \(ids[1])"])
      let gone = try await Self.run("delete", data + [short[1]], in: shop)
      #expect(
        gone
          == .failure(
            1,
            "holdfast delete: no message of shop bakery whose id begins with \(short[1]) is stored "
              + "in \(shop.directory); use an id that `history --ids` shows, or the whole id"))
      #expect(try await Self.run("delete", data + ["abc"], in: shop).status == 2)
      let nowhere = try await Self.run("delete", ["--data", "/nowhere", short[0]], in: shop)
      #expect(nowhere.status == 1 && nowhere.errors.first?.contains("give the whole id") == true)
    }
  }

  @Test func `a stream shows in words what was changed and what was refused`() async throws {
    try await CommandShop.run { shop in
      let token = ["HOLDFAST_TOKEN": try await shop.token()]
      let theirs = try await shop.post("theirs")
      let first = try await shop.stream("--once")
      _ = await first.rest()
      let offline = ["edit", "--server", "http://127.0.0.1:1", "--shop", CommandShop.name]
      _ = try await CommandProcess.run(
        offline + ["--data", shop.directory, "--timeout", "1s", theirs.id.description, "mine"],
        environment: token)
      let stream = CommandEvents(
        try CommandProcess.start(
          shop.arguments("stream", ["--data", shop.directory]), environment: token))
      #expect(
        await stream.line(with: "-- edit of \(theirs.id) not sent")
          == "-- edit of \(theirs.id) not sent (only the author can edit a message): mine")
      #expect(normal(await stream.next()) == "-- unchanged: LOCAL  WRITER  theirs")
      let id = try await Self.send("one", in: shop)
      _ = try await Self.send("two", ["--reply-to", id], in: shop)
      #expect(normal(await stream.line(with: "↳")) == #"LOCAL  ANN  ↳ ANN: "one"  two"#)
      _ = try await Self.run("edit", [id, "uno"], in: shop)
      #expect(normal(await stream.line(with: "edited")) == "-- edited: LOCAL  ANN  uno")
      _ = try await Self.run("delete", [id], in: shop)
      #expect(normal(await stream.line(with: "deleted")) == "-- deleted: LOCAL  ANN")
      #expect(await stream.end().status == 0)
    }
  }

  @Test func `changes wait in the outbox while there is no server`() async throws {
    try await CommandShop.run { shop in
      let (first, second) = (
        try await Self.send("one", in: shop), try await Self.send("two", in: shop)
      )
      let before = try await shop.stream("--once")
      #expect(await before.line(with: second) != "")
      _ = await before.end()
      let offline = ["--server", "http://127.0.0.1:1", "--shop", CommandShop.name]
      let options = ["--data", shop.directory, "--timeout", "10s"]
      let token = ["HOLDFAST_TOKEN": try await shop.token()]
      let edit = try await CommandProcess.run(
        ["edit"] + offline + options + [first, "uno"], environment: token)
      #expect(edit.status == 6 && edit.errors.first?.contains("it is stored") == true)
      _ = try await CommandProcess.run(
        ["delete"] + offline + options + [second], environment: token)
      let history = try await CommandProcess.run("history", "--data", shop.directory)
      #expect(history.output.map(normal).first == "LOCAL  ANN  uno (edited)")
      #expect(history.output.count == 3)
      #expect(history.output[1].hasPrefix("-- edit of \(first) waiting to be sent after"))
      #expect(history.output[1].hasSuffix(": uno"))
      #expect(history.output[2].hasPrefix("-- deletion of \(second) waiting to be sent"))
      let json = try await CommandProcess.run("history", "--data", shop.directory, "--json")
      #expect(json.output.count == 3 && json.output[0].contains(#""text":"uno""#))
      #expect(json.output.dropFirst().allSatisfy { $0.contains(#""event":"outbox""#) })
      let list = try await CommandProcess.run(
        "outbox", "list", "--data", shop.directory, "--json")
      #expect(list.output.first?.contains(#""action":"edit","id":"\#(first)""#) == true)
      #expect(list.output.last?.contains(#""action":"delete","id":"\#(second)""#) == true)
      let after = try await shop.stream()
      #expect(await after.line(with: #""event":"edited""#, first, "uno") != "")
      #expect(await after.line(with: #""event":"deleted""#, second) != "")
      #expect(await after.end().status == 0)
      let left = try await CommandProcess.run("history", "--data", shop.directory)
      #expect(left.output.map(normal) == ["LOCAL  ANN  uno (edited)"])
    }
  }

  @Test func `sends a reply`() async throws {
    try await CommandShop.run { shop in
      let first = try await Self.send("one", in: shop)
      let second = try await Self.send("two", ["--reply-to", first], in: shop)
      let bad = try await Self.run("send", ["--reply-to", "x", "three"], in: shop)
      #expect(bad.status == 2)
      let parents = try await shop.parents()
      #expect(parents == [first: nil, second: first])
    }
  }
}

extension CommandShop {
  /// Returns the id of each message of the newest page, with that of its parent.
  fileprivate func parents() async throws -> [String: String?] {
    let network = try HoldfastPlatform.network()
    let answer = try await network.send(
      HTTPCall(
        method: "GET", url: url + "/api/v1/auth/shops/\(shop)/messages/paginated",
        headers: [("Authorization", "Bearer \(try await token())")], timeout: .seconds(600),
        maxBodyBytes: 1 << 20))
    let page = try #require(
      try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any])
    let data = page["data"] as? [String: Any] ?? page
    let messages = data["messages"] as? [[String: Any]] ?? []
    return Dictionary(
      uniqueKeysWithValues: messages.map { ($0["id"] as? String ?? "", $0["parent_id"] as? String) }
    )
  }
}
