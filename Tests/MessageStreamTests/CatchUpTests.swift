import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastMessageStream

/// Tests of completing the timeline after an absence.
struct CatchUpTests {
  /// Returns a phone that was connected and then stayed in the background while `count` messages
  /// arrived.
  private func missed(
    _ kind: Shop.Kind, _ count: Int, change: (inout StreamSettings) -> Void = { _ in }
  ) -> StreamHarness {
    var world = StreamHarness.connected(kind, change: change)
    world.background()
    world.pass(.seconds(1200))
    world.accumulate(count, named: "x", apart: .milliseconds(500))
    world.log.fetches = []
    return world
  }

  @Test func `a catch-up does not fetch what arrived over the socket meanwhile`() throws {
    var harness = Harness.connected(at: 5, head: 6)
    for number in UInt64(7)...9 { harness.receive(Harness.message(number)) }
    harness.answer(Harness.page([6], head: 10, hasNext: true))
    #expect(harness.fetches.last?.query == .after(Harness.at(9), limit: 100))
    harness.answer(Harness.page([10], head: 10))
    #expect(harness.model.recovery.cursor.position == Harness.at(10))
    #expect(harness.model.isWhole)
  }

  private static let answers = [
    Harness.page(6...7, head: 9, hasNext: true), Harness.page(6...9, head: 9),
    // This page is empty but claims that another page follows.
    Harness.page([], head: 9, hasNext: true),
  ]

  @Test(arguments: answers)
  func `refreshes credentials again when the page after an accepted one is refused`(
    page: Page
  ) throws {
    var harness = Harness.connected(at: 5, head: 9)
    harness.give(.fetchFailed(try #require(harness.fetches.last?.id), Harness.refused))
    harness.give(.credentials(.available(expiresIn: nil)))
    harness.pass(0)
    harness.answer(page)
    harness.effects = []
    if harness.model.recovery.run == nil { harness.give(.refresh) }
    harness.give(.fetchFailed(FetchID(harness.model.requests.last), Harness.refused))
    #expect(harness.effects.contains(.refreshCredentials))
    #expect(!harness.updates.contains(.notice(.signIn)))
  }

  @Test func `refreshes credentials again at the next refusal after a late page accepted them`()
    throws
  {
    var harness = Harness.connected(at: 5, head: 9)
    harness.give(.fetchFailed(try #require(harness.fetches.last?.id), Harness.refused))
    harness.give(.credentials(.available(expiresIn: nil)))
    harness.pass(0)
    let late = try #require(harness.fetches.last?.id)
    harness.pass(15)
    let next = try #require(harness.fetches.last?.id)
    #expect(next != late)
    harness.give(.fetched(late, Harness.page(6...9, head: 9)))
    #expect(harness.texts == [])
    harness.effects = []
    harness.give(.fetchFailed(next, Harness.refused))
    #expect(harness.effects.contains(.refreshCredentials))
    #expect(!harness.updates.contains(.notice(.signIn)))
  }

  @Test(arguments: Shop.Kind.allCases, [0, 1, 99, 100, 101, 200, 1234])
  func `everything missed is fetched, page by page`(kind: Shop.Kind, count: Int) {
    var world = missed(kind, count)
    world.foreground()
    world.drive { $0.status.state == .connected }
    world.pass(.seconds(5))
    #expect(world.texts == ["m1", "m2", "m3"] + (0..<count).map { "x\($0 + 1)" })
    #expect(world.gaps == [])
    #expect(world.ledger.problems == [])
  }

  @Test func `a catch-up longer than one run may fetch goes on in the next`() {
    var world = missed(.ours, 1000) { $0.catchUpPages = 3 }
    world.foreground()
    world.drive { $0.status.state == .connected }
    world.pass(.seconds(30))
    #expect(world.texts == ["m1", "m2", "m3"] + (1...1000).map { "x\($0)" })
    #expect(world.gaps == [])
  }

  @Test func `a server with positions is asked for what comes after the cursor`() {
    var world = missed(.ours, 150)
    world.foreground()
    world.drive { $0.status.state == .connected }
    #expect(
      world.fetches == [
        .after(ShopPosition(epoch: "e1", offset: 3), limit: 100),
        .after(ShopPosition(epoch: "e1", offset: 103), limit: 100),
      ])
  }

  @Test func `a plain server is asked since the newest message less two minutes`() throws {
    var world = missed(.plain, 150)
    let newest = try #require(world.ledger.shown.last)
    let since = newest.createdAt.advanced(by: .seconds(-120))
    world.foreground()
    world.drive { $0.status.state == .connected }
    #expect(
      world.fetches.prefix(2) == [
        .since(since, page: 1, limit: 100), .since(since, page: 2, limit: 100),
      ])
  }

  @Test(arguments: Shop.Kind.allCases)
  func `finds all messages of one instant on both sides of a page boundary`(kind: Shop.Kind) {
    var world = missed(kind, 0)
    let late = Duration.seconds(7)
    for number in 1...250 { world.say("same \(number)", late: late, silently: true, isExact: true) }
    world.foreground()
    world.pass(.seconds(10))
    #expect(Set(world.texts).count == 253)
    #expect(world.texts.count == 253)
    #expect(world.ledger.problems == [])
  }

  @Test(arguments: [119, 120, 121])
  func `finds a message stamped late, within the overlap and beyond`(late: Int) {
    var world = StreamHarness.connected(.plain)
    world.say("newest")
    world.drive { $0.texts.last == "newest" }
    world.background()
    let seen = world.shop.ordered.last?.createdAt.duration(to: world.wall) ?? .zero
    world.say("late", late: .seconds(late) + seen, silently: true, isExact: true)
    world.foreground()
    world.pass(.seconds(5))
    #expect(world.texts.contains("late"))
  }

  @Test(arguments: Shop.Kind.allCases, [(3599, false), (3600, false), (3601, true)])
  func `fetches only the last 100 after more than 60 minutes away, and leaves a gap`(
    kind: Shop.Kind, bound: (seconds: Int, isLong: Bool)
  ) {
    var world = StreamHarness.connected(kind)
    world.background()
    world.pass(.seconds(bound.seconds) - .milliseconds(1))
    world.accumulate(250, named: "x", apart: .seconds(1))
    world.pass(.milliseconds(1))
    let shown = world.ledger.shown
    world.foreground()
    world.drive { $0.status.state == .connected }
    world.pass(.seconds(3))
    guard bound.isLong else {
      #expect(world.texts.count == 253)
      #expect(world.gaps == [])
      return
    }
    #expect(world.texts == ["m1", "m2", "m3"] + (151...250).map { "x\($0)" })
    let expected = ShopGap(after: shown[2].key, before: world.ledger.shown[3].key)
    #expect(world.gaps == [expected])
    #expect(world.model.gaps == [expected])
    #expect(world.disk.gaps == [expected], "the gap is stored")
    fillGap(&world, expected)
  }

  private func fillGap(_ world: inout StreamHarness, _ gap: ShopGap) {
    world.kill()
    world.relaunch()
    world.pass(.seconds(3))
    #expect(world.gaps == [gap], "a relaunch shows the gap again")
    world.scrollToTheBeginning()
    #expect(world.texts == ["m1", "m2", "m3"] + (1...250).map { "x\($0)" })
    #expect(world.disk.gaps == [])
    #expect(world.ledger.problems == [])
  }

  @Test(arguments: Shop.Kind.allCases)
  func `a gap on the screen is filled before older pages, and then closed`(kind: Shop.Kind) {
    var world = StreamHarness.connected(kind, messages: 80)
    world.background()
    world.pass(.seconds(4000))
    world.accumulate(230, named: "x")
    world.foreground()
    world.pass(.seconds(5))
    #expect(world.gaps.count == 1)
    while !world.model.gaps.isEmpty {
      world.give(.loadOlder)
      world.pass(.seconds(1))
    }
    #expect(world.texts.suffix(280) == (31...80).map { "m\($0)" } + (1...230).map { "x\($0)" })
    #expect(world.ledger.updates.contains { if case .gapClosed = $0 { true } else { false } })
    world.scrollToTheBeginning()
    #expect(world.texts.count == 310)
    #expect(world.ledger.problems == [])
  }

  @Test(arguments: Shop.Kind.allCases, [49, 50, 51])
  func `says whether there is more than the first screen`(kind: Shop.Kind, count: Int) {
    var world = StreamHarness.connected(kind, messages: count)
    #expect(world.texts.count == min(count, 50))
    #expect(world.model.hasOlder == (count > 50))
    world.scrollToTheBeginning()
    #expect(!world.model.hasOlder)
  }

  @Test(arguments: Shop.Kind.allCases)
  func `a quiet hour on an open socket is no absence`(kind: Shop.Kind) {
    var world = StreamHarness.connected(kind)
    world.pass(.seconds(7200))
    world.background()
    world.pass(.seconds(60))
    world.accumulate(150, named: "x", apart: .milliseconds(100))
    world.foreground()
    world.pass(.seconds(5))
    #expect(world.gaps == [])
    #expect(world.texts.count == 153)
  }

  @Test func `finds late stamps at the lower edge of the last 100`() {
    var world = StreamHarness.connected(.plain, messages: 50) { $0.catchUpPage = 20 }
    world.background()
    world.say("late", late: .seconds(100), silently: true)
    world.pass(.seconds(3700))
    world.accumulate(18, named: "x", apart: .milliseconds(10))
    world.foreground()
    world.pass(.seconds(5))
    #expect(world.texts.contains("late"))
    #expect(world.gaps == [])
  }

  @Test(arguments: [40, 99, 250])
  func `a server that ignores since loses nothing`(count: Int) {
    var world = missed(.plain, count)
    world.shop.ignoresSince = true
    world.foreground()
    world.pass(.seconds(5))
    #expect(world.texts == ["m1", "m2", "m3"] + (1...count).map { "x\($0)" })
    #expect(world.fetches.count <= 10)
  }

  @Test func `a server that ignores the page number leaves a visible gap`() {
    var world = missed(.plain, 250)
    world.shop.ignoresPage = true
    world.foreground()
    world.pass(.seconds(5))
    #expect(world.texts == ["m1", "m2", "m3"] + (151...250).map { "x\($0)" })
    #expect(world.gaps.first?.after == world.ledger.shown[2].key)
    #expect(world.gaps.first?.before == world.ledger.shown[3].key)
  }

  @Test func `a whole page of new messages between two pages is no repetition`() {
    var world = missed(.plain, 20) { $0.catchUpPage = 5 }
    world.foreground()
    world.drive { $0.fetches.count == 2 }
    for number in 1...5 { world.say("meanwhile \(number)") }
    world.pass(.seconds(5))
    #expect(world.texts.count == 28)
    #expect(world.gaps == [])
  }

  @Test(arguments: [0, 2, 150])
  func `shows a log that began anew, with a gap where its past is unknown`(count: Int) {
    var world = StreamHarness.connected(.ours)
    world.shop.beginAnew()
    for number in 0..<count { world.say("new \(number + 1)", silently: true) }
    world.cut()
    world.pass(.seconds(5))
    let newest = (0..<count).map { "new \($0 + 1)" }
    #expect(world.texts == ["m1", "m2", "m3"] + newest)
    #expect(world.gaps.count == (count == 0 ? 0 : 1))
    let head = ShopPosition(epoch: world.shop.epoch, offset: UInt64(count))
    #expect(world.notices.contains(.newEpoch(head)))
    world.say("live")
    world.pass(.seconds(1))
    #expect(world.texts.last == "live")
    world.scrollToTheBeginning()
    #expect(world.texts.count == 4 + count)
    #expect(world.ledger.problems == [])
  }

  @Test func `a new log that still contains the stored messages leaves no gap`() {
    var world = StreamHarness.connected(.ours, messages: 30)
    world.say("more", silently: true)
    world.shop.beginAnew(keeping: 20)
    world.cut()
    world.pass(.seconds(5))
    #expect(world.texts.last == "more")
    #expect(world.gaps == [])
    #expect(world.ledger.problems == [])
  }

  @Test func `reports entries that cannot be read and continues`() {
    var world = StreamHarness.connected(.ours)
    world.cut()
    world.drive { !$0.log.fetches.isEmpty && $0.model.recovery.run != nil }
    guard let id = world.model.recovery.run?.fetch else { return }
    let head = ShopPosition(epoch: "e1", offset: 5)
    world.give(.fetched(id, Page(messages: [], hasNext: false, head: head, rejected: 2)))
    #expect(world.notices.contains(.rejected(count: 2)))
    #expect(world.model.recovery.cursor.position == head)
  }
}
