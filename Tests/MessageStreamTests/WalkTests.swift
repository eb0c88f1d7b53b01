import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastMessageStream

/// Tests of the conclusions drawn from pages that are found by counting, on a server without
/// positions.
struct WalkTests {
  private static func key(_ number: UInt64) -> TimelineKey {
    Harness.message(number, isPlain: true).key
  }

  /// Returns a fetch of the messages older than message 50. It is at its first page.
  private static func fetch(page number: Int = 5, tie: History.Tie = .loose) -> History.Fetch {
    var fetch = History.Fetch(query: .page(number: number, limit: 3), below: key(50))
    fetch.pages = 1
    fetch.tie = tie
    return fetch
  }

  @Test func `only messages behind the requested one count`() {
    var fetch = Self.fetch()
    let index = fetch.take(Harness.plainPage([51, 50, 49]), bringsUnseen: true, beyond: nil)
    #expect(index == 14)
    #expect(fetch.tie == .shown)
    #expect(fetch.reached == Self.key(49))
  }

  @Test func `a message at the top that is stamped back is not reached`() {
    var fetch = Self.fetch()
    _ = fetch.take(Harness.plainPage([7, 51, 50]), bringsUnseen: false, beyond: nil)
    #expect(fetch.tie == .shown)
    #expect(fetch.reached == nil)
  }

  @Test func `a page too far down restarts at the newest, one too early continues`() {
    for (numbers, isMisplaced): ([UInt64], Bool) in [
      ([49, 48, 47], true), ([53, 52, 51], false), ([51, 49, 48], false), ([], true),
    ] {
      var fetch = Self.fetch()
      let page = Harness.plainPage(numbers)
      #expect(fetch.take(page, bringsUnseen: true, beyond: nil) == nil)
      #expect(fetch.isMisplaced(after: page) == isMisplaced, "\(numbers)")
      #expect(fetch.reached == nil)
    }
  }

  @Test func `stores nothing of a page too far down`() {
    var harness = Harness()
    let screen = Harness.plainPage((151...200).reversed())
    harness.connect(screen, head: nil)
    harness.answer(screen)
    harness.answer(screen)
    harness.give(.loadOlder)
    harness.give(.older((101...150).map { Harness.message($0, isPlain: true) }))
    harness.give(.loadOlder)
    harness.give(.older([]))
    #expect(harness.fetches.last?.query == .page(number: 2, limit: 50))
    harness.answer(Harness.plainPage((51...100).reversed()))
    #expect(harness.fetches.last?.query == .page(number: 1, limit: 50))
    let far = Harness.message(100, isPlain: true)
    let isStored = harness.effects.contains { effect in
      if case .commit(_, let change) = effect { change.messages.contains(far) } else { false }
    }
    #expect(!isStored)
  }

  @Test(arguments: [(9, false), (10, true)])
  func `ten pages without a tie are enough`(pages: Int, isMisplaced: Bool) {
    var fetch = Self.fetch()
    fetch.pages = pages
    let page = Harness.plainPage([53, 52, 51])
    _ = fetch.take(page, bringsUnseen: false, beyond: nil)
    #expect(fetch.isMisplaced(after: page) == isMisplaced)
  }

  @Test func `a last page without the message restarts at the newest`() {
    var fetch = Self.fetch()
    let page = Harness.plainPage([53, 52, 51], hasNext: false)
    _ = fetch.take(page, bringsUnseen: false, beyond: nil)
    #expect(fetch.isMisplaced(after: page))
  }

  @Test func `a walk from the newest page continues until it reaches the message or passes it`() {
    for (numbers, isUnseen, tie): ([UInt64], Bool, History.Tie) in [
      ([53, 52, 51], true, .newest), ([49, 48, 47], false, .newest), ([49, 48, 47], true, .shown),
      ([51, 49, 48], true, .newest), ([51, 50, 48], false, .shown),
    ] {
      var fetch = Self.fetch(page: 1)
      let page = Harness.plainPage(numbers)
      _ = fetch.take(page, bringsUnseen: isUnseen, beyond: nil)
      #expect(fetch.tie == tie, "\(numbers)")
      #expect(!fetch.isMisplaced(after: page))
    }
  }

  @Test func `a walk tied to a shown message stays so at the newest page`() {
    var fetch = Self.fetch(page: 1, tie: .shown)
    _ = fetch.take(Harness.plainPage([53, 52, 51]), bringsUnseen: false, beyond: nil)
    #expect(fetch.tie == .shown)
  }

  @Test(arguments: [[UInt64(45)], []])
  func `what an earlier page reached stays reached`(later: [UInt64]) {
    var fetch = Self.fetch(tie: .shown)
    _ = fetch.take(Harness.plainPage([49, 40]), bringsUnseen: true, beyond: nil)
    _ = fetch.take(Harness.plainPage(later), bringsUnseen: true, beyond: nil)
    #expect(fetch.reached == Self.key(40))
  }

  @Test func `only consecutive unreadable pages count`() {
    var repetition = Repetition()
    let unreadable = Page(messages: [], hasNext: true, rejected: 1)
    var pages = Array(repeating: unreadable, count: 9)
    pages.append(Harness.plainPage([50]))
    pages += Array(repeating: unreadable, count: 10)
    let answers = pages.map { repetition.note($0) }
    #expect(answers.firstIndex(of: true) == 19)
  }

  @Test(arguments: [0, 1])
  func `without known messages, the same page three times is a repetition`(rejected: Int) {
    var repetition = Repetition()
    var page = Harness.plainPage([50, 49, 48])
    page.rejected = rejected
    let answers = (1...3).map { _ in repetition.note(page) }
    #expect(answers == [false, false, true])
  }

  @Test func `a part of the page before is a repetition in any order, and a new message is none`() {
    var repetition = Repetition()
    let pages: [[UInt64]] = [[50, 49, 48], [48, 50], [50], [51, 50], [50, 51]]
    let answers = pages.map { repetition.note(Harness.plainPage($0)) }
    #expect(answers == [false, false, true, false, false])
  }

  @Test func `what lies beyond a gap is reached by its id, or by a whole page of older messages`() {
    for (numbers, isUnseen, isMet): ([UInt64], Bool, Bool) in [
      ([50, 30, 29], true, true), ([50, 31, 29], true, false), ([31, 29, 28], false, false),
      ([29, 28, 27], false, true), ([29, 28, 27], true, false), ([30, 50, 49], true, false),
      ([], false, false),
    ] {
      var fetch = Self.fetch(tie: numbers.contains(50) ? .loose : .shown)
      _ = fetch.take(Harness.plainPage(numbers), bringsUnseen: isUnseen, beyond: Self.key(30))
      #expect(fetch.meetsBeyond == isMet, "\(numbers)")
    }
  }

  @Test func `the gap is met by a whole page of messages up to it, in any order`() {
    // The upper edge of the gap was edited. It has the time stamp of an older message.
    var edge = Harness.message(50, isPlain: true)
    edge.createdAt = Harness.message(28).createdAt
    let messages = [Harness.message(30, isPlain: true), edge, Harness.message(29, isPlain: true)]
    var fetch = Self.fetch()
    _ = fetch.take(
      Page(messages: messages, hasNext: true), bringsUnseen: false, beyond: Self.key(30))
    #expect(fetch.meetsBeyond)
  }

  @Test(arguments: [(50, 3), (51, 11)])
  func `a page that lacks known newer messages is not a repetition at once`(
    known: UInt64, pages: Int
  ) {
    var repetition = Repetition()
    let answers = (1...20).map { _ in
      repetition.ask(knowing: Self.key(known))
      return repetition.note(Harness.plainPage([50, 49, 48]))
    }
    #expect(answers.firstIndex(of: true) == pages - 1)
  }

  @Test(arguments: [true, false])
  func `a live message stamped before all stored ones stands below a gap`(
    sortsByStamp: Bool
  ) {
    var world = StreamHarness.connected(.plain, messages: 120)
    world.shop.sortsByStamp = sortsByStamp
    world.kill()
    world.relaunch()
    world.drive { $0.status.state == .connected }
    world.pass(.seconds(5))
    let oldest = world.model.timeline.oldest
    world.say("far back", late: .seconds(7200))
    world.pass(.seconds(1))
    #expect(world.gaps.map(\.before) == [oldest].compactMap(\.self))
    world.scrollToTheBeginning()
    world.ledger.compare(with: world.shop.ordered)
    #expect(world.ledger.problems == [])
    #expect(world.model.gaps == [])
  }

  @Test func `a log with fewer messages than are stored hides nothing`() {
    var world = StreamHarness.connected(.plain, messages: 200)
    world.background()
    world.pass(.seconds(3700))
    world.accumulate(250, named: "x")
    world.foreground()
    world.drive { $0.status.state == .connected }
    world.pass(.seconds(5))
    #expect(world.model.gaps.count == 1)
    world.accumulate(100, named: "y", apart: .milliseconds(10))
    world.cut()
    world.pass(.seconds(5))
    world.shop.beginAnew(keeping: 240)
    world.scrollToTheBeginning()
    world.ledger.compare(with: world.shop.ordered, isWholeLog: false)
    #expect(world.ledger.problems == [])
  }

  @Test func `scrolling shows messages stored above the screen before the first page arrived`() {
    var harness = Harness()
    let failed = harness.fetches.last?.id ?? FetchID(0)
    harness.give(.fetchFailed(failed, .http(status: 503, retryAfter: nil, detail: "")))
    if let attempt = harness.model.link.currentAttempt { harness.give(.opened(attempt, head: nil)) }
    harness.receive(Harness.message(5, isPlain: true))
    harness.receive(Harness.message(4, isPlain: true))
    #expect(harness.texts == ["m5"])
    harness.answer(Harness.plainPage([5, 4, 3], hasNext: false))
    harness.give(.loadOlder)
    harness.give(.older([3, 4].map { Harness.message($0, isPlain: true) }))
    #expect(harness.texts == ["m5", "m3", "m4"])
  }
}
