import HoldfastCore
import HoldfastMessageData
import HoldfastServerFixtures
import HoldfastServerParts
import HoldfastTestKit
import Testing

@testable import HoldfastMessageServer

/// Tests that each invariant of `ShopServer` and its alarms detects a planted fault.
@Suite struct ShopInvariantTests {
  private static let id = ConnectionID(1)
  private static let member = Membership(shop: Stage.shop, user: "ann")

  /// A server with an open socket and a page request that waits for the store.
  private static var busy: ShopServer {
    var served = Served.opened()
    _ = served.ask(.page(Stage.shop, .page(number: 1, limit: 10)))
    return served.server
  }

  private static let plants: [PlantedFault<ShopServer>] = [
    ("server frame: no effect is pending between two inputs", { $0.frame.emit(.finished) }),
    (
      "shop: connections and requests are bounded",
      { server in
        for number in UInt64(2)...UInt64(server.policy.maxConnections + 2) {
          server.sockets.add(ConnectionID(number), of: member, until: .second(60))
        }
      }
    ),
    (
      "shop: a drain ends when nothing is left to wait for",
      { server in
        _ = server.frame.drain(within: .zero, grace: .zero, limit: .zero)
        server.frame.finish()
      }
    ),
    (
      "shop sockets: a user's count is that of waiting and open sockets",
      { $0.sockets.add(id, of: member, until: .second(60)) }
    ),
    (
      "shop sockets: each accepted socket has an alarm",
      { _ = $0.sockets.takeAlarm(dueAt: .second(3_600)) }
    ),
    ("shop: a socket is in the room of its shop", { $0.rooms = [:] }),
    (
      "shop: the sockets of a room are in order",
      { $0.rooms[Stage.shop]?.subscribers = [ConnectionID(2), id] }
    ),
    (
      "shop: what a room keeps is bounded",
      { server in
        let message = ShopMessage(
          id: UUID128(high: 0, low: 1), shop: Stage.shop, user: "ann", username: nil, text: "",
          createdAt: Stage.dawn)
        server.rooms[Stage.shop]?.recent = [.posted(message)]
      }
    ),
    (
      "shop: sockets with events are sockets of the room",
      { $0.rooms[Stage.shop]?.eventSubscribers = [ConnectionID(2)] }
    ),
    ("shop: a request waits for the store or its turn", { $0.questions.removeAll() }),
  ]

  @Test func `detects each broken invariant`() {
    #expect(unnoticed(Self.plants, in: Self.busy) == [])
  }
}
