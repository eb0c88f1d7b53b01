import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastMessageStream

/// Tests of edits and deletions by the user, which wait in the outbox and are shown at once.
struct OwnChangeTests {
  /// Returns a connected phone with three messages of others.
  static func world(_ kind: Shop.Kind) -> StreamHarness {
    kind == .ours ? .withEvents() : .connected(.plain)
  }

  @Test(arguments: Shop.Kind.allCases)
  func `an edit and a deletion are shown before they are sent, and stored once confirmed`(
    kind: Shop.Kind
  ) {
    var world = Self.world(kind)
    let (first, second) = (world.post("one"), world.post("two"))
    world.net.delay = .seconds(2)
    world.edit(first, text: "uno")
    world.delete(second)
    world.pass(.seconds(1))
    #expect(world.shownTexts.suffix(2) == ["m3", "uno"])
    #expect(world.texts.suffix(2) == ["one", "two"], "the store keeps the server's versions")
    #expect(world.disk.messages[first]?.text == "one")
    #expect(world.disk.outbox.map(\.action) == [.edit(first), .delete(second)])
    world.pass(.seconds(20))
    #expect(world.texts.suffix(2) == ["m3", "uno"])
    #expect(world.disk.messages[first]?.text == "uno" && world.disk.messages[second] == nil)
    #expect(world.disk.outbox == [] && world.shop.changes == 2)
    #expect(world.done.suffix(2) == [first, second])
    if kind == .ours { world.compareEvents() }
    #expect(world.ledger.problems == [])
  }

  @Test(arguments: Shop.Kind.allCases)
  func `the screen shows no earlier text between the overlay and the stored version`(
    kind: Shop.Kind
  ) {
    var world = Self.world(kind)
    let id = world.post("one")
    world.disk.delay = .seconds(1)
    world.edit(id, text: "uno")
    world.drive { $0.shownTexts.last == "uno" }
    var seen: Set<String> = []
    world.drive { world in
      seen.insert(world.shownTexts.last ?? "")
      return world.done == [id, id]
    }
    #expect(seen == ["uno"] && world.texts.last == "uno")
  }

  @Test(arguments: Shop.Kind.allCases)
  func `a refused change is rolled back and says why, and the stream goes on`(kind: Shop.Kind)
    throws
  {
    var world = Self.world(kind)
    let theirs = try #require(world.id(of: "m2"))
    world.edit(theirs, text: "mine")
    world.delete(theirs)
    world.pass(.milliseconds(10))
    #expect(!world.shownTexts.contains("m2") && !world.shownTexts.contains("mine"))
    world.pass(.seconds(20))
    #expect(world.shownTexts == ["m1", "m2", "m3"])
    #expect(world.failures.allSatisfy { $0 == "not the author" })
    #expect(world.model.outbox.entries.map(\.action).last == .delete(theirs))
    #expect(world.status.state == .connected)
    let entries = world.model.outbox.entries
    for entry in entries { world.give(.discard(entry.id)) }
    world.pass(.seconds(1))
    #expect(world.disk.outbox == [])
    #expect(world.texts == ["m1", "m2", "m3"])
  }

  @Test(arguments: Shop.Kind.allCases)
  func `a kill between answer and commit changes nothing twice`(kind: Shop.Kind) {
    var world = Self.world(kind)
    let (first, second) = (world.post("one"), world.post("two"))
    world.edit(first, text: "uno")
    world.drive { $0.shop.changes == 1 }
    world.kill()
    world.pass(.seconds(30))
    world.relaunch()
    world.drive { $0.disk.outbox == [] && $0.model.isSettled }
    #expect(world.shop.changes == 1 && world.texts.suffix(2) == ["uno", "two"])
    world.delete(second)
    world.drive { $0.shop.changes == 2 }
    world.kill()
    world.pass(.seconds(30))
    world.relaunch()
    world.pass(.seconds(30))
    #expect(world.shop.changes == 2 && world.disk.outbox == [])
    #expect(world.texts.last == "uno" && world.disk.messages[second] == nil)
    #expect(world.ledger.problems == [])
  }

  @Test(arguments: Shop.Kind.allCases)
  func `changes made offline wait over a relaunch, in order with messages`(kind: Shop.Kind) {
    var world = Self.world(kind)
    let (first, second) = (world.post("one"), world.post("two"))
    world.change(to: .unreachable)
    world.edit(first, text: "uno")
    world.send("three")
    world.delete(second)
    world.pass(.seconds(60))
    world.kill()
    world.relaunch()
    world.pass(.seconds(60))
    #expect(world.shownTexts.suffix(2) == ["m3", "uno"])
    world.change(to: .reachable(path: PathID("wlan0")))
    world.pass(.seconds(40))
    #expect(world.texts.suffix(2) == ["uno", "three"])
    #expect(
      world.log.posts.suffix(3).map(\.entry.action) == [.edit(first), .post, .delete(second)])
    #expect(world.shop.changes == 2 && world.disk.outbox == [])
  }

  @Test(arguments: [403, 409, 413])
  func `a refusal of a change shows the server's sentence, and does not end the stream`(
    status: Int
  ) {
    var world = Self.world(.ours)
    let id = world.post("one")
    world.shop.restStatus = .http(status: status, retryAfter: nil, detail: "because")
    world.edit(id, text: "uno")
    world.drive { $0.failures.count == 1 }
    #expect(world.failures[0].hasSuffix("because"))
    #expect(world.shownTexts.last == "one" && world.status.state == .connected)
    world.shop.restStatus = nil
    if let entry = world.model.outbox.entries.first { world.give(.retry(entry.id)) }
    world.pass(.seconds(5))
    #expect(world.texts.last == "uno" && world.disk.outbox == [])
  }

  @Test(arguments: [429, 500, 503])
  func `a change is repeated with its key while the server is busy`(status: Int) {
    var world = Self.world(.ours)
    let id = world.post("one")
    world.shop.restStatus = .http(status: status, retryAfter: nil, detail: "busy")
    world.edit(id, text: "uno")
    world.pass(.seconds(10))
    #expect(world.shownTexts.last == "uno" && world.failures == [])
    world.shop.restStatus = nil
    world.pass(.seconds(40))
    #expect(world.texts.last == "uno" && world.shop.changes == 1)
    let edits = world.log.posts.filter { $0.entry.action == .edit(id) }
    #expect(edits.count > 1 && Set(edits.map(\.entry.id)).count == 1)
  }

  @Test(
    arguments: [(404, "no such message"), (404, "the message was deleted"), (410, "")],
    [true, false])
  func `a message that the server does not have any more goes away`(
    answer: (status: Int, text: String), deletes: Bool
  ) {
    var world = Self.world(.ours)
    let id = world.post("one")
    world.shop.restStatus = .http(status: answer.status, retryAfter: nil, detail: answer.text)
    if deletes { world.delete(id) } else { world.edit(id, text: "uno") }
    world.pass(.seconds(5))
    #expect(world.texts == ["m1", "m2", "m3"] && world.disk.messages[id] == nil)
    #expect(world.disk.outbox == [] && world.done.last == (deletes ? id : nil))
    #expect(world.failures == [])
  }

  @Test(arguments: ["", "Not Found", "no such message.", "No such message", "no such route"])
  func `a 404 with any other text is no proof that a message was deleted`(detail: String) {
    var world = Self.world(.ours)
    let id = world.post("one")
    world.shop.restStatus = .http(status: 404, retryAfter: nil, detail: detail)
    world.edit(id, text: "uno")
    let reason = detail.isEmpty ? "the server answered 404" : detail
    world.drive { $0.failures == [reason] }
    #expect(world.failures == [reason] && world.disk.outbox.count == 1)
    #expect(world.texts.last == "one" && world.disk.messages[id]?.text == "one")
  }

  @Test func `an empty or too long text is refused before it is queued`() {
    var world = Self.world(.ours)
    let id = world.post("one")
    world.edit(id, text: "")
    world.edit(id, text: String(repeating: "a", count: 10_001))
    world.pass(.seconds(5))
    #expect(
      world.failures == [
        "it is empty", "it has 10001 characters; a message has at most 10000",
      ])
    #expect(world.shop.changes == 0 && world.shownTexts.last == "one")
    world.edit(id, text: "uno")
    world.pass(.seconds(5))
    #expect(world.model.outbox.refused == [], "a later edit replaces those that were refused")
    #expect(world.texts.last == "uno")
  }
}

/// Tests of several changes of one message.
struct RepeatedChangeTests {
  @Test func `a later edit replaces one that waits`() {
    var world = OwnChangeTests.world(.ours)
    let id = world.post("one")
    world.change(to: .unreachable)
    for text in ["a", "b", "c"] { world.edit(id, text: text) }
    world.pass(.seconds(1))
    #expect(world.disk.outbox.map(\.text) == ["c"] && world.shownTexts.last == "c")
    #expect(world.done.suffix(2) == [nil, nil])
    world.change(to: .reachable(path: PathID("wlan0")))
    world.pass(.seconds(20))
    #expect(world.shop.changes == 1 && world.texts.last == "c")
  }

  @Test func `an edit under way is not replaced, and one that may have arrived is repeated first`()
  {
    var world = OwnChangeTests.world(.ours)
    let id = world.post("one")
    world.net.lag = .seconds(3)
    world.edit(id, text: "a")
    world.drive { $0.shop.changes == 1 }
    world.edit(id, text: "b")
    world.pass(.milliseconds(500))
    #expect(world.shownTexts.last == "b" && world.model.outbox.entries.count == 2)
    world.cut()
    world.change(to: .unreachable)
    world.pass(.seconds(1))
    world.edit(id, text: "c")
    world.pass(.seconds(1))
    #expect(world.disk.outbox.map(\.text) == ["a", "c"])
    world.net.lag = .zero
    world.change(to: .reachable(path: PathID("wlan0")))
    world.pass(.seconds(40))
    #expect(world.texts.last == "c" && world.disk.outbox == [])
    #expect(world.shop.log.last?.text == "c" && world.shop.changes == 2)
    world.compareEvents()
    #expect(world.ledger.problems == [])
  }

  @Test func `a deletion replaces the edits that wait, and no edit follows it`() {
    var world = OwnChangeTests.world(.ours)
    let id = world.post("one")
    world.change(to: .unreachable)
    world.edit(id, text: "a")
    world.pass(.seconds(1))
    world.delete(id)
    world.edit(id, text: "b")
    world.delete(id)
    world.pass(.seconds(1))
    #expect(world.disk.outbox.map(\.action) == [.delete(id)])
    #expect(world.failures == ["the message is being deleted"])
    #expect(world.shownTexts == ["m1", "m2", "m3"])
    world.change(to: .reachable(path: PathID("wlan0")))
    world.pass(.seconds(20))
    #expect(world.texts == ["m1", "m2", "m3"] && world.shop.changes == 1)
    #expect(world.disk.outbox == [] && world.model.outbox.refused == [])
  }

  @Test func `a deletion that is made before the store is read replaces the stored edit`() {
    let (id, edit) = (Harness.message(1).id, UUID128(high: 5, low: 1))
    let entry = OutboxEntry(
      id: edit, shop: Harness.message(1).shop, text: "x", createdAt: Harness.wall,
      action: .edit(id))
    let deletion = UUID128(high: 5, low: 2)
    let harness = Harness.launched(
      with: TimelineSnapshot(
        messages: [Harness.message(1)], cursor: ShopCursor(position: Harness.at(1)),
        outbox: [entry]),
      after: [
        .edit(id: UUID128(high: 5, low: 3), id, text: "y", at: Harness.wall),
        .delete(id: deletion, id, at: Harness.wall),
      ])
    #expect(harness.model.outbox.entries.map(\.id) == [deletion])
    #expect(harness.posts.map(\.id) == [deletion])
    #expect(harness.updates.contains(.outboxDone(edit, message: nil)))
  }

  @Test func `an edit replaces a deletion that failed`() {
    var world = OwnChangeTests.world(.ours)
    let id = world.post("one")
    world.shop.restStatus = .http(status: 403, retryAfter: nil, detail: "no")
    world.delete(id)
    world.drive { $0.failures.count == 1 }
    world.shop.restStatus = nil
    world.edit(id, text: "uno")
    world.pass(.seconds(5))
    #expect(world.texts.last == "uno" && world.disk.outbox == [])
  }

  @Test func `a message that somebody else deletes takes its waiting changes along`() {
    var world = OwnChangeTests.world(.ours)
    let id = world.post("one")
    world.shop.restStatus = .http(status: 403, retryAfter: nil, detail: "not the author")
    world.edit(id, text: "a")
    world.drive { $0.failures.count == 1 }
    world.shop.restStatus = nil
    world.delete("one")
    world.pass(.seconds(2))
    #expect(world.disk.outbox == [] && world.done.last == .some(nil))
    #expect(world.texts == ["m1", "m2", "m3"])
    world.compareEvents()
    #expect(world.ledger.problems == [])
  }

  @Test func `an edit by somebody else in the meantime is replaced by the user's`() {
    var world = OwnChangeTests.world(.ours)
    let id = world.post("one")
    world.shop.restStatus = .http(status: 503, retryAfter: nil, detail: "")
    world.edit(id, text: "mine")
    world.pass(.seconds(1))
    world.edit("one", to: "elsewhere")
    world.pass(.seconds(1))
    #expect(world.texts.last == "elsewhere" && world.shownTexts.last == "mine")
    world.shop.restStatus = nil
    world.pass(.seconds(40))
    #expect(world.texts.last == "mine")
    world.compareEvents()
    #expect(world.ledger.problems == [])
  }

  @Test func `the answer to a change does not hide the backlog that it overtakes`() throws {
    var harness = Harness.connected(at: 5) { $0.wantsEvents = true }
    harness.lose()
    let attempt = try #require(harness.model.link.currentAttempt)
    harness.give(
      .edit(id: UUID128(high: 2, low: 1), Harness.message(5).id, text: "x", at: Harness.wall))
    harness.give(.opened(attempt, head: Harness.at(9), after: Harness.at(5), events: true))
    var edit = Harness.message(5)
    (edit.text, edit.isEdited, edit.changed) = ("x", true, Harness.at(8))
    harness.give(.edited(UUID128(high: 2, low: 1), edit))
    #expect(harness.model.recovery.cursor.position == Harness.at(5))
    for offset in 6...7 as ClosedRange<UInt64> { harness.receive(Harness.message(offset)) }
    harness.give(.frame(attempt, .edited(edit)))
    harness.receive(Harness.message(9))
    #expect(harness.texts.suffix(3) == ["m6", "m7", "m9"])
    #expect(harness.model.recovery.cursor.position == Harness.at(9) && harness.model.isWhole)
  }
}

/// Tests of changes on a plain server, which has neither keys nor events.
struct PlainChangeTests {
  @Test func `an edit that waits claims no message with the same text`() {
    var world = OwnChangeTests.world(.plain)
    let id = world.post("one")
    world.shop.restStatus = .http(status: 500, retryAfter: nil, detail: "")
    world.edit(id, text: "same")
    world.pass(.seconds(2))
    world.shop.restStatus = nil
    let (message, _) = world.shop.accept("same", from: "me", at: world.wall)
    world.sendDown { .frame($0, .message(message)) }
    world.pass(.seconds(40))
    #expect(world.texts.suffix(2) == ["same", "same"] && world.disk.outbox == [])
    #expect(world.shop.changes == 1)
  }

  @Test func `an earlier page does not bring the old text back, and a later version wins`() {
    var world = OwnChangeTests.world(.plain)
    let id = world.post("one")
    world.net.lag = .seconds(2)
    world.give(.refresh)
    world.drive { $0.queue.count > 0 && $0.log.fetches.count > 0 }
    world.edit(id, text: "uno")
    world.pass(.seconds(20))
    world.net.lag = .zero
    #expect(world.texts.last == "uno")
    world.edit("uno", to: "elsewhere")
    world.give(.refresh)
    world.pass(.seconds(20))
    #expect(world.texts.last == "elsewhere" && world.disk.messages[id]?.text == "elsewhere")
    #expect(world.ledger.problems == [])
  }

  @Test func `a change needs no look at the server first`() {
    var harness = Harness(user: "me")
    harness.answer(Harness.plainPage([1, 2]))
    if let attempt = harness.model.link.currentAttempt {
      harness.give(.opened(attempt, head: nil))
    }
    let asked = harness.fetches.count
    harness.give(
      .delete(id: UUID128(high: 2, low: 2), Harness.message(2).id, at: Harness.wall))
    #expect(harness.posts.map(\.action) == [.delete(Harness.message(2).id)])
    harness.give(.deleted(UUID128(high: 2, low: 2), nil))
    #expect(harness.commits.flatMap(\.deletions).map(\.id) == [Harness.message(2).id])
    #expect(harness.fetches.count == asked)
  }
}
