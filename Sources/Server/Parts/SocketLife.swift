package import HoldfastCore

/// The state of an accepted socket: its keep-alive and its closing handshake.
package struct SocketLife: Sendable, Equatable {
  /// The intervals that a service's policy sets for its sockets.
  package struct Timing: Sendable {
    /// The time between two pings.
    var pingInterval: Duration
    /// The time without any received byte after which a socket is dropped.
    var pongWait: Duration
    /// The time limit for the answer to a close frame.
    var closeWait: Duration

    package init(pingInterval: Duration, pongWait: Duration, closeWait: Duration) {
      self.pingInterval = pingInterval
      self.pongWait = pongWait
      self.closeWait = closeWait
    }
  }

  package enum Phase: Sendable, Equatable {
    /// The socket is open. Exits: closing, dropped, gone.
    case open(lastReceived: Instant, nextPing: Instant)
    /// A close frame was sent. Exits: dropped, gone.
    case closing(dropAt: Instant)
  }

  /// The action that is due when an alarm fires.
  package enum Alarm: Sendable, Equatable {
    /// Nothing is due yet.
    case early
    /// A ping is due.
    case ping
    /// No byte arrived within the pong wait, so the socket must be dropped.
    case silent
    /// The close frame was not answered, so the socket must be dropped.
    case unanswered
  }

  private(set) var phase: Phase

  /// Creates a socket that opens at `now`.
  package init(at now: Instant, _ timing: Timing) {
    phase = .open(lastReceived: now, nextPing: now.advanced(by: timing.pingInterval))
  }

  package var isOpen: Bool {
    switch phase {
    case .open: true
    case .closing: false
    }
  }

  /// The time of the last received byte, or `nil` if the socket is not open.
  package var lastReceived: Instant? {
    switch phase {
    case .open(let lastReceived, _): lastReceived
    case .closing: nil
    }
  }

  /// Records a received byte. The alarm is not moved. It fires early and is then set again.
  package mutating func received(at now: Instant) {
    guard case .open(_, let nextPing) = phase else { return }
    phase = .open(lastReceived: now, nextPing: nextPing)
  }

  /// Starts to close the socket. Returns false if that has already happened.
  package mutating func close(at now: Instant, _ timing: Timing) -> Bool {
    guard isOpen else { return false }
    phase = .closing(dropAt: now.advanced(by: timing.closeWait))
    return true
  }

  /// Handles the alarm that was set for `wake`.
  package mutating func alarm(at now: Instant, _ timing: Timing) -> Alarm {
    switch phase {
    case .closing(let dropAt): return now >= dropAt ? .unanswered : .early
    case .open(let lastReceived, let nextPing):
      guard now < lastReceived.advanced(by: timing.pongWait) else { return .silent }
      guard now >= nextPing else { return .early }
      phase = .open(lastReceived: lastReceived, nextPing: now.advanced(by: timing.pingInterval))
      return .ping
    }
  }

  /// The next instant at which `alarm` must be called.
  package func wake(_ timing: Timing) -> Instant {
    switch phase {
    case .open(let lastReceived, let nextPing):
      min(nextPing, lastReceived.advanced(by: timing.pongWait))
    case .closing(let dropAt): dropAt
    }
  }
}
