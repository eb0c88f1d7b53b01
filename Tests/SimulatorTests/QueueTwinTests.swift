import LinkCore
import Testing

@testable import LinkSimulator

/// The second accounts of queues.
@Suite struct QueueTwinTests {
  private static func parcel(_ number: UInt64, lane: Int = 0) -> QueueParcel {
    QueueParcel(id: UUID128(high: 0, low: number), lane: lane)
  }

  @Test func `the account sends one item of a lane at a time`() {
    var rows = QueueRows(limit: 3)
    let (one, two, other) = (Self.parcel(1), Self.parcel(2), Self.parcel(3, lane: 1))
    for parcel in [one, two, other] {
      #expect(rows.add(parcel) == true)
      #expect(rows.stored(parcel.id) == parcel)
    }
    #expect(rows.add(Self.parcel(4)) == false)
    let ids = Set([one.id, two.id, other.id])
    #expect(rows.take(.zero, .seconds(5), 1, ids) == one)
    #expect(rows.take(.zero, .seconds(9), 1, ids) == other)
    #expect(rows.take(.zero, .seconds(9), 1, ids) == nil)
    #expect(rows.deadline == Instant(nanoseconds: 5_000_000_000))
    #expect(rows.expired(Instant(nanoseconds: 5_000_000_000)) == one.id)
    rows.release(one.id)
    #expect(rows.row(one.id)?.turn == nil)
    #expect(rows.makeSure(ids) == [one.id])
  }

  @Test func `the account of a schedule grows to its cap and ends`() {
    let schedule = Schedule.exponential(
      first: .seconds(1), factor: 2, cap: .seconds(3), jitter: 0.5, floor: .seconds(1), attempts: 3)
    let account = ScheduleAccount(schedule)
    #expect(account.range(0) == .seconds(1)...Duration.milliseconds(1_500))
    #expect(account.range(1) == .seconds(1)...Duration.seconds(3))
    #expect(account.range(2) == .milliseconds(1_500)...Duration.milliseconds(4_500))
    #expect(account.range(3) == nil)
  }

  @Test func `the account of a proven queue hands over up to the window`() {
    var proof = QueueProof()
    for _ in 0..<66 { _ = proof.add(SocketMessage(binary: [1]), isStored: true) }
    #expect(proof.take().count == 64)
    #expect(proof.ask(.zero) == 4_294_967_297)
    #expect(proof.ask(.zero) == nil)
    #expect(proof.proven(4_294_967_297).count == 64)
    #expect(proof.take().count == 2)
    #expect(proof.interrupt(repeats: false) == 2)
    #expect(proof.bytes == 0)
  }

  @Test func `walks of queues return the first difference that they find`() {
    var queue = QueueWalk(Chance(seed: 1))
    #expect(queue.walk(45) == nil)
    queue.compare("the queue", 1, 2)
    queue.compare("the deadline", 3, 4)
    #expect(queue.walk(45) == "the queue is 1, and must be 2")
    var proof = QueueProofWalk(Chance(seed: 1))
    #expect(proof.walk(25) == nil)
    var windows = QueueWindowsWalk(Chance(seed: 1))
    #expect(windows.walk(15) == nil)
  }
}
