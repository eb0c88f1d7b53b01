import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastMessageStream

/// Tests of edits and deletions that a server sends as events.
struct EventTests {
  @Test func `an edit and a deletion from the socket are stored and shown, without a request`() {
    var world = StreamHarness.withEvents(messages: 5)
    world.log = Log()
    world.edit("m2", to: "new")
    world.delete("m4")
    world.pass(.seconds(5))
    #expect(world.texts == ["m1", "new", "m3", "m5"])
    #expect(world.disk.messages.count == 4)
    #expect(world.disk.cursor.position == world.shop.head)
    #expect(world.log.fetches.isEmpty && world.model.isWhole)
    world.compareEvents()
    #expect(world.ledger.problems == [])
  }

  @Test func `a message that arrives and is edited or deleted before it is stored`() {
    var world = StreamHarness.withEvents()
    world.disk.delay = .seconds(2)
    for text in ["a", "b", "c", "d"] { world.say(text) }
    world.edit("b", to: "b2")
    world.delete("a")
    world.pass(.milliseconds(200))
    world.edit("c", to: "c2")
    world.edit("c2", to: "c3")
    world.delete("d")
    world.pass(.seconds(20))
    #expect(world.texts == ["m1", "m2", "m3", "b2", "c3"])
    world.compareEvents()
    #expect(world.ledger.problems == [])
  }

  @Test func `events that concern messages that are not stored only move the cursor`() {
    var world = StreamHarness.withEvents(messages: 80)
    world.log = Log()
    world.edit("m1", to: "new")
    world.delete("m2")
    world.pass(.seconds(5))
    #expect(world.disk.cursor.position == world.shop.head && world.log.fetches.isEmpty)
    #expect(world.disk.messages.count == 50)
    world.scrollToTheBeginning()
    #expect(world.texts == ["new"] + (3...80).map { "m\($0)" })
    world.compareEvents()
    #expect(world.ledger.problems == [])
  }

  @Test(arguments: [0, 5, 80])
  func `deleted messages that the phone posted before it ever followed the shop`(later: Int) {
    var world = StreamHarness(.ours) { $0.wantsEvents = true }
    world.shop.hasEvents = true
    for index in 1...6 {
      world.say("m\(index)", late: .seconds(1_000 - index), silently: true)
    }
    var posted = TimelineChange()
    posted.messages = Array(world.shop.log[2...])
    _ = world.disk.stored.commit(posted)
    world.delete("m4", silently: true)
    world.delete("m6", silently: true)
    world.accumulate(later, named: "later")
    world.launch()
    world.driveToTheHead()
    world.scrollToTheBeginning()
    world.compareEvents()
    #expect(world.texts.count == 4 + later)
    #expect(world.ledger.problems == [])
  }

  @Test func `a deleted message that the phone posted to a new log before it was killed`() {
    var world = StreamHarness.withEvents(messages: 5)
    world.kill()
    world.shop.beginEpoch()
    world.say("m6", silently: true)
    world.say("m7", silently: true)
    var posted = TimelineChange()
    posted.messages = Array(world.shop.log.suffix(2))
    _ = world.disk.stored.commit(posted)
    world.delete("m6", silently: true)
    world.relaunch()
    world.driveToTheHead()
    world.compareEvents()
    #expect(world.texts == ["m1", "m2", "m3", "m4", "m5", "m7"])
    #expect(world.ledger.problems == [])
  }

  @Test func `an edit of a shown message that is no longer in memory`() {
    var world = StreamHarness.withEvents(messages: 60) { $0.memory = 20 }
    world.scrollToTheBeginning()
    world.edit("m3", to: "new")
    world.delete("m5")
    world.pass(.seconds(5))
    #expect(world.texts[2...4] == ["new", "m4", "m6"])
    world.compareEvents()
    #expect(world.ledger.problems == [])
  }

  @Test func `an older version does not replace a later one`() throws {
    var harness = Harness.connected(at: 5) { $0.wantsEvents = true }
    harness.receive(Harness.message(6))
    let attempt = try #require(harness.model.link.currentAttempt)
    var edit = Harness.message(6)
    (edit.text, edit.isEdited, edit.changed) = ("later", true, Harness.at(8))
    edit.updatedAt = edit.createdAt
    harness.give(.frame(attempt, .edited(edit)))
    var earlier = edit
    (earlier.text, earlier.changed) = ("earlier", Harness.at(7))
    earlier.updatedAt = edit.createdAt.advanced(by: .seconds(9))
    harness.give(.frame(attempt, .edited(earlier)))
    #expect(harness.commits.flatMap(\.edits).map(\.text) == ["later"])
  }
}

/// Tests of the events that a phone missed.
struct MissedEventTests {
  @Test func `the socket delivers missed events, which need not be dense`() {
    var world = StreamHarness.withEvents()
    world.cut()
    for text in ["a", "b", "c", "d"] { world.say(text, silently: true) }
    world.edit("a", to: "a2", silently: true)
    world.edit("m1", to: "m1x", silently: true)
    world.edit("m1x", to: "m1y", silently: true)
    world.delete("b", silently: true)
    world.delete("m2", silently: true)
    world.log = Log()
    world.driveToTheHead()
    #expect(world.log.fetches.isEmpty)
    #expect(world.texts == ["m1y", "m3", "a2", "c", "d"])
    #expect(world.disk.cursor.position == world.shop.head && world.disk.cursor.base == nil)
    world.compareEvents()
    #expect(world.ledger.problems == [])
  }

  @Test(arguments: [1, 10, 100, 101, 250])
  func `a catch-up brings each message once and in its last form`(count: Int) {
    var world = StreamHarness.withEvents()
    world.shop.backlog = nil
    world.cut()
    world.accumulate(count, named: "n")
    for number in stride(from: 1, through: count, by: 3) {
      world.edit("n\(number)", to: "e\(number)", silently: true)
      world.delete("n\(number + 1)", silently: true)
    }
    world.log = Log()
    world.driveToTheHead()
    let events = world.shop.log.count + world.shop.tombstones.count - 3
    #expect(world.log.fetches.count == (events + 99) / 100)
    world.compareEvents()
    #expect(world.ledger.shown.count == world.shop.log.count)
    #expect(world.ledger.problems == [])
  }

  @Test func `a catch-up that is cut off between two pages loses no edited message`() {
    for pages in 1...2 {
      var world = StreamHarness.withEvents()
      world.shop.backlog = nil
      world.cut()
      world.accumulate(300, named: "n", apart: .milliseconds(10))
      // Their posts lie on the first page, and their newest events on the last one.
      for number in 1...20 { world.edit("n\(number)", to: "e\(number)", silently: true) }
      world.log = Log()
      world.drive { $0.log.fetches.count > pages && $0.model.isSettled }
      world.kill()
      #expect(world.disk.cursor.base != nil && world.disk.cursor.position != world.shop.head)
      world.relaunch()
      world.driveToTheHead()
      #expect(world.disk.messages.count == 303)
      #expect(world.disk.cursor.base == nil)
      world.compareEvents()
      #expect(world.ledger.problems == [])
    }
  }

  @Test func `a backlog that is cut off loses no edited message`() throws {
    var harness = Harness.connected(at: 5) { $0.wantsEvents = true }
    harness.lose()
    let attempt = try #require(harness.model.link.currentAttempt)
    harness.give(
      .opened(attempt, head: Harness.at(9), after: Harness.at(5), events: true))
    harness.receive(Harness.message(7))
    #expect(harness.commits.last?.cursor?.base == Harness.at(5))
    harness.lose()
    let next = try #require(harness.model.link.currentAttempt)
    #expect(harness.named == Harness.at(7))
    harness.give(.opened(next, head: Harness.at(9), after: Harness.at(7), events: true))
    var edit = Harness.message(6)
    (edit.text, edit.changed, edit.isEdited) = ("e", Harness.at(9), true)
    harness.give(.frame(next, .edited(edit)))
    #expect(harness.commits.last?.messages.map(\.text) == ["e"])
    #expect(harness.commits.last?.cursor?.position == Harness.at(9))
    #expect(harness.model.isWhole && harness.model.recovery.cursor.base == nil)
  }

  @Test func `a frame of a backlog that cannot be read leads to a request`() throws {
    for isOversized in [false, true] {
      var harness = Harness.connected(at: 5) { $0.wantsEvents = true }
      harness.lose()
      let attempt = try #require(harness.model.link.currentAttempt)
      harness.give(.opened(attempt, head: Harness.at(9), after: Harness.at(5), events: true))
      let count = harness.fetches.count
      if isOversized {
        harness.oversize()
      } else {
        harness.give(.frame(attempt, .malformed(.missing(field: "message"))))
      }
      harness.receive(Harness.message(8))
      harness.receive(Harness.message(9))
      #expect(
        harness.fetches.dropFirst(count).map(\.query) == [
          .changes(after: Harness.at(5), limit: 100)
        ])
      #expect(harness.model.recovery.cursor.position == Harness.at(5))
    }
  }

  @Test func `an answer without events is handled like that of an earlier server`() {
    var world = StreamHarness.withEvents()
    world.shop.hasEvents = false
    world.shop.backlog = nil
    world.cut()
    world.accumulate(250, named: "n")
    world.log = Log()
    world.driveToTheHead()
    #expect(world.log.fetches.count == 3)
    #expect(world.texts == world.shop.ordered.map(\.text))
    #expect(world.disk.cursor.base == nil && world.ledger.problems == [])
  }
}

/// Tests of the events of a long absence.
struct MissedWeekTests {
  /// Returns a phone that is launched a week after it was closed, and the time of the launch.
  private static func away(
    mostChanges: Int = 1_000, _ happen: (inout StreamHarness) -> Void
  ) -> StreamHarness {
    var world = StreamHarness.withEvents(messages: 40)
    world.give(.close)
    world.pass(.seconds(5))
    world.kill()
    world.pass(.seconds(7 * 86_400))
    happen(&world)
    world.shop.mostChanges = mostChanges
    world.log = Log()
    world.relaunch()
    world.driveToTheHead()
    return world
  }

  private static func week(_ world: inout StreamHarness) {
    world.accumulate(2_000, named: "n", apart: .milliseconds(10))
    for number in 1...20 { world.edit("m\(number)", to: "e\(number)", silently: true) }
    for number in 21...30 { world.delete("m\(number)", silently: true) }
    for number in 1...500 { world.delete("n\(number)", silently: true) }
    world.edit("n1999", to: "new", silently: true)
  }

  @Test func `a week takes one request, and no deleted message is fetched`() {
    var world = Self.away(Self.week)
    #expect(world.log.fetches.count == 1)
    #expect(world.model.gaps.count == 1)
    #expect(world.disk.messages.count == 30 + 100)
    world.compareEvents()
    world.scrollToTheBeginning()
    world.compareEvents()
    #expect(world.ledger.shown.count == world.shop.log.count)
    #expect(world.ledger.problems == [])
  }

  @Test(arguments: [7, 29, 30, 600])
  func `changes beyond the limit of an answer are requested until none is left`(limit: Int) {
    var world = Self.away(mostChanges: limit, Self.week)
    // The deletions of messages that were never fetched are among the changes.
    #expect(world.log.fetches.count == (530 + limit - 1) / limit)
    #expect(world.model.gaps.count == 1)
    #expect(world.disk.cursor.position == world.shop.head)
    world.compareEvents()
    #expect(world.ledger.problems == [])
  }
}

/// Tests of answers that are older than an event of the socket.
struct OlderAnswerTests {
  @Test func `a page of older messages does not undo a later edit or deletion`() {
    var world = StreamHarness.withEvents(messages: 90)
    world.net.lag = .seconds(3)
    world.give(.loadOlder)
    world.pass(.milliseconds(500))
    world.edit("m30", to: "new")
    world.delete("m31")
    world.pass(.seconds(10))
    #expect(world.texts.prefix(3) == ["m1", "m2", "m3"])
    world.compareEvents()
    #expect(world.ledger.problems == [])
    #expect(world.model.unsettled.isEmpty)
  }

  @Test func `a page of a catch-up does not undo a later edit or deletion`() {
    var world = StreamHarness.withEvents()
    world.shop.backlog = nil
    world.net.lag = .seconds(3)
    world.cut()
    for text in ["a", "b", "c"] { world.say(text, silently: true) }
    world.drive { $0.model.recovery.run != nil && $0.model.link.status.phase == .connected }
    world.pass(.milliseconds(500))
    world.edit("a", to: "new")
    world.delete("b")
    world.delete("m2")
    world.pass(.seconds(30))
    #expect(world.texts == ["m1", "m3", "new", "c"])
    world.compareEvents()
    #expect(world.ledger.problems == [])
  }

  @Test func `more events than are remembered are fetched again`() {
    var world = StreamHarness.withEvents(messages: 90)
    world.net.lag = .seconds(5)
    world.give(.loadOlder)
    world.pass(.milliseconds(500))
    for number in 0..<StreamSettings.unsettled + 10 {
      world.edit(number == 0 ? "m30" : "v\(number - 1)", to: "v\(number)")
      if number % 100 == 0 { world.pass(.milliseconds(60)) }
    }
    world.delete("m31")
    world.pass(.seconds(60))
    world.compareEvents()
    #expect(world.ledger.problems == [])
  }

  @Test(arguments: [false, true])
  func `a repeated post of a deleted message ends its entry`(isRepeated: Bool) throws {
    var harness = Harness.connected(at: 5) { $0.wantsEvents = true }
    harness.send("hello")
    let entry = try #require(harness.posts.first)
    if isRepeated {
      harness.fail(entry.id, .timeout(.response))
      harness.pass(2)
    }
    #expect(harness.posts.count == (isRepeated ? 2 : 1))
    harness.fail(entry.id, .http(status: 410, retryAfter: nil, detail: "the message was deleted"))
    #expect(harness.updates.contains(.outboxDone(entry.id, message: nil)) == isRepeated)
    // Otherwise the answer says nothing about the message, and the user decides.
    #expect(harness.model.outbox.entries.count == (isRepeated ? 0 : 1))
  }
}

/// Tests of gaps whose edges are deleted.
struct GapEdgeTests {
  /// Returns a phone with the messages 1 to 5 and 8 to 9, and a gap between them.
  private static func withGap() -> Harness {
    var harness = Harness()
    harness.model = StreamModel(
      settings: {
        var settings = StreamHarness.settings
        settings.wantsEvents = true
        return settings
      }(), seed: 1)
    harness.effects = []
    harness.give(.credentials(.available(expiresIn: nil)))
    harness.give(.open(at: Harness.wall))
    let messages = [1, 2, 3, 4, 5, 8, 9].map { Harness.message($0) }
    harness.give(
      .loaded(
        TimelineSnapshot(
          messages: messages, cursor: ShopCursor(position: Harness.at(9), wholeAt: Harness.wall),
          gaps: [ShopGap(after: messages[4].key, before: messages[5].key)])))
    harness.connect(Harness.nothing, head: Harness.at(9))
    return harness
  }

  private static func delete(_ numbers: [UInt64], in harness: inout Harness) {
    for (index, number) in numbers.enumerated() {
      guard let attempt = harness.model.link.currentAttempt else { return }
      let message = Harness.message(number)
      harness.give(
        .frame(
          attempt,
          .deleted(
            ShopDeletion(
              id: message.id, shop: message.shop, position: Harness.at(number),
              changed: Harness.at(10 + UInt64(index))))))
    }
  }

  @Test(
    arguments: [
      ([8], 5, 9), ([5], 4, 8), ([5, 8, 4], 3, 9), ([8, 9], 5, 9), ([1, 2, 3, 4, 5], 5, 8),
    ] as [([UInt64], UInt64, UInt64)])
  func `an edge moves to the next message`(deleted: [UInt64], after: UInt64, before: UInt64) {
    var harness = Self.withGap()
    Self.delete(deleted, in: &harness)
    let gap = ShopGap(after: Harness.message(after).key, before: Harness.message(before).key)
    #expect(harness.model.gaps == [gap])
    #expect(harness.commits.compactMap(\.gaps).last ?? [gap] == [gap])
  }

  @Test func `the pages fill a gap whose edge was deleted while they were requested`() {
    var harness = Self.withGap()
    harness.give(.loadOlder)
    #expect(harness.fetches.last?.query == .before(Harness.at(8), limit: 50))
    Self.delete([8], in: &harness)
    harness.answer(Harness.page([7, 6, 5, 4, 3, 2, 1] as [UInt64], head: 9))
    #expect(harness.model.gaps == [])
  }
}
