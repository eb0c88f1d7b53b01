import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastMessageStream

/// Tests of the deletions and edits that the pages of a server without positions show.
struct PlainDeletionTests {
  private static func plain(_ number: UInt64) -> ShopMessage {
    Harness.message(number, isPlain: true)
  }

  private static func id(_ number: UInt64) -> MessageID { plain(number).id }

  /// Returns an order that knows the messages 5 to 1 from the answer to the first request.
  private static func known() -> ServerOrder {
    var order = ServerOrder()
    _ = order.take(
      Harness.plainPage([5, 4, 3, 2, 1]), number: 1, request: 1, asked: 1, overlap: .seconds(120))
    return order
  }

  private static func gone(
    _ page: [UInt64], number: Int = 1, request: UInt64 = 2, rejected: Int = 0,
    _ order: inout ServerOrder
  ) -> [MessageID] {
    var page = Harness.plainPage(page)
    page.rejected = rejected
    return order.take(
      page, number: number, request: request, asked: request, overlap: .seconds(120))
  }

  @Test(
    arguments: [
      ([5, 4, 2, 1], [3]), ([7, 6, 5, 3, 1], [4, 2]), ([5, 1], [4, 3, 2]), ([5, 4], []),
      ([3, 2], []),
      ([9, 8], []), ([5, 4, 3, 2, 1], []), ([6, 4, 3], []), ([200, 4], [5]), ([125, 4], []),
      ([126, 4], [5]),
    ] as [([UInt64], [UInt64])])
  func `a message is deleted if a page has messages on both sides of it`(
    page: [UInt64], deleted: [UInt64]
  ) {
    var order = Self.known()
    #expect(Self.gone(page, &order) == deleted.map(Self.id))
  }

  @Test func `a later page does not show what lies above it`() {
    var order = Self.known()
    #expect(Self.gone([200, 4], number: 2, &order) == [])
  }

  @Test func `a page that was requested before a message was known shows nothing about it`() {
    for (request, deleted) in [(UInt64(2), [UInt64]()), (3, [6])] {
      var order = Self.known()
      order.put(Self.plain(6), asked: 2)
      order.put(Self.plain(7), asked: 2)
      #expect(Self.gone([7, 5, 4], request: request, &order) == deleted.map(Self.id))
    }
  }

  @Test func `an unreadable entry may be any message`() {
    var order = Self.known()
    #expect(Self.gone([5, 4, 2], rejected: 1, &order) == [])
  }

  @Test func `a message that is stamped early has no known place`() {
    var order = Self.known()
    order.put(Self.plain(9), asked: 1)
    order.put(Self.plain(8), asked: 1)
    #expect(order.ids == [9, 5, 4, 3, 2, 1].map(Self.id))
  }

  @Test func `a page in another order begins anew`() {
    var order = Self.known()
    #expect(Self.gone([4, 5, 2], &order) == [])
    #expect(order.ids == [4, 5, 2].map(Self.id))
  }

  @Test func `a page extends what is known where it is clear`() {
    var order = Self.known()
    #expect(Self.gone([7, 6, 5, 4], &order) == [])
    #expect(order.ids == [7, 6, 5, 4, 3, 2, 1].map(Self.id))
    #expect(Self.gone([3, 2, 1, 0], number: 2, request: 3, &order) == [])
    #expect(order.ids == [7, 6, 5, 4, 3, 2, 1, 0].map(Self.id))
    // The place of 1 below 3 is not known any more.
    #expect(Self.gone([8, 7, 3, 90], request: 4, &order) == [6, 5, 4].map(Self.id))
    #expect(order.ids == [8, 7, 3, 90].map(Self.id))
  }

  @Test func `the order of a bounded number of messages is known`() {
    var order = ServerOrder()
    for number in 1...1500 {
      if number == 1 {
        _ = Self.gone([1], request: 1, &order)
      } else {
        order.put(Self.plain(UInt64(number)), asked: 1)
      }
    }
    #expect(order.ids.count == ServerOrder.limit)
    #expect(order.ids.first == Self.id(1500))
  }

  /// Compares the order with a list in which each operation looks at all messages.
  @Test(arguments: 1...4 as ClosedRange<UInt64>)
  func `random messages, removals and pages keep the order of a plain list`(seed: UInt64) {
    var generator = RandomSource(seed: seed)
    var order = ServerOrder()
    var list: [ShopMessage] = []
    for step in UInt64(1)...4_000 {
      let message = Self.plain(UInt64.random(in: step...step + 3, using: &generator))
      switch UInt64.random(in: 0..<5_000, using: &generator) {
      case 0..<250:
        guard let gone = list.randomElement(using: &generator) else { continue }
        order.remove(gone.id)
        list.removeAll { $0.id == gone.id }
      case 250:
        let page = (0..<3).map { Self.plain(step + 10 - $0) }
        guard Set(page.map(\.id)).isDisjoint(with: list.map(\.id)) else { continue }
        _ = order.take(
          Page(messages: page, hasNext: true), number: 1, request: step, asked: step,
          overlap: .seconds(120))
        list = page
      case _ where list.isEmpty:
        _ = order.take(
          Page(messages: [message], hasNext: true), number: 1, request: step, asked: step,
          overlap: .seconds(120))
        list = [message]
      case _:
        order.put(message, asked: step)
        if let newest = list.map(\.createdAt).max(), message.createdAt > newest {
          list = Array(([message] + list).prefix(ServerOrder.limit))
        }
      }
      if step % 100 == 0 { #expect(order.ids == list.map(\.id)) }
    }
    var check = InvariantCheck(.thorough)
    order.check(&check)
    #expect(check.broken == [])
  }

  @Test(arguments: [999, 1_000, 1_001])
  func `the order forgets its oldest message beyond a thousand`(count: UInt64) {
    var order = ServerOrder()
    _ = Self.gone([1], request: 1, &order)
    for number in 2...count { order.put(Self.plain(number), asked: 1) }
    #expect(order.ids.count == min(Int(count), ServerOrder.limit))
    #expect(order.ids.first == Self.id(count) && order.ids.last == Self.id(count > 1_000 ? 2 : 1))
  }

  @Test func `a refresh removes a deleted message and shows an edited one`() {
    var harness = Harness.plain()
    for number in UInt64(1000)...1004 { harness.receive(Self.plain(number)) }
    harness.oversize()
    harness.answer(Harness.nothing)
    harness.answer(Harness.plainPage([1004, 1003, 1002, 1001, 1000], hasNext: false))
    harness.give(.refresh)
    harness.answer(Harness.nothing)
    var page = Harness.plainPage([1004, 1003, 1001, 1000], hasNext: false)
    page.messages[1].text = "new"
    page.messages[1].isEdited = true
    page.messages[1].updatedAt = page.messages[1].createdAt.advanced(by: .seconds(9))
    let pages = harness.fetches.count
    harness.answer(page)
    #expect(harness.updates.contains(.deleted([DeletedMessage(id: Self.id(1002))])))
    #expect(harness.commits.last?.messages == [page.messages[1]])
    #expect(harness.model.timeline.messages.map(\.id) == [1000, 1001, 1003, 1004].map(Self.id))
    #expect(harness.fetches.count == pages)
  }

  @Test(arguments: [true, false])
  func `a phone that stays open sees edits and deletions of a plain server with a refresh`(
    sortsByStamp: Bool
  ) {
    var world = StreamHarness(.plain)
    world.shop.sortsByStamp = sortsByStamp
    world.accumulate(20, apart: .seconds(10))
    world.launch()
    world.drive { $0.status.state == .connected }
    world.pass(.seconds(20))
    world.edit("m5", to: "five", silently: true)
    world.delete("m9", silently: true)
    world.pass(.seconds(60))
    let asked = world.log.fetches.count
    #expect(world.texts.contains("m9") && world.texts.contains("m5"))
    world.give(.refresh)
    world.pass(.seconds(20))
    world.compareEvents()
    #expect(world.ledger.problems == [])
    #expect(!world.texts.contains("m9"))
    #expect(world.log.fetches.count == asked + 2)
  }
}
