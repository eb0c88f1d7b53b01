import HoldfastCore
import HoldfastStorage
import HoldfastWire
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
    #expect(!commits.holds(edit.id) && !commits.isEdited(by: edit))
    commits.waiting.add([Harness.message(1)], via: .live)
    _ = commits.next(at: .zero)
    #expect(commits.holds(edit.id) && commits.isEdited(by: edit))
    #expect(!commits.isEdited(by: Harness.message(1)))
    commits.waiting.add([edit], via: .live)
    commits.waiting.add([edit], via: .live)
    #expect(commits.count == 2 && commits.messages == [Harness.message(1), edit])
    #expect(!commits.isEdited(by: edit))
  }
}
