import LinkCore

/// The server as the herd meets it: away, or with room for so many.
struct HerdDoor: Sendable {
  let outage: Outage
  let door: Door
  /// When it takes connections again.
  let back: Instant
  private var second: Int64 = -1
  private var taken = 0
  private var free = Instant.zero
  private var queue: [Waiting] = []
  private var head = 0

  /// Somebody in the queue.
  struct Waiting: Sendable {
    var index: Int
    var number: UInt32
  }

  enum Admission: Sendable {
    case accepted, busy, queued
  }

  /// What our server answers when it has no room.
  static let busy = LinkFailure.http(status: 503, retryAfter: Door.busyRetry, detail: "too busy")

  init(_ plan: HerdPlan) {
    outage = plan.outage
    door = plan.door
    back = Instant.zero.advanced(by: plan.outage.length)
  }

  func isAway(at now: Instant) -> Bool { now >= .zero && now < back }

  mutating func admit(_ index: Int, _ number: UInt32, at now: Instant) -> Admission {
    guard let capacity = door.capacity, now >= .zero else { return .accepted }
    switch door.whenFull {
    case .refuse:
      let present = now.nanoseconds / 1_000_000_000
      if present != second {
        second = present
        taken = 0
      }
      guard taken < capacity else { return .busy }
      taken += 1
      return .accepted
    case .wait:
      guard head < queue.count || free > now else {
        takeTurn(at: now)
        return .accepted
      }
      queue.append(Waiting(index: index, number: number))
      return .queued
    }
  }

  /// When the first in the queue has its turn.
  var turn: Instant { head < queue.count ? free : .never }

  /// Takes the first out of the queue.
  mutating func takeFirst() -> Waiting {
    let first = queue[head]
    head += 1
    if head > 65_536, head > queue.count / 2 {
      queue.removeFirst(head)
      head = 0
    }
    return first
  }

  /// Somebody was let in: the next one has to wait for their turn.
  mutating func takeTurn(at now: Instant) {
    guard let capacity = door.capacity else { return }
    free = Instant(nanoseconds: now.nanoseconds + 1_000_000_000 / Int64(capacity))
  }
}
