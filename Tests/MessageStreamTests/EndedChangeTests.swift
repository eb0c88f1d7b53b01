import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastMessageStream

/// Tests of edits and deletions whose message was deleted, and of those that a later one replaces.
struct EndedChangeTests {
  @Test(arguments: Shop.Kind.allCases)
  func `an edit of a message that is known to be deleted ends at once`(kind: Shop.Kind) {
    var world = OwnChangeTests.world(kind)
    let id = world.post("one")
    world.delete(id)
    world.pass(.seconds(5))
    #expect(world.model.isDeleted(id))
    let requests = world.log.posts.count
    world.edit(id, text: "uno")
    world.pass(.seconds(5))
    #expect(world.done.last == .some(nil) && world.log.posts.count == requests)
    #expect(world.model.outbox.entries == [] && world.model.outbox.refused == [])
    #expect(world.failures == [] && world.disk.outbox == [])
  }

  @Test func `a message that somebody else deleted is known, and one that comes back is not`() {
    var world = OwnChangeTests.world(.ours)
    let id = world.post("one")
    world.delete("one")
    world.pass(.seconds(2))
    #expect(world.model.isDeleted(id))
    world.shop.beginEpoch()
    world.cut()
    world.driveToTheHead()
    #expect(!world.model.isDeleted(id), "another log may have it")
  }

  @Test func `the deletion of an unknown message is not reported as done`() {
    var world = OwnChangeTests.world(.ours)
    let unknown = MessageID(high: 99, low: 99)
    world.delete(unknown)
    world.pass(.seconds(5))
    #expect(world.done.last == .some(nil) && world.disk.outbox == [])
    #expect(!world.model.isDeleted(unknown), "it may never have existed")
    world.edit(unknown, text: "x")
    world.pass(.seconds(5))
    #expect(world.log.posts.count == 2 && world.done.count == 2)
  }

  @Test(arguments: [false, true])
  func `an earlier edit that failed ends with a later change that succeeds`(deletes: Bool) throws {
    var harness = Harness.connected(at: 5) { $0.wantsEvents = true }
    harness.receive(Harness.message(6))
    let target = Harness.message(6).id
    let (first, second) = (UUID128(high: 2, low: 1), UUID128(high: 2, low: 2))
    harness.give(.edit(id: first, target, text: "a", at: Harness.wall))
    if deletes {
      harness.give(.delete(id: second, target, at: Harness.wall))
    } else {
      harness.give(.edit(id: second, target, text: "b", at: Harness.wall))
    }
    harness.fail(first, .http(status: 409, retryAfter: nil, detail: "because"))
    #expect(harness.model.outbox.entries.map(\.id) == [first, second])
    let isDone: Bool
    if deletes {
      harness.give(
        .deleted(
          second,
          ShopDeletion(
            id: target, shop: Harness.message(6).shop, position: Harness.at(6),
            changed: Harness.at(7))))
      isDone = harness.updates.contains(.outboxDone(second, message: target))
    } else {
      var edit = Harness.message(6, text: "b")
      (edit.isEdited, edit.changed) = (true, Harness.at(7))
      harness.give(.edited(second, edit))
      isDone = harness.updates.contains(.outboxDone(second, message: target))
    }
    #expect(isDone && harness.updates.contains(.outboxDone(first, message: nil)))
    #expect(harness.model.outbox.entries == [])
    #expect(Set(harness.commits.flatMap(\.outboxRemove)) == [first, second])
  }

  @Test func `a later edit that was refused stays when an earlier one succeeds`() throws {
    var harness = Harness.connected(at: 5)
    let target = Harness.message(5).id
    let (first, second) = (UUID128(high: 2, low: 1), UUID128(high: 2, low: 2))
    harness.give(.edit(id: first, target, text: "a", at: Harness.wall))
    harness.give(.edit(id: second, target, text: "", at: Harness.wall))
    harness.give(.edited(first, nil))
    #expect(harness.model.outbox.entries == [])
    #expect(harness.model.outbox.refused.map(\.id) == [second])
  }

  @Test(arguments: [403, 409, 500])
  func `an edit under way ends with any failure once its message was deleted`(status: Int) throws {
    var harness = Harness.connected(at: 5) { $0.wantsEvents = true }
    harness.receive(Harness.message(6))
    let (edit, message) = (UUID128(high: 2, low: 1), Harness.message(6))
    harness.give(.edit(id: edit, message.id, text: "a", at: Harness.wall))
    let attempt = try #require(harness.model.link.currentAttempt)
    harness.give(
      .frame(
        attempt,
        .deleted(
          ShopDeletion(
            id: message.id, shop: message.shop, position: Harness.at(6), changed: Harness.at(7)))))
    #expect(harness.model.outbox.entries.map(\.id) == [edit])
    harness.fail(edit, .http(status: status, retryAfter: nil, detail: "because"))
    #expect(harness.model.outbox.entries == [])
    #expect(harness.updates.contains(.outboxDone(edit, message: nil)))
  }

  @Test func `a failed edit ends when no page of a new log has its message`() {
    var world = OwnChangeTests.world(.ours)
    let id = world.post("one")
    world.say("after")
    world.pass(.seconds(2))
    world.shop.restStatus = .http(status: 403, retryAfter: nil, detail: "not the author")
    world.edit(id, text: "a")
    world.drive { $0.failures.count == 1 }
    world.shop.restStatus = nil
    world.delete("one", silently: true)
    world.shop.beginEpoch()
    world.cut()
    world.driveToTheHead()
    world.pass(.seconds(5))
    #expect(world.disk.messages[id] == nil && world.disk.outbox == [])
    #expect(world.model.outbox.entries == [] && world.done.last == .some(nil))
    #expect(world.ledger.problems == [])
  }

  @Test func `a bounded number of deletions is remembered, and the newest ones`() {
    var deletions = RecentDeletions()
    let ids = (0...UInt64(RecentDeletions.limit)).map { MessageID(high: 1, low: $0) }
    for id in ids.dropLast(2) + [ids[0]] { deletions.note(id) }
    #expect(deletions.count == RecentDeletions.limit - 1)
    deletions.note(ids[RecentDeletions.limit - 1])
    #expect(deletions.count == RecentDeletions.limit && deletions.contains(ids[0]))
    deletions.note(ids[RecentDeletions.limit])
    #expect(deletions.count == RecentDeletions.limit && !deletions.contains(ids[0]))
    #expect(ids.dropFirst().allSatisfy { deletions.contains($0) })
    deletions.forget([ids[0], ids[1]])
    #expect(deletions.count == RecentDeletions.limit - 1 && !deletions.contains(ids[1]))
    var check = InvariantCheck(.thorough)
    deletions.check(&check)
    #expect(check.broken == [])
  }
}

/// Tests of edits that a plain server accepts. Its answer has no message.
struct AcceptedTextTests {
  @Test func `the store gets the text of a message that is not in memory`() {
    var world = StreamHarness.connected(.plain) { $0.memory = 10 }
    let id = world.post("one")
    for number in 1...20 { world.say("n\(number)") }
    world.pass(.seconds(5))
    #expect(world.model.timeline[id] == nil && world.texts.contains("one"))
    world.edit(id, text: "uno")
    world.pass(.seconds(5))
    #expect(world.disk.messages[id]?.text == "uno")
    #expect(world.disk.messages[id]?.isEdited == true && world.disk.outbox == [])
    #expect(world.texts.contains("uno") && !world.texts.contains("one"))
    #expect(world.ledger.problems == [])
  }

  @Test(arguments: Shop.Kind.allCases)
  func `the store gets the text while the app leaves updates unread`(kind: Shop.Kind) {
    var world = OwnChangeTests.world(kind)
    let id = world.post("one")
    world.give(.reader(isBehind: true))
    world.edit(id, text: "uno")
    world.pass(.seconds(5))
    #expect(world.disk.messages[id]?.text == "uno" && world.texts.last == "uno")
    world.give(.reader(isBehind: false))
    world.pass(.seconds(20))
    #expect(world.disk.messages[id]?.text == "uno" && world.texts.last == "uno")
    #expect(world.ledger.problems == [])
  }

  @Test func `the last of several texts counts, and the text of a deleted message does not`() {
    var batch = TimelineBatch()
    let (one, two) = (Harness.message(1).id, Harness.message(2))
    for text in ["a", "b"] { batch.accept(AcceptedText(id: one, text: text)) }
    #expect(batch.change == TimelineChange(texts: [AcceptedText(id: one, text: "b")]))
    #expect(!batch.isEmpty)
    batch.add([two], via: .live)
    batch.accept(AcceptedText(id: two.id, text: "c"))
    #expect(batch.change.messages.map(\.text) == ["c"] && batch.change.texts.count == 1)
    batch.delete(DeletedMessage(id: one))
    batch.accept(AcceptedText(id: one, text: "d"))
    #expect(batch.change.texts == [] && batch.change.deletions.map(\.id) == [one])
    var check = InvariantCheck(.thorough)
    batch.check(&check)
    #expect(check.broken == [])
  }

  @Test func `a later version of the server on its way to the store wins`() {
    var timeline = StoredTimeline()
    let message = Harness.message(1, isPlain: true)
    _ = timeline.commit(TimelineChange(messages: [message]))
    let text = AcceptedText(id: message.id, text: "uno")
    var (same, later) = (message, message)
    (later.text, later.updatedAt) = ("later", message.createdAt.advanced(by: .seconds(1)))
    (later.isEdited, same.username) = (true, "x")
    let first = timeline.commit(TimelineChange(messages: [same], texts: [text]))
    #expect(first.rewritten.map(\.text) == ["uno"] && first.edited == [message.id])
    #expect(timeline.messages[message.id]?.text == "uno")
    #expect(timeline.commit(TimelineChange(texts: [text])) == TimelineCommit())
    let other = AcceptedText(id: message.id, text: "dos")
    let last = timeline.commit(TimelineChange(messages: [later], texts: [other]))
    #expect(last.rewritten.map(\.text) == ["later"] && last.edited == [message.id])
    let unknown = AcceptedText(id: Harness.message(9).id, text: "x")
    #expect(timeline.commit(TimelineChange(texts: [unknown])) == TimelineCommit())
  }
}
