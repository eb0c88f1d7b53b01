import HoldfastCore
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastServerFixtures
import HoldfastServerParts
import Testing

/// Tests of the backlog of a socket that receives events: the newest version of each message that
/// changed, in order, or nothing.
struct EventBacklogTests {
  private static func message(_ offset: UInt64, changed: UInt64? = nil) -> ShopMessage {
    ShopMessage(
      id: UUID128(high: 1, low: offset), shop: Stage.shop, user: "bob", username: "BOB", text: "m",
      createdAt: Stage.dawn, isEdited: changed != nil, position: Stage.position(offset),
      changed: changed.map { Stage.position($0) })
  }

  private static func deletion(_ offset: UInt64, changed: UInt64) -> ShopDeletion {
    ShopDeletion(
      id: UUID128(high: 1, low: offset), shop: Stage.shop, position: Stage.position(offset),
      changed: Stage.position(changed))
  }

  /// A page of the versions after 4: message 5, the deletion 7 and the edit 8 of message 2.
  private static var page: Page { page([message(5), message(2, changed: 8)], through: 8) }

  private static func page(
    _ messages: [ShopMessage], deleted: [ShopDeletion] = [deletion(3, changed: 7)],
    through: UInt64
  ) -> Page {
    var page = Page(messages: messages, hasNext: false, head: Stage.position(through))
    (page.deleted, page.through) = (deleted, Stage.position(through))
    return page
  }

  private static let sent: [Frame] = [
    .message(message(5)), .deleted(deletion(3, changed: 7)), .edited(message(2, changed: 8)),
  ]

  /// Returns a server with one open socket, a known head, and socket 2 whose backlog is being read.
  private static func waiting(
    head: UInt64 = 8, _ change: (inout ShopServerPolicy) -> Void = { _ in }
  ) -> Served {
    var served = Served(change)
    served.open(1, as: Stage.token("bob"), head: head)
    let asked = served.upgrade(2, after: Stage.position(4), events: true)
    let query = PageQuery.changes(after: Stage.position(4), limit: 100)
    #expect(asked == [.page(StoreToken(2), Stage.shop, query)])
    return served
  }

  private static func accepted(head: UInt64, frames: [Frame]?) -> [ShopServer.Effect] {
    let after = frames == nil ? nil : Stage.position(4)
    let accept = ShopServer.Effect.accept(
      ConnectionID(2), head: Stage.position(head), after: after, events: true)
    return [accept] + (frames ?? []).map { .send($0, to: [ConnectionID(2)]) }
  }

  @Test func `sends the newest version of each message in the order of their versions`() {
    var served = Self.waiting()
    #expect(
      served.take(.stored(StoreToken(2), .page(Self.page, total: 0)))
        == Self.accepted(head: 8, frames: Self.sent))
  }

  @Test func `a socket without events receives messages only, without versions`() {
    var served = Served()
    served.open(1, as: Stage.token("bob"), head: 8)
    let query = PageQuery.after(Stage.position(7), limit: 100)
    #expect(
      served.upgrade(2, after: Stage.position(7)) == [.page(StoreToken(2), Stage.shop, query)])
    let page = Page(
      messages: [Self.message(8, changed: 9)], hasNext: false, head: Stage.position(9))
    var shown = Self.message(8, changed: 9)
    shown.changed = nil
    #expect(
      served.take(.stored(StoreToken(2), .page(page, total: 0))) == [
        .accept(ConnectionID(2), head: Stage.position(8), after: Stage.position(7)),
        .send(.message(shown), to: [ConnectionID(2)]),
      ])
  }

  /// The client would take each skipped offset for a message that it misses.
  @Test func `a socket without events opens at the head if more than messages was missed`() throws {
    for isBroadcast in [false, true] {
      var served = Served()
      served.open(1, as: Stage.token("bob"), head: isBroadcast ? 5 : 6)
      _ = served.upgrade(2, after: Stage.position(4))
      if isBroadcast {
        let change = try served.change(.delete(Self.message(3).id))
        let deletion = LogOutcome.deleted(Self.deletion(3, changed: 6), isNew: true)
        _ = served.take(.stored(change.token, .appended(deletion)))
      }
      let page = Page(
        messages: [Self.message(5)], hasNext: false, head: Stage.position(isBroadcast ? 5 : 6))
      #expect(
        served.take(.stored(StoreToken(2), .page(page, total: 0))) == [
          .accept(ConnectionID(2), head: Stage.position(6))
        ])
    }
  }

  @Test func `a server that reads only its head confirms events`() {
    var served = Served()
    served.open(1, as: Stage.token("bob"), head: 8)
    #expect(served.upgrade(2, events: true) == Self.accepted(head: 8, frames: nil))
  }

  @Test func `waits until everything that the store has read was broadcast`() throws {
    var served = Self.waiting(head: 7)
    let change = try served.change(.edit(Revision(id: Self.message(2).id, text: "m")))
    #expect(served.take(.stored(StoreToken(2), .page(Self.page, total: 0))) == [])
    let outcome = LogOutcome.edited(Self.message(2, changed: 8), isNew: true)
    let effects = served.take(.stored(change.token, .appended(outcome)))
    #expect(Array(effects.dropFirst()) == Self.accepted(head: 8, frames: Self.sent))
  }

  @Test func `opens at the head if what the store has read is never broadcast`() throws {
    var failed = Self.waiting(head: 7)
    let change = try failed.change(.edit(Revision(id: Self.message(2).id, text: "m")))
    _ = failed.take(.stored(StoreToken(2), .page(Self.page, total: 0)))
    let effects = failed.take(.stored(change.token, .failed(.locked(detail: ""))))
    #expect(Array(effects.dropFirst()) == Self.accepted(head: 7, frames: nil))
    var ahead = Self.waiting(head: 7)
    #expect(
      ahead.take(.stored(StoreToken(2), .page(Self.page, total: 0)))
        == Self.accepted(head: 7, frames: nil))
  }

  @Test func `events broadcast during the store read follow, each once`() throws {
    for isRead in [false, true] {
      var served = Self.waiting(head: 7)
      let change = try served.change(.delete(Self.message(6).id))
      let deletion = Self.deletion(6, changed: 8)
      _ = served.take(.stored(change.token, .appended(.deleted(deletion, isNew: true))))
      let read = Self.page(
        [Self.message(5)],
        deleted: [Self.deletion(3, changed: 7)] + (isRead ? [deletion] : []),
        through: isRead ? 8 : 7)
      #expect(
        served.take(.stored(StoreToken(2), .page(read, total: 0)))
          == Self.accepted(head: 8, frames: Self.sent.dropLast() + [.deleted(deletion)]))
    }
  }

  @Test(arguments: [
    ("a version is repeated", page([message(7), message(2, changed: 8)], through: 8)),
    ("the last version is missing", page([message(5)], through: 8)),
    ("nothing was read", page([], deleted: [], through: 8)),
    ("the page ends before the head", page([message(5)], through: 7)),
    ("the store knows less than the client", page([], deleted: [], through: 3)),
    ("an older version", page([message(4), message(2, changed: 8)], through: 8)),
  ])
  func `opens at the head if the backlog is not complete`(reason: String, page: Page) {
    var served = Self.waiting()
    #expect(
      served.take(.stored(StoreToken(2), .page(page, total: 0)))
        == Self.accepted(head: 8, frames: nil), "\(reason)")
  }

  @Test(arguments: [0, 1]) func `sends a backlog up to the byte limit`(less: Int) {
    let bytes = Self.sent.reduce(0) { $0 + $1.payload.count }
    var served = Self.waiting { $0.maxBacklogBytes = bytes - less }
    let effects = served.take(.stored(StoreToken(2), .page(Self.page, total: 0)))
    #expect(effects == Self.accepted(head: 8, frames: less == 0 ? Self.sent : nil))
  }

  @Test func `a socket that leaves while its backlog waits receives nothing`() throws {
    var served = Self.waiting(head: 7)
    let change = try served.change(.edit(Revision(id: Self.message(2).id, text: "m")))
    _ = served.take(.stored(StoreToken(2), .page(Self.page, total: 0)))
    _ = served.take(.gone(ConnectionID(2), code: 1006))
    let outcome = LogOutcome.edited(Self.message(2, changed: 8), isNew: true)
    #expect(served.take(.stored(change.token, .appended(outcome))).count == 1)
  }
}
