import LinkCore
import LinkStorage
import LinkWire
import Testing

@testable import MessageStream

/// Offsets that go back, or stand at the end of all numbers.
struct RewoundLogTests {
  @Test(arguments: [UInt64.max - 1, .max])
  func `the last offset of all is followed by nothing`(offset: UInt64) {
    var hand = Hand()
    hand.connect(Hand.page([offset], head: offset), head: Hand.at(offset))
    hand.hear(Hand.message(.max))
    hand.hear(Hand.message(.max))
    #expect(hand.model.recovery.cursor.position == Hand.at(.max))
    #expect(hand.model.recovery.ahead == [])
  }

  @Test func `a page that leads to the last offset of all ends there, whatever came before`() {
    var hand = Hand.connected(at: .max - 3)
    hand.hear(Hand.message(.max))
    hand.answer(Hand.page([.max - 2, .max - 1, .max], head: .max, hasNext: true))
    #expect(hand.model.recovery.cursor.position == Hand.at(.max))
    #expect(hand.fetches.last?.query == .after(Hand.at(.max), limit: 100))
  }

  @Test func `a log that went back under its epoch is followed from where it stands`() {
    var hand = Hand.connected(at: 150, head: 100)
    hand.answer(Hand.page(51...100, head: 100, recovered: false))
    #expect(hand.model.recovery.cursor.position == Hand.at(100))
    for number in UInt64(101)...160 { hand.hear(Hand.message(number)) }
    #expect(hand.texts == (51...160).map { "m\($0)" })
    #expect(hand.model.recovery.cursor.position == Hand.at(160))
    #expect(hand.model.recovery.ahead == [])
  }

  /// Messages 141 to 150 are kept, and the log was put back to 145 and has grown to 148 again; the
  /// reader has asked for what lies before the last one.
  private static func regrown() -> Hand {
    var hand = Hand.connected(at: 140)
    for number in UInt64(141)...150 { hand.hear(Hand.message(number)) }
    hand.reconnect(head: 148, settles: false)
    hand.answer(
      Page(
        messages: [other(148, "theirs")], hasNext: false, head: Hand.at(148), recovered: false))
    hand.answer(Hand.page([], head: 148))
    hand.effects = []
    hand.give(.loadOlder)
    return hand
  }

  @Test func `a gap is not closed by other messages at the positions that lie beyond it`() {
    var hand = Self.regrown()
    #expect(hand.fetches.map(\.query) == [.before(Hand.at(148), limit: 50)])
    hand.answer(Page(messages: [Self.other(147, "theirs")], hasNext: true, head: Hand.at(148)))
    #expect(hand.model.gaps.map(\.before) == [Self.other(147, "theirs").key])
  }

  @Test(arguments: [(149, true), (150, false), (151, false)])
  func `older messages of a log that ends before the cursor make the stream look below them`(
    head: UInt64, looks: Bool
  ) {
    var hand = Hand.connected(at: 140)
    for number in UInt64(141)...150 { hand.hear(Hand.message(number)) }
    hand.give(.loadOlder)
    hand.give(.older([]))
    hand.answer(Page(messages: [Self.other(147, "theirs")], hasNext: true, head: Hand.at(head)))
    #expect(hand.model.recovery.cursor.position == Hand.at(looks ? 140 : 150))
    #expect(hand.fetches.map(\.query).contains(.after(Hand.at(140), limit: 100)) == looks)
  }

  @Test func `it is closed by a page with a message that is kept there`() {
    var hand = Self.regrown()
    let page = [Hand.message(145), Self.other(146, "theirs"), Self.other(147, "theirs")]
    hand.answer(Page(messages: page, hasNext: true, head: Hand.at(148)))
    #expect(hand.model.gaps == [])
  }

  @Test(arguments: [(UInt64(149), true, 1), (149, false, 0), (150, true, 0), (151, true, 0)])
  func `after a long absence the newest page of a log that ends before the cursor leaves a gap`(
    head: UInt64, hasNext: Bool, gaps: Int
  ) throws {
    let long = Hand.wall.advanced(by: .seconds(-86_400))
    var hand = Hand(cursor: Cursor(position: Hand.at(150), wholeAt: long))
    #expect(hand.fetches.map(\.query) == [.page(number: 1, limit: 100)])
    let page = (head - 99...head).map { Self.other($0, "theirs") }
    hand.answer(Page(messages: page, hasNext: hasNext, head: Hand.at(head)))
    #expect(hand.model.gaps.count == gaps)
    #expect(hand.model.recovery.cursor.position == Hand.at(head))
  }

  @Test func `a message below the cursor that nobody knows makes it ask the server`() {
    var hand = Hand.connected(at: 150)
    hand.hear(Hand.message(101))
    hand.answer(Hand.page(52...101, head: 101, recovered: false))
    #expect(hand.fetches.last?.query == .after(Hand.at(150), limit: 100))
    #expect(hand.texts == (52...101).map { "m\($0)" })
    #expect(hand.model.recovery.cursor.position == Hand.at(101))
  }

  @Test func `what comes below the old cursor while the server is asked is not lost`() {
    var hand = Hand.connected(at: 150, head: 100)
    hand.hear(Hand.message(101))
    hand.answer(Hand.page(51...100, head: 100, recovered: false))
    hand.answer(Hand.page([101], head: 101))
    #expect(hand.fetches.last?.query == .after(Hand.at(100), limit: 100))
    #expect(hand.texts == (51...101).map { "m\($0)" })
    #expect(hand.model.isWhole)
  }

  /// Messages up to 208 are kept; the socket is lost, and the log is put back.
  private static func filledUp(
    from start: UInt64 = 100, _ change: (inout StreamSettings) -> Void = { _ in }
  ) throws -> Hand {
    var hand = Hand.connected(at: start, change: change)
    for number in start + 1...208 { hand.hear(Hand.message(number)) }
    hand.lose()
    hand.send("mine")
    hand.effects = []
    return hand
  }

  static func other(_ offset: UInt64, _ text: String) -> Message {
    var message = Hand.message(1000 + offset, text: text, user: "me")
    message.position = Hand.at(offset)
    return message
  }

  private static func post(_ hand: inout Hand) throws {
    let entry = try #require(hand.model.outbox.entries.first)
    hand.give(.posted(entry.id, other(207, "mine")))
  }

  @Test func `a post that is given the position of another message shows a log that was put back`()
    throws
  {
    var hand = try Self.filledUp()
    try Self.post(&hand)
    #expect(hand.commits.last?.cursor?.position == Hand.at(106))
    let attempt = try #require(hand.model.link.currentAttempt)
    hand.give(.opened(attempt, head: Hand.at(207)))
    #expect(hand.fetches.last?.query == .after(Hand.at(106), limit: 100))
    let page = [Hand.message(205), Self.other(206, "theirs"), Self.other(207, "mine")]
    hand.answer(Page(messages: page, hasNext: false, head: Hand.at(207)))
    #expect(hand.texts.sorted() == ["mine", "theirs"])
    #expect(hand.model.recovery.cursor.position == Hand.at(207))
    hand.answer(Hand.page([], head: 207))
    #expect(hand.model.isWhole)
  }

  @Test func `pages of other messages lead further back, until one begins with what is kept`()
    throws
  {
    var hand = try Self.filledUp(from: 190) { $0.catchUpPage = 2 }
    try Self.post(&hand)
    let attempt = try #require(hand.model.link.currentAttempt)
    hand.give(.opened(attempt, head: Hand.at(207)))
    for offset in [UInt64(205), 203] {
      let page = [Self.other(offset, "theirs"), Self.other(offset + 1, "theirs")]
      hand.answer(Page(messages: page, hasNext: true, head: Hand.at(207)))
    }
    let queries = Array(hand.fetches.map(\.query).suffix(3))
    let wanted = [UInt64(204), 202, 200].map { PageQuery.after(Hand.at($0), limit: 2) }
    #expect(queries == wanted)
    let page = [Hand.message(201), Self.other(202, "theirs")]
    hand.answer(Page(messages: page, hasNext: true, head: Hand.at(207)))
    #expect(hand.fetches.last?.query == .after(Hand.at(202), limit: 2))
    // The way up again is no reason to go back.
    hand.answer(
      Page(
        messages: [Self.other(203, "theirs"), Self.other(204, "theirs")], hasNext: true,
        head: Hand.at(207)))
    #expect(hand.fetches.last?.query == .after(Hand.at(204), limit: 2))
  }

  @Test func `where memory knows nothing that is still there the newest page comes, and a gap`()
    throws
  {
    var hand = try Self.filledUp(from: 205)
    try Self.post(&hand)
    #expect(hand.commits.last?.cursor?.position == Hand.at(205))
    let attempt = try #require(hand.model.link.currentAttempt)
    hand.give(.opened(attempt, head: Hand.at(207)))
    #expect(hand.fetches.last?.query == .after(Hand.at(205), limit: 100))
    let gone = [Self.other(206, "theirs"), Self.other(207, "mine")]
    hand.answer(Page(messages: gone, hasNext: false, head: Hand.at(207)))
    let lost = Cursor(position: Hand.at(0), wholeAt: Timestamp(nanoseconds: 0))
    #expect(hand.commits.last?.cursor == lost)
    #expect(hand.fetches.last?.query == .page(number: 1, limit: 100))
    let newest = (UInt64(108)...206).map { Self.other($0, "theirs") } + [Self.other(207, "mine")]
    hand.answer(Page(messages: newest, hasNext: true, head: Hand.at(207)))
    #expect(hand.model.gaps == [Gap(after: nil, before: newest[0].key)])
    #expect(hand.model.recovery.cursor.position == Hand.at(207))
  }

  @Test func `a page that leads no lower, since it could not be read, ends the way back`() throws {
    var hand = try Self.filledUp(from: 205)
    try Self.post(&hand)
    let attempt = try #require(hand.model.link.currentAttempt)
    hand.give(.opened(attempt, head: Hand.at(207)))
    #expect(hand.fetches.last?.query == .after(Hand.at(205), limit: 100))
    let page = [Self.other(207, "mine")]
    hand.answer(Page(messages: page, hasNext: false, head: Hand.at(207), rejected: 1))
    #expect(hand.fetches.last?.query == .page(number: 1, limit: 100))
  }

  @Test func `the way back ends at a hole in what is known`() throws {
    var hand = Hand.connected(at: 0)
    for number in UInt64(1)...50 { hand.hear(Hand.message(number)) }
    hand.hear(Hand.message(60))
    hand.answer(Hand.page(55...60, head: 60, rejected: 4))
    hand.hear(Self.other(60, "theirs"))
    #expect(hand.fetches.last?.query == .after(Hand.at(54), limit: 100))
    let page = (UInt64(55)...60).map { Self.other($0, "theirs") }
    hand.answer(Page(messages: page, hasNext: false, head: Hand.at(60)))
    #expect(hand.fetches.last?.query == .page(number: 1, limit: 100))
  }

  @Test func `what is not stored yet shows a log that was put back, too`() throws {
    var hand = Hand.connected(at: 100)
    for number in UInt64(101)...206 { hand.hear(Hand.message(number)) }
    hand.send("mine")
    hand.keepsPromptly = false
    for number in UInt64(207)...208 { hand.hear(Hand.message(number)) }
    hand.lose()
    let entry = try #require(hand.model.outbox.entries.first)
    hand.give(.posted(entry.id, Self.other(208, "mine")))
    #expect(hand.model.recovery.cursor.position == Hand.at(107))
  }

  @Test(arguments: [(40, [40, 50]), (50, [50])] as [(UInt64, [UInt64])])
  func `a gap that shrinks past an older one stands below it, and ends where it meets it`(
    first: UInt64, edges: [UInt64]
  ) {
    var model = StreamModel(settings: StreamHarness.settings, seed: 1)
    _ = model.handle(.open(at: Hand.wall), at: .zero)
    let gaps = [UInt64(50), 100].map { Gap(after: nil, before: Hand.message($0).key) }
    let messages = (Array(50...60) + Array(100...110)).map { Hand.message($0) }
    _ = model.handle(.loaded(TimelineSnapshot(messages: messages, gaps: gaps)), at: .zero)
    let asked = model.handle(.loadOlder, at: .zero)
    let query = PageQuery.before(Hand.at(100), limit: 50)
    #expect(asked.contains(.fetch(FetchID(model.lastFetch), query)))
    let page = Hand.page(first...99, head: 110, hasNext: true)
    _ = model.handle(.fetched(FetchID(model.lastFetch), page), at: .zero)
    #expect(model.gaps.map(\.before) == edges.map { Hand.message($0).key })
  }

  @Test(arguments: [UInt64(0), 1])
  func `a log is asked for from where memory knows it`(start: UInt64) {
    var hand = Hand.connected(at: start)
    for number in start + 1...3 { hand.hear(Hand.message(number)) }
    hand.effects = []
    hand.hear(Self.other(start + 2, "theirs"))
    #expect(hand.fetches.map(\.query) == [.after(Hand.at(start), limit: 100)])
  }

  @Test func `from the beginning of a log no way leads further back`() {
    var hand = Hand.connected(at: 0)
    for number in UInt64(1)...3 { hand.hear(Hand.message(number)) }
    hand.effects = []
    let others = [UInt64(1), 2].map { Self.other($0, "theirs") }
    hand.hear(others[1])
    hand.answer(Page(messages: others, hasNext: false, head: Hand.at(2)))
    #expect(hand.fetches.map(\.query) == [.after(Hand.at(0), limit: 100)])
    #expect(hand.model.recovery.cursor.position == Hand.at(2))
  }

  @Test func `where the lowest place that is known has another message the newest page comes`() {
    var hand = Hand.connected(at: 1)
    for number in UInt64(2)...3 { hand.hear(Hand.message(number)) }
    hand.effects = []
    hand.hear(Self.other(2, "theirs"))
    #expect(hand.fetches.map(\.query) == [.page(number: 1, limit: 100)])
  }

  @Test func `it shows that to a reader who is behind, too`() throws {
    var hand = try Self.filledUp()
    hand.give(.reader(isBehind: true))
    try Self.post(&hand)
    #expect(hand.commits.last?.cursor?.position == Hand.at(106))
  }

  @Test func `what is being asked for is asked for from there`() throws {
    var hand = try Self.filledUp()
    hand.give(.refresh)
    let late = try #require(hand.fetches.last)
    #expect(late.query == .after(Hand.at(208), limit: 100))
    try Self.post(&hand)
    #expect(hand.fetches.last?.query == .after(Hand.at(106), limit: 100))
    hand.give(.fetched(late.id, Hand.page([], head: 208)))
    #expect(hand.model.recovery.cursor.position == Hand.at(106))
  }

  @Test func `a socket that begins with other messages leads further back`() throws {
    var hand = Hand.connected(at: 0) { $0.catchUpPage = 2 }
    for number in UInt64(1)...8 { hand.hear(Hand.message(number)) }
    hand.hear(Self.other(8, "theirs"))
    #expect(hand.model.recovery.cursor.position == Hand.at(5))
    hand.lose()
    hand.give(.fetchFailed(try #require(hand.fetches.last?.id), .reset))
    #expect(hand.named == Hand.at(5))
    let attempt = try #require(hand.model.link.currentAttempt)
    hand.give(.opened(attempt, head: Hand.at(8), after: hand.named))
    #expect(hand.model.recovery.arrears?.end == Hand.at(8))
    hand.hear(Self.other(6, "theirs"))
    #expect(hand.model.recovery.cursor.position == Hand.at(3))
  }

  @Test func `a page of a log that forgot what was asked for reads upwards without a head, too`() {
    var hand = Hand.connected(at: 50, head: 350)
    let page = (UInt64(251)...350).map { Hand.message($0) }
    hand.answer(Page(messages: page, hasNext: false, head: nil, recovered: false))
    #expect(hand.model.gaps.map(\.before) == [Hand.message(251).key])
  }

  @Test func `what a log forgot between two pages is a gap between them`() {
    var hand = Hand.connected(at: 50, head: 350)
    hand.answer(Hand.page(51...150, head: 350, hasNext: true))
    hand.answer(Hand.page(251...350, head: 350, recovered: false))
    #expect(
      hand.model.gaps == [Gap(after: Hand.message(150).key, before: Hand.message(251).key)])
    #expect(hand.model.recovery.cursor.position == Hand.at(350))
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

  @Test func `a socket that begins with other messages at the first offset brings the whole log`()
    throws
  {
    var hand = Hand.connected(at: 0)
    for number in UInt64(1)...3 { hand.hear(Hand.message(number)) }
    hand.hear(Self.other(2, "theirs"))
    #expect(hand.model.recovery.cursor.position == Hand.at(0))
    hand.lose()
    hand.give(.fetchFailed(try #require(hand.fetches.last?.id), .reset))
    let attempt = try #require(hand.model.link.currentAttempt)
    hand.give(.opened(attempt, head: Hand.at(3), after: hand.named))
    for offset in UInt64(1)...3 { hand.hear(Self.other(offset, "theirs")) }
    #expect(hand.model.recovery.cursor.position == Hand.at(3))
    #expect(hand.model.isWhole)
  }
}
