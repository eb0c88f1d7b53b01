import HoldfastCore
import HoldfastIdentity
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastServerFixtures
import Testing

/// Tests of what a shop server's input asks of the operator's backend.
struct HookShopTests {
  private static let key = UUID128(high: 1, low: 2)
  private static let fresh = UUID128(high: 3, low: 4)

  private static func server() -> ShopServer { ShopServer(seed: 1, at: .zero) }

  private static func request(
    _ call: Call, _ credential: Credential = Stage.token()
  ) -> ShopServer.Input {
    .request(RequestID(1), call, credential, wall: Stage.dawn)
  }

  private static func upgrade(_ credential: Credential) -> ShopServer.Input {
    .upgrade(ConnectionID(1), Stage.shop, credential, wall: Stage.dawn)
  }

  @Test func `a post and an edit of a user are asked about`() {
    let draft = Draft(
      shop: Stage.shop, content: MessageContent("hi", parent: Self.key), key: Self.key)
    let posted = Self.server().post(in: Self.request(.send(draft))) { Self.fresh }
    #expect(posted?.0 == RequestID(1))
    #expect(
      posted?.1
        == HookPost(
          id: Self.fresh, key: Self.key, user: "ann", shop: "bakery",
          content: MessageContent("hi", parent: Self.key)))
    let revision = Revision(id: Self.key, text: "ho")
    let edited = Self.server().post(in: Self.request(.edit(revision))) { Self.fresh }
    #expect(
      edited?.1
        == HookPost(
          id: Self.key, key: nil, isEdit: true, user: "ann", shop: nil,
          content: MessageContent("ho")))
  }

  @Test(arguments: [
    Credential.missing, .invalid(reason: "x"), Stage.token(ttl: .zero), Stage.token(shops: []),
  ])
  func `what the server refuses in any case is not asked about`(credential: Credential) {
    let post = Self.request(.send(Stage.draft("hi")), credential)
    #expect(Self.server().post(in: post) { Self.fresh } == nil)
    #expect(Self.server().arrival(in: Self.upgrade(credential)) == nil)
  }

  @Test func `only posts, edits and upgrades are asked about`() {
    for call in [
      Call.delete(Self.key), .all(Stage.shop), .page(Stage.shop, .page(number: 1, limit: 1)),
      .streamHealth,
    ] {
      #expect(Self.server().post(in: Self.request(call)) { Self.fresh } == nil)
    }
    #expect(Self.server().arrival(in: Self.upgrade(Stage.token())) == ConnectionID(1))
    #expect(Self.server().arrival(in: .received(ConnectionID(1))) == nil)
    var draining = Self.server()
    _ = draining.handle(.drain(within: .seconds(5)), at: .zero)
    #expect(draining.arrival(in: Self.upgrade(Stage.token())) == nil)
    #expect(draining.post(in: Self.request(.send(Stage.draft("hi")))) { Self.fresh } == nil)
  }

  @Test func `an allowed post has the ID that was asked about, and the present time`() throws {
    let later = Stage.dawn.advanced(by: .seconds(9))
    let input = Self.request(.send(Stage.draft("hi"))).allowed(as: Self.fresh, wall: later)
    var server = Self.server()
    var effects = server.handle(input, at: .zero)
    guard case .head(let token, _) = effects.first else {
      Issue.record("the head of the shop is read first")
      return
    }
    effects = server.handle(.stored(token, .head(Stage.position(0))), at: .zero)
    let message = try #require(effects.flatMap(\.appends).first).message
    #expect(message.id == Self.fresh && message.createdAt == later)
    let upgrade = Self.upgrade(Stage.token()).allowed(as: nil, wall: later)
    #expect(
      upgrade == .upgrade(ConnectionID(1), Stage.shop, Stage.token(), wall: later))
    #expect(
      ShopServer.Input.received(ConnectionID(1)).allowed(as: nil, wall: later)
        == .received(ConnectionID(1)))
  }
}
