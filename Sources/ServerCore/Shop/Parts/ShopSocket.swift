import LinkCore
import LinkWire

/// One socket of a shop's stream, from the request to upgrade to its end.
struct ShopSocket: Sendable {
  let membership: Membership
  /// When its token ends; computed once, at the upgrade, so that a jump of the wall clock closes
  /// nothing.
  let expiresAt: Instant
  var phase: Phase

  enum Phase: Sendable {
    /// Waits for the head of its shop. Exits: accepted, refused, gone.
    case waiting
    /// Gets every message until it closes.
    case accepted(SocketLife)
  }

  var isWaiting: Bool {
    switch phase {
    case .waiting: true
    case .accepted: false
    }
  }

  var isOpen: Bool {
    switch phase {
    case .waiting: false
    case .accepted(let life): life.isOpen
    }
  }

  /// The next instant at which something may be due.
  func wake(_ timing: SocketLife.Timing) -> Instant? {
    switch phase {
    case .waiting: nil
    case .accepted(let life):
      life.isOpen ? min(expiresAt, life.wake(timing)) : life.wake(timing)
    }
  }
}
