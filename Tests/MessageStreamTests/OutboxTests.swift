import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastMessageStream

/// Tests of sending over REST. No message may be lost or sent twice.
struct OutboxTests {
  private static func entryStates(_ world: StreamHarness) -> [OutboxEntry.State] {
    world.model.outbox.entries.map(\.state)
  }

  @Test(arguments: Shop.Kind.allCases)
  func `stores a message before its first attempt, and removes it when the server confirms`(
    kind: Shop.Kind
  ) {
    var world = StreamHarness.connected(kind)
    world.disk.delay = .seconds(3)
    world.send("hello")
    world.pass(.milliseconds(2_999))
    #expect(world.log.posts.isEmpty)
    world.pass(.milliseconds(1))
    #expect(world.log.posts.map(\.entry.text) == ["hello"])
    #expect(world.disk.outbox.map(\.text) == ["hello"])
    world.pass(.seconds(10))
    #expect(world.disk.outbox == [])
    #expect(world.texts.last == "hello")
    #expect(
      world.ledger.updates.contains {
        if case .outboxDone(_, .some) = $0 { true } else { false }
      })
    #expect(world.ledger.problems == [])
  }

  @Test(arguments: Shop.Kind.allCases)
  func `messages go out one at a time, in order`(kind: Shop.Kind) {
    var world = StreamHarness.connected(kind)
    for number in 1...5 { world.send("\(number)") }
    world.pass(.seconds(5))
    #expect(world.shop.log.suffix(5).map(\.text) == ["1", "2", "3", "4", "5"])
    #expect(world.log.posts.count == 5)
  }

  @Test func `a thousand messages may wait; the next is refused with a reason`() {
    var world = StreamHarness.connected(.ours)
    world.shop.restStatus = .http(status: 500, retryAfter: nil, detail: "")
    for number in 1...999 { world.send("\(number)") }
    #expect(world.model.outbox.entries.count == 999)
    world.send("1000")
    world.send("1001")
    #expect(world.model.outbox.entries.count == 1000)
    world.pass(.milliseconds(500))
    #expect(
      world.ledger.updates.contains {
        guard case .outbox(let entry) = $0 else { return false }
        return entry.text == "1001"
          && entry.state == .failed(reason: "too many messages are waiting to be sent")
      })
  }

  @Test(arguments: [
    ("", "it is empty"), (String(repeating: "a", count: 10_000), nil),
    (
      String(repeating: "\u{1F69A}", count: 10_000),
      "as JSON and with its author and times it has at least 40193 bytes; a message has at most "
        + "10240"
    ),
    (
      String(repeating: "a", count: 10_001),
      "it has 10001 characters; a message has at most 10000"
    ),
  ])
  func `refuses a message that no server accepts before it is queued`(text: String, reason: String?)
  {
    var world = StreamHarness.connected(.ours)
    world.shop.restStatus = .http(status: 500, retryAfter: nil, detail: "")
    world.send(text)
    world.pass(.seconds(1))
    let states = world.ledger.updates.compactMap { update -> OutboxEntry.State? in
      if case .outbox(let entry) = update { entry.state } else { nil }
    }
    if let reason {
      #expect(states == [.failed(reason: reason)])
      #expect(world.log.posts.isEmpty)
      #expect(world.disk.outbox == [])
      #expect(world.model.outbox.entries == [])
    } else {
      #expect(world.log.posts.map(\.entry.text) == [text])
      #expect(world.disk.outbox.map(\.text) == [text])
    }
  }

  @Test func `a message that was refused at once can be retried and discarded`() throws {
    var world = StreamHarness.connected(.ours)
    world.send("")
    let entry = try #require(Self.shown(world).last)
    #expect(entry.state == .failed(reason: "it is empty"))
    world.give(.retry(entry.id))
    #expect(Self.shown(world) == [entry, entry])
    world.give(.discard(entry.id))
    #expect(world.ledger.updates.last == .outboxDone(entry.id, message: nil))
    #expect(world.model.outbox.refused == [])
    world.give(.retry(entry.id))
    #expect(Self.shown(world) == [entry, entry])
    // An unknown id is answered too.
    let unknown = UUID128(high: 0, low: 9)
    world.give(.discard(unknown))
    #expect(world.ledger.updates.last == .outboxDone(unknown, message: nil))
  }

  @Test func `a retry queues a message that was refused while the outbox was full`() throws {
    var harness = Harness.connected(at: 5) { $0.outboxLimit = 1 }
    harness.send("first")
    harness.send("second")
    let refused = try #require(harness.model.outbox.refused.first)
    #expect(refused.text == "second")
    let first = try #require(harness.posts.last)
    harness.give(.posted(first.id, Harness.message(6, text: "first", user: "me")))
    harness.give(.retry(refused.id))
    #expect(harness.posts.map(\.text) == ["first", "second"])
    #expect(harness.model.outbox.refused == [])
  }

  @Test func `only the newest of the messages that were refused at once are kept`() {
    var outbox = Outbox(limit: 1)
    for number in 0...UInt64(Outbox.refusedLimit) {
      outbox.keepRefused(
        OutboxEntry(
          id: UUID128(high: 0, low: number), shop: StreamHarness.settings.shop, text: "",
          createdAt: Harness.wall))
    }
    #expect(outbox.refused.count == Outbox.refusedLimit)
    #expect(outbox.refused.first?.id == UUID128(high: 0, low: 1))
    outbox.keepRefused(
      OutboxEntry(
        id: UUID128(high: 2, low: 0), shop: StreamHarness.settings.shop,
        text: String(repeating: "a", count: Outbox.refusedBytes), createdAt: Harness.wall))
    #expect(outbox.refused.count == Outbox.refusedLimit, "the others are empty")
    outbox.keepRefused(
      OutboxEntry(
        id: UUID128(high: 1, low: 0), shop: StreamHarness.settings.shop,
        text: String(repeating: "a", count: Outbox.refusedBytes + 1), createdAt: Harness.wall))
    #expect(outbox.refused == [])
  }

  /// Returns the entries that were shown, in order.
  private static func shown(_ world: StreamHarness) -> [OutboxEntry] {
    world.ledger.updates.compactMap { if case .outbox(let entry) = $0 { entry } else { nil } }
  }

  @Test(arguments: [200, 301, 308, 399])
  func `a redirect or a page fails no message: it is sent when the server answers properly`(
    status: Int
  ) {
    var world = StreamHarness.connected(.ours)
    world.shop.restStatus = .http(status: status, retryAfter: nil, detail: "points to /b")
    world.send("patient")
    world.pass(.seconds(20))
    #expect(world.log.posts.count > 3)
    world.shop.restStatus = nil
    world.pass(.seconds(40))
    #expect(world.accepted == ["patient": 1])
    #expect(world.model.outbox.entries == [])
  }

  @Test func `one key goes with all ten attempts, after 1, 2, 4, 8, 16 and 30 s`() {
    var world = StreamHarness.connected(.ours)
    world.shop.restStatus = .http(status: 500, retryAfter: nil, detail: "")
    world.net.delay = .zero
    world.disk.delay = .zero
    world.send("stubborn")
    world.pass(.seconds(300))
    #expect(Set(world.log.posts.map(\.entry.id)).count == 1)
    #expect(Log.waits(world.log.posts.map(\.at)) == [1, 2, 4, 8, 16, 30, 30, 30, 30])
    #expect(Self.entryStates(world) == [.failed(reason: "no answer from the server")])
    world.shop.restStatus = nil
    world.give(.retry(world.log.posts[0].entry.id))
    world.pass(.seconds(5))
    #expect(world.accepted == ["stubborn": 1])
    #expect(world.model.outbox.entries == [])
  }

  @Test(arguments: [
    (LinkFailure.http(status: 400, retryAfter: nil, detail: "no text"), "no text"),
    (.http(status: 413, retryAfter: nil, detail: ""), "too long to send"),
    (.http(status: 413, retryAfter: nil, detail: "at most 5"), "too long to send: at most 5"),
  ])
  func `a refusal is shown at once, and does not hold up the next`(
    failure: LinkFailure, reason: String
  ) {
    var world = StreamHarness.connected(.ours)
    world.shop.restStatus = failure
    world.send("bad")
    world.drive { Self.entryStates($0) == [.failed(reason: reason)] }
    #expect(world.log.posts.count == 1)
    world.shop.restStatus = nil
    world.send("good")
    world.pass(.seconds(5))
    #expect(world.texts.last == "good")
    world.give(.discard(world.log.posts[0].entry.id))
    world.pass(.seconds(1))
    #expect(world.disk.outbox == [])
    #expect(world.accepted == ["good": 1])
  }

  @Test(arguments: [
    (LinkFailure.refused, false), (.dns(detail: ""), false), (.timeout(.response), true),
    (.reset, true), (.http(status: 503, retryAfter: nil, detail: ""), false),
  ])
  func `reports whether a message may have arrived without an answer`(
    failure: LinkFailure, mayHave: Bool
  ) throws {
    var world = StreamHarness.connected(.ours)
    world.shop.restStatus = failure
    world.send("lost?")
    world.drive { Self.entryStates($0) == [.queued(tries: 1)] }
    let id = try #require(world.model.outbox.entries.first).id
    #expect(world.model.outbox.mayHaveArrived(id) == mayHave)
    world.shop.restStatus = nil
    world.pass(.seconds(5))
    #expect(!world.model.outbox.mayHaveArrived(id))
  }

  @Test func `a removed member cannot send, and is informed`() {
    var world = StreamHarness.connected(.ours)
    world.server.isMember = false
    world.send("too late")
    world.pass(.seconds(5))
    #expect(Self.entryStates(world) == [.failed(reason: "no member of this shop")])
    #expect(world.notices.contains(.forbidden))
    #expect(world.status.state == .disconnected)
    #expect(world.model.deadline == nil)
  }

  @Test(arguments: Shop.Kind.allCases)
  func `a kill between post and answer sends nothing twice`(kind: Shop.Kind) {
    var world = StreamHarness.connected(kind)
    world.send("once")
    world.drive { $0.accepted == ["once": 1] }
    world.kill()
    world.pass(.seconds(30))
    world.relaunch()
    world.pass(.seconds(30))
    #expect(world.accepted == ["once": 1])
    #expect(world.log.posts.count == (kind == .ours ? 2 : 1), "a plain server is searched first")
    #expect(world.disk.outbox == [])
    #expect(world.texts.filter { $0 == "once" }.count == 1)
    #expect(world.ledger.problems == [])
  }

  @Test(arguments: Shop.Kind.allCases)
  func `an answer that never comes sends nothing twice`(kind: Shop.Kind) {
    var world = StreamHarness.connected(kind)
    world.server.sockets = []
    world.send("once")
    world.drive { $0.accepted == ["once": 1] }
    world.queue.removeAll(where: \.isOnTheWay)
    world.pass(.seconds(60))
    #expect(world.accepted == ["once": 1])
    #expect(world.disk.outbox == [])
    #expect(world.ledger.problems == [])
  }

  @Test(arguments: Shop.Kind.allCases)
  func `the same text sent twice makes two messages`(kind: Shop.Kind) {
    var world = StreamHarness.connected(kind)
    world.send("ok")
    world.pass(.seconds(5))
    world.shop.restStatus = .http(status: 500, retryAfter: nil, detail: "")
    world.send("ok")
    world.pass(.seconds(1))
    world.shop.restStatus = nil
    world.pass(.seconds(40))
    #expect(world.accepted == ["ok": 2])
    #expect(world.texts.suffix(2) == ["ok", "ok"])
  }

  @Test(arguments: Shop.Kind.allCases)
  func `a message sent offline waits, also over a relaunch, and goes out when online`(
    kind: Shop.Kind
  ) {
    var world = StreamHarness.connected(kind)
    world.change(to: .unreachable)
    world.send("one")
    world.pass(.seconds(60))
    world.kill()
    world.relaunch()
    world.send("two")
    world.pass(.seconds(60))
    #expect(world.log.posts.isEmpty)
    world.change(to: .reachable(path: PathID("wlan0")))
    world.pass(.seconds(15))
    #expect(world.shop.log.suffix(2).map(\.text) == ["one", "two"])
    #expect(world.accepted == ["one": 1, "two": 1])
  }

  @Test func `keeps a message sent before the store is read, after the stored ones`() {
    var world = StreamHarness.connected(.ours)
    world.change(to: .unreachable)
    world.send("before")
    world.pass(.seconds(1))
    world.kill()
    world.disk.failure = .locked(detail: "")
    world.relaunch()
    world.send("after")
    world.disk.failure = nil
    world.change(to: .reachable(path: PathID("wlan0")))
    world.pass(.seconds(60))
    #expect(world.shop.log.suffix(2).map(\.text) == ["before", "after"])
  }

  @Test func `401 refreshes once, and the message goes out with the new token`() {
    var world = StreamHarness.connected(.ours)
    world.server.newestToken = 2
    world.server.oldestToken = 2
    world.send("hello")
    world.pass(.seconds(5))
    #expect(world.log.refreshes == 1)
    #expect(world.accepted == ["hello": 1])
  }

  @Test func `refreshes credentials again when the post after an accepted one is refused`()
    throws
  {
    var harness = Harness.connected(at: 5)
    harness.send("a")
    let first = try #require(harness.posts.last)
    harness.fail(first.id, Harness.refused)
    harness.give(.credentials(.available(expiresIn: nil)))
    harness.give(.posted(first.id, Harness.message(6, text: "a", user: "me")))
    harness.send("b")
    #expect(harness.posts.map(\.text) == ["a", "a", "b"])
    let second = try #require(harness.posts.last)
    harness.effects = []
    harness.fail(second.id, Harness.refused)
    #expect(harness.effects.contains(.refreshCredentials))
    #expect(!harness.updates.contains(.notice(.signIn)))
  }

  @Test func `the answer to an abandoned attempt does not affect the next one`() throws {
    var harness = Harness.connected(at: 5)
    harness.send("a")
    let entry = try #require(harness.posts.last)
    let first = try #require(harness.model.outbox.queue.sending(entry.id)?.number)
    harness.pass(30)
    let second = try #require(harness.model.outbox.queue.sending(entry.id)?.number)
    #expect(second != first)
    harness.effects = []
    harness.give(.postFailed(entry.id, try: first, Harness.refused))
    #expect(harness.effects == [])
    #expect(harness.model.outbox.queue.sending(entry.id)?.number == second)
    harness.give(.postFailed(entry.id, try: second, Harness.refused))
    #expect(harness.effects.contains(.refreshCredentials))
  }

  @Test func `without credentials every waiting message shows so`() {
    var world = StreamHarness.connected(.ours)
    world.server.oldestToken = 2
    world.phone.isRefreshRefused = true
    world.send("hello")
    world.pass(.seconds(5))
    #expect(Self.entryStates(world) == [.failed(reason: "sign in to send")])
  }

  @Test func `a command with the id of a waiting message changes nothing`() throws {
    var harness = Harness.connected(at: 5)
    harness.send("once")
    let entry = try #require(harness.model.outbox.entries.first)
    harness.effects = []
    harness.give(.send(id: entry.id, text: "twice", parent: nil, at: Harness.wall))
    #expect(harness.effects == [])
    #expect(harness.model.outbox.entries == [entry])
  }

  @Test func `a message accepted long ago leaves no hole in the history`() {
    var world = StreamHarness.connected(.ours, messages: 0)
    world.send("long ago")
    world.drive { $0.accepted.count == 1 }
    world.kill()
    world.accumulate(200, named: "x")
    world.relaunch()
    world.pass(.seconds(20))
    world.scrollToTheBeginning()
    world.ledger.compare(with: world.shop.ordered)
    #expect(world.ledger.problems == [])
  }
}
