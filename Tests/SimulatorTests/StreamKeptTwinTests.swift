import LinkCore
import LinkWire
import Testing

@testable import LinkSimulator

/// The second account of what phones and servers keep of a message stream.
@Suite struct StreamKeptTwinTests {
  private static func message(_ number: UInt64, at second: Int64) throws -> Message {
    Message(
      id: UUID128(high: 0, low: number), shop: try #require(ShopID("shop")), user: "u",
      username: nil, text: "\(number)",
      createdAt: Timestamp(nanoseconds: second * 1_000_000_000))
  }

  private static func edit(_ number: UInt64, at second: Int64) throws -> Message {
    var message = try message(number, at: second)
    message.text = "edited"
    message.updatedAt = Timestamp(nanoseconds: (second + 1) * 1_000_000_000)
    return message
  }

  @Test func `the account keeps messages in order and takes later words`() throws {
    var book = StreamKeptBook()
    let (one, two) = (try Self.message(1, at: 5), try Self.message(2, at: 4))
    let first = book.commit(TimelineChange(messages: [one, two, one]))
    #expect(first == TimelineCommit(inserted: [two.id, one.id]))
    let edit = try Self.edit(2, at: 4)
    #expect(book.commit(TimelineChange(messages: [edit, edit])).edited == [two.id])
    #expect(book.load(1).messages == [one])
    #expect(book.load(1).hasOlder)
    #expect(book.older(one.key, 9).map(\.text) == ["edited"])
  }

  @Test func `the account delivers to a consumer what it has not acknowledged`() throws {
    var book = StreamKeptBook()
    let name = try #require(ConsumerName("x"))
    _ = book.commit(TimelineChange(messages: [try Self.message(1, at: 1)]))
    #expect(book.add(name, .all) == nil)
    _ = book.commit(TimelineChange(messages: [try Self.message(2, at: 2)]))
    #expect(book.acknowledge(name, 1) == nil)
    #expect(book.deliveries(name, after: 0, 9).map(\.number) == [2])
    #expect(book.acknowledge(name, 3) != nil)
    let removals = [book.remove(name), book.remove(name)]
    #expect(removals == [true, false])
  }

  @Test func `the account of a log counts positions and knows keys`() throws {
    var roll = StreamKeptRoll("e")
    let key = UUID128(high: 0, low: 9)
    for _ in 0..<2 {
      let entry = LogEntry(message: try Self.message(1, at: 1), key: key)
      guard case .success(let found) = roll.append(entry) else { continue }
      #expect(found.message.position == Position(epoch: "e", offset: 1))
    }
    _ = roll.append(LogEntry(message: try Self.message(2, at: 2), key: nil))
    let page = roll.page(.page(number: 2, limit: 1), byTime: true)
    #expect(page.messages.map(\.text) == ["1"])
    #expect(!page.hasNext)
    #expect(roll.count(.after(Position(epoch: "e", offset: 1), limit: 0)) == 1)
    roll.begin("f", keeping: 1)
    #expect(roll.head == Position(epoch: "f", offset: 1))
  }

  @Test func `a shop of which something else is kept is found`() throws {
    let (one, two) = (try Self.kept(1), try Self.kept(2))
    let name = try #require(ConsumerName("x"))
    let entry = OutboxEntry(id: one.id, shop: one.shop, text: "a", createdAt: one.createdAt)
    func act(
      _ what: String?, _ change: TimelineChange, _ consumer: ConsumerName? = nil
    ) throws {
      let stray = try StreamKeptWalk.finding { walk in
        #expect(walk.shops[0] == one.shop)
        _ = try walk.shelf.commit(TimelineChange(messages: [one]), to: one.shop)
        _ = walk.books[0].commit(change)
        if let consumer { _ = walk.books[0].add(consumer, .all) }
        walk.compareShop(0, 5, before: two.key)
        walk.compareConsumers(0, name)
      }
      #expect(stray.map { String($0.prefix(what?.count ?? 0)) } == what)
    }
    try act(nil, TimelineChange(messages: [one]))
    try act("whether a shop is empty is false, and must be true", TimelineChange())
    try act("all keys is ", TimelineChange(messages: [two]))
    try act("what 5 of a shop load is ", TimelineChange(messages: [one], outboxPut: [entry]))
    try act("the consumers is [], and must be [", TimelineChange(messages: [one]), name)
  }

  /// A message of the first shop of a walk.
  private static func kept(_ number: UInt64) throws -> Message {
    var message = try message(number, at: 1)
    message.shop = try #require(ShopID("b"))
    return message
  }

  @Test func `a log that holds something else is found`() throws {
    let entry = LogEntry(message: try Self.message(1, at: 1), key: nil)
    let query = PageQuery.page(number: 1, limit: 1)
    try StreamKeptWalk.expect(each: [
      (nil, { $0.compareLog() }),
      (
        "the log",
        { walk in
          _ = walk.roll.append(entry)
          walk.compareLog()
        }
      ),
      (
        "the epoch",
        { walk in
          walk.roll.begin("f", keeping: 0)
          walk.compareLog()
        }
      ),
      (
        "page \(query)",
        { walk in
          _ = walk.roll.append(entry)
          walk.comparePage(query, byTime: false)
        }
      ),
    ])
  }
}
