import HoldfastBackend
import HoldfastCore
import HoldfastMessageData
import HoldfastMessageServer
import Testing

@Suite(.offThePool, .timeLimit(.minutes(60))) struct BackendStreamTests {
  @Test func `streams messages after the reported head, including to their sender`() async throws {
    try await BackendRig.run { rig in
      let token = try await rig.token()
      let poster = try rig.client()
      let before = try await poster.post("before", token: token).message()
      let follower = try rig.client()
      let answer = try await follower.follow(token: token)
      #expect(answer.status == 101)
      #expect(answer.headers["holdfast-head"] == before.position?.description)
      let after = try await poster.post("after", token: token).message()
      #expect(try await follower.message() == .message(after))
    }
  }

  @Test func `sends the backlog after the position in the upgrade before live messages`()
    async throws
  {
    try await BackendRig.run { rig in
      let token = try await rig.token()
      let poster = try rig.client()
      var posted: [ShopMessage] = []
      for number in 1...4 {
        posted.append(try await poster.post("\(number)", token: token).message())
      }
      let start = try #require(posted[0].position).description
      let follower = try rig.client()
      let answer = try await follower.follow(token: token, after: start)
      #expect(answer.status == 101)
      #expect(answer.headers["holdfast-after"] == start)
      #expect(answer.headers["holdfast-head"] == posted[3].position?.description)
      let live = try await poster.post("live", token: token).message()
      for message in posted.dropFirst() + [live] {
        #expect(try await follower.message() == .message(message))
      }
    }
  }

  @Test(arguments: [(3, true), (4, false)])
  func `sends a backlog of at most half the queue limit`(
    missed: Int, fits: Bool
  ) async throws {
    try await BackendRig.run {
      $0.maxQueuedBytes = 65_536
    } _: { rig in
      let token = try await rig.token()
      let poster = try rig.client()
      let before = try await poster.post("before", token: token).message()
      let text = String(repeating: "a", count: 9_000)
      for _ in 0..<missed { _ = try await poster.post(text, token: token).message() }
      let start = try #require(before.position).description
      let answer = try await rig.client().follow(token: token, after: start)
      #expect(answer.status == 101)
      #expect(answer.headers["holdfast-after"] == (fits ? start : nil))
    }
  }

  @Test(arguments: ["nonsense", "", "e:5", "another:1"])
  func `ignores an unknown position`(position: String) async throws {
    try await BackendRig.run { rig in
      let token = try await rig.token()
      _ = try await rig.client().post("before", token: token).message()
      let answer = try await rig.client().follow(token: token, after: position)
      #expect(answer.status == 101)
      #expect(answer.headers["holdfast-after"] == nil)
    }
  }

  @Test func `accepts the token of an upgrade from the query`() async throws {
    try await BackendRig.run { rig in
      let token = try await rig.token()
      #expect(try await rig.client().follow(token: nil, query: "?token=\(token)").status == 101)
    }
  }

  @Test func `refuses upgrades without a valid token, with an expired one or for another shop`()
    async throws
  {
    try await BackendRig.run { rig in
      #expect(try await rig.client().follow(token: nil).status == 401)
      #expect(try await rig.client().follow(token: "a.b.c").status == 401)
      let expired = try await rig.token(ttl: .seconds(-1))
      #expect(try await rig.client().follow(token: expired).status == 401)
      let elsewhere = try await rig.token(shops: [BackendRig.other])
      #expect(try await rig.client().follow(token: elsewhere).status == 403)
    }
  }

  @Test func `refuses a sixth socket of the same user with 429`() async throws {
    try await BackendRig.run { rig in
      var followers: [BackendClient] = []
      for _ in 1...5 { followers.append(try await rig.follower()) }
      let token = try await rig.token()
      let sixth = try await rig.client().follow(token: token)
      #expect(sixth.status == 429)
      #expect(sixth.headers["retry-after"] == "5")
      #expect(try await rig.client().follow(token: try await rig.token("bob")).status == 101)
      withExtendedLifetime(followers) {}
    }
  }

  @Test func `closes a socket when its token expires`() async throws {
    try await BackendRig.run { rig in
      var (client, ttl) = (try rig.client(), Duration.seconds(2))
      // On a busy machine, a token may expire before it is used.
      while true {
        let answer = try await client.follow(token: try await rig.token(ttl: ttl))
        guard answer.status == 401 else {
          #expect(answer.status == 101)
          break
        }
        (client, ttl) = (try rig.client(), ttl * 2)
      }
      #expect(try await client.close() == .close(4401, "token expired"))
    }
  }

  @Test
  func `disconnects a removed member and refuses them until readmitted, also after a restart`()
    async throws
  {
    try await BackendRig.run { rig in
      let follower = try await rig.follower()
      let bystander = try await rig.follower("bob")
      let token = try await rig.token()
      try await rig.backend.removeMember("ann", of: BackendRig.shop)
      #expect(try await follower.close() == .close(4403, "removed from the shop"))
      #expect(try await rig.client().follow(token: token).status == 403)
      let poster = try rig.client()
      let message = try await poster.post("x", token: try await rig.token("bob")).message()
      #expect(try await bystander.message() == .message(message))
      await rig.backend.kill()
      try await BackendRig.run(in: rig.configuration.dataDirectory) { again in
        #expect(try await again.client().follow(token: token).status == 403)
        try await again.backend.readmitMember("ann", to: BackendRig.shop)
        #expect(try await again.client().follow(token: token).status == 101)
      }
    }
  }

  @Test func `keeps a client that answers pings and drops one that does not`() async throws {
    try await BackendRig.run {
      $0.policy.pingInterval = .milliseconds(50)
      // The wait leaves enough time for the responsive client to answer on a busy machine.
      $0.policy.pongWait = .seconds(15)
    } _: { rig in
      let silent = try await rig.follower("eve")
      let lively = try await rig.follower()
      while try await silent.isStillPinged() { try await lively.answerPing() }
      for _ in 1...4 { try await lively.answerPing() }
      let poster = try rig.client()
      let message = try await poster.post("there?", token: try await rig.token()).message()
      #expect(try await lively.message() == .message(message))
    }
  }

  @Test func `disconnects only the slow reader`() async throws {
    try await BackendRig.run {
      $0.maxQueuedBytes = 32_768
      $0.policy.postBurst = 10_000
    } _: { rig in
      let slow = try await rig.follower("eve", receiveBuffer: 4_096)
      let fast = try await rig.follower()
      let poster = try rig.client()
      let token = try await rig.token()
      let text = String(repeating: "a", count: 9_000)
      var posted = 0
      while !rig.lines.all.contains(where: { $0.contains(#""code":1013"#) }) {
        let message = try await poster.post(text, token: token).message()
        #expect(try await fast.message() == .message(message))
        posted += 1
        try #require(posted < 5_000)
      }
      let last = try await poster.post("last", token: token).message()
      #expect(try await fast.message() == .message(last))
      withExtendedLifetime(slow) {}
    }
  }

  @Test func `omits the extensions if the plain dialect is configured`() async throws {
    try await BackendRig.run {
      $0.policy.dialect = .plain
    } _: { rig in
      let token = try await rig.token()
      let follower = try rig.client()
      let answer = try await follower.follow(token: token)
      #expect(answer.headers["holdfast-head"] == nil)
      let poster = try rig.client()
      let posted = try await poster.post("a", token: token).message()
      #expect(posted.position == nil)
      #expect(posted.username == nil)
      var streamed = posted
      streamed.username = "ANN"
      #expect(try await follower.message() == .message(streamed))
      let newest = try await poster.post("b", token: token).message()
      let page = try await poster.ask(
        "GET", ShopRoute.paginated(BackendRig.shop).path + "?since=2020-01-01T00:00:00Z",
        token: token)
      #expect(try page.page() == Page(messages: [newest, posted], hasNext: false))
    }
  }
}
