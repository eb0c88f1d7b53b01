import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastMessageStream

/// Tests of a plain server whose clock is set back, so that a search by time does not find its new
/// messages.
struct ClockBackTests {
  /// Returns a phone that is in the background while the server's clock is one hour slow and
  /// `count` messages arrive.
  private func away(_ count: Int, sortsByStamp: Bool, stored: Int = 30) -> StreamHarness {
    var world = StreamHarness.connected(.plain, messages: stored)
    world.shop.sortsByStamp = sortsByStamp
    world.background()
    world.pass(.seconds(60))
    for number in 0..<count {
      world.say("back \(number + 1)", late: .seconds(3600) - .seconds(number), silently: true)
    }
    return world
  }

  @Test(arguments: [true, false], [1, 49, 50, 51, 400])
  func `a clock that goes back an hour hides nothing`(sortsByStamp: Bool, count: Int) {
    var world = away(count, sortsByStamp: sortsByStamp)
    world.foreground()
    world.drive { $0.status.state == .connected }
    world.pass(.seconds(5))
    world.scrollToTheBeginning()
    world.ledger.compare(with: world.shop.ordered)
    #expect(world.ledger.problems == [])
    #expect(world.model.gaps == [])
    #expect(world.model.isWhole)
  }

  @Test func `finds messages from before the clock was corrected below later ones`() {
    var world = away(20, sortsByStamp: false)
    world.accumulate(180, named: "x", apart: .milliseconds(10))
    world.foreground()
    world.drive { $0.status.state == .connected }
    world.pass(.seconds(5))
    world.scrollToTheBeginning()
    world.ledger.compare(with: world.shop.ordered)
    #expect(world.ledger.problems == [])
    #expect(world.model.gaps == [])
  }

  @Test func `a live message received before the hole was filled proves nothing about the hole`() {
    var world = away(20, sortsByStamp: false)
    world.shop.restStatus = .http(status: 500, retryAfter: nil, detail: "")
    world.foreground()
    world.drive { $0.status.state == .connected }
    for number in 1...60 { world.say("live \(number)", late: .seconds(3500 - number)) }
    world.pass(.seconds(2))
    #expect(!world.model.isWhole)
    world.shop.restStatus = nil
    world.pass(.seconds(40))
    world.scrollToTheBeginning()
    world.ledger.compare(with: world.shop.ordered)
    #expect(world.ledger.problems == [])
    #expect(world.model.recovery.unplaced == [])
  }

  @Test(arguments: [false, true])
  func `a walk interrupted between two pages leaves a gap`(byKill: Bool) {
    var world = away(120, sortsByStamp: false)
    world.foreground()
    world.drive { $0.texts.contains("back 120") }
    if byKill { world.kill() } else { world.background() }
    world.pass(.seconds(5))
    if byKill { world.relaunch() } else { world.foreground() }
    world.drive { $0.status.state == .connected }
    world.pass(.seconds(5))
    #expect(world.model.gaps.count == 1)
    world.scrollToTheBeginning()
    world.ledger.compare(with: world.shop.ordered)
    #expect(world.ledger.problems == [])
    #expect(world.model.gaps == [])
  }

  @Test(arguments: [(149, 0), (150, 0), (151, 1)])
  func `more messages than memory can tell apart leave a gap that the reader sees`(
    count: Int, gaps: Int
  ) {
    var world = StreamHarness.connected(.plain, messages: 50) { $0.memory = 100 }
    world.shop.sortsByStamp = false
    world.background()
    world.pass(.seconds(60))
    for number in 0..<count {
      world.say("back \(number + 1)", late: .seconds(3600) - .seconds(number), silently: true)
    }
    world.foreground()
    world.drive { $0.status.state == .connected }
    world.pass(.seconds(5))
    #expect(world.model.gaps.count == gaps)
  }

  @Test
  func `the last 100 after a long absence leave a gap if they do not reach the stored messages`() {
    var world = StreamHarness.connected(.plain)
    world.shop.sortsByStamp = false
    world.background()
    world.pass(.seconds(3700))
    for number in 0..<250 {
      world.say("back \(number + 1)", late: .seconds(7200) - .seconds(number), silently: true)
    }
    world.foreground()
    world.drive { $0.status.state == .connected }
    world.pass(.seconds(5))
    #expect(world.model.gaps.count == 1)
    world.scrollToTheBeginning()
    world.ledger.compare(with: world.shop.ordered)
    #expect(world.ledger.problems == [])
  }

  @Test func `a catch-up that missed nothing fetches one page besides those since a time`() {
    var world = StreamHarness.connected(.plain, messages: 80)
    world.cut()
    world.log.fetches = []
    world.pass(.seconds(5))
    #expect(world.fetches.count == 2)
    #expect(world.fetches.last == .page(number: 1, limit: 50))
    #expect(world.model.gaps == [])
  }

  @Test func `a walk past messages stamped back keeps a gap until it reaches the stored ones`()
    throws
  {
    var harness = Harness.plain()
    harness.receive(Harness.message(1000, isPlain: true))
    harness.give(.oversized(try #require(harness.model.link.currentAttempt), bytes: 1))
    harness.answer(Harness.plainPage([2002, 2001, 1502, 1501], hasNext: false))
    harness.answer(Harness.plainPage([2002, 2001, 11, 10]))
    #expect(harness.model.gaps == [ShopGap(after: nil, before: Harness.message(10).key)])
    harness.answer(Harness.plainPage([1502, 1501]))
    let gap = ShopGap(after: Harness.message(1000).key, before: Harness.message(1501).key)
    #expect(harness.model.gaps == [gap])
    harness.answer(Harness.plainPage([1000, 999]))
    #expect(harness.model.gaps == [])
    #expect(harness.commits.compactMap(\.gaps).last == [], "the store receives it")
    let first = ShopGap(after: nil, before: Harness.message(10).key)
    let closed: [StreamUpdate] = [.gap(first), .gapClosed(first), .gap(gap), .gapClosed(gap)]
    #expect(harness.updates.filter { closed.contains($0) } == closed, "so does the reader")
  }

  @Test func `a message with the same stamp as the newest stored one counts as stamped back`()
    throws
  {
    let stored = Harness.message(1000, isPlain: true)
    // This is a second message with the same time stamp.
    let back = Harness.message(101_000, isPlain: true)
    let new = Harness.message(2000, isPlain: true)
    var harness = Harness.plain()
    harness.receive(stored)
    harness.give(.oversized(try #require(harness.model.link.currentAttempt), bytes: 1))
    harness.answer(Page(messages: [new], hasNext: false))
    harness.answer(Page(messages: [new, back], hasNext: true))
    #expect(harness.model.gaps == [ShopGap(after: stored.key, before: back.key)])
  }
}
