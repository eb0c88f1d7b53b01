import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastMessageStream

/// Tests of the size limits of a batch, and of the lookup of messages that wait to be stored.
struct TimelineBatchTests {
  @Test func `a batch is full with 2,000 messages`() {
    var batch = TimelineBatch()
    batch.add((UInt64(1)...1999).map { Harness.message($0) }, via: .live)
    #expect(!batch.isFull)
    batch.add([Harness.message(2000)], via: .live)
    #expect(batch.isFull)
  }

  /// Uses messages that take 9,741 + 3 + 256 bytes each.
  @Test func `a batch is full with 1 MB, and the next one is empty once it is handed over`() {
    var commits = TimelineCommits()
    let text = String(repeating: "x", count: 9_741)
    commits.waiting.add((UInt64(1)...99).map { Harness.message($0, text: text) }, via: .live)
    #expect(!commits.waiting.isFull)
    commits.waiting.add([Harness.message(100, text: text)], via: .live)
    #expect(commits.waiting.isFull)
    var check = InvariantCheck(.thorough)
    commits.waiting.check(&check)
    #expect(check.broken == [])
    _ = commits.next(at: .zero)
    #expect(!commits.waiting.isFull)
  }

  @Test func `a batch is full with 100 covered parts, and later pages are fetched again`() {
    var harness = Harness.connected(at: 5)
    harness.storesPromptly = false
    harness.receive(Harness.message(6))
    let range = CoveredRange(epoch: "e")
    for _ in 1..<StreamSettings.coveredRanges { harness.model.commits.waiting.cover(range) }
    #expect(!harness.model.takesNoMore)
    harness.model.commits.waiting.cover(range)
    #expect(harness.model.takesNoMore)
    harness.oversize()
    harness.answer(Harness.page([7], head: 7))
    #expect(!harness.model.commits.holds(Harness.message(7).id) && harness.model.recovery.again)
    for _ in 0..<2 { harness.storeLast() }
    #expect(harness.fetches.last?.query == .after(Harness.at(6), limit: 100))
  }

  @Test func `a page of the next log keeps the messages that wait, and removes the others`() {
    var batch = TimelineBatch()
    let logs = ["f", "g"].map { epoch in
      (UInt64(1)...3).map { number in
        var message = Harness.message(number)
        message.position?.epoch = epoch
        return message
      }
    }
    for log in logs {
      let page = log == logs[0] ? log : Array(log.prefix(2))
      batch.cover(CoveredRange(epoch: log[0].position?.epoch ?? ""), with: page)
      batch.add(page, via: .catchUp)
    }
    #expect(batch.change.messages == Array(logs[1].prefix(2)))
    #expect(batch.change.deletions.map(\.id) == [logs[0][2].id])
    #expect(batch.change.covered.map(\.epoch) == ["f", "g"])
    var check = InvariantCheck(.thorough)
    batch.check(&check)
    #expect(check.broken == [])
  }

  @Test func `commits are not done while a batch waits, or while a reader waits for one`() {
    var commits = TimelineCommits()
    #expect(commits.isDone)
    commits.waiting.change.cursor = ShopCursor(time: Harness.wall)
    #expect(!commits.isDone)
    commits.waiting = TimelineBatch()
    commits.waiting.feedsHistory = true
    #expect(!commits.isDone)
  }

  @Test func `a message on its way to the store is known, with its later texts`() {
    var commits = TimelineCommits()
    var edit = Harness.message(1)
    edit.updatedAt = edit.createdAt.advanced(by: .seconds(1))
    #expect(!commits.holds(edit.id) && commits.version(of: edit.id) == nil)
    commits.waiting.add([Harness.message(1)], via: .live)
    _ = commits.next(at: .zero)
    #expect(commits.holds(edit.id) && commits.version(of: edit.id) == Harness.message(1))
    commits.waiting.add([edit], via: .live)
    commits.waiting.add([edit], via: .live)
    #expect(commits.count == 2 && commits.messages == [Harness.message(1), edit])
    #expect(commits.version(of: edit.id) == edit)
  }

  @Test func `a batch stores the latest version of a message, and none of a deleted one`() {
    var batch = TimelineBatch()
    let versions = ([7, 9, 8] as [UInt64]).map { offset in
      var edit = Harness.message(1, text: "v\(offset)")
      edit.changed = Harness.at(offset)
      return edit
    }
    for edit in versions { batch.edit(edit) }
    #expect(batch.change == TimelineChange(edits: [versions[1]]))
    #expect(!batch.holds(versions[0].id))
    batch.add([Harness.message(2)], via: .live)
    var other = versions[2]
    other.id = Harness.message(2).id
    batch.edit(other)
    #expect(batch.change.messages == [other] && batch.change.edits == [versions[1]])
    for message in [other, versions[0]] { batch.delete(DeletedMessage(id: message.id)) }
    batch.delete(DeletedMessage(id: other.id))
    let deletions = [other, versions[0]].map { DeletedMessage(id: $0.id) }
    #expect(batch.change == TimelineChange(deletions: deletions))
    var check = InvariantCheck(.thorough)
    batch.check(&check)
    #expect(check.broken == [])
  }
}
