import HoldfastTestKit
import LinkCore
import LinkWire
import Testing

@testable import LinkServerCore

/// Each invariant of the shops' server and of its alarms can fail.
@Suite struct ShopInvariantTests {
  private static let id = ConnectionID(1)

  /// One open socket and one request for a page that the store has not answered.
  private static var busy: ShopServer {
    var served = Served()
    served.open(1)
    _ = served.ask(.page(Stage.shop, .page(number: 1, limit: 10)))
    return served.server
  }

  private static let plants: [PlantedFault<ShopServer>] = [
    ("shop: nothing is asked for between two inputs", { $0.effects = [.finished] }),
    (
      "shop: connections and requests are bounded",
      { server in
        for number in UInt64(1)...1_025 {
          server.requests[RequestID(number)] = .init(route: .send, since: .zero)
        }
      }
    ),
    (
      "shop: users are counted only while they have sockets",
      { $0.sockets = ["ann": 1, "bob": 1] }
    ),
    ("shop: a drain ends when nothing is left to wait for", { $0.mode = .finished }),
    (
      "shop: a drain ends when nothing is left to wait for",
      { server in
        (server.mode, server.requests, server.questions) = (.finished, [:], [:])
      }
    ),
    (
      "shop: a drain ends when nothing is left to wait for",
      { server in
        (server.mode, server.connections, server.questions) = (.finished, [:], [:])
      }
    ),
    (
      "shop: a drain ends when nothing is left to wait for",
      { server in
        (server.mode, server.connections, server.requests) = (.finished, [:], [:])
      }
    ),
    ("shop: a user's count is that of waiting and open sockets", { $0.sockets = ["ann": 2] }),
    ("shop: each accepted socket has an alarm", { $0.alarms.clear(id) }),
    ("shop: a socket is in the room of its shop", { $0.rooms[Stage.shop]?.subscribers = [] }),
    ("shop: a socket is in the room of its shop", { $0.rooms = [:] }),
    (
      "shop: nothing new is let in during a drain",
      { server in
        server.mode = .draining(within: .zero, closeAt: .zero, giveUpAt: .zero)
        server.connections[id]?.phase = .waiting
      }
    ),
    (
      "shop: a server that leaves has closed its sockets",
      { $0.mode = .leaving(within: .zero, giveUpAt: .zero) }
    ),
    (
      "shop: a socket is in one place of one room",
      { $0.rooms[Stage.shop]?.creditors = [id] }
    ),
    (
      "shop: the sockets of a room are in order",
      { $0.rooms[Stage.shop]?.subscribers = [ConnectionID(2), id] }
    ),
    (
      "shop: what a room keeps is bounded",
      { server in
        let message = Message(
          id: UUID128(high: 0, low: 1), shop: Stage.shop, user: "ann", username: nil, text: "",
          createdAt: Stage.dawn)
        server.rooms[Stage.shop]?.recent = [message]
      }
    ),
    (
      "shop: a room is owed an answer for each of its questions", { $0.rooms[Stage.shop]?.owed = 1 }
    ),
    ("shop: a request waits for the store or its turn", { $0.questions = [:] }),
    ("shop: each question to the store was numbered", { $0.lastToken = 0 }),
    (
      "alarm queue: the first entry is an alarm that is set",
      { $0.alarms.armed[id] = .zero }
    ),
    ("alarm queue: each alarm has an entry", { $0.alarms.heap = [] }),
    (
      "alarm queue: no entry is earlier than the one above it",
      {
        let entry = AlarmQueue<ConnectionID>.Entry(at: .zero, key: ConnectionID(2))
        $0.alarms.heap.append(entry)
      }
    ),
  ]

  @Test func `a server with a socket and a request is checked`() {
    #expect(unnoticed(Self.plants, in: Self.busy) == [])
  }

  @Test func `more sockets and posts than may be, and a socket twice in its room, are found`() {
    let post = ShopRoom.Post(
      request: RequestID(1),
      message: Message(
        id: UUID128(high: 0, low: 2), shop: Stage.shop, user: "ann", username: nil, text: "",
        createdAt: Stage.dawn), key: nil)
    let plants: [PlantedFault<ShopServer>] = [
      (
        "shop: connections and requests are bounded",
        { server in
          let one = server.connections[Self.id]
          for number in 0...UInt64(server.policy.maxConnections) {
            server.connections[ConnectionID(number)] = one
          }
        }
      ),
      (
        "shop: the sockets of a room are in order",
        { $0.rooms[Stage.shop]?.subscribers = [Self.id, Self.id] }
      ),
      (
        "shop: what a room keeps is bounded",
        { server in
          let most = server.policy.maxPostsPerShop
          server.rooms[Stage.shop]?.posts = Array(repeating: post, count: most + 1)
        }
      ),
    ]
    #expect(unnoticed(plants, in: Self.busy) == [])
  }
}
