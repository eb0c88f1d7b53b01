import HoldfastCore
import HoldfastMessageServer
import HoldfastServerFixtures
import HoldfastServerParts
import Testing

struct DrainTests {
  private static let window = Duration.seconds(5)
  private static let goodbye = Closure(1001, "draining within_ms=5000")

  @Test func `warns, closes a second later, and finishes when all are gone`() {
    var served = Served()
    served.open(2)
    served.open(1, as: Stage.token("bob"))
    let both = [ConnectionID(1), ConnectionID(2)]
    #expect(
      served.take(.drain(within: Self.window)) == [
        .send(.draining(within: Self.window), to: both)
      ])
    #expect(served.server.deadline == .second(1))
    #expect(served.tick(at: .second(0.999)) == [])
    #expect(
      served.tick(at: .second(1)) == both.map { .close($0, Self.goodbye) })
    #expect(served.take(.gone(ConnectionID(1), code: 1001)) == [])
    #expect(served.take(.gone(ConnectionID(2), code: 1001)) == [.finished])
    #expect(served.server.deadline == nil)
  }

  @Test func `finishes at once when there is nothing to wait for, and only once`() {
    var served = Served()
    #expect(served.take(.drain(within: Self.window)) == [.finished])
    #expect(served.take(.drain(within: Self.window)) == [])
    #expect(served.tick(at: .second(20)) == [])
  }

  @Test func `refuses new work, reports that it is draining, and still serves metrics`() {
    var served = Served.opened()
    _ = served.take(.drain(within: Self.window))
    #expect(served.upgrade(2) == [.refuse(ConnectionID(2), Stage.draining)])
    #expect(
      served.ask(.send(Stage.draft("x"))) == [.answer(RequestID(1), Stage.draining)])
    #expect(served.ask(.all(Stage.shop)) == [.answer(RequestID(2), Stage.draining)])
    let bad = ShopRefusal(route: .page, status: 400, message: "limit")
    #expect(served.ask(.refused(bad)) == [.answer(RequestID(3), Stage.draining)])
    #expect(served.server.serviceHealth == .draining)
  }

  @Test func `refuses sockets that are still waiting`() {
    var served = Served()
    _ = served.upgrade(1)
    #expect(
      served.take(.drain(within: Self.window)) == [.refuse(ConnectionID(1), Stage.draining)])
    #expect(served.take(.stored(StoreToken(1), .head(Stage.position(0)))) == [.finished])
  }

  @Test func `completes a post in progress and broadcasts it to open sockets`() throws {
    var served = Served.opened()
    let appended = try served.post("last words")
    _ = served.take(.drain(within: Self.window))
    let (stored, effects) = served.store(appended, at: 1)
    #expect(
      effects == [
        .answer(
          RequestID(1), Answer(201, .message(stored, note: "Message created successfully"))),
        .send(.message(stored), to: [ConnectionID(1)]),
      ])
  }

  @Test func `waits for the store before it finishes`() throws {
    var served = Served.opened()
    let appended = try served.post("last words")
    _ = served.take(.gone(ConnectionID(1), code: 1000))
    _ = served.take(.abandoned(RequestID(1)))
    #expect(served.take(.drain(within: Self.window)) == [])
    #expect(served.store(appended, at: 1).effects == [.finished])
  }

  @Test func `gives up after ten seconds`() throws {
    var served = Served.opened { $0.closeWait = .seconds(60) }
    _ = try served.post("stuck")
    _ = served.take(.drain(within: Self.window))
    _ = served.tick(at: .second(1))
    #expect(served.server.deadline == .second(10))
    #expect(served.tick(at: .second(9.999)) == [])
    #expect(
      served.tick(at: .second(10)) == [
        .answer(
          RequestID(1), .error(503, "the server stopped", retryAfter: .seconds(2))),
        .drop(ConnectionID(1)), .finished,
      ])
  }

  @Test func `does not warn or close a socket that is already closing`() {
    var served = Served.opened()
    _ = served.take(.overflowed(ConnectionID(1)))
    #expect(served.take(.drain(within: Self.window)) == [])
    #expect(served.tick(at: .second(1)) == [])
    #expect(served.tick(at: .second(5)) == [.drop(ConnectionID(1)), .finished])
  }
}
