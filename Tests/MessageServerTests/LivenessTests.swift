import HoldfastCore
import HoldfastMessageServer
import HoldfastServerFixtures
import HoldfastServerParts
import Testing

struct LivenessTests {
  @Test func `pings every 54 seconds and sets its deadline accordingly`() {
    var served = Served()
    #expect(served.server.deadline == nil)
    served.open(1)
    #expect(served.server.deadline == .second(54))
    #expect(served.tick(at: .second(53.999)) == [])
    #expect(served.tick(at: .second(54)) == [.ping(ConnectionID(1))])
    #expect(served.take(.received(ConnectionID(1))) == [])
    #expect(served.tick(at: .second(107.999)) == [])
    #expect(served.tick(at: .second(108)) == [.ping(ConnectionID(1))])
  }

  @Test(arguments: [
    (59.999, [ShopServer.Effect]()), (60, [.drop(ConnectionID(1))]),
    (60.001, [.drop(ConnectionID(1))]),
  ])
  func `drops a socket that was silent for 60 seconds`(
    second: Double, effects: [ShopServer.Effect]
  ) {
    var served = Served.opened()
    _ = served.tick(at: .second(54))
    #expect(served.server.deadline == .second(60))
    #expect(served.tick(at: .second(second)) == effects)
    #expect(served.take(.gone(ConnectionID(1), code: 1006)) == [])
  }

  @Test func `keeps a socket whose last byte arrived 59.999 seconds ago`() {
    var served = Served.opened()
    served.pass(.milliseconds(1))
    _ = served.take(.received(ConnectionID(1)))
    _ = served.tick(at: .second(54))
    #expect(served.tick(at: .second(60)) == [])
    #expect(served.server.deadline == .second(60.001))
    #expect(served.tick(at: .second(60.001)) == [.drop(ConnectionID(1))])
    #expect(served.server.deadline == nil)
  }

  @Test func `takes the ping interval and the pong time-out from its policy`() {
    var served = Served.opened {
      $0.pingInterval = .seconds(1)
      $0.pongWait = .seconds(3)
    }
    #expect(served.tick(at: .second(1)) == [.ping(ConnectionID(1))])
    #expect(served.tick(at: .second(2)) == [.ping(ConnectionID(1))])
    #expect(served.tick(at: .second(3)) == [.drop(ConnectionID(1))])
  }

  @Test func `does not spin with a ping interval of zero`() {
    var served = Served.opened {
      $0.pingInterval = .zero
      $0.pongWait = .seconds(-1)
    }
    #expect(served.server.deadline == .second(0.001))
    #expect(served.tick(at: .zero) == [])
    #expect(served.tick(at: .second(0.001)) == [.drop(ConnectionID(1))])
  }

  @Test func `closes a socket when its token expires, and no other`() {
    var served = Served()
    served.open(1, as: Stage.token(ttl: .seconds(10)))
    served.open(2, as: Stage.token("bob"))
    #expect(served.server.deadline == .second(10))
    #expect(served.tick(at: .second(9.999_999_999)) == [])
    #expect(
      served.tick(at: .second(10)) == [
        .close(ConnectionID(1), Closure(4401, "token expired"))
      ])
  }

  @Test func `closes a socket at once if its token expired while it waited`() {
    var served = Served()
    _ = served.upgrade(1, as: Stage.token(ttl: .seconds(1)))
    served.pass(.seconds(2))
    _ = served.take(.stored(StoreToken(1), .head(Stage.position(0))))
    #expect(served.server.deadline == .second(1))
    #expect(
      served.server.tick(at: served.now) == [
        .close(ConnectionID(1), Closure(4401, "token expired"))
      ])
  }

  @Test(arguments: [(4.999, [ShopServer.Effect]()), (5, [.drop(ConnectionID(1))])])
  func `drops a socket that does not answer a close frame for 5 seconds`(
    second: Double, effects: [ShopServer.Effect]
  ) {
    var served = Served.opened()
    #expect(
      served.take(.overflowed(ConnectionID(1))) == [
        .close(ConnectionID(1), Closure(1013, "slow reader"))
      ])
    #expect(served.take(.received(ConnectionID(1))) == [])
    #expect(served.tick(at: .second(second)) == effects)
  }

  @Test func `closes only the slow reader, once, and sends it nothing more`() throws {
    var served = Served.opened()
    served.open(2, as: Stage.token("bob"))
    _ = served.take(.overflowed(ConnectionID(1)))
    #expect(served.take(.overflowed(ConnectionID(1))) == [])
    let (stored, effects) = served.store(try served.post("hello"), at: 1)
    #expect(effects.last == .send(.message(stored), to: [ConnectionID(2)]))
  }

  @Test func `forgets a socket that is gone`() {
    var served = Served.opened()
    #expect(served.take(.gone(ConnectionID(1), code: 1001)) == [])
    #expect(served.server.deadline == nil)
    #expect(served.tick(at: .second(600)) == [])
    #expect(served.take(.gone(ConnectionID(1), code: 1001)) == [])
    #expect(served.take(.received(ConnectionID(1))) == [])
    #expect(served.take(.overflowed(ConnectionID(1))) == [])
  }

  @Test func `does nothing when called early or twice at the same time`() {
    var served = Served.opened()
    #expect(served.tick(at: .second(1)) == [])
    #expect(served.server.deadline == .second(54))
    #expect(served.tick(at: .second(54)) == [.ping(ConnectionID(1))])
    #expect(served.tick(at: .second(54)) == [])
  }
}
