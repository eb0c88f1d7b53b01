import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastMessageStream

/// Tests of the range that the pages of a catch-up cover, and of the end of the catch-up.
struct CatchUpEndTests {
  @Test(arguments: [0, 1])
  func `reports each entry that cannot be read`(count: Int) {
    var harness = Harness.connected(at: 3, head: 4)
    harness.answer(Harness.page([], head: 4, rejected: count))
    let rejections = harness.updates.filter {
      if case .notice(.rejected) = $0 { true } else { false }
    }
    #expect(rejections == Array(repeating: .notice(.rejected(count: 1)), count: count))
  }

  @Test
  func `a run that reached its page limit continues in the next, even if nothing could be read`() {
    var harness = Harness.connected(at: 3, head: 205) { $0.catchUpPages = 1 }
    harness.answer(Harness.page([], head: 205, hasNext: true, rejected: 100))
    #expect(harness.fetches.last?.query == .after(Harness.at(103), limit: 100))
  }

  @Test func `the newest page of a log that forgot the cursor ends the run at the head`() {
    var harness = Harness.connected(at: 50, head: 352)
    let asked = harness.fetches.count
    harness.answer(Harness.page(251...350, head: 352, recovered: false, hasNext: true, rejected: 2))
    #expect(harness.model.recovery.cursor.position == Harness.at(352))
    #expect(harness.fetches.count == asked)
    #expect(harness.model.isWhole)
  }

  @Test func `the last page covers everything up to the head, whatever could not be read`() {
    var harness = Harness.connected(at: 5, head: 10)
    harness.answer(Harness.page(6...8, head: 10, rejected: 2))
    #expect(harness.model.recovery.cursor.position == Harness.at(10))
  }

  @Test func `without a head the last page covers everything up to its last message`() {
    var harness = Harness.connected(at: 5, head: 8)
    harness.answer(Page(messages: (UInt64(6)...8).map { Harness.message($0) }, hasNext: false))
    #expect(harness.model.recovery.cursor.position == Harness.at(8))
  }

  @Test func `keeps a message received beyond the page of a log that forgot the cursor`() {
    var harness = Harness.connected(at: 5, head: 300)
    harness.receive(Harness.message(302))
    harness.answer(Harness.page(201...301, head: 301, recovered: false))
    #expect(harness.model.recovery.cursor.position == Harness.at(302))
  }

  @Test func `keeps a message received beyond such a page that ends at the cursor`() {
    var harness = Harness.connected(at: 5)
    harness.receive(Harness.message(7))
    harness.answer(Harness.page(1...5, head: 5, recovered: false))
    #expect(harness.model.recovery.ahead == [7])
    #expect(!harness.model.isWhole)
  }

  @Test func `drops a message received beyond the cursor if the log was rolled back below it`() {
    var harness = Harness.connected(at: 150, head: 100)
    harness.receive(Harness.message(152))
    harness.answer(Harness.page(51...100, head: 100, recovered: false))
    #expect(harness.model.recovery.cursor.position == Harness.at(100))
    #expect(harness.model.recovery.ahead == [])
    #expect(harness.model.isWhole)
  }

  @Test func `different messages at known positions leave a gap after a long absence`() {
    let stored = (UInt64(141)...150).map { Harness.message($0) }
    let cursor = ShopCursor(
      position: Harness.at(150), wholeAt: Harness.wall.advanced(by: .seconds(-86_400)))
    var harness = Harness.launched(with: TimelineSnapshot(messages: stored, cursor: cursor))
    let others = (UInt64(61)...160).map { Harness.other($0, "theirs") }
    harness.answer(Page(messages: others, hasNext: true, head: Harness.at(160)))
    #expect(harness.model.gaps.map(\.before) == [others[0].key])
  }

  @Test(arguments: [(UInt64(879), 1), (880, 2)])
  func `fetches pages since a time until one reaches an earlier message`(number: UInt64, pages: Int)
  {
    let time = Harness.message(1000).createdAt
    var harness = Harness(cursor: ShopCursor(time: time, wholeAt: Harness.wall))
    harness.answer(Harness.page([1001, number], head: 1001, hasNext: true))
    let since = time.advanced(by: .seconds(-120))
    let queries = (1...pages).map { PageQuery.since(since, page: $0, limit: 100) }
    #expect(harness.fetches.map(\.query) == queries)
    #expect(harness.model.gaps == [])
  }

  @Test func `fetches each page with the credentials valid at that time`() {
    var harness = Harness.connected(at: 5, head: 300)
    harness.give(.credentials(.available(expiresIn: nil)))
    harness.answer(Harness.page(6...105, head: 300, hasNext: true))
    harness.effects = []
    harness.give(.fetchFailed(FetchID(harness.model.requests.last), Harness.refused))
    #expect(harness.effects.contains(.refreshCredentials))
  }

  @Test func `a catch-up that replaces a scheduled one is the only one`() {
    var harness = Harness.connected(at: 5)
    harness.effects = []
    harness.give(.reader(isBehind: true))
    harness.receive(Harness.message(6))
    harness.give(.refresh)
    harness.give(.reader(isBehind: false))
    harness.answer(Harness.page([6], head: 6))
    #expect(harness.fetches.count == 1)
    #expect(harness.model.isWhole)
  }

  @Test func `a link that ends by itself ends the catch-up`() throws {
    let policy = try LinkPolicy.messageStream.setting([("liveness.idle", "5s idle")])
    var harness = Harness.connected(at: 10, head: 20) { $0.policy = policy }
    #expect(harness.model.recovery.run != nil)
    harness.pass(6)
    #expect(harness.model.link.status.reason == .ended(.idle))
    #expect(harness.model.recovery.run == nil)
    #expect(harness.model.brokenInvariants(.thorough) == [])
  }
}
