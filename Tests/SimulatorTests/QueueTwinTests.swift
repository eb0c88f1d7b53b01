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

  @Test func `a queue that knows something else is found`() throws {
    let parcel = Self.parcel(1)
    var (queue, rows) = (SendQueue<QueueParcel>(limit: 3), QueueRows(limit: 3))
    #expect(queue.add(parcel) == rows.add(parcel))
    #expect(queue.stored(parcel.id) == rows.stored(parcel.id))
    let taken = queue.take(at: .zero, timeout: .seconds(5), credentials: 1)
    #expect(taken == rows.take(.zero, .seconds(5), 1, [parcel.id]))
    let changes: [(String, (inout QueueRows) -> Void)] = [
      ("the queue after a step", { $0.remove(parcel.id) }),
      ("what is unsure after a step", { $0.rows[0].isUnsure = true }),
      ("whether it awaits credentials after a step", { $0.isShut = true }),
      ("the deadline after a step", { $0.extend(parcel.id, .zero) }),
      ("what is not stored after a step", { $0.rows[0].isStored = false }),
      ("the try after a step", { $0.rows[0].turn?.number = TryID(9) }),
      ("its credentials after a step", { $0.rows[0].turn?.credentials = 9 }),
      ("whether a try may be after a step", { $0.pause(1, .second(9)) }),
    ]
    let kept = queue
    try QueueWalk.expect(rows, changes) { walk, rows in
      (walk.queue, walk.rows) = (kept, rows)
      walk.look(after: "a step")
    }
  }

  @Test func `a proven queue that knows something else is found`() throws {
    var walk = QueueProofWalk(Chance(seed: 1))
    #expect(walk.walk(25) == nil)
    let odd = ProvenQueue.Entry(id: 0, message: .text("a"))
    try QueueProofWalk.expect(each: [
      (
        "an outbox that was filled",
        { walk in
          walk.disk.add(odd)
          _ = walk.walk(0)
        }
      ),
      (
        "the count after restore",
        { walk in
          _ = walk.proof.add(.text("a"), isStored: true)
          _ = walk.walk(0)
        }
      ),
      (
        "the deadline after restore",
        { walk in
          walk.proof.deadline = .zero
          _ = walk.walk(0)
        }
      ),
    ])
  }

  @Test func `another count of recent events is found`() throws {
    let limits = [AttemptWindow(attempts: 1, per: .seconds(1))]
    var windows = Windows(limits)
    windows.note(at: .zero)
    let next = windows.earliest(at: .zero)
    func act(
      _ what: String?, _ compare: @escaping (inout QueueWindowsWalk) -> Void
    ) throws {
      try QueueWindowsWalk.expect(each: [
        (
          what,
          { walk in
            walk.all = [.zero]
            compare(&walk)
          }
        )
      ])
    }
    try act(nil) { $0.compareNext(next, limits, .zero) }
    try act("the next event at \(Instant.zero)") { $0.compareNext(.zero, limits, .zero) }
    try act(nil) { $0.comparePass(false, limits, .zero) }
    try act("whether an event may be at \(Instant.zero)") {
      $0.comparePass(true, limits, .zero)
    }
  }
}
