import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastMessageStream

/// Tests of the overlay that shows the user's edits and deletions.
struct PendingChangesTests {
  private static let message = Harness.message(1)

  private static func entry(
    _ number: UInt64, _ action: OutboxEntry.Action, _ text: String = "",
    _ state: OutboxEntry.State = .queued(tries: 0)
  ) -> OutboxEntry {
    OutboxEntry(
      id: UUID128(high: 3, low: number), shop: message.shop, text: text, createdAt: Harness.wall,
      state: state, action: action)
  }

  @Test func `shows the newest edit, and the server's text once it is done or has failed`() {
    let id = Self.message.id
    var pending = PendingChanges()
    #expect(pending.isEmpty && pending.shown(Self.message) == Self.message)
    #expect(pending.take(.outbox(Self.entry(1, .edit(id), "a"))) == id)
    #expect(pending.take(.outbox(Self.entry(2, .edit(id), "b"))) == id)
    #expect(pending.shown(Self.message)?.text == "b")
    #expect(pending.shown(Self.message)?.isEdited == true)
    #expect(pending.take(.outbox(Self.entry(2, .edit(id), "b", .failed(reason: "no")))) == id)
    #expect(pending.shown(Self.message)?.text == "a")
    #expect(pending.entry(of: id)?.state == .failed(reason: "no"))
    #expect(pending.take(.outboxDone(UUID128(high: 3, low: 1), message: id)) == id)
    #expect(pending.shown(Self.message) == Self.message)
    #expect(pending.take(.outboxDone(UUID128(high: 3, low: 2), message: nil)) == id)
    #expect(pending.isEmpty && pending.entry(of: id) == nil)
  }

  @Test func `hides a deleted message until the deletion fails`() {
    let id = Self.message.id
    var pending = PendingChanges([Self.entry(1, .edit(id), "a"), Self.entry(2, .delete(id))])
    #expect(pending.shown(Self.message) == nil)
    #expect(pending.shown(Harness.message(2)) == Harness.message(2))
    pending.take(.outbox(Self.entry(2, .delete(id), "", .failed(reason: "no"))))
    #expect(pending.shown(Self.message)?.text == "a")
  }

  @Test func `messages that wait and other updates change nothing`() {
    var pending = PendingChanges([Self.entry(1, .post, "new")])
    #expect(pending.isEmpty)
    #expect(pending.take(.outbox(Self.entry(1, .post, "new"))) == nil)
    #expect(pending.take(.outboxDone(UUID128(high: 9, low: 9), message: nil)) == nil)
    #expect(pending.take(.history(hasMore: true)) == nil)
    #expect(pending.isEmpty)
  }
}
