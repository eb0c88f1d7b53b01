import HoldfastCore
import HoldfastIdentity
import HoldfastMessageServer
import HoldfastServerFixtures
import HoldfastServerParts
import Testing

struct UpgradeTests {
  @Test func `reads the head of an unknown shop, then accepts the socket`() {
    var served = Served()
    #expect(served.upgrade(1) == [.head(StoreToken(1), Stage.shop)])
    #expect(served.upgrade(2, as: Stage.token("bob")) == [])
    #expect(
      served.take(.stored(StoreToken(1), .head(Stage.position(4)))) == [
        .accept(ConnectionID(1), head: Stage.position(4)),
        .accept(ConnectionID(2), head: Stage.position(4)),
      ])
    #expect(
      served.upgrade(3, as: Stage.token("eve")) == [
        .accept(ConnectionID(3), head: Stage.position(4))
      ])
  }

  @Test func `refuses the sixth socket of a user across all shops, and no other user's`() {
    var served = Served()
    let both = Stage.token(shops: [Stage.shop, Stage.other])
    for connection in 1...3 { served.open(UInt64(connection), as: both) }
    for connection in 4...5 { served.open(UInt64(connection), as: both, to: Stage.other) }
    let full = Answer.error(429, "too many sockets", retryAfter: .seconds(5))
    #expect(served.upgrade(6, as: both) == [.refuse(ConnectionID(6), full)])
    #expect(served.open(7, as: Stage.token("bob")).count == 1)
  }

  @Test func `counts waiting sockets, and frees a slot as soon as one ends`() {
    var served = Served { $0.socketsPerUser = 1 }
    let full = Answer.error(429, "too many sockets", retryAfter: .seconds(5))
    #expect(served.upgrade(1) == [.head(StoreToken(1), Stage.shop)])
    #expect(served.upgrade(2) == [.refuse(ConnectionID(2), full)])
    #expect(served.take(.gone(ConnectionID(1), code: 1006)) == [])
    #expect(served.upgrade(3) == [])
    #expect(
      served.take(.stored(StoreToken(1), .head(Stage.position(0)))) == [
        .accept(ConnectionID(3), head: Stage.position(0))
      ])
    #expect(served.take(.gone(ConnectionID(3), code: 1000)) == [])
    #expect(
      served.upgrade(4) == [.accept(ConnectionID(4), head: Stage.position(0))])
  }

  @Test func `frees the slot of a socket that was asked to close`() {
    var served = Served.opened { $0.socketsPerUser = 1 }
    _ = served.take(.overflowed(ConnectionID(1)))
    #expect(served.open(2) == [.accept(ConnectionID(2), head: Stage.position(0))])
    #expect(served.take(.gone(ConnectionID(1), code: 1013)) == [])
    #expect(served.upgrade(3).count == 1)
    #expect(served.server.metricsText.contains("429"))
  }

  @Test func `refuses connections beyond the limit`() {
    var served = Served.opened { $0.maxConnections = 2 }
    served.open(2, as: Stage.token("bob"))
    #expect(served.upgrade(3, as: Stage.token("eve")) == [.refuse(ConnectionID(3), Stage.busy)])
  }

  @Test(arguments: [
    (Credential.missing, Answer.error(401, "no token")),
    (.invalid(reason: "signature"), Stage.refusal("invalid token: signature")),
    (Stage.token(ttl: .zero), Stage.refusal("the token has expired")),
    (
      .unchecked(retryAfter: .seconds(3)),
      .error(
        503, "the keys of the identity provider are not known yet", retryAfter: .seconds(3))
    ),
    (Stage.token(shops: []), Stage.notAMember),
  ])
  func `refuses users who are not authenticated or not members`(
    credential: Credential, answer: Answer
  ) {
    var served = Served()
    #expect(served.upgrade(1, as: credential) == [.refuse(ConnectionID(1), answer)])
  }

  @Test func `refuses every upgrade when the stream is switched off`() {
    var served = Served { $0.offersStream = false }
    let off = Answer.error(503, "the stream is switched off")
    #expect(served.upgrade(1) == [.refuse(ConnectionID(1), off)])
  }

  @Test func `refuses waiting sockets if the head cannot be read, and reads it for the next`() {
    var served = Served()
    _ = served.upgrade(1)
    _ = served.ask(.send(Stage.draft("x")))
    #expect(
      served.take(.stored(StoreToken(1), .failed(.locked(detail: "")))) == [
        .refuse(ConnectionID(1), Stage.storeFailed), .answer(RequestID(1), Stage.storeFailed),
      ])
    #expect(served.upgrade(2) == [.head(StoreToken(2), Stage.shop)])
  }

  @Test func `disconnects a removed user in that shop only, and refuses new sockets`() {
    var served = Served()
    let both = Stage.token(shops: [Stage.shop, Stage.other])
    served.open(1, as: both)
    served.open(2, as: both, to: Stage.other)
    served.open(3, as: Stage.token("bob"))
    let membership = Membership(shop: Stage.shop, user: "ann")
    #expect(
      served.take(.removed(membership)) == [
        .close(ConnectionID(1), Closure(4403, "removed from the shop"))
      ])
    #expect(served.upgrade(4, as: both) == [.refuse(ConnectionID(4), Stage.notAMember)])
    #expect(
      served.ask(.all(Stage.shop), as: both) == [.answer(RequestID(1), Stage.notAMember)])
    #expect(served.take(.removals([])) == [])
    #expect(served.open(5, as: both) == [.accept(ConnectionID(5), head: Stage.position(0))])
  }

  @Test func `closes the sockets of a removed user in order`() {
    var served = Served()
    let ids = UInt64(1)...3
    for id in ids { served.open(id) }
    let removed = Closure(4403, "removed from the shop")
    #expect(
      served.take(.removed(Membership(shop: Stage.shop, user: "ann")))
        == ids.map { ShopServer.Effect.close(ConnectionID($0), removed) })
  }

  @Test func `refuses a removed user whose upgrade still waits`() {
    var served = Served()
    _ = served.upgrade(1)
    #expect(
      served.take(.removals([Membership(shop: Stage.shop, user: "ann")])) == [
        .refuse(ConnectionID(1), Stage.notAMember)
      ])
    #expect(served.take(.stored(StoreToken(1), .head(Stage.position(0)))) == [])
  }
}
