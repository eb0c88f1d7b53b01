import HoldfastCore
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastServerFixtures
import HoldfastServerParts
import Testing

/// Tests of pages for clients that ask for events.
struct EventPageTests {
  private static let edited = ShopMessage(
    id: UUID128(high: 1, low: 2), shop: Stage.shop, user: "bob", username: "BOB", text: "m",
    createdAt: Stage.dawn, isEdited: true, position: Stage.position(2),
    changed: Stage.position(8))

  private static var bare: ShopMessage {
    var message = edited
    message.changed = nil
    return message
  }

  private static func fields(_ answer: Answer) -> [String] { answer.headers.map(\.0) }

  @Test(arguments: [false, true])
  func `only a client that asks for events receives the versions of messages`(events: Bool) {
    var served = Served()
    let query = PageQuery.page(number: 1, limit: 20)
    #expect(
      served.ask(.page(Stage.shop, query, events: events)) == [
        .page(StoreToken(1), Stage.shop, query)
      ])
    let page = Page(messages: [Self.edited], hasNext: false, head: Stage.position(8))
    var shown = page
    if !events { shown.messages = [Self.bare] }
    let answer = Answer(200, .page(shown, query, total: 1), events: events)
    #expect(
      served.take(.stored(StoreToken(1), .page(page, total: 1))) == [
        .answer(RequestID(1), answer)
      ])
    #expect(Self.fields(answer).contains("Holdfast-Events") == events)
  }

  @Test func `all messages have no versions`() {
    var served = Served()
    _ = served.ask(.all(Stage.shop))
    let page = Page(messages: [Self.edited], hasNext: false, head: Stage.position(8))
    #expect(
      served.take(.stored(StoreToken(1), .page(page, total: 1))) == [
        .answer(RequestID(1), Answer(200, .messages([Self.bare])))
      ])
  }

  @Test(arguments: [
    PageQuery.changes(after: Stage.position(3), limit: 7),
    .newest(knowing: Stage.position(3), limit: 7), .beforeID(edited.id, limit: 7),
    .afterID(edited.id, limit: 7),
  ])
  func `a plain server ignores events and the queries of positions`(query: PageQuery) {
    var served = Served { $0.dialect = .plain }
    let first = PageQuery.page(number: 1, limit: 7)
    #expect(
      served.ask(.page(Stage.shop, query, events: true)) == [
        .page(StoreToken(1), Stage.shop, first)
      ])
    let page = Page(messages: [Self.edited], hasNext: false, head: Stage.position(8))
    var shown = Self.bare
    (shown.position, shown.username) = (nil, nil)
    let answer = Answer(
      200, .page(Page(messages: [shown], hasNext: false), first, total: 1))
    #expect(
      served.take(.stored(StoreToken(1), .page(page, total: 1))) == [
        .answer(RequestID(1), answer)
      ])
    #expect(
      Served { $0.dialect = .plain }.afterUpgrade(events: true) == [
        .accept(ConnectionID(1), head: nil)
      ])
  }
}

extension Served {
  /// Returns the effects of an upgrade whose head was read.
  fileprivate func afterUpgrade(events: Bool) -> [ShopServer.Effect] {
    var served = self
    _ = served.upgrade(1, events: events)
    return served.take(.stored(StoreToken(1), .head(Stage.position(3))))
  }
}
