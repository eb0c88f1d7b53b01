import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastMessageStream

/// Tests of the fetches when the app is launched, when it returns to the foreground and when a
/// screen closes.
struct LaunchTests {
  private static let cursor = ShopCursor(position: Harness.at(5), wholeAt: Harness.wall)
  private static var later: Timestamp { Harness.wall.advanced(by: .seconds(600)) }

  @Test func `a stream whose reader is behind fetches before the first connect`() {
    let harness = Harness.launched(
      with: TimelineSnapshot(cursor: Self.cursor), after: [.reader(isBehind: true)])
    #expect(harness.fetches.map(\.query) == [.after(Harness.at(5), limit: 100)])
  }

  @Test func `a failed connect fetches nothing if a page was already fetched before it`() throws {
    var harness = Harness(cursor: Self.cursor)
    harness.give(.lifecycle(.background), at: Harness.wall)
    harness.give(.lifecycle(.foreground), at: Harness.wall)
    let failure = LinkFailure.http(status: 500, retryAfter: nil, detail: "")
    harness.give(.fetchFailed(try #require(harness.fetches.last?.id), failure))
    harness.give(.lost(try #require(harness.model.link.currentAttempt), .reset))
    #expect(harness.fetches.count == 1)
  }

  @Test func `a failed connect fetches nothing if a concurrent fetch brought everything`() throws {
    var harness = Harness(cursor: Self.cursor)
    harness.give(.refresh)
    harness.answer(Harness.page([6], head: 6))
    harness.give(.lost(try #require(harness.model.link.currentAttempt), .reset))
    #expect(harness.fetches.count == 1)
  }

  @Test func `drops a scheduled catch-up on close if nothing was missed`()
    throws
  {
    var harness = Harness.connected(at: 5, head: 7)
    harness.oversize()
    harness.give(.close)
    harness.effects = []
    harness.give(.open(at: Harness.wall))
    harness.give(.opened(try #require(harness.model.link.currentAttempt), head: Harness.at(5)))
    #expect(harness.fetches.isEmpty)
    #expect(harness.model.isWhole)
  }

  @Test func `closing the screen drops a pending backlog`() {
    var harness = Harness.connected(at: 5)
    harness.reconnect(head: 7, accepts: true)
    #expect(harness.model.recovery.backlog?.end == Harness.at(7))
    harness.give(.close)
    #expect(harness.model.recovery.backlog == nil)
    #expect(harness.model.deadline == nil)
  }

  @Test func `a return from the background fetches a page before the socket only once`() {
    var harness = Harness.connected(at: 5)
    harness.give(.lifecycle(.background), at: Harness.wall)
    harness.give(.lifecycle(.foreground), at: Harness.wall)
    harness.connect(Harness.page([], head: 5), head: Harness.at(5))
    harness.effects = []
    harness.give(.close)
    harness.give(.open(at: Harness.wall))
    #expect(harness.fetches.isEmpty)
  }

  @Test func `uses the clock as it was when the app left or a message was sent`() {
    var left = Harness.connected(at: 5)
    left.give(.lifecycle(.background), at: Self.later)
    #expect(left.commits.last?.cursor?.wholeAt == Self.later)
    var sent = Harness.connected(at: 5)
    sent.send("mine", ahead: .seconds(600))
    sent.receive(Harness.message(6))
    #expect(sent.commits.last?.cursor?.wholeAt == Self.later)
  }

  @Test func `a refresh on a closed screen shortens no wait`() throws {
    var harness = Harness.connected(at: 5)
    harness.send("mine")
    let busy = LinkFailure.http(status: 503, retryAfter: nil, detail: "")
    harness.fail(try #require(harness.posts.last).id, busy)
    harness.give(.close)
    harness.give(.refresh)
    harness.give(.open(at: Harness.wall))
    #expect(harness.posts.count == 1)
  }

  @Test func `drops a catch-up deferred for the reader if nothing was missed`()
    throws
  {
    var harness = Harness.connected(at: 5)
    harness.effects = []
    harness.give(.reader(isBehind: true))
    harness.oversize()
    harness.lose()
    harness.give(.reader(isBehind: false))
    harness.give(.opened(try #require(harness.model.link.currentAttempt), head: Harness.at(5)))
    #expect(harness.fetches.isEmpty)
    #expect(harness.model.isWhole)
  }

  @Test func `reporting again that the reader is behind changes nothing`() {
    var harness = Harness.connected(at: 5)
    harness.give(.reader(isBehind: true))
    harness.oversize()
    harness.lose()
    let before = harness.model.recovery
    #expect(before.again)
    harness.give(.reader(isBehind: true))
    #expect(harness.model.recovery == before)
  }

  @Test func `defers a backlog that stalls while the reader is behind`() {
    var harness = Harness.connected(at: 5)
    harness.reconnect(head: 7, accepts: true)
    var model = harness.model
    _ = model.handle(.reader(isBehind: true), at: harness.now)
    _ = model.tick(at: harness.now.advanced(by: .seconds(10)))
    #expect(model.recovery.backlog == nil)
    #expect(model.recovery.again)
  }

  private static func opening() -> StreamModel {
    var model = StreamModel(settings: StreamHarness.settings, seed: 1)
    _ = model.handle(.open(at: Harness.wall), at: .zero)
    return model
  }

  @Test func `does not retry a store that fails after the screen closed`() {
    var model = Self.opening()
    _ = model.handle(.close, at: .zero)
    let effects = model.handle(.loadFailed(.locked(detail: "")), at: .zero)
    #expect(effects == [])
    #expect(model.deadline == nil)
  }

  @Test func `retries a failed store when its wait is over`() {
    var model = Self.opening()
    _ = model.handle(.loadFailed(.locked(detail: "")), at: .zero)
    let early = model.tick(at: Instant.zero.advanced(by: .milliseconds(999)))
    #expect(early == [])
    let due = model.tick(at: Instant.zero.advanced(by: .seconds(1)))
    #expect(due == [.load(limit: 1000)])
  }

  @Test func `neither a new network nor a late loss fetches a page before the socket`() throws {
    var harness = Harness(cursor: ShopCursor(position: Harness.at(5), wholeAt: Harness.wall))
    let attempt = try #require(harness.model.link.currentAttempt)
    for path in ["wlan0", "cell0"] { harness.give(.reachability(.reachable(path: PathID(path)))) }
    #expect(harness.model.link.currentAttempt != attempt)
    harness.give(.lost(attempt, .reset))
    #expect(harness.fetches.isEmpty)
  }

  @Test func `a socket that opens before it was requested changes nothing`() throws {
    var harness = Harness()
    let before = harness.model.recovery
    let attempt = try #require(harness.model.link.currentAttempt)
    harness.give(.opened(attempt, head: Harness.at(5)))
    #expect(harness.model.recovery == before)
  }
}
