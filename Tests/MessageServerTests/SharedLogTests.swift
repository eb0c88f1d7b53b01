import HoldfastCore
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastServerFixtures
import HoldfastServerParts
import Testing

/// Tests of a node that shares its log with other nodes.
struct SharedLogTests {
  private static func message(_ offset: UInt64, changed: UInt64? = nil) -> ShopMessage {
    ShopMessage(
      id: UUID128(high: 1, low: offset), shop: Stage.shop, user: "bob", username: "BOB",
      text: "m\(offset)", createdAt: Stage.dawn, isEdited: changed != nil,
      position: Stage.position(offset), changed: changed.map { Stage.position($0) })
  }

  private static func page(
    _ messages: [ShopMessage], through: UInt64, hasNext: Bool = false
  ) -> ShopServer.StoreAnswer {
    var page = Page(messages: messages, hasNext: hasNext, head: Stage.position(through))
    page.through = Stage.position(through)
    return .page(page, total: 0)
  }

  /// Returns a node with one open socket at a head.
  private static func opened(head: UInt64 = 4) -> Served {
    var served = Served { $0.sharesLog = true }
    _ = served.take(.nodes(.connected))
    served.open(1, head: head)
    return served
  }

  private static func told(_ offset: UInt64, epoch: String = "e") -> ShopServer.Input {
    .nodes(.told(Stage.shop, Stage.position(offset, epoch: epoch)))
  }

  private static func tail(_ token: UInt64, after head: UInt64) -> ShopServer.Effect {
    .tail(StoreToken(token), Stage.shop, .changes(after: Stage.position(head), limit: 100))
  }

  private static func sent(_ offset: UInt64) -> ShopServer.Effect {
    .send(.message(message(offset)), to: [ConnectionID(1)])
  }

  @Test func `reads what another node has stored, and broadcasts it in order`() {
    var served = Self.opened()
    #expect(served.take(Self.told(6)) == [Self.tail(2, after: 4)])
    // What was reported meanwhile is read after the answer.
    #expect(served.take(Self.told(7)) == [])
    #expect(
      served.take(.stored(StoreToken(2), Self.page([5, 6].map { Self.message($0) }, through: 6)))
        == [Self.sent(5), Self.sent(6), Self.tail(3, after: 6)])
    #expect(
      served.take(.stored(StoreToken(3), Self.page([Self.message(7)], through: 7)))
        == [Self.sent(7)])
    for late in [4, 6, 7] as [UInt64] { #expect(served.take(Self.told(late)) == []) }
  }

  @Test func `a message that was edited before it was read is sent once to each socket`() {
    var served = Self.opened()
    _ = served.upgrade(2, as: Stage.token("bob"), events: true)
    _ = served.take(Self.told(6))
    let edited = Self.message(5, changed: 6)
    var posted = edited
    posted.changed = nil
    #expect(
      served.take(.stored(StoreToken(2), Self.page([edited], through: 6))) == [
        .send(.message(posted), to: [ConnectionID(1)]),
        .send(.edited(edited), to: [ConnectionID(2)]),
      ])
  }

  @Test func `answers a post at once, and broadcasts it after the events before it`() throws {
    var served = Self.opened()
    let (token, message) = try served.post("own")
    var stored = message
    stored.position = Stage.position(6)
    #expect(
      served.take(.stored(token, .appended(.posted(stored, isNew: true)))) == [
        .answer(
          RequestID(1), Answer(201, .message(stored, note: "Message created successfully"))),
        .tell(Stage.shop, Stage.position(6)),
        Self.tail(3, after: 4),
      ])
    #expect(
      served.take(.stored(StoreToken(3), Self.page([Self.message(5), stored], through: 6)))
        == [Self.sent(5), .send(.message(stored), to: [ConnectionID(1)])])
  }

  @Test func `a node alone broadcasts its posts without a read, and reports them`() throws {
    var served = Self.opened()
    let (stored, effects) = served.store(try served.post("own"), at: 5)
    #expect(
      effects.dropFirst() == [
        .tell(Stage.shop, Stage.position(5)), .send(.message(stored), to: [ConnectionID(1)]),
      ])
  }

  @Test func `closes the sockets of a room whose epoch has ended`() {
    var served = Self.opened()
    #expect(served.take(Self.told(1, epoch: "f")) == [Self.tail(2, after: 4)])
    let page = Page(
      messages: [], hasNext: false, head: Stage.position(2, epoch: "f"), recovered: false)
    #expect(
      served.take(.stored(StoreToken(2), .page(page, total: 0)))
        == [.close(ConnectionID(1), .discontinuity)])
  }

  @Test func `a socket in a room without listeners waits for the head`() {
    var served = Self.opened()
    _ = served.take(.gone(ConnectionID(1), code: 1000))
    #expect(served.take(Self.told(9)) == [])
    #expect(served.upgrade(2) == [.head(StoreToken(2), Stage.shop)])
    #expect(
      served.take(.stored(StoreToken(2), .head(Stage.position(9))))
        == [.accept(ConnectionID(2), head: Stage.position(9))])
  }

  @Test func `what is reported while the head is read is not forgotten`() {
    var served = Served { $0.sharesLog = true }
    #expect(served.upgrade(1) == [.head(StoreToken(1), Stage.shop)])
    #expect(served.take(Self.told(5)) == [])
    #expect(
      served.take(.stored(StoreToken(1), .head(Stage.position(4))))
        == [.accept(ConnectionID(1), head: Stage.position(4)), Self.tail(2, after: 4)])
  }

  @Test func `the known event of a message does not hide an earlier one`() throws {
    var served = Self.opened()
    let change = try served.change(.edit(Revision(id: Self.message(5).id, text: "m5")))
    let effects = served.take(
      .stored(change.token, .appended(.edited(Self.message(5), isNew: false))))
    #expect(effects.last == Self.tail(4, after: 4))
    #expect(effects.count == 2)
  }

  @Test func `a client that knows more than the room waits for a read`() {
    var served = Self.opened()
    let bob = Stage.token("bob")
    #expect(
      served.upgrade(2, as: bob, after: Stage.position(4))
        == [.accept(ConnectionID(2), head: Stage.position(4))])
    #expect(served.upgrade(3, as: bob, after: Stage.position(5)) == [Self.tail(2, after: 4)])
    // The position may be invented.
    #expect(
      served.take(.stored(StoreToken(2), Self.page([], through: 4)))
        == [.accept(ConnectionID(3), head: Stage.position(4))])
  }

  @Test func `a client that knows more than the room waits until the read is answered`() {
    var served = Self.opened()
    let bob = Stage.token("bob")
    #expect(served.upgrade(2, as: bob, after: Stage.position(5)) == [Self.tail(2, after: 4)])
    #expect(
      served.upgrade(3, as: bob) == [.accept(ConnectionID(3), head: Stage.position(4))])
    let message = Self.message(5)
    #expect(
      served.take(.stored(StoreToken(2), Self.page([message], through: 5))) == [
        .send(.message(message), to: [ConnectionID(1), ConnectionID(3)]),
        .accept(ConnectionID(2), head: Stage.position(5)),
      ])
  }

  @Test func `refuses the upgrades that wait for a read that fails`() {
    var served = Self.opened()
    _ = served.upgrade(3, as: Stage.token("bob"), after: Stage.position(5))
    #expect(
      served.take(.stored(StoreToken(2), .failed(.locked(detail: ""))))
        == [.refuse(ConnectionID(3), Stage.storeFailed)])
    #expect(served.take(Self.told(5)) == [Self.tail(3, after: 4)])
  }

  @Test(arguments: [(true, 5_000), (false, 1_000)] as [(Bool, Int64)])
  func `compares its heads with the log, more often without reports`(
    isConnected: Bool, interval: Int64
  ) {
    var served = Self.opened()
    let now = served.take(.nodes(isConnected ? .connected : .interrupted))
    #expect(now == [.heads(StoreToken(2), [Stage.shop])])
    #expect(served.take(.stored(StoreToken(2), .heads([Stage.position(4)]))) == [])
    let due = Instant.zero.advanced(by: .milliseconds(interval))
    #expect(served.server.deadline == due)
    #expect(served.tick(at: due.advanced(by: .nanoseconds(-1))) == [])
    #expect(served.tick(at: due) == [.heads(StoreToken(3), [Stage.shop])])
    #expect(
      served.take(.stored(StoreToken(3), .heads([Stage.position(5)])))
        == [Self.tail(4, after: 4)])
  }

  @Test func `sends at most as much of a tail as of a commit before it reads again`() {
    var served = Served {
      $0.sharesLog = true
      $0.maxCommitBytes = 1
    }
    served.open(1, head: 4)
    _ = served.take(.stored(StoreToken(2), .heads([Stage.position(4)])))
    #expect(served.take(Self.told(6)) == [Self.tail(2, after: 4)])
    #expect(
      served.take(.stored(StoreToken(2), Self.page([5, 6].map { Self.message($0) }, through: 6)))
        == [Self.sent(5), Self.tail(3, after: 5)])
  }

  @Test func `without a lease it refuses everything, and after 30 s closes its sockets`() {
    var served = Self.opened()
    _ = served.upgrade(3, as: Stage.token("bob"), after: Stage.position(9))
    let refusal = Answer.error(503, "this node cannot use its database", retryAfter: .seconds(2))
    #expect(served.take(.nodes(.cutOff)) == [.refuse(ConnectionID(3), refusal)])
    #expect(served.ask(.send(Stage.draft("x"))) == [.answer(RequestID(1), refusal)])
    #expect(served.upgrade(4) == [.refuse(ConnectionID(4), refusal)])
    #expect(served.server.serviceHealth.status == 503)
    let end = Instant.zero.advanced(by: .seconds(30))
    #expect(served.tick(at: end.advanced(by: .nanoseconds(-1))) == [])
    let closure = Closure(1012, "this node has lost its database")
    #expect(served.tick(at: end) == [.close(ConnectionID(1), closure)])
    _ = served.take(.gone(ConnectionID(1), code: 1012))
    _ = served.take(.stored(StoreToken(2), Self.page([], through: 4)))
    _ = served.take(.nodes(.admitted))
    #expect(served.server.serviceHealth == .ok)
    #expect(served.upgrade(5) == [.head(StoreToken(3), Stage.shop)])
  }

  @Test func `a lease that comes back in time keeps the sockets`() {
    var served = Self.opened()
    _ = served.take(.nodes(.cutOff))
    served.pass(.seconds(29))
    #expect(served.take(.nodes(.admitted)) == [.heads(StoreToken(2), [Stage.shop])])
    #expect(served.tick(at: Instant.zero.advanced(by: .seconds(31))) == [])
  }

  @Test func `a server that shares nothing ignores reports`() {
    var served = Served.opened()
    #expect(served.take(Self.told(9)) == [])
    #expect(served.take(.nodes(.interrupted)) == [])
    #expect(served.server.deadline.map { $0 > Instant.zero.advanced(by: .seconds(50)) } == true)
  }
}
