import HoldfastCore

/// The right of a node to use its database, as the shop server knows it.
struct ShopLease: Sendable {
  private(set) var isHeld = true
  /// The time at which a node without a lease closes its sockets; `nil` once it has done so.
  private(set) var deadline: Instant?

  /// Records the end of the lease. Returns false if the node had none.
  mutating func end(leavingAt time: Instant) -> Bool {
    guard isHeld else { return false }
    (isHeld, deadline) = (false, time)
    return true
  }

  /// Records that the node has a lease. Returns false if it had one.
  mutating func take() -> Bool {
    guard !isHeld else { return false }
    (isHeld, deadline) = (true, nil)
    return true
  }

  /// Returns whether the sockets must be closed now, which happens once.
  mutating func leave(at now: Instant) -> Bool {
    guard let time = deadline, time <= now else { return false }
    deadline = nil
    return true
  }
}
