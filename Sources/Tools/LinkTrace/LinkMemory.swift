import HoldfastCore

/// The state of a link that a teller remembers between observations.
struct LinkMemory {
  /// The facts that began attempts.
  var openFact: [AttemptID: Int] = [:]
  /// The fact that announced the next attempt; `nil` if none is scheduled.
  var waitFact: Int?

  /// The attempts that have not ended, and whether their connections are open. The system can make
  /// a queued connection while another attempt is in progress.
  private var attempts: [AttemptID: Bool] = [:]
  /// The time of the last received byte of each attempt, or that at which it began or opened.
  private var heardAt: [AttemptID: Duration] = [:]
  private var status: LinkStatus?
  /// The last note about the bytes of each connection.
  private var bytes: [AttemptID: (at: Duration, received: UInt64, sent: UInt64)] = [:]

  /// The attempts that have not ended.
  var open: [AttemptID] { attempts.keys.sorted { $0.number < $1.number } }

  mutating func open(_ attempt: AttemptID, at: Duration) {
    (attempts[attempt], heardAt[attempt]) = (false, at)
  }

  mutating func up(_ attempt: AttemptID, at: Duration) {
    (attempts[attempt], heardAt[attempt]) = (true, at)
  }

  func isOpen(_ attempt: AttemptID) -> Bool { attempts[attempt] != nil }
  func isUp(_ attempt: AttemptID) -> Bool { attempts[attempt] ?? false }

  /// Takes a note about the bytes of a connection so far. Returns the time of the note before it,
  /// and the bytes since then.
  mutating func count(
    _ attempt: AttemptID, received: UInt64, sent: UInt64, at: Duration
  ) -> (from: Duration?, received: UInt64, sent: UInt64) {
    let before = bytes[attempt]
    bytes[attempt] = (at, received, sent)
    return (
      before?.at, received - min(before?.received ?? 0, received),
      sent - min(before?.sent ?? 0, sent)
    )
  }

  /// Ends an attempt. Returns whether its connection was open.
  mutating func end(_ attempt: AttemptID) -> Bool {
    heardAt[attempt] = nil
    return attempts.removeValue(forKey: attempt) ?? false
  }

  /// Returns the time since an attempt received its last byte; `nil` if the attempt has ended.
  func quiet(_ attempt: AttemptID, at: Duration) -> Duration? { heardAt[attempt].map { at - $0 } }

  /// Records a received byte of an attempt. Returns the time without any before it.
  mutating func hear(_ attempt: AttemptID, at: Duration) -> Duration? {
    guard let quiet = quiet(attempt, at: at) else { return nil }
    heardAt[attempt] = at
    return quiet
  }

  /// Returns the status if it differs from the last one.
  mutating func change(to status: LinkStatus) -> LinkStatus? {
    guard self.status != status else { return nil }
    self.status = status
    return status
  }
}
