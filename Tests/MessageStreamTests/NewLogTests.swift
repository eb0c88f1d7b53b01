import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastMessageStream

/// Tests of a log that was rolled back within its epoch. It counts as a new log: the newest page is
/// fetched, and a gap is placed above the stored messages.
struct NewLogTests {
  /// Returns the cursor of a timeline whose log was replaced.
  private static func unknown(wholeUntil newest: UInt64?) -> ShopCursor {
    ShopCursor(
      position: Harness.at(0), time: newest.map { Harness.message($0).createdAt },
      wholeAt: Timestamp(nanoseconds: 0))
  }

  private static let newest = PageQuery.page(number: 1, limit: 100)

  /// Returns a harness that stored messages 101 to 208 and lost its socket. The log has not been
  /// rolled back yet.
  private static func filledUp() -> Harness {
    var harness = Harness.connected(at: 100)
    for number in UInt64(101)...208 { harness.receive(Harness.message(number)) }
    harness.lose()
    harness.send("mine")
    harness.effects = []
    return harness
  }

  /// Reports that a post was accepted at the position of another message.
  private static func post(_ harness: inout Harness) throws {
    let entry = try #require(harness.model.outbox.entries.first)
    harness.give(.posted(entry.id, Harness.other(207, "mine")))
  }

  /// Opens the next socket and checks that the newest page is requested.
  private static func connect(_ harness: inout Harness) throws {
    let attempt = try #require(harness.model.link.currentAttempt)
    harness.give(.opened(attempt, head: Harness.at(207)))
    #expect(harness.fetches.last?.query == newest)
  }

  // MARK: Detection of a new log

  @Test func `a log that ends before the cursor is a new one`() {
    var harness = Harness.connected(at: 150, head: 100)
    harness.answer(Harness.page(51...100, head: 100, recovered: false))
    #expect(harness.updates.contains(.notice(.newEpoch(Harness.at(100)))))
    #expect(harness.model.gaps == [ShopGap(after: nil, before: Harness.message(51).key)])
    #expect(harness.model.recovery.cursor.position == Harness.at(100))
    for number in UInt64(101)...160 { harness.receive(Harness.message(number)) }
    #expect(harness.texts == (51...160).map { "m\($0)" })
    #expect(harness.model.recovery.cursor.position == Harness.at(160))
    #expect(harness.model.recovery.ahead == [])
  }

  @Test func `a post accepted at the position of another message reveals a new log`() throws {
    var harness = Self.filledUp()
    try Self.post(&harness)
    #expect(harness.updates.contains(.notice(.newEpoch(Harness.at(207)))))
    #expect(harness.commits.last?.cursor == Self.unknown(wholeUntil: 208))
    #expect(harness.texts == ["mine"])
  }

  @Test func `it reveals a new log to a reader that is behind, too`() throws {
    var harness = Self.filledUp()
    harness.give(.reader(isBehind: true))
    try Self.post(&harness)
    #expect(harness.commits.last?.cursor == Self.unknown(wholeUntil: 208))
  }

  @Test func `a message not stored yet reveals a new log, too`() throws {
    var harness = Harness.connected(at: 100)
    for number in UInt64(101)...206 { harness.receive(Harness.message(number)) }
    harness.send("mine")
    harness.storesPromptly = false
    for number in UInt64(207)...208 { harness.receive(Harness.message(number)) }
    harness.lose()
    let entry = try #require(harness.model.outbox.entries.first)
    harness.give(.posted(entry.id, Harness.other(208, "mine")))
    #expect(harness.model.recovery.cursor == Self.unknown(wholeUntil: 206))
  }

  @Test func `a message of the socket reveals a new log, which the newest page completes`() {
    var harness = Harness.connected(at: 0)
    for number in UInt64(1)...3 { harness.receive(Harness.message(number)) }
    harness.receive(Harness.other(2))
    #expect(harness.fetches.map(\.query) == [Self.newest])
    #expect(!harness.model.isWhole)
    let page = [Harness.other(2), Harness.other(1)]
    harness.answer(Page(messages: page, hasNext: false, head: Harness.at(2)))
    #expect(harness.texts == ["m1", "m2", "m3", "theirs", "theirs"])
    #expect(harness.model.gaps == [])
    #expect(harness.model.recovery.cursor.position == Harness.at(2))
    #expect(harness.model.isWhole)
  }

  @Test(arguments: [UInt64(149), 150, 151])
  func `older messages at known positions reveal a new log, wherever it ends`(head: UInt64) {
    var harness = Harness.connected(at: 140)
    for number in UInt64(141)...150 { harness.receive(Harness.message(number)) }
    harness.give(.loadOlder)
    harness.give(.older([]))
    harness.answer(Page(messages: [Harness.other(147)], hasNext: true, head: Harness.at(head)))
    #expect(harness.model.recovery.cursor == Self.unknown(wholeUntil: 150))
    #expect(harness.fetches.map(\.query).contains(Self.newest))
  }

  @Test func `a page of a catch-up that names a known position reveals a new log`() {
    var harness = Harness.connected(at: 0)
    for number in UInt64(1)...3 { harness.receive(Harness.message(number)) }
    harness.oversize()
    harness.answer(Page(messages: [Harness.other(2)], hasNext: false, head: Harness.at(3)))
    #expect(harness.fetches.map(\.query) == [.after(Harness.at(3), limit: 100), Self.newest])
    #expect(harness.model.recovery.cursor == Self.unknown(wholeUntil: 3))
  }

  @Test func `neither a known message nor one beyond the cursor reveals a new log`() {
    var harness = Harness.connected(at: 0)
    for number in UInt64(1)...3 { harness.receive(Harness.message(number)) }
    harness.receive(Harness.message(2))
    harness.receive(Harness.other(4))
    #expect(harness.fetches.isEmpty)
    #expect(harness.model.recovery.cursor.position == Harness.at(4))
  }

  @Test func `messages of an earlier log below a gap reveal no new log`() {
    let stored = (UInt64(1)...8).map { Harness.message($0) } + [Harness.other(9)]
    let gap = ShopGap(after: stored[7].key, before: stored[8].key)
    let cursor = ShopCursor(position: Harness.at(9), wholeAt: Harness.wall)
    var harness = Harness.launched(
      with: TimelineSnapshot(messages: stored, cursor: cursor, gaps: [gap]))
    harness.give(.loadOlder)
    #expect(harness.fetches.map(\.query) == [.before(Harness.at(9), limit: 50)])
    let page = [Harness.other(8), Harness.other(7)]
    harness.answer(Page(messages: page, hasNext: true, head: Harness.at(9)))
    #expect(harness.model.recovery.cursor.position == Harness.at(9))
    #expect(harness.model.gaps == [ShopGap(after: stored[7].key, before: Harness.other(7).key)])
  }

  private static let heads: [(ShopPosition?, Bool)] = [
    (Harness.at(4), true), (Harness.at(5), false), (Harness.at(6), false), (nil, false),
    (ShopPosition(epoch: "f", offset: 4), false),
  ]

  @Test(arguments: heads)
  func `a log ends before the cursor only under the epoch of the cursor`(
    head: ShopPosition?, isBefore: Bool
  ) {
    var recovery = Recovery()
    recovery.cursor.position = Harness.at(5)
    #expect(recovery.isBeyond(head) == isBefore)
  }

  // MARK: Consequences of a new log

  @Test func `the newest page replaces a fetch in flight`() throws {
    var harness = Self.filledUp()
    harness.give(.refresh)
    let late = try #require(harness.fetches.last)
    #expect(late.query == .after(Harness.at(208), limit: 100))
    try Self.post(&harness)
    #expect(harness.fetches.last?.query == Self.newest)
    harness.give(.fetched(late.id, Harness.page([], head: 208)))
    #expect(harness.model.recovery.cursor.position == Harness.at(0))
  }

  @Test func `a newest page that reaches the stored messages leaves no gap`() throws {
    var harness = Self.filledUp()
    try Self.post(&harness)
    try Self.connect(&harness)
    let page = [Harness.other(207, "mine"), Harness.other(206), Harness.message(205)]
    harness.answer(Page(messages: page, hasNext: true, head: Harness.at(207)))
    #expect(harness.texts.sorted() == ["mine", "theirs"])
    #expect(harness.model.gaps == [])
    #expect(harness.model.recovery.cursor.position == Harness.at(207))
    harness.answer(Page(messages: [], hasNext: false, head: Harness.at(207)))
    #expect(harness.model.isWhole)
  }

  @Test func `any other newest page leaves a gap, closed by pages that reach the stored messages`()
    throws
  {
    var harness = Self.filledUp()
    try Self.post(&harness)
    try Self.connect(&harness)
    let page = [Harness.other(207, "mine"), Harness.other(206)]
    harness.answer(Page(messages: page, hasNext: true, head: Harness.at(207)))
    #expect(
      harness.model.gaps == [
        ShopGap(after: Harness.message(208).key, before: Harness.other(206).key)
      ])
    #expect(harness.model.recovery.cursor.position == Harness.at(207))
    harness.effects = []
    harness.give(.loadOlder)
    let others = [Harness.other(205), Harness.message(204)]
    harness.answer(Page(messages: others, hasNext: true, head: Harness.at(207)))
    #expect(
      harness.model.gaps == [
        ShopGap(after: Harness.message(208).key, before: Harness.other(206).key)
      ])
    harness.answer(Harness.page([203, 202], head: 207, hasNext: true))
    harness.answer(Harness.page([88], head: 207, hasNext: true))
    let queries = [UInt64(206), 204, 202].map { PageQuery.before(Harness.at($0), limit: 50) }
    #expect(harness.fetches.map(\.query) == queries)
    #expect(harness.model.gaps == [])
  }

  @Test func `a launch with a cursor of a replaced log fetches the newest page`() {
    let stored = (UInt64(1)...8).map { Harness.message($0) }
    let snapshot = TimelineSnapshot(messages: stored, cursor: Self.unknown(wholeUntil: 8))
    var harness = Harness.launched(with: snapshot)
    #expect(harness.fetches.map(\.query) == [Self.newest])
    let page = [Harness.other(9), Harness.other(8)]
    harness.answer(Page(messages: page, hasNext: true, head: Harness.at(9)))
    #expect(harness.model.gaps == [ShopGap(after: nil, before: Harness.other(8).key)])
    #expect(harness.model.recovery.cursor.position == Harness.at(9))
  }

  @Test func `an unknown message below the cursor makes the stream ask the server`() {
    var harness = Harness.connected(at: 150)
    harness.receive(Harness.message(101))
    harness.answer(Harness.page(52...101, head: 101, recovered: false))
    #expect(harness.fetches.last?.query == .after(Harness.at(150), limit: 100))
    #expect(harness.texts == (52...101).map { "m\($0)" })
    #expect(harness.model.recovery.cursor.position == Harness.at(101))
  }

  @Test func `keeps a message received below the old cursor during the fetch`() {
    var harness = Harness.connected(at: 150, head: 100)
    harness.receive(Harness.message(101))
    harness.answer(Harness.page(51...100, head: 100, recovered: false))
    harness.answer(Harness.page([101], head: 101))
    #expect(harness.fetches.last?.query == .after(Harness.at(100), limit: 100))
    #expect(harness.texts == (51...101).map { "m\($0)" })
    #expect(harness.model.isWhole)
  }

  @Test(arguments: [(UInt64(149), true, 1), (149, false, 0), (150, true, 0), (151, true, 0)])
  func `after a long absence the newest page of a log that ends before the cursor leaves a gap`(
    head: UInt64, hasNext: Bool, gaps: Int
  ) throws {
    let long = Harness.wall.advanced(by: .seconds(-86_400))
    var harness = Harness(cursor: ShopCursor(position: Harness.at(150), wholeAt: long))
    #expect(harness.fetches.map(\.query) == [.page(number: 1, limit: 100)])
    let page = (head - 99...head).map { Harness.other($0) }
    harness.answer(Page(messages: page, hasNext: hasNext, head: Harness.at(head)))
    #expect(harness.model.gaps.count == gaps)
    #expect(harness.model.recovery.cursor.position == Harness.at(head))
  }

  // MARK: Extreme offsets and gaps

  @Test(arguments: [UInt64.max - 1, .max])
  func `nothing follows the largest offset`(offset: UInt64) {
    var harness = Harness()
    harness.connect(Harness.page([offset], head: offset), head: Harness.at(offset))
    harness.receive(Harness.message(.max))
    harness.receive(Harness.message(.max))
    #expect(harness.model.recovery.cursor.position == Harness.at(.max))
    #expect(harness.model.recovery.ahead == [])
  }

  @Test func `a page that reaches the largest offset ends there`() {
    var harness = Harness.connected(at: .max - 3)
    harness.receive(Harness.message(.max))
    harness.answer(Harness.page([.max - 2, .max - 1, .max], head: .max, hasNext: true))
    #expect(harness.model.recovery.cursor.position == Harness.at(.max))
    #expect(harness.fetches.last?.query == .after(Harness.at(.max), limit: 100))
  }

  @Test(arguments: [(40, [40, 50]), (50, [50])] as [(UInt64, [UInt64])])
  func `a gap that shrinks past an older one stands below it, and ends where they meet`(
    first: UInt64, edges: [UInt64]
  ) {
    var model = StreamModel(settings: StreamHarness.settings, seed: 1)
    _ = model.handle(.open(at: Harness.wall), at: .zero)
    let gaps = [UInt64(50), 100].map { ShopGap(after: nil, before: Harness.message($0).key) }
    let messages = (Array(50...60) + Array(100...110)).map { Harness.message($0) }
    _ = model.handle(.loaded(TimelineSnapshot(messages: messages, gaps: gaps)), at: .zero)
    let asked = model.handle(.loadOlder, at: .zero)
    let query = PageQuery.before(Harness.at(100), limit: 50)
    #expect(asked.contains(.fetch(FetchID(model.requests.last), query)))
    let page = Harness.page(first...99, head: 110, hasNext: true)
    _ = model.handle(.fetched(FetchID(model.requests.last), page), at: .zero)
    #expect(model.gaps.map(\.before) == edges.map { Harness.message($0).key })
  }

  @Test func `a page of a log that forgot the cursor is in ascending order without a head, too`() {
    var harness = Harness.connected(at: 50, head: 350)
    let page = (UInt64(251)...350).map { Harness.message($0) }
    harness.answer(Page(messages: page, hasNext: false, head: nil, recovered: false))
    #expect(harness.model.gaps.map(\.before) == [Harness.message(251).key])
  }

  @Test func `messages that a log forgot between two pages leave a gap`() {
    var harness = Harness.connected(at: 50, head: 350)
    harness.answer(Harness.page(51...150, head: 350, hasNext: true))
    harness.answer(Harness.page(251...350, head: 350, recovered: false))
    #expect(
      harness.model.gaps == [
        ShopGap(after: Harness.message(150).key, before: Harness.message(251).key)
      ]
    )
    #expect(harness.model.recovery.cursor.position == Harness.at(350))
  }
}
