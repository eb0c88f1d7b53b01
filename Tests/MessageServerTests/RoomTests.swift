import HoldfastCore
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastServerFixtures
import HoldfastServerParts
import Testing

struct RoomTests {
  @Test func `broadcasts a message once it is durable, with its position, to all in the room`()
    throws
  {
    var served = Served()
    served.open(2)
    served.open(1, as: Stage.token("bob"))
    served.open(3, as: Stage.token("eve", shops: [Stage.other]), to: Stage.other)
    let appended = try served.post("hello")
    let (stored, effects) = served.store(appended, at: 1)
    #expect(
      effects == [
        .answer(
          RequestID(1), Answer(201, .message(stored, note: "Message created successfully"))),
        .send(.message(stored), to: [ConnectionID(1), ConnectionID(2)]),
      ])
    #expect(stored.user == "ann")
    #expect(stored.username == "ANN")
    #expect(stored.text == "hello")
    #expect(stored.createdAt == Stage.dawn)
  }

  @Test func `reads the head before the first post is stored`() {
    var served = Served()
    #expect(served.ask(.send(Stage.draft("x"))) == [.head(StoreToken(1), Stage.shop)])
    let effects = served.take(.stored(StoreToken(1), .head(Stage.position(9))))
    #expect(effects.count == 1)
    #expect(effects.first?.appends.map(\.token) == [StoreToken(2)])
    #expect(effects.first?.appends.map(\.message.text) == ["x"])
  }

  @Test func `lets shops append concurrently`() throws {
    var served = Served()
    let both = Stage.token(shops: [Stage.shop, Stage.other])
    served.open(1, as: both)
    served.open(2, as: both, to: Stage.other)
    #expect(served.ask(.send(Stage.draft("a")), as: both).count == 1)
    #expect(served.ask(.send(Stage.draft("b", in: Stage.other)), as: both).count == 1)
  }

  @Test func `subscribes a socket at the reported head while a post is being stored`() throws {
    var served = Served()
    served.open(1, head: 4)
    let appended = try served.post("5")
    #expect(
      served.upgrade(2, as: Stage.token("bob")) == [
        .accept(ConnectionID(2), head: Stage.position(4))
      ])
    let (stored, effects) = served.store(appended, at: 5)
    #expect(
      effects.last == .send(.message(stored), to: [ConnectionID(1), ConnectionID(2)]))
    #expect(
      served.upgrade(3, as: Stage.token("eve")) == [
        .accept(ConnectionID(3), head: Stage.position(5))
      ])
  }

  @Test func `answers 200 and broadcasts nothing if the key is known`() throws {
    var served = Served()
    served.open(1, head: 3)
    let key = UUID128(high: 1, low: 1)
    let effects = served.ask(.send(Stage.draft("again", key: key)))
    let append = try #require(effects.first?.appends.first)
    #expect(append.key == key)
    let (stored, answered) = served.store((append.token, append.message), at: 2, isNew: false)
    #expect(
      answered == [
        .answer(RequestID(1), Answer(200, .message(stored, note: "Message already created")))
      ])
  }

  @Test(arguments: [
    ("another", MessageID?.none), ("again", UUID128(high: 3, low: 3)), ("Again", nil),
  ])
  func `answers 409 if the key was used for another message`(
    text: String, parent: MessageID?
  ) throws {
    var served = Served()
    served.open(1, head: 3)
    let key = UUID128(high: 1, low: 1)
    let draft = Stage.draft("again", key: key)
    let append = try #require(served.ask(.send(draft)).first?.appends.first)
    var known = append.message
    (known.text, known.parent) = (text, parent)
    let (_, answered) = served.store((append.token, known), at: 2, isNew: false)
    let detail = "the idempotency key was used for another message; use a new key for each message"
    #expect(answered == [.answer(RequestID(1), .error(409, detail))])
    #expect(try !served.post("next").1.text.isEmpty)
  }

  @Test func `broadcasts a known message that was not broadcast yet`() throws {
    var served = Served()
    served.open(1, head: 3)
    let appended = try served.post("late", key: UUID128(high: 1, low: 1))
    let (stored, effects) = served.store(appended, at: 4, isNew: false)
    #expect(effects.last == .send(.message(stored), to: [ConnectionID(1)]))
  }

  @Test(arguments: [(UInt64(6), "e"), (1, "f")])
  func `closes all sockets of a room if the log jumped`(offset: UInt64, epoch: String) throws {
    var served = Served()
    served.open(1, head: 4)
    let (token, message) = try served.post("x")
    var stored = message
    stored.position = ShopPosition(epoch: epoch, offset: offset)
    #expect(
      served.take(.stored(token, .appended(.posted(stored, isNew: true)))) == [
        .answer(
          RequestID(1), Answer(201, .message(stored, note: "Message created successfully"))),
        .close(ConnectionID(1), Closure(1011, "log discontinuity")),
      ])
    #expect(
      served.upgrade(2) == [.accept(ConnectionID(2), head: stored.position)])
  }

  @Test(arguments: [StoreFailure.full(detail: ""), .corrupt(detail: "")])
  func `health recovers without another message, unless the store is damaged`(
    _ failure: StoreFailure
  ) throws {
    var served = Served.opened()
    let failed = try served.post("lost")
    _ = served.take(.stored(failed.0, .failed(failure)))
    for (time, answer) in [
      (Instant.second(0.5), ShopServer.StoreAnswer.failed(failure)), (.second(1), .forgotten),
    ] {
      #expect(served.server.serviceHealth != .ok)
      #expect(served.server.deadline == time)
      guard case .forget(let token, .texts)? = served.tick(at: time).first else {
        Issue.record("the store is not checked")
        return
      }
      _ = served.take(.stored(token, answer))
    }
    let isDamaged = if case .corrupt = failure { true } else { false }
    #expect((served.server.serviceHealth == .ok) != isDamaged)
  }

  @Test func `health fails from a message that was not stored until one that was`() throws {
    var served = Served.opened()
    let failed = try served.post("lost")
    _ = served.take(.stored(failed.0, .failed(.full(detail: "/srv/secret.sqlite"))))
    let failing = ServiceHealth.failing(reason: "the disk of the store is full")
    #expect(served.server.serviceHealth == failing)
    _ = served.store(try served.post("known before"), at: 1, isNew: false)
    #expect(served.server.serviceHealth == failing)
    _ = served.store(try served.post("kept"), at: 1)
    #expect(served.server.serviceHealth == .ok)
  }

  @Test func `answers 503 if an append fails, and continues with the next`() throws {
    var served = Served.opened()
    let (token, _) = try served.post("lost")
    _ = served.ask(.send(Stage.draft("next")))
    let effects = served.take(.stored(token, .failed(.full(detail: "disk"))))
    #expect(effects.first == .answer(RequestID(1), Stage.storeFailed))
    #expect(effects.count == 2)
    #expect(effects.last?.appends.map(\.message.text) == ["next"])
  }

  @Test func `fails an append whose stored message has no position`() throws {
    var served = Served.opened()
    let (token, message) = try served.post("x")
    #expect(
      served.take(.stored(token, .appended(.posted(message, isNew: true)))) == [
        .answer(RequestID(1), Stage.storeFailed)
      ])
  }

  @Test func `broadcasts the post of a client that disconnected`() throws {
    var served = Served.opened()
    let appended = try served.post("goodbye")
    _ = served.take(.abandoned(RequestID(1)))
    let (stored, effects) = served.store(appended, at: 1)
    #expect(effects == [.send(.message(stored), to: [ConnectionID(1)])])
  }

  @Test func `lets posts of a shop wait up to the limit`() {
    var served = Served.opened { $0.maxPostsPerShop = 1 }
    #expect(served.ask(.send(Stage.draft("with the store"))).count == 1)
    #expect(served.ask(.send(Stage.draft("waits"))) == [])
    #expect(served.ask(.send(Stage.draft("too many"))) == [.answer(RequestID(3), Stage.busy)])
  }

  @Test func `accepts a frame of exactly the limit and refuses one byte more`() throws {
    var served = Served.opened()
    let (_, short) = try served.post("a")
    var framed = short
    framed.position = Stage.position(1)
    let room = 10_240 - StreamCodec.encode(framed).count + 1
    var again = Served()
    again.open(1)
    let refused = Answer.error(413, "the frame would have 10241 bytes, more than 10240")
    #expect(
      again.ask(.send(Stage.draft(String(repeating: "a", count: room + 1)))) == [
        .answer(RequestID(1), refused)
      ])
    #expect(
      again.ask(.send(Stage.draft(String(repeating: "a", count: room)))).count == 1)
  }

  @Test func `the length of a frame includes its next position`() throws {
    var served = Served()
    served.open(1, head: 8)
    let (token, message) = try served.post("a")
    var framed = message
    framed.position = Stage.position(9)
    let bytes = StreamCodec.encode(framed).count
    var exact = Served { $0.limits.maxFrameBytes = bytes }
    exact.open(1, head: 8)
    let appended = try exact.post("a")
    #expect(appended.0 == token)
  }

  @Test func `time stamps are whole microseconds, each later than the one before`() throws {
    var served = Served.opened()
    served.pass(.nanoseconds(1_999))
    let first = try served.post("a")
    #expect(first.1.createdAt == Stage.dawn.advanced(by: .microseconds(1)))
    _ = served.store(first, at: 1)
    let second = try served.post("b")
    #expect(second.1.createdAt == Stage.dawn.advanced(by: .microseconds(2)))
  }

  @Test(arguments: [
    (Duration.microseconds(1), Duration.microseconds(1)), (.zero, .microseconds(1)),
    (.seconds(-86_400), .microseconds(1)), (.microseconds(2), .microseconds(2)),
  ])
  func `time stamps increase although the wall clock steps back`(step: Duration, stamped: Duration)
    throws
  {
    var served = Served.opened()
    let first = try served.post("a")
    _ = served.store(first, at: 1)
    let found = try Self.stamp(of: "b", in: &served, afterStep: step)
    #expect(found == stamped)
  }

  @Test(arguments: [
    (Duration.seconds(5), Duration.seconds(5) + .microseconds(1)), (.zero, .microseconds(1)),
    (.seconds(-5), .zero),
  ])
  func `no time stamp is earlier than the stored messages, even those of an earlier run`(
    newest: Duration, stamped: Duration
  ) throws {
    var served = Served()
    _ = served.upgrade(1)
    let newest = Stage.dawn.advanced(by: newest)
    _ = served.take(.stored(StoreToken(1), .head(Stage.position(7), newest: newest)))
    let found = try Self.stamp(of: "a", in: &served, afterStep: .zero)
    #expect(found == stamped)
  }

  /// Posts a message after the wall clock has stepped by `step`, and returns its time stamp
  /// relative to `Stage.dawn`.
  private static func stamp(
    of text: String, in served: inout Served, afterStep step: Duration
  ) throws -> Duration {
    let effects = served.take(
      .request(
        RequestID(99), .send(Stage.draft(text)), Stage.token(),
        wall: served.wall.advanced(by: step)))
    guard let append = effects.first?.appends.first else {
      throw Served.NotAppended(effects: effects)
    }
    return Stage.dawn.duration(to: append.message.createdAt)
  }

  @Test func `forgets idle rooms beyond the limit and keeps rooms in use`() {
    var served = Served { $0.maxIdleRooms = 2 }
    let shops = ["a", "b", "c"].map(Stage.id)
    let token = Stage.token(shops: shops)
    for (index, shop) in shops.prefix(2).enumerated() {
      served.open(UInt64(index), as: token, to: shop)
    }
    _ = served.take(.gone(ConnectionID(0), code: 1000))
    served.open(2, as: token, to: shops[2])
    #expect(served.upgrade(3, as: token, to: shops[1]).count == 1)
    #expect(
      served.upgrade(4, as: token, to: shops[0]) == [.head(StoreToken(4), shops[0])])
  }
}
