import HoldfastCore
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastServerFixtures
import HoldfastServerParts
import Testing

/// Tests for the backlog that a server sends after an upgrade: all missed messages, or none.
struct BacklogTests {
  private static func message(_ offset: UInt64, text: String = "m") -> ShopMessage {
    ShopMessage(
      id: UUID128(high: 1, low: offset), shop: Stage.shop, user: "bob", username: "BOB",
      text: text, createdAt: Stage.dawn, position: Stage.position(offset))
  }

  private static func page(_ offsets: ClosedRange<UInt64>, text: String = "m") -> Page {
    Page(
      messages: offsets.map { message($0, text: text) }, hasNext: false,
      head: Stage.position(offsets.upperBound))
  }

  private static func trimmed(_ offsets: ClosedRange<UInt64>) -> Page {
    var trimmed = page(offsets)
    trimmed.recovered = false
    return trimmed
  }

  /// Returns a server with one open socket and a room whose head is known.
  private static func served(
    head: UInt64, _ change: (inout ShopServerPolicy) -> Void = { _ in }
  ) -> Served {
    var served = Served(change)
    served.open(1, as: Stage.token("bob"), head: head)
    return served
  }

  private static func accepted(_ connection: UInt64, head: UInt64) -> [ShopServer.Effect] {
    [.accept(ConnectionID(connection), head: Stage.position(head))]
  }

  private static func sent(_ message: ShopMessage, to connection: UInt64) -> ShopServer.Effect {
    .send(.message(message), to: [ConnectionID(connection)])
  }

  @Test func `sends the missed messages after the answer, then new ones`() throws {
    var served = Self.served(head: 9)
    let effects = served.upgrade(2, after: Stage.position(7))
    guard case .page(let token, Stage.shop, .after(Stage.position(7), limit: 100)) = effects.first,
      effects.count == 1
    else {
      Issue.record("the server did not read the store: \(effects)")
      return
    }
    #expect(
      served.take(.stored(token, .page(Self.page(8...9), total: 2))) == [
        .accept(ConnectionID(2), head: Stage.position(9), after: Stage.position(7)),
        Self.sent(Self.message(8), to: 2), Self.sent(Self.message(9), to: 2),
      ])
    let (stored, answered) = served.store(try served.post("10"), at: 10)
    #expect(answered.last == .send(.message(stored), to: [ConnectionID(1), ConnectionID(2)]))
  }

  @Test func `messages broadcast during the store read follow the backlog, each once`() throws {
    for end in UInt64(8)...10 {
      var served = Self.served(head: 8)
      let asked = served.upgrade(2, after: Stage.position(7)).count
      #expect(asked == 1)
      let ninth = served.store(try served.post("9"), at: 9).stored
      let tenth = served.store(try served.post("10"), at: 10).stored
      var page = Self.page(8...8)
      page.messages += [ninth, tenth].prefix(Int(end - 8))
      page.head = Stage.position(end)
      #expect(
        served.take(.stored(StoreToken(2), .page(page, total: 0))) == [
          .accept(ConnectionID(2), head: Stage.position(10), after: Stage.position(7)),
          Self.sent(Self.message(8), to: 2), Self.sent(ninth, to: 2), Self.sent(tenth, to: 2),
        ])
    }
  }

  @Test(arguments: [UInt64(1), 2])
  func `posts during the store read count towards the limit`(posts: UInt64) throws {
    var served = Self.served(head: 8) { $0.backlogLimit = 2 }
    #expect(served.upgrade(2, after: Stage.position(7)).count == 1)
    var sent = [Self.message(8)]
    for offset in 9..<9 + posts {
      sent.append(served.store(try served.post("\(offset)"), at: offset).stored)
    }
    let effects = served.take(.stored(StoreToken(2), .page(Self.page(8...8), total: 0)))
    guard posts == 1 else {
      #expect(effects == Self.accepted(2, head: 10))
      return
    }
    let opened = ShopServer.Effect.accept(
      ConnectionID(2), head: Stage.position(9), after: Stage.position(7))
    #expect(effects == [opened] + sent.map { Self.sent($0, to: 2) })
  }

  @Test func `a message that is stored but not yet broadcast is sent when it is broadcast`() throws
  {
    var served = Self.served(head: 8)
    let appended = try served.post("9")
    _ = served.upgrade(2, after: Stage.position(7))
    var ninth = appended.1
    ninth.position = Stage.position(9)
    var page = Self.page(8...8)
    page.messages.append(ninth)
    #expect(
      served.take(.stored(StoreToken(3), .page(page, total: 0))) == [
        .accept(ConnectionID(2), head: Stage.position(8), after: Stage.position(7)),
        Self.sent(Self.message(8), to: 2),
      ])
    let effects = served.store(appended, at: 9).effects
    #expect(effects.last == .send(.message(ninth), to: [ConnectionID(1), ConnectionID(2)]))
  }

  @Test(arguments: [
    ("nothing was missed", Stage.position(9)), ("of another life", Stage.position(8, epoch: "d")),
    ("beyond the head", Stage.position(10)), ("more than the bound", Stage.position(6)),
  ])
  func `accepts at the head without reading the store`(reason: String, after: ShopPosition) {
    var served = Self.served(head: 9) { $0.backlogLimit = 2 }
    #expect(served.upgrade(2, after: after) == Self.accepted(2, head: 9), "\(reason)")
    #expect(served.upgrade(3, after: Stage.position(7)).count == 1)
    #expect(served.upgrade(4, as: Stage.token("eve")) == Self.accepted(4, head: 9))
  }

  @Test func `a plain server ignores the requested position`() {
    var served = Self.served(head: 9) { $0.dialect = .plain }
    #expect(
      served.upgrade(2, after: Stage.position(7)) == [.accept(ConnectionID(2), head: nil)])
  }

  @Test(arguments: [
    ("the store failed", ShopServer.StoreAnswer.failed(.locked(detail: ""))),
    ("the log was trimmed", .page(Page(messages: [], hasNext: false, recovered: false), total: 0)),
    ("the log says that it was trimmed", .page(trimmed(8...9), total: 0)),
    ("one is missing", .page(page(9...9), total: 0)),
    ("the last is missing", .page(page(8...8), total: 0)),
    ("too many bytes", .page(page(8...9, text: String(repeating: "x", count: 9_000)), total: 0)),
  ])
  func `accepts at the head if the backlog cannot be sent completely`(
    reason: String, answer: ShopServer.StoreAnswer
  ) {
    var served = Self.served(head: 9) { $0.maxBacklogBytes = 18_000 }
    _ = served.upgrade(2, after: Stage.position(7))
    #expect(served.take(.stored(StoreToken(2), answer)) == Self.accepted(2, head: 9), "\(reason)")
  }

  @Test(arguments: [-1, 0])
  func `sends a backlog up to the byte limit and no more`(below: Int) {
    let bytes = Frame.message(Self.message(9)).payload.count
    var served = Self.served(head: 9) { $0.maxBacklogBytes = bytes + below }
    _ = served.upgrade(2, after: Stage.position(8))
    let effects = served.take(.stored(StoreToken(2), .page(Self.page(9...9), total: 0)))
    #expect(effects.count == 2 + below)
  }

  @Test func `beyond the limit of waiting requests, an upgrade is accepted at the head`() {
    var served = Self.served(head: 9) { $0.maxRequests = 1 }
    #expect(served.upgrade(2, after: Stage.position(7)).count == 1)
    #expect(served.upgrade(3, after: Stage.position(7)) == Self.accepted(3, head: 9))
  }

  /// Covers a new epoch whose head is below, at and above the offset of the socket.
  @Test(arguments: [UInt64](6...8))
  func `an upgrade is accepted at the new head if the epoch changes during the read`(end: UInt64)
    throws
  {
    var served = Self.served(head: 8)
    _ = served.upgrade(2, after: Stage.position(7))
    let (token, message) = try served.post("x")
    var jumped = message
    jumped.position = Stage.position(end, epoch: "f")
    _ = served.take(.stored(token, .appended(.posted(jumped, isNew: true))))
    #expect(
      served.take(.stored(StoreToken(2), .page(Self.page(8...8), total: 0))) == [
        .accept(ConnectionID(2), head: Stage.position(end, epoch: "f"))
      ])
  }

  @Test func `a socket that closes or is refused during the store read receives nothing`() {
    let page = ShopServer.StoreAnswer.page(Self.page(8...9), total: 0)
    var left = Self.served(head: 9)
    _ = left.upgrade(2, after: Stage.position(7))
    _ = left.take(.gone(ConnectionID(2), code: 1006))
    #expect(left.take(.stored(StoreToken(2), page)) == [])
    var removed = Self.served(head: 9)
    _ = removed.upgrade(2, after: Stage.position(7))
    #expect(
      removed.take(.removed(Membership(shop: Stage.shop, user: "ann"))) == [
        .refuse(ConnectionID(2), Stage.notAMember)
      ])
    #expect(removed.take(.stored(StoreToken(2), page)) == [])
    var drained = Self.served(head: 9)
    _ = drained.upgrade(2, after: Stage.position(7))
    #expect(
      drained.take(.drain(within: .seconds(5))).first
        == .refuse(ConnectionID(2), Stage.draining))
    #expect(drained.take(.stored(StoreToken(2), page)) == [])
  }

  @Test func `reads the head first if it is unknown`() {
    var served = Served()
    #expect(
      served.upgrade(1, after: Stage.position(7)) == [.head(StoreToken(1), Stage.shop)])
    #expect(
      served.take(.stored(StoreToken(1), .head(Stage.position(9)))) == [
        .page(StoreToken(2), Stage.shop, .after(Stage.position(7), limit: 100))
      ])
  }
}
