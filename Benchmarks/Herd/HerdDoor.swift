import HoldfastCore

/// The server from the point of view of the herd. It is away, or accepts clients up to its
/// capacity.
struct HerdDoor: Sendable {
  let outage: Outage
  let door: Door
  /// The time at which the server accepts connections again.
  let back: Instant
  private var second: Int64 = -1
  private var taken = 0
  private var free = Instant.zero
  private var queue: [Waiting] = []
  private var head = 0

  /// A client in the queue.
  struct Waiting: Sendable {
    var index: Int
    var number: UInt32
  }

  enum Admission: Sendable {
    case accepted, busy, queued
  }

  /// The backend's response when its capacity is used up.
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

  /// The time at which the first client in the queue is accepted.
  var turn: Instant { head < queue.count ? free : .never }

  /// Removes and returns the first client in the queue.
  mutating func takeFirst() -> Waiting {
    let first = queue[head]
    head += 1
    if head > 65_536, head > queue.count / 2 {
      queue.removeFirst(head)
      head = 0
    }
    return first
  }

  /// Records that a client was accepted, which delays the next one.
  mutating func takeTurn(at now: Instant) {
    guard let capacity = door.capacity else { return }
    free = Instant(nanoseconds: now.nanoseconds + 1_000_000_000 / Int64(capacity))
  }
}
