import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastMessageStream

/// Tests of the first load and of scrolling back.
struct LoadTests {
  @Test(arguments: Shop.Kind.allCases)
  func `loads the newest 50 before it opens the socket`(kind: Shop.Kind) {
    var world = StreamHarness(kind)
    world.accumulate(120)
    world.launch()
    world.drive { !$0.log.fetches.isEmpty }
    world.pass(.milliseconds(30))
    #expect(world.fetches == [.page(number: 1, limit: 50)])
    #expect(world.log.opens == [], "no socket before the history is here")
    world.drive { $0.status.state == .connected }
    #expect(world.texts == (71...120).map { "m\($0)" })
    world.say("live")
    world.drive { $0.texts.last == "live" }
    #expect(world.ways.last == .live)
    #expect(world.ledger.problems == [])
  }

  @Test(arguments: Shop.Kind.allCases)
  func `an empty shop shows nothing, then its first message`(kind: Shop.Kind) {
    var world = StreamHarness.connected(kind, messages: 0)
    #expect(world.texts == [])
    world.say("first")
    world.drive { !$0.texts.isEmpty }
    #expect(world.texts == ["first"])
  }

  @Test(arguments: Shop.Kind.allCases)
  func `scrolling back shows every page down to the beginning`(kind: Shop.Kind) {
    var world = StreamHarness.connected(kind, messages: 333)
    #expect(world.texts == (284...333).map { "m\($0)" })
    world.scrollToTheBeginning()
    #expect(world.texts == (1...333).map { "m\($0)" })
    #expect(world.ledger.hasMore == false)
    #expect(world.status.state == .connected, "the socket stays")
    #expect(world.ledger.problems == [])
  }

  @Test(arguments: Shop.Kind.allCases)
  func `messages that arrive while the reader scrolls back shift no page`(kind: Shop.Kind) {
    var world = StreamHarness.connected(kind, messages: 160)
    for number in 0..<10 {
      world.give(.loadOlder)
      for line in 0..<7 { world.say("live \(number).\(line)") }
      world.pass(.seconds(1))
    }
    world.scrollToTheBeginning()
    world.ledger.compare(with: world.shop.ordered)
    #expect(world.texts == world.shop.ordered.map(\.text))
    #expect(world.ledger.problems == [])
  }

  @Test(arguments: Shop.Kind.allCases)
  func `a relaunch shows stored messages before it fetches`(kind: Shop.Kind) {
    var world = StreamHarness.connected(kind, messages: 60)
    world.kill()
    world.change(to: .unreachable)
    world.relaunch()
    world.pass(.seconds(1))
    #expect(world.texts == (11...60).map { "m\($0)" })
    #expect(world.ways.allSatisfy { $0 == .history })
    #expect(world.status.reason == .blocked(.unreachable))
  }

  @Test func `reports a failed page of history, which can be requested again`() {
    var world = StreamHarness.connected(.plain, messages: 70)
    world.shop.restStatus = .http(status: 500, retryAfter: nil, detail: "")
    world.give(.loadOlder)
    world.pass(.seconds(1))
    let failure = LinkFailure.http(status: 500, retryAfter: nil, detail: "")
    #expect(
      world.ledger.updates.suffix(2) == [
        .notice(.fetchFailed(failure)), .history(hasMore: true),
      ])
    world.shop.restStatus = nil
    world.scrollToTheBeginning()
    #expect(world.texts.count == 70)
  }

  @Test func `fetches a page of history again if the credentials it was refused with are outdated`()
    throws
  {
    var harness = Harness()
    harness.connect(Harness.page(51...100, head: 100, hasNext: true), head: Harness.at(100))
    harness.effects = []
    harness.give(.loadOlder)
    harness.give(.older([]))
    harness.give(.credentials(.available(expiresIn: nil)))
    harness.give(.fetchFailed(try #require(harness.fetches.last?.id), Harness.refused))
    let query = PageQuery.before(Harness.at(51), limit: 50)
    #expect(harness.fetches.map(\.query) == [query, query])
    #expect(harness.updates == [])
    harness.answer(Harness.page(49...50, head: 100, hasNext: true))
    harness.give(.older([Harness.message(49), Harness.message(50)]))
    #expect(harness.texts == ["m49", "m50"])
  }

  @Test func `a page of history that is never answered fails after 10 s`() {
    var world = StreamHarness.connected(.ours, messages: 70)
    world.give(.loadOlder)
    world.drive { if case .before = $0.fetches.last { true } else { false } }
    world.queue.removeAll { if case .fetch = $0 { true } else { false } }
    let asked = world.now
    world.drive { world in
      world.ledger.updates.contains { $0 == .history(hasMore: true) }
    }
    #expect(world.seconds(since: asked) == 10)
    world.scrollToTheBeginning()
  }

  @Test func `reports a store that cannot be read while scrolling, and reads it again`() {
    var world = StreamHarness.connected(.ours, messages: 200)
    world.scrollToTheBeginning()
    world.kill()
    world.relaunch()
    world.pass(.seconds(5))
    world.disk.failure = .locked(detail: "")
    world.give(.loadOlder)
    world.pass(.seconds(1))
    #expect(
      world.ledger.updates.suffix(2) == [
        .notice(.store(.locked(detail: ""))), .history(hasMore: true),
      ])
    world.disk.failure = nil
    world.scrollToTheBeginning()
    #expect(world.texts == (1...200).map { "m\($0)" })
  }

  @Test func `a server that ignores the page number ends the scrolling and is not flooded`() {
    var world = StreamHarness.connected(.plain, messages: 200)
    world.shop.ignoresPage = true
    let before = world.fetches.count
    world.give(.loadOlder)
    world.pass(.seconds(5))
    #expect(world.ledger.updates.last == .history(hasMore: false))
    #expect(world.fetches.count - before <= 4)
  }

  @Test(arguments: Shop.Kind.allCases)
  func `shows a message inserted above the top while the last page is fetched`(kind: Shop.Kind) {
    var world = StreamHarness.connected(kind)
    world.give(.loadOlder)
    world.drive { $0.model.history.fetch != nil }
    guard let fetch = world.model.history.fetch else { return }
    let page = world.shop.page(fetch.query)
    world.queue.removeAll { if case .fetch = $0 { true } else { false } }
    world.say("late", late: .seconds(110))
    world.pass(.seconds(1))
    #expect(world.texts == ["m1", "m2", "m3"])
    world.give(.fetched(fetch.id, page))
    world.pass(.seconds(1))
    world.scrollToTheBeginning()
    #expect(world.texts == ["late", "m1", "m2", "m3"])
    #expect(world.ledger.problems == [])
  }

  @Test(arguments: [
    StreamModel.Input.link(
      .device(.reachability(.reachable(path: PathID("b")))), at: Harness.wall), .close,
    .link(.device(.lifecycle(.background)), at: Harness.wall),
  ])
  func `a request for older messages is answered, even when it is dropped`(
    input: StreamModel.Input
  ) {
    var harness = Harness()
    harness.give(.reachability(.reachable(path: PathID("a"))))
    harness.connect(Harness.page(51...100, head: 100, hasNext: true), head: Harness.at(100))
    harness.give(.loadOlder)
    harness.give(.older([]))
    #expect(harness.histories == [])
    harness.give(input)
    harness.pass(10)
    #expect(harness.histories == [.history(hasMore: true)])
  }
}
