import HoldfastCore
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastServerFixtures
import HoldfastServerParts
import Testing

struct PlainDialectTests {
  private static func served() -> Served { Served { $0.dialect = .plain } }

  private static func message(_ offset: UInt64) -> ShopMessage {
    ShopMessage(
      id: UUID128(high: 0, low: offset), shop: Stage.shop, user: "ann", username: "ANN",
      text: "\(offset)", createdAt: Stage.dawn.advanced(by: .seconds(Int64(offset))),
      position: Stage.position(offset))
  }

  /// Returns the message as it appears in REST answers of a plain server.
  private static func bare(_ offset: UInt64) -> ShopMessage {
    var message = message(offset)
    message.username = nil
    message.position = nil
    return message
  }

  @Test func `reports no head`() {
    var served = Self.served()
    #expect(served.open(1, head: 3) == [.accept(ConnectionID(1), head: nil)])
  }

  @Test func `ignores the idempotency key and shows no position`() throws {
    var served = Self.served()
    served.open(1)
    let key = UUID128(high: 1, low: 1)
    let append = try #require(served.ask(.send(Stage.draft("x", key: key))).first?.appends.first)
    #expect(append.key == nil)
    var (token, message) = (append.token, append.message)
    let spoken = message
    var written = message
    written.username = nil
    message.position = Stage.position(1)
    #expect(
      served.take(.stored(token, .appended(.posted(message, isNew: true)))) == [
        .answer(
          RequestID(1), Answer(201, .message(written, note: "Message created successfully"))),
        .send(.message(spoken), to: [ConnectionID(1)]),
      ])
  }

  @Test(arguments: [
    (UInt64(2), [UInt64](5...6), true), (4, [5, 6], true), (5, [6], false), (6, [], false),
  ])
  func `answers a since query newest first, page by page`(
    since: UInt64, offsets: [UInt64], hasNext: Bool
  ) {
    var served = Self.served()
    let query = PageQuery.since(Self.message(since).createdAt, page: 1, limit: 2)
    #expect(
      served.ask(.page(Stage.shop, query)) == [
        .page(StoreToken(1), Stage.shop, .page(number: 1, limit: 2))
      ])
    let newest = Page(
      messages: [Self.message(6), Self.message(5)], hasNext: true, head: Stage.position(6))
    let shown = Page(messages: offsets.reversed().map(Self.bare), hasNext: hasNext)
    let total = UInt64(offsets.count) + (hasNext ? 1 : 0)
    #expect(
      served.take(.stored(StoreToken(1), .page(newest, total: 7))) == [
        .answer(RequestID(1), Answer(200, .page(shown, query, total: total)))
      ])
  }

  @Test(arguments: [
    PageQuery.after(Stage.position(3), limit: 7), .before(Stage.position(3), limit: 7),
  ])
  func `ignores positions in a query`(query: PageQuery) {
    var served = Self.served()
    #expect(
      served.ask(.page(Stage.shop, query)) == [
        .page(StoreToken(1), Stage.shop, .page(number: 1, limit: 7))
      ])
  }
}
