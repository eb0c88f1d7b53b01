import HoldfastMessageData
import HoldfastTestKit
import Testing

@testable import HoldfastCore
@testable import HoldfastMessageStream

/// Tests that each check of a stream and of its parts can fail, and that the checks accept every
/// legal state.
@Suite struct StreamInvariantTests {
  /// A connected model that shows two messages. Its timeline is complete up to offset 10.
  private static var whole: StreamModel {
    var model = Harness.connected(at: 10).model
    model.timeline.insert(Harness.message(1))
    model.timeline.insert(Harness.message(2))
    return model
  }

  private static let stranger = UUID128(high: 9, low: 9)

  private static let plants: [PlantedFault<StreamModel>] = [
    (
      "stream: no two gaps end at the same message",
      { model in
        let keys = [Harness.message(1).key, Harness.message(2).key]
        model.holes = GapList([
          ShopGap(after: nil, before: keys[1]), ShopGap(after: keys[0], before: keys[1]),
        ])
      }
    ),
    (
      "stream: a reader waits only for something under way", { $0.history.isWanted = true }
    ),
    (
      "stream: the store gets no cursor beyond the known one",
      { $0.commits.waiting.change.cursor = ShopCursor(position: Harness.at(11)) }
    ),
    (
      "stream: a cursor goes to the store with the messages that it covers",
      { wait(behind: ShopCursor(position: Harness.at(12)), Harness.message(12), &$0) }
    ),
    ("gate: it is left only in the background", { $0.link.gate.leavesAt = .zero }),
    (
      "recovery: what it remembers beyond the cursor is bounded",
      { $0.recovery.ahead = Set(11...10_011) }
    ),
    ("history: a count is never too low", { $0.history.excess = -1 }),
    ("timeline: messages are in order", { $0.timeline.messages.reverse() }),
    (
      "timeline batch: it knows the ids of its messages",
      { $0.commits.waiting.change.messages.append(Harness.message(12)) }
    ),
    (
      "outbox: it knows nothing of entries that are gone",
      { $0.outbox.sought = [Self.stranger] }
    ),
    (
      "send queue: an item is in it once",
      { model in for _ in 1...2 { _ = model.outbox.queue.add(Harness.entry("twice")) } }
    ),
  ]

  @Test func `detects a broken stream`() {
    #expect(unnoticed(Self.plants, in: Self.whole) == [])
  }

  @Test func `detects a page that was never requested`() {
    let plants: [PlantedFault<StreamModel>] = [
      (
        "stream: a page of a catch-up was numbered",
        { model in
          guard var run = model.recovery.run else { return }
          run.fetch = FetchID(999)
          model.recovery.fetch(run)
        }
      )
    ]
    #expect(unnoticed(plants, in: Harness.connected(at: 10, head: 20).model) == [])
  }

  @Test func `accepts up to 10,000 remembered offsets and messages`() {
    var model = Self.whole
    model.recovery.ahead = Set(12...10_011)
    model.recovery.unplaced = Set((0..<10_000).map { UUID128(high: 1, low: $0) })
    #expect(model.brokenInvariants(.thorough) == [])
  }

  @Test func `detects a link that is wanted before the store was read`() {
    let plants: [PlantedFault<StreamModel>] = [
      (
        "stream: the link is wanted only while the store is open",
        { _ = $0.link.handle(.setIntent(.live), at: .zero) }
      )
    ]
    #expect(unnoticed(plants, in: StreamModel(settings: StreamHarness.settings, seed: 1)) == [])
  }

  /// Passes the cursor at offset 12 to the store, and queues a message and a cursor behind it.
  private static func wait(
    behind next: ShopCursor?, _ message: ShopMessage, via: StreamUpdate.Via = .live,
    _ model: inout StreamModel
  ) {
    model.recovery.cursor.position = Harness.at(12)
    model.commits.waiting.change.cursor = ShopCursor(position: Harness.at(12))
    _ = model.commits.next(at: .zero)
    model.commits.waiting.change.cursor = next
    model.commits.waiting.add([message], via: via)
  }

  private static let allowed: [@Sendable (inout StreamModel) -> Void] = [
    // This is a message of a log that was rolled back.
    { model in
      wait(behind: ShopCursor(position: Harness.at(5)), Harness.message(8), &model)
      model.commits.waiting.isOfNewLog = true
    },
    // These are a message of a page, a message of another log, and an edit of a shown message.
    { wait(behind: nil, Harness.message(8), via: .catchUp, &$0) },
    { model in
      var other = Harness.message(8)
      other.position = ShopPosition(epoch: "f", offset: 8)
      wait(behind: nil, other, &model)
    },
    { model in
      var edit = Harness.message(8)
      edit.updatedAt = edit.createdAt.advanced(by: .seconds(1))
      model.timeline.insert(Harness.message(8))
      wait(behind: nil, edit, &model)
    },
    // This is a position of another log.
    {
      $0.commits.waiting.change.cursor = ShopCursor(position: ShopPosition(epoch: "f", offset: 20))
    },
    // Here a reader waits for a change that is being stored.
    { model in
      model.history.isWanted = true
      model.commits.waiting.feedsHistory = true
    },
  ]

  @Test(arguments: allowed.indices)
  func `accepts states that may wait for the store`(index: Int) {
    var model = Self.whole
    Self.allowed[index](&model)
    #expect(model.brokenInvariants(.thorough) == [])
  }
}
