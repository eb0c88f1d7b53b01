import HoldfastCore
import HoldfastMessageData
import HoldfastServerFixtures
import Testing

@testable import HoldfastMessageServer

/// Tests for the messages that a room keeps for sockets whose backlog is being read.
struct ShopRoomTests {
  private static func message(_ offset: UInt64) -> ShopMessage {
    ShopMessage(
      id: UUID128(high: 1, low: offset), shop: Stage.shop, user: "bob", username: "BOB", text: "m",
      createdAt: Stage.dawn, position: Stage.position(offset))
  }

  @Test func `the newest messages are kept, up to the limit`() {
    var room = ShopRoom()
    room.backlogs = [ConnectionID(1): ShopRoom.Backlog(after: Stage.position(0), events: false)]
    for count in UInt64(1)...3 {
      room.remember(.posted(Self.message(count)), atMost: 2)
      #expect(room.recent == (max(count, 2) - 1...count).map { .posted(Self.message($0)) })
    }
  }

  @Test(arguments: [(3, 0, 4), (3, -5, 4), (3, 1, 6), (3, 10, 24)])
  func `a page limit of zero or less counts no messages on earlier pages`(
    number: Int, limit: Int, seen: UInt64
  ) {
    let page = Page(messages: (1...4).map(Self.message), hasNext: false)
    #expect(page.seen(by: .page(number: number, limit: limit)) == seen)
  }

  @Test func `a room in which an upgrade waits is not idle`() {
    var room = ShopRoom()
    #expect(room.isIdle)
    room.arrivals = [ShopRoom.Arrival(id: ConnectionID(1), after: nil)]
    #expect(!room.isIdle)
  }
}
