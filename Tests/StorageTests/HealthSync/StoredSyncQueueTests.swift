import HoldfastCore
import HoldfastHealthSamples
import HoldfastSyncData
import HoldfastUploads
import Testing

/// Tests of a phone's queue as a value, with changes applied one at a time.
@Suite struct StoredSyncQueueTests {
  private static func time(_ second: Int64) -> Timestamp {
    Timestamp(nanoseconds: second * 1_000_000_000)
  }

  private static func batch(_ file: String, _ type: String = "b", _ position: UInt64 = 1)
    -> QueuedBatch
  {
    QueuedBatch(file: file, type: type, position: position, records: 10, deletions: 2, bytes: 99)
  }

  private static func queue(_ steps: SyncQueueStep...) -> StoredSyncQueue {
    var queue = StoredSyncQueue()
    for step in steps { queue.apply(step) }
    return queue
  }

  @Test func `omitted values are empty`() {
    let queue = StoredSyncQueue()
    #expect((queue.asked, queue.types, queue.batches) == ([], [], []))
    #expect(queue.stamp == Timestamp(nanoseconds: .min))
    #expect(
      SyncedType(type: "b") == SyncedType(type: "b", anchor: nil, synced: 0, lastAccepted: nil))
    #expect(Self.batch("1").quarantined == nil)
    #expect(QueuedBatch.distance == 1_048_576)
  }

  @Test func `a queue from its parts is the one that changes made`() {
    let anchor = HealthAnchor([1])
    let made = Self.queue(
      .ask(["b", "a"]), .anchor(type: "b", anchor), .add(Self.batch("1")), .stamp(Self.time(3)))
    let parts = StoredSyncQueue(
      asked: ["b", "a"], types: [SyncedType(type: "b", anchor: anchor)],
      batches: [Self.batch("1")], stamp: Self.time(3))
    #expect(made == parts)
    #expect(made.asked == ["b", "a"])
    #expect(Self.queue(.ask(["b"]), .ask(["a"])).asked == ["a"])
  }

  @Test func `types are ordered by name, batches by type, place and file`() {
    let queue = Self.queue(
      .anchor(type: "c", HealthAnchor([1])), .anchor(type: "a", HealthAnchor([2])),
      .add(Self.batch("4", "b", 2)), .add(Self.batch("3", "b", 1)), .add(Self.batch("2", "b", 1)),
      .add(Self.batch("1", "c", 0)))
    #expect(queue.types.map(\.type) == ["a", "c"])
    #expect(queue.batches.map(\.file) == ["2", "3", "4", "1"])
  }

  @Test func `an accepted batch leaves the queue and is counted`() {
    var queue = Self.queue(
      .anchor(type: "b", HealthAnchor([1])), .add(Self.batch("1")), .add(Self.batch("2")))
    queue.apply(.accept(file: "1", at: Self.time(5)))
    queue.apply(.accept(file: "1", at: Self.time(6)))
    #expect(queue.batches.map(\.file) == ["2"])
    let expected = SyncedType(
      type: "b", anchor: HealthAnchor([1]), synced: 10, lastAccepted: Self.time(5))
    #expect(queue.types == [expected])
    queue.apply(.accept(file: "2", at: Self.time(7)))
    #expect(queue.types.first?.synced == 20)
    #expect(queue.types.first?.lastAccepted == Self.time(7))
    let unknown = Self.queue(.add(Self.batch("1")), .accept(file: "1", at: Self.time(5)))
    #expect(unknown.types == [SyncedType(type: "b", synced: 10, lastAccepted: Self.time(5))])
  }

  @Test func `removing an anchor resets the counts of its type`() {
    var queue = Self.queue(
      .add(Self.batch("1")), .accept(file: "1", at: Self.time(5)),
      .anchor(type: "b", HealthAnchor([1])))
    #expect(queue.types.first?.synced == 10)
    queue.apply(.anchor(type: "b", HealthAnchor([2])))
    #expect(queue.types.map(\.anchor) == [HealthAnchor([2])])
    #expect(queue.types.first?.synced == 10)
    queue.apply(.anchor(type: "b", nil))
    #expect(queue.types == [])
  }

  @Test func `another owner begins without anchors, from the earliest sample on`() {
    let (first, second) = (SyncOwner(server: "a"), SyncOwner(server: "b", user: "u", epoch: "e"))
    var queue = Self.queue(
      .anchor(type: "b", HealthAnchor([1])), .earliest(type: "b", Self.time(4)),
      .earliest(type: "b", Self.time(5)), .add(Self.batch("1")), .own(first, again: false))
    #expect(queue.owner == first)
    #expect(queue.types.map(\.anchor) == [HealthAnchor([1])])
    queue.apply(.own(second, again: true))
    #expect(queue.owner == second)
    #expect(queue.types == [SyncedType(type: "b", earliest: Self.time(4))])
    #expect(queue.batches.map(\.file) == ["1"])
  }

  @Test func `quarantines, releases and removes a batch`() {
    var queue = Self.queue(.add(Self.batch("1")), .add(Self.batch("2")))
    queue.apply(.quarantine(file: "1", reason: "refused"))
    queue.apply(.quarantine(file: "9", reason: "refused"))
    #expect(queue.batches.map(\.quarantined) == ["refused", nil])
    queue.apply(.quarantine(file: "1", reason: nil))
    #expect(queue.batches.map(\.quarantined) == [nil, nil])
    queue.apply(.remove(file: "1"))
    queue.apply(.remove(file: "9"))
    #expect(queue.batches.map(\.file) == ["2"])
    #expect(queue.types == [], "it was not accepted")
    var larger = Self.batch("2")
    larger.records = 11
    queue.apply(.add(larger))
    #expect(queue.batches == [larger])
  }

  @Test func `keeps the newest stamp`() {
    #expect(
      Self.queue(.stamp(Self.time(3)), .stamp(Self.time(2))).stamp == Self.time(3))
    #expect(Self.queue(.stamp(Self.time(2)), .stamp(Self.time(3))).stamp == Self.time(3))
  }
}
