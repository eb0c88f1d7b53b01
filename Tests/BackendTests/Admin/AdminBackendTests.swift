import Foundation
import Glibc
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastJSON
import HoldfastMessageServer
import HoldfastPorts
import HoldfastProtocols
import HoldfastServerParts
import HoldfastTestKit
import Synchronization
import Testing

@testable import HoldfastBackend

/// Tests of the address for operators, over real sockets.
@Suite(.offThePool, .timeLimit(.minutes(60))) struct AdminBackendTests {
  private static let key = "0123abcd-0000-4000-8000-000000000001"

  @Test func `of 200 sockets, those of one user are closed`() async throws {
    _ = BackendConfiguration.raiseDescriptorLimit()
    try await AdminRig.run(in: try Scratch()) { admin in
      let own = [try await admin.rig.follower("ann"), try await admin.rig.follower("ann")]
      var others: [BackendClient] = []
      for number in 0..<198 { others.append(try await admin.rig.follower("u\(number)")) }
      let listed = try await admin.ask("GET", "connections", query: [(name: "user", value: "ann")])
      #expect(listed.body.matches(of: #/"kind":"stream","user":"ann","shop":"bakery"/#).count == 2)
      let answer = try await admin.ask("POST", "users", "ann", "disconnect")
      #expect(answer.body == #"{"node":null,"closed":2,"code":4401}"#)
      for client in own {
        #expect(try await client.close() == .close(4401, "signed out by an operator"))
      }
      let posted = try await admin.rig.client().post(
        "still here", token: try await admin.rig.token("u1"))
      #expect(posted.status == 201)
      for client in others {
        guard case .message(let message) = try await client.message() else {
          Issue.record("a socket of another user was closed")
          return
        }
        #expect(message.text == "still here")
      }
      let rest = try await admin.ask("GET", "connections", query: [(name: "limit", value: "1000")])
      #expect(rest.body.matches(of: #/"user":"u\d+"/#).count == 198)
      // The log is written outside the loop of the sockets.
      while !admin.acts.contains(where: { $0.contains(#""act":"disconnect_user","user":"ann""#) }) {
        await Task.yield()
      }
      #expect(admin.acts.contains { $0.contains(#""by":"uid \#(getuid())""#) })
    }
  }

  @Test(
    arguments: [(nil, 403), (0, nil), (1_000, nil), (1_001, 403), (65_534, 403)]
      as [(UInt32?, Int?)])
  func `without a token, only the user of the backend and root may act`(
    user: UInt32?, status: Int?
  ) throws {
    let head = try HTTPRequestHead(method: "GET", target: "/admin/jobs", headers: [])
    #expect(AdminDesk.refusal(of: head, from: user, token: nil, own: 1_000)?.status == status)
    let token = AdminToken(String(repeating: "t", count: 32))
    #expect(AdminDesk.refusal(of: head, from: user, token: token, own: 1_000)?.status == 401)
  }

  @Test func `one connection is closed by its id, with the chosen code`() async throws {
    try await AdminRig.run(in: try Scratch()) { admin in
      let ann = try await admin.rig.follower("ann")
      let listed = try await admin.ask("GET", "connections").body
      let id = String(try #require(listed.firstMatch(of: #/"id":"(\d+)"/#)).1)
      let answer = try await admin.ask(
        "DELETE", "connections", id, query: [(name: "code", value: "4403")])
      #expect((answer.status, answer.body) == (200, #"{"node":null,"closed":1,"code":4403}"#))
      #expect(try await ann.close() == .close(4403, "removed by an operator"))
      try await ann.answerClose(4403)
      _ = await ann.isAtEnd()
      let again = try await admin.ask("DELETE", "connections", id)
      #expect(again.status == 404)
      #expect(again.body.contains("GET /admin/connections"))
    }
  }

  @Test func `a message is posted once under its key, and reaches the followers`() async throws {
    try await AdminRig.run(in: try Scratch()) { admin in
      let ann = try await admin.rig.follower("ann")
      let body =
        #"{"as":"bot","name":"The Shop","text":"Closed today","idempotency_key":"\#(Self.key)"}"#
      let first = try await admin.ask("POST", "shops", "bakery", "messages", body: body)
      let again = try await admin.ask("POST", "shops", "bakery", "messages", body: body)
      #expect((first.status, again.status) == (201, 200))
      let message = try Envelope.decodeMessage(Array(first.body.utf8), shop: BackendRig.shop)
      #expect(try Envelope.decodeMessage(Array(again.body.utf8), shop: BackendRig.shop) == message)
      #expect((message.user, message.username) == ("bot", "The Shop"))
      guard case .message(let heard) = try await ann.message() else {
        Issue.record("no message")
        return
      }
      #expect((heard.id, heard.text) == (message.id, "Closed today"))
      let other = body.replacing("Closed", with: "Open")
      #expect(try await admin.ask("POST", "shops", "bakery", "messages", body: other).status == 409)
      let long = body.replacing("Closed", with: String(repeating: "x", count: 10_001))
      #expect(try await admin.ask("POST", "shops", "bakery", "messages", body: long).status == 413)
      #expect(!admin.rig.lines.all.contains { $0.contains("Closed today") })
      let metrics = try await admin.rig.client().ask("GET", "/metrics").body
      #expect(!metrics.contains(#"route="""#))
    }
  }

  @Test func `presence names the users with a socket`() async throws {
    try await AdminRig.run(in: try Scratch()) { admin in
      let clients = [
        try await admin.rig.follower("ben"), try await admin.rig.follower("ann"),
        try await admin.rig.follower("ann"),
        try await admin.rig.follower("eve", shop: BackendRig.other),
      ]
      let answer = try await admin.ask("GET", "shops", "bakery", "presence")
      #expect(
        answer.body.matches(of: #/"user":"(\w+)","sockets":(\d)/#).map {
          "\($0.1) \($0.2)"
        } == ["ann 2", "ben 1"])
      for client in clients { await client.leave() }
    }
  }

  @Test func `a phone is listed with its assistants`() async throws {
    try await AdminRig.run(in: try Scratch()) { admin in
      let (phone, _, _) = try await admin.rig.pairedPhone()
      let answer = try await admin.ask("GET", "phones")
      #expect(answer.body.contains(#""state":"here""#))
      #expect(answer.body.contains(#""assistants":1"#))
      let sockets = try await admin.ask(
        "GET", "connections", query: [(name: "kind", value: "phone")])
      #expect(sockets.body.matches(of: #/"kind":"phone"/#).count == 1)
      _ = phone
    }
  }

  // MARK: - Admission

  @Test func `a TCP address admits only the token`() async throws {
    let scratch = try Scratch()
    let file = scratch("token")
    let address = try AdminAddress("127.0.0.1:0", tokenFile: file)
    try await BackendRig.run {
      $0.admin = address
    } _: { rig in
      #expect(try scratch.mode(of: "token") == 0o600)
      let url = try #require(rig.address.admin)
      let wrong = AdminToken(String(repeating: "w", count: 64))
      for token in [nil, wrong] {
        let answer = try await AdminClient(url, token: token).ask("GET", ["connections"])
        #expect(answer.status == 401)
        #expect(answer.headers["www-authenticate"] == "Bearer")
      }
      let token = try AdminToken.find(at: file)
      let answer = try await AdminClient(url, token: token).ask("GET", ["connections"])
      #expect(answer.status == 200)
      let name = #""by":"token \#(token.shortName)""#
      await rig.lines.wait { $0.contains(name) }
      let acts = rig.lines.all.filter { $0.contains(#""event":"admin""#) }
      #expect(acts.filter { $0.contains(#""outcome":"not_admitted""#) }.count == 2)
      #expect(acts.last?.contains(name) == true)
      let secret = String(decoding: try scratch.bytes(of: "token"), as: UTF8.self)
      #expect(!rig.lines.all.contains { $0.contains(secret.prefix(64)) })
    }
  }

  @Test func `the socket has mode 600, and takes no other routes`() async throws {
    try await AdminRig.run(in: try Scratch()) { admin in
      #expect(try admin.scratch.mode(of: "data/admin.sock") == 0o600)
      let client = try AdminClient("unix:" + admin.scratch("data/admin.sock"))
      #expect(try await client.ask("GET", ["..", "healthz"]).status == 400)
      #expect(try await client.ask("GET", ["healthz"]).status == 404)
      #expect(try await admin.ask("GET", "nothing").status == 404)
      // The routes of operators are unknown at the public port.
      let guest = try admin.rig.client()
      for path in ["/admin/connections", "/admin/phones", "/admin/jobs", "/admin/pairings"] {
        #expect(try await guest.ask("GET", path).status == 404)
      }
      let token = try await admin.rig.token(admin: [BackendRig.shop])
      #expect(try await guest.ask("DELETE", "/admin/users/ann", token: token).status == 404)
      #expect(try await guest.ask("POST", "/admin/drain", token: token, body: "").status == 404)
    }
  }

  @Test(arguments: [
    ("", false), ("unix:", false), ("localhost:1", false), ("127.0.0.1", false),
    ("224.0.0.1:1", false), ("unix:/srv/a", true), ("unix:/srv/", false), ("unix:/a\0b", false),
  ])
  func `an address is checked`(text: String, isValid: Bool) {
    #expect(((try? AdminAddress(text)) != nil) == isValid)
  }

  @Test func `a TCP address needs a token`() {
    #expect(throws: AdminAddress.Fault.needsToken) { try AdminAddress("127.0.0.1:1") }
    #expect(throws: Never.self) { try AdminAddress("[::1]:1", tokenFile: "t") }
  }

  @Test(arguments: [(31, false), (32, true), (1_024, true), (1_025, false)])
  func `a token has 32 to 1,024 characters`(length: Int, isValid: Bool) throws {
    let text = String(repeating: "t", count: length)
    #expect((AdminToken(text) != nil) == isValid)
    let scratch = try Scratch()
    try scratch.write(Array((text + "\n").utf8), to: "token")
    unsafe chmod(scratch("token"), 0o600)
    #expect(((try? AdminToken.open(at: scratch("token"))) != nil) == isValid)
    unsafe chmod(scratch("token"), 0o640)
    #expect(throws: BackendError.openToOthers(path: scratch("token"))) {
      try AdminToken.open(at: scratch("token"))
    }
  }

  // MARK: - The end

  @Test func `a drain is asked for once`() async throws {
    let (asked, told) = AsyncStream.makeStream(of: Void.self)
    let count = Atomic(0)
    try await AdminRig.run(in: try Scratch()) {
      $0.drain = {
        count.add(1, ordering: .relaxed)
        told.yield()
      }
    } _: { admin in
      for _ in 0..<2 {
        let answer = try await admin.ask("POST", "drain")
        #expect((answer.status, answer.body) == (202, #"{"node":null,"state":"draining"}"#))
      }
      var iterator = asked.makeAsyncIterator()
      await iterator.next()
      #expect(count.load(ordering: .relaxed) == 1)
    }
  }

  @Test func `a drain that has begun is not asked for again`() async throws {
    let count = Atomic(0)
    try await AdminRig.run(in: try Scratch()) {
      $0.policy.drainGrace = .seconds(2)
      ($0.policy.closeWait, $0.policy.drainLimit) = (.seconds(3_600), .seconds(3_600))
      $0.drain = { count.add(1, ordering: .relaxed) }
    } _: { admin in
      let follower = try await admin.rig.follower()
      async let drained: Void = admin.rig.backend.drainAndStop()
      #expect(try await follower.message() == .draining(within: .seconds(5)))
      #expect(try await admin.ask("POST", "drain").status == 202)
      #expect(count.load(ordering: .relaxed) == 0)
      _ = try await follower.close()
      try await follower.answerClose(1001)
      await drained
    }
  }
}
