import LinkCore
import LinkWire

/// One socket, from the wish to upgrade to its end.
struct Connection: Sendable {
  let membership: Membership
  /// When its token ends; judged once, at the upgrade, so that a jumping clock cuts nobody off.
  let expiresAt: Instant
  var phase: Phase

  enum Phase: Sendable {
    /// Waits for the head of its shop. Exits: open, refused, gone.
    case waiting
    /// Gets every message. Exits: closing, dropped, gone.
    case open(lastHeard: Instant, nextPing: Instant)
    /// Was sent a close frame. Exits: dropped, gone.
    case closing(dropAt: Instant)
  }

  /// The next instant at which something may be due.
  func wake(_ policy: ShopServerPolicy) -> Instant? {
    switch phase {
    case .waiting: nil
    case .open(let lastHeard, let nextPing):
      min(expiresAt, nextPing, lastHeard.advanced(by: policy.pongWait))
    case .closing(let dropAt): dropAt
    }
  }
}
