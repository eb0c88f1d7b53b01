import LinkCore
import LinkStorage
import LinkWire
import Testing

@testable import MessageStream

/// Tests of the fetches at a launch, at a return and when a screen closes.
struct LaunchTests {
  private static let cursor = Cursor(position: Hand.at(5), wholeAt: Hand.wall)
  private static var later: Timestamp { Hand.wall.advanced(by: .seconds(600)) }

  @Test func `a stream whose reader is behind fetches before the first connect`() {
    let hand = Hand.launched(
      with: TimelineSnapshot(cursor: Self.cursor), after: [.reader(isBehind: true)])
    #expect(hand.fetches.map(\.query) == [.after(Hand.at(5), limit: 100)])
  }

  @Test func `a failed connect fetches nothing if a page was already fetched before it`() throws {
    var hand = Hand(cursor: Self.cursor)
    hand.give(.lifecycle(.background), at: Hand.wall)
    hand.give(.lifecycle(.foreground), at: Hand.wall)
    let failure = LinkFailure.http(status: 500, retryAfter: nil, detail: "")
    hand.give(.fetchFailed(try #require(hand.fetches.last?.id), failure))
    hand.give(.lost(try #require(hand.model.link.currentAttempt), .reset))
    #expect(hand.fetches.count == 1)
  }

  @Test func `a failed connect fetches nothing if a concurrent fetch brought everything`() throws {
    var hand = Hand(cursor: Self.cursor)
    hand.give(.refresh)
    hand.answer(Hand.page([6], head: 6))
    hand.give(.lost(try #require(hand.model.link.currentAttempt), .reset))
    #expect(hand.fetches.count == 1)
  }

  @Test func `drops a scheduled catch-up on close if nothing was missed`()
    throws
  {
    var hand = Hand.connected(at: 5, head: 7)
    hand.oversize()
    hand.give(.close)
    hand.effects = []
    hand.give(.open(at: Hand.wall))
    hand.give(.opened(try #require(hand.model.link.currentAttempt), head: Hand.at(5)))
    #expect(hand.fetches.isEmpty)
    #expect(hand.model.isWhole)
  }

  @Test func `closing the screen drops a pending backlog`() {
    var hand = Hand.connected(at: 5)
    hand.reconnect(head: 7, settles: true)
    #expect(hand.model.recovery.backlog?.end == Hand.at(7))
    hand.give(.close)
    #expect(hand.model.recovery.backlog == nil)
    #expect(hand.model.deadline == nil)
  }

  @Test func `a return from the background fetches a page before the socket only once`() {
    var hand = Hand.connected(at: 5)
    hand.give(.lifecycle(.background), at: Hand.wall)
    hand.give(.lifecycle(.foreground), at: Hand.wall)
    hand.connect(Hand.page([], head: 5), head: Hand.at(5))
    hand.effects = []
    hand.give(.close)
    hand.give(.open(at: Hand.wall))
    #expect(hand.fetches.isEmpty)
  }

  @Test func `uses the clock as it was when the app left or a message was sent`() {
    var gone = Hand.connected(at: 5)
    gone.give(.lifecycle(.background), at: Self.later)
    #expect(gone.commits.last?.cursor?.wholeAt == Self.later)
    var sent = Hand.connected(at: 5)
    sent.send("mine", ahead: .seconds(600))
    sent.hear(Hand.message(6))
    #expect(sent.commits.last?.cursor?.wholeAt == Self.later)
  }

  @Test func `a refresh on a closed screen shortens no wait`() throws {
    var hand = Hand.connected(at: 5)
    hand.send("mine")
    let busy = LinkFailure.http(status: 503, retryAfter: nil, detail: "")
    hand.fail(try #require(hand.posts.last).id, busy)
    hand.give(.close)
    hand.give(.refresh)
    hand.give(.open(at: Hand.wall))
    #expect(hand.posts.count == 1)
  }

  @Test func `drops a catch-up deferred for the reader if nothing was missed`()
    throws
  {
    var hand = Hand.connected(at: 5)
    hand.effects = []
    hand.give(.reader(isBehind: true))
    hand.oversize()
    hand.lose()
    hand.give(.reader(isBehind: false))
    hand.give(.opened(try #require(hand.model.link.currentAttempt), head: Hand.at(5)))
    #expect(hand.fetches.isEmpty)
    #expect(hand.model.isWhole)
  }

  @Test func `reporting again that the reader is behind changes nothing`() {
    var hand = Hand.connected(at: 5)
    hand.give(.reader(isBehind: true))
    hand.oversize()
    hand.lose()
    let before = hand.model.recovery
    #expect(before.again)
    hand.give(.reader(isBehind: true))
    #expect(hand.model.recovery == before)
  }

  @Test func `defers a backlog that stalls while the reader is behind`() {
    var hand = Hand.connected(at: 5)
    hand.reconnect(head: 7, settles: true)
    var model = hand.model
    _ = model.handle(.reader(isBehind: true), at: hand.now)
    _ = model.tick(at: hand.now.advanced(by: .seconds(10)))
    #expect(model.recovery.backlog == nil)
    #expect(model.recovery.again)
  }

  private static func opening() -> StreamModel {
    var model = StreamModel(settings: StreamHarness.settings, seed: 1)
    _ = model.handle(.open(at: Hand.wall), at: .zero)
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
    var hand = Hand(cursor: Cursor(position: Hand.at(5), wholeAt: Hand.wall))
    let attempt = try #require(hand.model.link.currentAttempt)
    for path in ["wlan0", "cell0"] { hand.give(.reachability(.reachable(path: PathID(path)))) }
    #expect(hand.model.link.currentAttempt != attempt)
    hand.give(.lost(attempt, .reset))
    #expect(hand.fetches.isEmpty)
  }

  @Test func `a socket that opens before it was requested changes nothing`() throws {
    var hand = Hand()
    let before = hand.model.recovery
    let attempt = try #require(hand.model.link.currentAttempt)
    hand.give(.opened(attempt, head: Hand.at(5)))
    #expect(hand.model.recovery == before)
  }
}
