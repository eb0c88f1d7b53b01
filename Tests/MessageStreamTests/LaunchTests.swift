import LinkCore
import LinkStorage
import LinkWire
import Testing

@testable import MessageStream

/// Tests of the fetches at a launch, at a return and when a screen closes.
struct LaunchTests {
  private static let cursor = Cursor(position: Hand.at(5), wholeAt: Hand.wall)
  private static var later: Timestamp { Hand.wall.advanced(by: .seconds(600)) }

  @Test func `a stream that takes nothing over the socket fetches before the first connect`() {
    let hand = Hand.launched(
      with: TimelineSnapshot(cursor: Self.cursor), after: [.reader(isBehind: true)])
    #expect(hand.fetches.map(\.query) == [.after(Hand.at(5), limit: 100)])
  }

  @Test func `a connect that a page was asked for before fetches nothing when it fails`() throws {
    var hand = Hand(cursor: Self.cursor)
    hand.give(.lifecycle(.background), at: Hand.wall)
    hand.give(.lifecycle(.foreground), at: Hand.wall)
    let failure = LinkFailure.http(status: 500, retryAfter: nil, detail: "")
    hand.give(.fetchFailed(try #require(hand.fetches.last?.id), failure))
    hand.give(.lost(try #require(hand.model.link.currentAttempt), .reset))
    #expect(hand.fetches.count == 1)
  }

  @Test func `a failed connect fetches nothing if everything was fetched beside it`() throws {
    var hand = Hand(cursor: Self.cursor)
    hand.give(.refresh)
    hand.answer(Hand.page([6], head: 6))
    hand.give(.lost(try #require(hand.model.link.currentAttempt), .reset))
    #expect(hand.fetches.count == 1)
  }

  @Test func `what was to be asked for when the screen was left is not when nothing was missed`()
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

  @Test func `a screen that is left waits for nothing that was on its way`() {
    var hand = Hand.connected(at: 5)
    hand.reconnect(head: 7, settles: true)
    #expect(hand.model.recovery.backlog?.end == Hand.at(7))
    hand.give(.close)
    #expect(hand.model.recovery.backlog == nil)
    #expect(hand.model.deadline == nil)
  }

  @Test func `a page comes before the socket once for a return from the background`() {
    var hand = Hand.connected(at: 5)
    hand.give(.lifecycle(.background), at: Hand.wall)
    hand.give(.lifecycle(.foreground), at: Hand.wall)
    hand.connect(Hand.page([], head: 5), head: Hand.at(5))
    hand.effects = []
    hand.give(.close)
    hand.give(.open(at: Hand.wall))
    #expect(hand.fetches.isEmpty)
  }

  @Test func `the clock counts as it was when the app went, or a message was sent`() {
    var gone = Hand.connected(at: 5)
    gone.give(.lifecycle(.background), at: Self.later)
    #expect(gone.commits.last?.cursor?.wholeAt == Self.later)
    var sent = Hand.connected(at: 5)
    sent.send("mine", ahead: .seconds(600))
    sent.hear(Hand.message(6))
    #expect(sent.commits.last?.cursor?.wholeAt == Self.later)
  }

  @Test func `a pull at a screen that was left hurries nothing`() throws {
    var hand = Hand.connected(at: 5)
    hand.send("mine")
    let busy = LinkFailure.http(status: 503, retryAfter: nil, detail: "")
    hand.fail(try #require(hand.posts.last).id, busy)
    hand.give(.close)
    hand.give(.refresh)
    hand.give(.open(at: Hand.wall))
    #expect(hand.posts.count == 1)
  }

  @Test func `what was left to later while nobody read is not asked for if nothing was missed`()
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

  @Test func `being told again that nobody reads changes nothing`() {
    var hand = Hand.connected(at: 5)
    hand.give(.reader(isBehind: true))
    hand.oversize()
    hand.lose()
    let before = hand.model.recovery
    #expect(before.again)
    hand.give(.reader(isBehind: true))
    #expect(hand.model.recovery == before)
  }

  @Test func `what falls silent on its way while nobody reads is left to later`() {
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

  @Test func `a store that fails after the screen was left is not looked at again`() {
    var model = Self.opening()
    _ = model.handle(.close, at: .zero)
    let effects = model.handle(.loadFailed(.locked(detail: "")), at: .zero)
    #expect(effects == [])
    #expect(model.deadline == nil)
  }

  @Test func `a store that fails is looked at again when its time has come`() {
    var model = Self.opening()
    _ = model.handle(.loadFailed(.locked(detail: "")), at: .zero)
    let early = model.tick(at: Instant.zero.advanced(by: .milliseconds(999)))
    #expect(early == [])
    let due = model.tick(at: Instant.zero.advanced(by: .seconds(1)))
    #expect(due == [.load(limit: 1000)])
  }

  @Test func `neither another network nor a late loss brings a page before the socket`() throws {
    var hand = Hand(cursor: Cursor(position: Hand.at(5), wholeAt: Hand.wall))
    let attempt = try #require(hand.model.link.currentAttempt)
    for path in ["wlan0", "cell0"] { hand.give(.reachability(.reachable(path: PathID(path)))) }
    #expect(hand.model.link.currentAttempt != attempt)
    hand.give(.lost(attempt, .reset))
    #expect(hand.fetches.isEmpty)
  }

  @Test func `a socket that opens before it was asked for changes nothing`() throws {
    var hand = Hand()
    let before = hand.model.recovery
    let attempt = try #require(hand.model.link.currentAttempt)
    hand.give(.opened(attempt, head: Hand.at(5)))
    #expect(hand.model.recovery == before)
  }
}
