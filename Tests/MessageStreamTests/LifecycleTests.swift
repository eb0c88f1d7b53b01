import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastMessageStream

/// Tests of the background, the foreground and changes of the network.
struct LifecycleTests {
  @Test(arguments: Shop.Kind.allCases)
  func `background closes the socket at once and leaves no deadline`(kind: Shop.Kind) {
    var world = StreamHarness.connected(kind)
    world.background()
    #expect(world.log.closes == [1001])
    #expect(world.model.deadline == nil)
    #expect(world.status.reason == .blocked(.background))
    world.pass(.seconds(1))
    #expect(world.disk.cursor.wholeAt == world.wall.advanced(by: .seconds(-1)))
  }

  @Test(arguments: [(Shop.Kind.plain, nil), (.ours, nil), (.ours, 100)])
  func `foreground fetches first, then connects, then closes the hole`(
    kind: Shop.Kind, backlog: Int?
  ) {
    var world = StreamHarness.connected(kind)
    world.shop.backlog = backlog
    world.background()
    world.pass(.seconds(60))
    world.say("missed", silently: true)
    world.log = Log()
    world.foreground()
    #expect(world.log.fetches.count == 1)
    world.drive { !$0.log.opens.isEmpty }
    world.pass(.milliseconds(3))
    #expect(world.texts.last == "missed", "the screen is full before the socket opens")
    world.say("in the hole", silently: true)
    world.drive { $0.texts.last == "in the hole" }
    #expect(world.ways.suffix(2) == [.catchUp, .catchUp])
    let later = world.log.fetches.dropFirst(world.shop.requestsOfCatchUp)
    #expect(later.count == (backlog == nil ? world.shop.requestsOfCatchUp : 0))
    #expect(later.allSatisfy { $0.at > world.log.opens[0] })
    #expect(world.ledger.problems == [])
  }

  @Test func `a foreground fetch that a broken server refuses does not hold up the socket`() {
    var world = StreamHarness.connected(.plain)
    world.background()
    world.shop.restStatus = .http(status: 500, retryAfter: nil, detail: "")
    world.pass(.seconds(60))
    world.foreground()
    world.drive { $0.notices.count > 0 }
    world.shop.restStatus = nil
    world.drive { $0.status.state == .connected }
    world.say("seen")
    world.pass(.seconds(40))
    #expect(world.texts.last == "seen")
    #expect(world.model.recovery.isIdle)
  }

  @Test(arguments: Shop.Kind.allCases)
  func `after a change of network it waits 2 s, connects, and fetches`(kind: Shop.Kind) {
    var world = StreamHarness.connected(kind)
    world.log = Log()
    let start = world.now
    world.change(to: .reachable(path: PathID("cell")))
    #expect(world.log.closes == [1001])
    #expect(world.status.state == .reconnecting && world.status.reason == .debouncing)
    #expect(world.status.retryAt == start.advanced(by: .seconds(2)))
    world.say("missed", silently: true)
    world.drive { !$0.log.opens.isEmpty }
    #expect(world.seconds(since: start) == 2)
    #expect(world.log.fetches.isEmpty)
    world.drive { $0.texts.last == "missed" }
    world.pass(.seconds(1))
    #expect(world.log.fetches.count == world.shop.requestsOfReconnect)
    #expect(world.ledger.problems == [])
  }

  @Test(arguments: Shop.Kind.allCases, [false, true])
  func `a message that arrives before the fetch completes does not move the cursor past the gap`(
    kind: Shop.Kind, isKilled: Bool
  ) {
    var world = StreamHarness.connected(kind)
    world.shop.backlog = nil
    world.change(to: .reachable(path: PathID("cell")))
    for number in 1...30 { world.say("hole \(number)", late: .seconds(200), silently: true) }
    world.drive { $0.status.state == .connected }
    world.queue.removeAll { if case .fetch = $0 { true } else { false } }
    let cursor = world.disk.cursor
    world.say("live")
    world.drive { $0.texts.last == "live" }
    world.pass(.milliseconds(100))
    #expect(world.disk.cursor == cursor)
    if isKilled {
      world.kill()
      world.relaunch()
    }
    world.pass(.seconds(60))
    world.scrollToTheBeginning()
    world.ledger.compare(
      with: kind == .ours
        ? world.shop.ordered
        : world.shop.log.filter {
          $0.createdAt > cursor.time?.advanced(by: .seconds(-120)) ?? $0.createdAt
        }, isWholeLog: false)
    #expect(world.texts.last == "live")
    #expect(world.ledger.problems == [])
    #expect(world.model.recovery.cursor != cursor)
  }

  @Test func `being offline holds everything and shows why; all is fetched when back online`() {
    var world = StreamHarness.connected(.ours)
    world.change(to: .unreachable)
    #expect(world.status.reason == .blocked(.unreachable))
    world.accumulate(120, named: "x", apart: .milliseconds(10))
    let opens = world.log.opens.count
    world.pass(.seconds(300))
    #expect(world.log.opens.count == opens, "being offline costs no attempt")
    world.change(to: .reachable(path: PathID("wlan0")))
    world.pass(.seconds(5))
    #expect(world.texts.count == 123)
    #expect(world.status.state == .connected)
  }

  @Test(arguments: Shop.Kind.allCases)
  func `a suspended process continues where it was, with a dead socket`(kind: Shop.Kind) {
    var world = StreamHarness.connected(kind)
    world.suspend()
    world.pass(.seconds(1000))
    world.accumulate(20, named: "x")
    world.resume()
    world.pass(.seconds(30))
    #expect(world.texts.count == 23)
    #expect(world.status.state == .connected)
    #expect(world.ledger.problems == [])
  }

  @Test func `a silence of 90 s ends the socket, and a ping every 54 s keeps it`() {
    var world = StreamHarness.connected(.ours)
    world.pass(.seconds(600))
    #expect(world.log.opens.count == 1)
    world.drive { $0.server.sendsPings && $0.queue.count == 1 && $0.now > .second(600) }
    world.halfOpen()
    let before = world.model.link
    let lost = world.now
    world.drive { $0.log.opens.count == 2 }
    #expect(before.status.phase == .connected)
    #expect((36.0...90.0).contains(world.seconds(since: lost)))
    world.say("heard")
    world.pass(.seconds(5))
    #expect(world.texts.last == "heard")
  }

  @Test(arguments: [(89_999, 1), (90_000, 2), (90_001, 2)])
  func `detects a silence of 90 s, at, below and above the limit`(milliseconds: Int, opens: Int) {
    var world = StreamHarness.connected(.ours)
    world.sendDown { .link(.ping($0), at: Harness.wall) }
    world.server.sendsPings = false
    world.drive { $0.queue.next.map { $0 > .second(40) } ?? true }
    let received = world.now
    world.net.isBlackHole = true
    world.pass(.milliseconds(milliseconds) - received.duration(to: world.now))
    #expect(world.log.opens.count == opens)
  }

  @Test func `leaving drops the page in flight`() {
    var harness = Harness.connected(at: 5, head: 9)
    let asked = harness.fetches.count
    harness.give(.close)
    #expect(harness.model.deadline == nil)
    harness.answer(Harness.page(6...8, head: 9, hasNext: true))
    #expect(harness.fetches.count == asked)
    #expect(harness.texts == [])
  }

  @Test func `closing leaves nothing outstanding`() {
    var world = StreamHarness.connected(.ours)
    world.say("last")
    world.give(.refresh)
    world.give(.loadOlder)
    world.send("mine")
    world.pass(.milliseconds(5))
    world.give(.close)
    world.pass(.seconds(1))
    #expect(world.model.deadline == nil)
    #expect(world.status.state == .disconnected)
    #expect(world.log.closes == [1000])
    world.give(.open(at: world.wall))
    world.pass(.seconds(20))
    #expect(world.accepted == ["mine": 1])
    #expect(world.model.outbox.entries == [])
    #expect(world.ledger.problems == [])
  }

  @Test func `polls while real time is off, also if it was off before the screen opened`() {
    var world = StreamHarness(.ours)
    world.accumulate(3)
    world.give(.realtime(false))
    world.launch()
    world.pass(.seconds(200))
    #expect(world.log.opens == [])
    #expect(world.status.mode == .polling)
    world.say("polled")
    world.give(.refresh)
    world.send("no reason to connect")
    world.pass(.seconds(35))
    #expect(world.log.opens == [])
    #expect(world.texts.suffix(2) == ["polled", "no reason to connect"])
    world.say("later")
    world.pass(.seconds(35))
    #expect(world.ways.last == .poll)
    world.give(.close)
    world.give(.open(at: world.wall))
    world.pass(.seconds(10))
    #expect(world.log.opens == [], "the setting outlives the screen")
    world.give(.realtime(true))
    world.drive { $0.status.state == .connected }
    #expect(world.log.opens.count == 1)
  }

  @Test func `a background that keeps the link also keeps the catch-up`() throws {
    let policy = try LinkPolicy.messageStream.setting([(key: "gate.background", value: "stay")])
    let start = ShopCursor(time: Harness.wall, wholeAt: Harness.wall)
    var harness = Harness(cursor: start) { $0.policy = policy }
    harness.answer(Harness.nothing)
    harness.connect(Harness.nothing, head: nil)
    harness.give(.lifecycle(.background), at: Harness.wall)
    #expect(harness.model.link.status.phase == .connected)
    harness.receive(Harness.message(3600, isPlain: true))
    #expect(
      harness.model.recovery.cursor.time == Harness.wall, "the hole before it is not filled yet")
    let missed = (UInt64(1)...3).map { Harness.message($0, isPlain: true) }
    harness.answer(Page(messages: missed, hasNext: false))
    harness.answer(Page(messages: missed.reversed(), hasNext: false))
    #expect(harness.model.timeline.messages.map(\.text) == ["m1", "m2", "m3", "m3600"])
  }
}
