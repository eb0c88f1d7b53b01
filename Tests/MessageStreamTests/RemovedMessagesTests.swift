import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastMessageStream

/// Tests of messages that the server does not keep any more.
@Suite struct RemovedMessagesTests {
  private static let gap = ShopGap(
    after: Harness.message(10).key, before: Harness.message(50).key)

  /// Returns a harness that has message 10, and is connected to a server whose log begins at 50.
  private static func behind(events: Bool = true) -> Harness {
    let stored = Harness.message(10)
    let cursor = ShopCursor(
      position: stored.position, time: stored.createdAt, wholeAt: Harness.wall)
    var settings = StreamHarness.settings
    settings.wantsEvents = events
    var harness = Harness()
    harness.model = StreamModel(settings: settings, seed: 1)
    harness.effects = []
    harness.give(.credentials(.available(expiresIn: nil)))
    harness.give(.open(at: Harness.wall))
    harness.give(.loaded(TimelineSnapshot(messages: [stored], cursor: cursor)))
    if let attempt = harness.model.link.currentAttempt {
      harness.give(.opened(attempt, head: Harness.at(60), events: events))
    }
    return harness
  }

  private static func page(
    _ numbers: [UInt64], hasNext: Bool = false, recovered: Bool = true, through: UInt64? = nil,
    oldest: UInt64? = 50
  ) -> Page {
    Page(
      messages: numbers.map { Harness.message($0) }, hasNext: hasNext, head: Harness.at(60),
      recovered: recovered, through: through.map(Harness.at), oldest: oldest.map(Harness.at))
  }

  private static func shown(_ harness: Harness) -> [StreamUpdate] {
    harness.updates.filter {
      switch $0 {
      case .gap, .gapClosed: true
      case _: false
      }
    }
  }

  @Test(arguments: [true, false])
  func `a catch-up goes on with the oldest message, below a gap that is shown once`(
    events: Bool
  ) throws {
    var harness = Self.behind(events: events)
    harness.answer(Self.page([59, 60], recovered: false))
    let next = try #require(harness.fetches.last?.query)
    let (start, limit) = (Harness.at(49), StreamHarness.settings.catchUpPage)
    #expect(
      next
        == (events ? .changes(after: start, limit: limit) : .after(start, limit: limit)))
    #expect(harness.model.gaps == [])
    #expect(harness.model.recovery.cursor.position == Harness.at(10))
    harness.answer(Self.page([50, 51], hasNext: true, through: events ? 51 : nil))
    #expect(harness.model.gaps == [Self.gap])
    harness.answer(Self.page([52, 60], through: events ? 60 : nil))
    #expect(Self.shown(harness) == [.gap(Self.gap)])
    #expect(harness.model.recovery.cursor.position == Harness.at(60))
    #expect(
      harness.model.timeline.messages.map(\.position?.offset) == [10, 50, 51, 52, 60])
  }

  @Test func `the cursor and the gap are stored together`() throws {
    var harness = Self.behind()
    harness.answer(Self.page([60], recovered: false))
    harness.answer(Self.page([50], hasNext: true, through: 50))
    let moved = try #require(harness.commits.first { $0.cursor?.position?.offset ?? 0 > 10 })
    #expect(moved.gaps == [Self.gap])
    #expect(moved.messages.map(\.position?.offset) == [50])
  }

  @Test(arguments: [(49, 1), (50, 1), (51, 2)] as [(UInt64, Int)])
  func `a position just before the oldest event misses nothing`(oldest: UInt64, fetches: Int) {
    // The phone has everything up to 49.
    var harness = Harness.connected(at: 49, head: 60) { $0.wantsEvents = true }
    let before = harness.fetches.count
    let isKnown = fetches == 1
    harness.answer(
      Self.page(
        [isKnown ? 50 : 60], recovered: isKnown, through: isKnown ? 60 : nil, oldest: oldest))
    #expect(harness.fetches.count - before == fetches - 1)
    #expect(harness.model.gaps == [])
  }

  @Test func `an edit of a message that was posted in the gap adds nothing`() {
    var harness = Self.behind()
    harness.answer(Self.page([60], recovered: false))
    var edited = Harness.message(30)
    (edited.changed, edited.isEdited) = (Harness.at(55), true)
    edited.updatedAt = Harness.wall
    var page = Self.page([50], through: 60)
    page.messages.append(edited)
    harness.answer(page)
    #expect(harness.model.timeline.messages.map(\.position?.offset) == [10, 50])
    #expect(harness.model.gaps == [Self.gap])
  }

  @Test func `without a message after them the gap waits for one`() {
    var harness = Self.behind()
    harness.answer(Self.page([], recovered: false))
    harness.answer(Self.page([], through: 60))
    #expect(harness.model.gaps == [])
    #expect(harness.model.recovery.cursor.position == Harness.at(60))
    harness.receive(Harness.message(61))
    let gap = ShopGap(after: Harness.message(10).key, before: Harness.message(61).key)
    #expect(harness.model.gaps == [gap])
  }

  @Test func `a catch-up that a removal overtakes shows a gap from where it began`() {
    var harness = Self.behind()
    // Message 12 was edited at 30, so that it is left to a later page.
    harness.answer(Self.page([11, 13], hasNext: true, through: 13, oldest: nil))
    let limit = StreamHarness.settings.catchUpPage
    #expect(harness.fetches.last?.query == .changes(after: Harness.at(13), limit: limit))
    harness.answer(Self.page([60], recovered: false))
    #expect(harness.fetches.last?.query == .changes(after: Harness.at(49), limit: limit))
    harness.answer(Self.page([50], through: 60))
    #expect(harness.model.timeline.messages.map(\.position?.offset) == [10, 11, 13, 50])
    #expect(harness.model.gaps == [Self.gap])
  }

  @Test func `the gap ends at the first message of a later page, and no cursor is stored before`()
    throws
  {
    var harness = Self.behind()
    harness.answer(Self.page([60], recovered: false))
    var edited = Harness.message(30)
    (edited.changed, edited.isEdited, edited.updatedAt) = (Harness.at(50), true, Harness.wall)
    var page = Self.page([], hasNext: true, through: 50)
    page.messages = [edited]
    harness.answer(page)
    #expect(harness.model.gaps == [])
    #expect(harness.model.recovery.cursor.position == Harness.at(50))
    harness.answer(Self.page([51, 52], hasNext: true, through: 52))
    let gap = ShopGap(after: Harness.message(10).key, before: Harness.message(51).key)
    #expect(harness.model.gaps == [gap])
    let moved = try #require(harness.commits.first { $0.cursor?.position?.offset ?? 0 > 10 })
    #expect(moved.gaps == [gap])
    harness.answer(Self.page([60], through: 60))
    #expect(Self.shown(harness) == [.gap(gap)])
  }

  @Test func `the reader goes on below such a gap, which stays`() throws {
    var harness = Self.behind()
    harness.answer(Self.page([60], recovered: false))
    harness.answer(Self.page([50, 60], through: 60))
    harness.give(.loadOlder)
    let limit = StreamHarness.settings.historyPage
    #expect(harness.fetches.last?.query == .before(Harness.at(50), limit: limit))
    harness.answer(Self.page([]))
    #expect(harness.model.gaps == [Self.gap])
    #expect(Self.shown(harness) == [.gap(Self.gap)])
    let fetches = harness.fetches.count
    for _ in 0..<3 where harness.model.history.isWanted {
      harness.give(.older([Harness.message(10)]))
    }
    harness.give(.loadOlder)
    #expect(harness.fetches.count == fetches, "no page is asked for again")
    #expect(harness.model.timeline.contains(Harness.message(10).id))
  }

  /// Returns a harness that has messages, and comes back after a month.
  private static func absent(_ numbers: [UInt64]) -> Harness {
    let stored = numbers.map { Harness.message($0) }
    let cursor = ShopCursor(
      position: stored.last?.position, time: stored.last?.createdAt,
      wholeAt: Harness.wall.advanced(by: .seconds(-86_400 * 30)))
    var harness = Harness()
    harness.model = StreamModel(settings: StreamHarness.settings, seed: 1)
    harness.effects = []
    harness.give(.credentials(.available(expiresIn: nil)))
    harness.give(.open(at: Harness.wall))
    harness.give(.loaded(TimelineSnapshot(messages: stored, cursor: cursor)))
    return harness
  }

  @Test func `after a long absence the newest page leaves a gap though nothing follows it`() {
    var harness = Self.absent([10])
    harness.answer(Self.page([60, 50]))
    #expect(harness.model.gaps == [Self.gap])
    #expect(harness.model.recovery.cursor.position == Harness.at(60))
  }

  @Test(arguments: [(10, false), (11, false), (12, true)] as [(UInt64, Bool)])
  func `after a long absence an empty page leaves the gap to the next message`(
    oldest: UInt64, isGap: Bool
  ) throws {
    var harness = Self.absent([10])
    harness.answer(Self.page([], oldest: oldest))
    #expect(harness.model.gaps == [])
    let attempt = try #require(harness.model.link.currentAttempt)
    harness.give(.opened(attempt, head: Harness.at(60)))
    harness.receive(Harness.message(61))
    let gap = ShopGap(after: Harness.message(10).key, before: Harness.message(61).key)
    #expect(harness.model.gaps == (isGap ? [gap] : []))
  }

  /// Returns a message of another log with the same offset.
  private static func moved(_ number: UInt64) -> ShopMessage {
    var message = Harness.message(number)
    message.position = ShopPosition(epoch: "f", offset: number)
    return message
  }

  @Test func `a new log without any message leaves the gap to the next message`() {
    var harness = Self.behind()
    let head = Self.moved(60).position
    harness.answer(Page(messages: [], hasNext: false, head: head, recovered: false, oldest: head))
    #expect(harness.model.gaps == [])
    #expect(harness.model.recovery.cursor.position == head)
    harness.receive(Self.moved(61))
    let gap = ShopGap(after: Harness.message(10).key, before: Harness.message(61).key)
    #expect(harness.model.gaps == [gap])
  }

  @Test func `a new log without its beginning does not close a gap of the earlier log`() {
    let stored = [UInt64(10), 60].map { Harness.message($0) }
    let gap = ShopGap(after: stored[0].key, before: stored[1].key)
    let cursor = ShopCursor(position: stored[1].position, wholeAt: Harness.wall)
    var harness = Harness()
    harness.model = StreamModel(settings: StreamHarness.settings, seed: 1)
    harness.give(.open(at: Harness.wall))
    harness.give(.loaded(TimelineSnapshot(messages: stored, cursor: cursor, gaps: [gap])))
    harness.effects = []
    harness.give(.loadOlder)
    let head = Self.moved(60).position
    harness.answer(Page(messages: [], hasNext: false, head: head, recovered: false))
    let limit = StreamHarness.settings.historyPage
    #expect(harness.fetches.last?.query == .page(number: 1, limit: limit))
    harness.answer(
      Page(
        messages: [Self.moved(60), Self.moved(50)], hasNext: false, head: head,
        oldest: Self.moved(50).position))
    #expect(harness.model.gaps == [Self.gap])
    #expect(Self.shown(harness) == [])
  }

  @Test(arguments: [nil, 10] as [UInt64?])
  func `a new log without its beginning removes nothing that the phone keeps below it`(
    oldest: UInt64?
  ) {
    var harness = Self.absent([5, 10])
    func position(_ offset: UInt64) -> ShopPosition { ShopPosition(epoch: "f", offset: offset) }
    let messages = [UInt64(60), 10].map { number in
      var message = Harness.message(number)
      message.position = position(number)
      return message
    }
    harness.answer(
      Page(
        messages: messages, hasNext: false, head: position(60), oldest: oldest.map(position)))
    let covered = harness.commits.flatMap(\.covered)
    #expect(covered.map(\.start) == [oldest == nil ? nil : Harness.message(10).key])
  }
}
