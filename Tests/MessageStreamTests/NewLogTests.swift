import LinkCore
import LinkStorage
import LinkWire
import Testing

@testable import MessageStream

/// Tests of a log that was rolled back within its epoch, which counts as a new log: the newest page
/// is fetched, and a gap stands above the stored messages.
struct NewLogTests {
  /// Returns the cursor of a log that was replaced.
  private static func unknown(wholeUntil newest: UInt64?) -> Cursor {
    Cursor(
      position: Hand.at(0), time: newest.map { Hand.message($0).createdAt },
      wholeAt: Timestamp(nanoseconds: 0))
  }

  private static let newest = PageQuery.page(number: 1, limit: 100)

  /// Returns a harness that stored messages 101 to 208 and lost its socket before the log is rolled
  /// back.
  private static func filledUp() -> Hand {
    var hand = Hand.connected(at: 100)
    for number in UInt64(101)...208 { hand.hear(Hand.message(number)) }
    hand.lose()
    hand.send("mine")
    hand.effects = []
    return hand
  }

  /// Has a post accepted at the position of another message.
  private static func post(_ hand: inout Hand) throws {
    let entry = try #require(hand.model.outbox.entries.first)
    hand.give(.posted(entry.id, Hand.other(207, "mine")))
  }

  /// Opens the next socket and checks that the newest page is requested.
  private static func connect(_ hand: inout Hand) throws {
    let attempt = try #require(hand.model.link.currentAttempt)
    hand.give(.opened(attempt, head: Hand.at(207)))
    #expect(hand.fetches.last?.query == newest)
  }

  // What reveals a new log.

  @Test func `a log that ends before the cursor is a new one`() {
    var hand = Hand.connected(at: 150, head: 100)
    hand.answer(Hand.page(51...100, head: 100, recovered: false))
    #expect(hand.updates.contains(.notice(.newEpoch(Hand.at(100)))))
    #expect(hand.model.gaps == [Gap(after: nil, before: Hand.message(51).key)])
    #expect(hand.model.recovery.cursor.position == Hand.at(100))
    for number in UInt64(101)...160 { hand.hear(Hand.message(number)) }
    #expect(hand.texts == (51...160).map { "m\($0)" })
    #expect(hand.model.recovery.cursor.position == Hand.at(160))
    #expect(hand.model.recovery.ahead == [])
  }

  @Test func `a post accepted at the position of another message reveals a new log`() throws {
    var hand = Self.filledUp()
    try Self.post(&hand)
    #expect(hand.updates.contains(.notice(.newEpoch(Hand.at(207)))))
    #expect(hand.commits.last?.cursor == Self.unknown(wholeUntil: 208))
    #expect(hand.texts == ["mine"])
  }

  @Test func `it reveals a new log to a reader that is behind, too`() throws {
    var hand = Self.filledUp()
    hand.give(.reader(isBehind: true))
    try Self.post(&hand)
    #expect(hand.commits.last?.cursor == Self.unknown(wholeUntil: 208))
  }

  @Test func `a message not stored yet reveals a new log, too`() throws {
    var hand = Hand.connected(at: 100)
    for number in UInt64(101)...206 { hand.hear(Hand.message(number)) }
    hand.send("mine")
    hand.keepsPromptly = false
    for number in UInt64(207)...208 { hand.hear(Hand.message(number)) }
    hand.lose()
    let entry = try #require(hand.model.outbox.entries.first)
    hand.give(.posted(entry.id, Hand.other(208, "mine")))
    #expect(hand.model.recovery.cursor == Self.unknown(wholeUntil: 206))
  }

  @Test func `a message of the socket reveals a new log, which the newest page completes`() {
    var hand = Hand.connected(at: 0)
    for number in UInt64(1)...3 { hand.hear(Hand.message(number)) }
    hand.hear(Hand.other(2))
    #expect(hand.fetches.map(\.query) == [Self.newest])
    #expect(!hand.model.isWhole)
    let page = [Hand.other(2), Hand.other(1)]
    hand.answer(Page(messages: page, hasNext: false, head: Hand.at(2)))
    #expect(hand.texts == ["m1", "m2", "m3", "theirs", "theirs"])
    #expect(hand.model.gaps == [])
    #expect(hand.model.recovery.cursor.position == Hand.at(2))
    #expect(hand.model.isWhole)
  }

  @Test(arguments: [UInt64(149), 150, 151])
  func `older messages at known positions reveal a new log, wherever it ends`(head: UInt64) {
    var hand = Hand.connected(at: 140)
    for number in UInt64(141)...150 { hand.hear(Hand.message(number)) }
    hand.give(.loadOlder)
    hand.give(.older([]))
    hand.answer(Page(messages: [Hand.other(147)], hasNext: true, head: Hand.at(head)))
    #expect(hand.model.recovery.cursor == Self.unknown(wholeUntil: 150))
    #expect(hand.fetches.map(\.query).contains(Self.newest))
  }

  @Test func `a page of a catch-up that names a known position reveals a new log`() {
    var hand = Hand.connected(at: 0)
    for number in UInt64(1)...3 { hand.hear(Hand.message(number)) }
    hand.oversize()
    hand.answer(Page(messages: [Hand.other(2)], hasNext: false, head: Hand.at(3)))
    #expect(hand.fetches.map(\.query) == [.after(Hand.at(3), limit: 100), Self.newest])
    #expect(hand.model.recovery.cursor == Self.unknown(wholeUntil: 3))
  }

  @Test func `neither a known message nor one beyond the cursor reveals a new log`() {
    var hand = Hand.connected(at: 0)
    for number in UInt64(1)...3 { hand.hear(Hand.message(number)) }
    hand.hear(Hand.message(2))
    hand.hear(Hand.other(4))
    #expect(hand.fetches.isEmpty)
    #expect(hand.model.recovery.cursor.position == Hand.at(4))
  }

  @Test func `messages of an earlier log below a gap reveal no new log`() {
    let kept = (UInt64(1)...8).map { Hand.message($0) } + [Hand.other(9)]
    let gap = Gap(after: kept[7].key, before: kept[8].key)
    let cursor = Cursor(position: Hand.at(9), wholeAt: Hand.wall)
    var hand = Hand.launched(with: TimelineSnapshot(messages: kept, cursor: cursor, gaps: [gap]))
    hand.give(.loadOlder)
    #expect(hand.fetches.map(\.query) == [.before(Hand.at(9), limit: 50)])
    let page = [Hand.other(8), Hand.other(7)]
    hand.answer(Page(messages: page, hasNext: true, head: Hand.at(9)))
    #expect(hand.model.recovery.cursor.position == Hand.at(9))
    #expect(hand.model.gaps == [Gap(after: kept[7].key, before: Hand.other(7).key)])
  }

  private static let heads: [(Position?, Bool)] = [
    (Hand.at(4), true), (Hand.at(5), false), (Hand.at(6), false), (nil, false),
    (Position(epoch: "f", offset: 4), false),
  ]

  @Test(arguments: heads)
  func `a log ends before the cursor only under the epoch of the cursor`(
    head: Position?, isBefore: Bool
  ) {
    var recovery = Recovery()
    recovery.cursor.position = Hand.at(5)
    #expect(recovery.isBeyond(head) == isBefore)
  }

  // What follows a new log.

  @Test func `the newest page replaces a fetch in flight`() throws {
    var hand = Self.filledUp()
    hand.give(.refresh)
    let late = try #require(hand.fetches.last)
    #expect(late.query == .after(Hand.at(208), limit: 100))
    try Self.post(&hand)
    #expect(hand.fetches.last?.query == Self.newest)
    hand.give(.fetched(late.id, Hand.page([], head: 208)))
    #expect(hand.model.recovery.cursor.position == Hand.at(0))
  }

  @Test func `a newest page that reaches the stored messages leaves no gap`() throws {
    var hand = Self.filledUp()
    try Self.post(&hand)
    try Self.connect(&hand)
    let page = [Hand.other(207, "mine"), Hand.other(206), Hand.message(205)]
    hand.answer(Page(messages: page, hasNext: true, head: Hand.at(207)))
    #expect(hand.texts.sorted() == ["mine", "theirs"])
    #expect(hand.model.gaps == [])
    #expect(hand.model.recovery.cursor.position == Hand.at(207))
    hand.answer(Page(messages: [], hasNext: false, head: Hand.at(207)))
    #expect(hand.model.isWhole)
  }

  @Test func `any other newest page leaves a gap, closed by pages that reach the stored messages`()
    throws
  {
    var hand = Self.filledUp()
    try Self.post(&hand)
    try Self.connect(&hand)
    let page = [Hand.other(207, "mine"), Hand.other(206)]
    hand.answer(Page(messages: page, hasNext: true, head: Hand.at(207)))
    #expect(hand.model.gaps == [Gap(after: Hand.message(208).key, before: Hand.other(206).key)])
    #expect(hand.model.recovery.cursor.position == Hand.at(207))
    hand.effects = []
    hand.give(.loadOlder)
    let others = [Hand.other(205), Hand.message(204)]
    hand.answer(Page(messages: others, hasNext: true, head: Hand.at(207)))
    #expect(hand.model.gaps == [Gap(after: Hand.message(208).key, before: Hand.other(206).key)])
    hand.answer(Hand.page([203, 202], head: 207, hasNext: true))
    hand.answer(Hand.page([88], head: 207, hasNext: true))
    let queries = [UInt64(206), 204, 202].map { PageQuery.before(Hand.at($0), limit: 50) }
    #expect(hand.fetches.map(\.query) == queries)
    #expect(hand.model.gaps == [])
  }

  @Test func `a launch with a cursor of a replaced log fetches the newest page`() {
    let kept = (UInt64(1)...8).map { Hand.message($0) }
    let snapshot = TimelineSnapshot(messages: kept, cursor: Self.unknown(wholeUntil: 8))
    var hand = Hand.launched(with: snapshot)
    #expect(hand.fetches.map(\.query) == [Self.newest])
    let page = [Hand.other(9), Hand.other(8)]
    hand.answer(Page(messages: page, hasNext: true, head: Hand.at(9)))
    #expect(hand.model.gaps == [Gap(after: nil, before: Hand.other(8).key)])
    #expect(hand.model.recovery.cursor.position == Hand.at(9))
  }

  @Test func `an unknown message below the cursor makes the stream ask the server`() {
    var hand = Hand.connected(at: 150)
    hand.hear(Hand.message(101))
    hand.answer(Hand.page(52...101, head: 101, recovered: false))
    #expect(hand.fetches.last?.query == .after(Hand.at(150), limit: 100))
    #expect(hand.texts == (52...101).map { "m\($0)" })
    #expect(hand.model.recovery.cursor.position == Hand.at(101))
  }

  @Test func `keeps a message received below the old cursor during the fetch`() {
    var hand = Hand.connected(at: 150, head: 100)
    hand.hear(Hand.message(101))
    hand.answer(Hand.page(51...100, head: 100, recovered: false))
    hand.answer(Hand.page([101], head: 101))
    #expect(hand.fetches.last?.query == .after(Hand.at(100), limit: 100))
    #expect(hand.texts == (51...101).map { "m\($0)" })
    #expect(hand.model.isWhole)
  }

  @Test(arguments: [(UInt64(149), true, 1), (149, false, 0), (150, true, 0), (151, true, 0)])
  func `after a long absence the newest page of a log that ends before the cursor leaves a gap`(
    head: UInt64, hasNext: Bool, gaps: Int
  ) throws {
    let long = Hand.wall.advanced(by: .seconds(-86_400))
    var hand = Hand(cursor: Cursor(position: Hand.at(150), wholeAt: long))
    #expect(hand.fetches.map(\.query) == [.page(number: 1, limit: 100)])
    let page = (head - 99...head).map { Hand.other($0) }
    hand.answer(Page(messages: page, hasNext: hasNext, head: Hand.at(head)))
    #expect(hand.model.gaps.count == gaps)
    #expect(hand.model.recovery.cursor.position == Hand.at(head))
  }

  // Extreme offsets, and gaps.

  @Test(arguments: [UInt64.max - 1, .max])
  func `nothing follows the largest offset`(offset: UInt64) {
    var hand = Hand()
    hand.connect(Hand.page([offset], head: offset), head: Hand.at(offset))
    hand.hear(Hand.message(.max))
    hand.hear(Hand.message(.max))
    #expect(hand.model.recovery.cursor.position == Hand.at(.max))
    #expect(hand.model.recovery.ahead == [])
  }

  @Test func `a page that reaches the largest offset ends there`() {
    var hand = Hand.connected(at: .max - 3)
    hand.hear(Hand.message(.max))
    hand.answer(Hand.page([.max - 2, .max - 1, .max], head: .max, hasNext: true))
    #expect(hand.model.recovery.cursor.position == Hand.at(.max))
    #expect(hand.fetches.last?.query == .after(Hand.at(.max), limit: 100))
  }

  @Test(arguments: [(40, [40, 50]), (50, [50])] as [(UInt64, [UInt64])])
  func `a gap that shrinks past an older one stands below it, and ends where they meet`(
    first: UInt64, edges: [UInt64]
  ) {
    var model = StreamModel(settings: StreamHarness.settings, seed: 1)
    _ = model.handle(.open(at: Hand.wall), at: .zero)
    let gaps = [UInt64(50), 100].map { Gap(after: nil, before: Hand.message($0).key) }
    let messages = (Array(50...60) + Array(100...110)).map { Hand.message($0) }
    _ = model.handle(.loaded(TimelineSnapshot(messages: messages, gaps: gaps)), at: .zero)
    let asked = model.handle(.loadOlder, at: .zero)
    let query = PageQuery.before(Hand.at(100), limit: 50)
    #expect(asked.contains(.fetch(FetchID(model.requests.last), query)))
    let page = Hand.page(first...99, head: 110, hasNext: true)
    _ = model.handle(.fetched(FetchID(model.requests.last), page), at: .zero)
    #expect(model.gaps.map(\.before) == edges.map { Hand.message($0).key })
  }

  @Test func `a page of a log that forgot the cursor is in ascending order without a head, too`() {
    var hand = Hand.connected(at: 50, head: 350)
    let page = (UInt64(251)...350).map { Hand.message($0) }
    hand.answer(Page(messages: page, hasNext: false, head: nil, recovered: false))
    #expect(hand.model.gaps.map(\.before) == [Hand.message(251).key])
  }

  @Test func `messages that a log forgot between two pages leave a gap`() {
    var hand = Hand.connected(at: 50, head: 350)
    hand.answer(Hand.page(51...150, head: 350, hasNext: true))
    hand.answer(Hand.page(251...350, head: 350, recovered: false))
    #expect(
      hand.model.gaps == [Gap(after: Hand.message(150).key, before: Hand.message(251).key)])
    #expect(hand.model.recovery.cursor.position == Hand.at(350))
  }
}
