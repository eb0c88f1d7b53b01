import Foundation
import HoldfastBackend
import HoldfastCore
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastTestKit
import Testing

/// Tests of edits and deletions over real sockets, with a client that receives events beside one
/// that knows the original protocol alone.
@Suite(.timeLimit(.minutes(60))) struct BackendEventsTests {
  private static let path = "/api/v1/auth/shops/messages"

  @Test func `an edit and a deletion reach a socket with events, and not a plain one`() async throws
  {
    try await BackendRig.run { rig in
      let token = try await rig.token()
      let (client, plain, events) = (try rig.client(), try rig.client(), try rig.client())
      #expect(try await plain.follow(token: token).headers["holdfast-events"] == nil)
      #expect(try await events.follow(token: token, events: true).headers["holdfast-events"] == "1")
      let first = try await client.post("first", token: token).message()
      let edited = try await client.edit(first.id, to: "changed", token: token)
      #expect(edited.status == 200)
      let gone = try await client.delete(first.id, token: token)
      #expect(gone.status == 200)
      let last = try await client.post("last", token: token).message()
      #expect(try await events.message() == .message(first))
      let newest = try edited.message()
      #expect(newest.text == "changed")
      #expect(newest.isEdited)
      #expect(try await events.message() == .edited(newest))
      guard case .deleted(let deletion) = try await events.message() else {
        Issue.record("no deletion arrived")
        return
      }
      #expect(deletion.id == first.id)
      #expect(deletion.position == first.position)
      #expect(deletion.changed.offset == 3)
      for follower in [events, plain] {
        if follower === plain { #expect(try await follower.message() == .message(first)) }
        #expect(try await follower.message() == .message(last))
      }
      #expect(gone.body.contains(#""changed":"\#(deletion.changed)""#))
    }
  }

  @Test func `authors edit, authors and admins delete, and nobody else does`() async throws {
    try await BackendRig.run { rig in
      let client = try rig.client()
      let ann = try await rig.token()
      let bob = try await rig.token("bob")
      let admin = try await rig.token("mod", admin: [BackendRig.shop])
      let eve = try await rig.token("eve", shops: [BackendRig.other])
      let id = try await client.post("mine", token: ann).message().id
      let other = try await client.post("also mine", token: ann).message().id
      for (token, edit, delete) in [(bob, 403, 403), (eve, 403, 403), (admin, 403, 200)] {
        #expect(try await client.edit(id, to: "theirs", token: token).status == edit)
        #expect(try await client.delete(id, token: token).status == delete)
      }
      #expect(try await client.edit(id, to: "late", token: ann).status == 404)
      #expect(try await client.delete(id, token: ann).status == 200)
      #expect(try await client.edit(other, to: "still mine", token: ann).status == 200)
      #expect(try await client.delete(other, token: ann).status == 200)
      #expect(try await client.delete(UUID128(high: 1, low: 1), token: ann).status == 404)
      #expect(try await client.ask("DELETE", "\(Self.path)/x", token: ann).status == 404)
      let answer = try await client.ask("GET", "\(Self.path)/\(id)", token: ann)
      #expect(answer.status == 405)
      #expect(answer.headers["allow"] == "DELETE")
    }
  }

  @Test func `a repeated key makes no second event, and a deleted message is not posted again`()
    async throws
  {
    try await BackendRig.run { rig in
      let client = try rig.client()
      let token = try await rig.token()
      let (post, edit) = (UUID128(high: 1, low: 1), UUID128(high: 1, low: 2))
      let message = try await client.post("once", token: token, key: post).message()
      let first = try await client.edit(message.id, to: "twice", token: token, key: edit)
      let again = try await client.edit(message.id, to: "twice", token: token, key: edit)
      #expect(try first.message() == again.message())
      let repeated = try await client.post("once", token: token, key: post)
      #expect(repeated.status == 200)
      #expect(try repeated.message().text == "twice")
      let deleted = try await client.delete(message.id, token: token)
      #expect(try await client.delete(message.id, token: token).status == 200)
      #expect(try await client.post("once", token: token, key: post).status == 410)
      let page = try await client.page("page=1", token: token, events: true)
      #expect(page.messages == [])
      #expect(page.head?.offset == 3)
      #expect(deleted.status == 200)
    }
  }

  @Test func `pages by id go on without a hole, also from a deleted message`() async throws {
    try await BackendRig.run { rig in
      let client = try rig.client()
      let token = try await rig.token()
      var ids: [MessageID] = []
      for number in 1...5 {
        ids.append(try await client.post("\(number)", token: token).message().id)
      }
      _ = try await client.delete(ids[2], token: token)
      for (query, texts, cursor) in [
        ("before_id=\(ids[4])&limit=2", ["4", "2"], ids[1]),
        ("before_id=\(ids[1])&limit=2", ["1"], nil),
        ("after_id=\(ids[0])&limit=2", ["2", "4"], ids[3]),
        ("after_id=\(ids[3])&limit=2", ["5"], nil),
        ("before_id=\(ids[2])&limit=2", ["2", "1"], nil),
        ("after_id=\(ids[2])&limit=1", ["4"], ids[3]),
      ] {
        let page = try await client.page(query, token: token)
        #expect(page.messages.map(\.text) == texts, "\(query)")
        #expect(page.nextCursor == cursor, "\(query)")
      }
      let path = ShopRoute.paginated(BackendRig.shop).path
      for (query, status) in [
        ("before_id=\(UUID128(high: 1, low: 1))", 404), ("before_id=x", 400),
        ("before_id=\(ids[0])&after_id=\(ids[1])", 400), ("known=e:1", 400),
      ] {
        let answer = try await client.ask("GET", "\(path)?\(query)", token: token)
        #expect(answer.status == status, "\(query)")
      }
    }
  }

  @Test func `a client that was away gets the newest page and what changed before it`() async throws
  {
    try await BackendRig.run { rig in
      let client = try rig.client()
      let token = try await rig.token()
      var posted: [ShopMessage] = []
      for number in 1...4 {
        posted.append(try await client.post("\(number)", token: token).message())
      }
      let known = try #require(posted.last?.position)
      _ = try await client.edit(posted[0].id, to: "changed", token: token)
      _ = try await client.delete(posted[1].id, token: token)
      let last = try await client.post("5", token: token).message()
      let page = try await client.page("page=1&limit=1&known=\(known)", token: token, events: true)
      #expect(page.messages == [last])
      #expect(page.changes.map(\.text) == ["changed"])
      #expect(page.deleted.map(\.id) == [posted[1].id])
      #expect(page.changesThrough == page.head)
      let changes = try await client.page("after=\(known)&limit=2", token: token, events: true)
      #expect(changes.messages.map(\.id) == [posted[0].id])
      #expect(changes.deleted.map(\.id) == [posted[1].id])
      #expect(changes.hasNext)
      #expect(changes.through?.offset == 6)
    }
  }

  @Test func `no file contains a replaced or deleted text soon after`() async throws {
    let scratch = try Scratch()
    let directory = scratch("data")
    try await BackendRig.run(in: directory) {
      $0.policy.forgetDelay = .milliseconds(20)
    } _: { rig in
      let client = try rig.client()
      let token = try await rig.token()
      let secrets = ["SECRET-ONE", "SECRET-TWO"]
      let first = try await client.post("SECRET-ONE", token: token).message()
      let second = try await client.post("SECRET-TWO", token: token).message()
      _ = try await client.edit(first.id, to: "changed", token: token)
      _ = try await client.delete(second.id, token: token)
      // Each request gives the server time. The test's time limit ends the loop.
      while try secrets.contains(where: { try Self.files(of: directory, contain: $0) }) {
        _ = try await client.ask("GET", "/healthz")
      }
      #expect(rig.lines.all.allSatisfy { !$0.contains("SECRET") && !$0.contains("changed") })
    }
  }

  private static func files(of directory: String, contain text: String) throws -> Bool {
    let needle = Data(text.utf8)
    return try FileManager.default.contentsOfDirectory(atPath: directory).contains { name in
      let content = FileManager.default.contents(atPath: "\(directory)/\(name)")
      return content?.range(of: needle) != nil
    }
  }
}
