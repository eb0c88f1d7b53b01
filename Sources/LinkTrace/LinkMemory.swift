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
  /// The attempt that began or opened last.
  private var current: AttemptID?
  private var heardAt: Duration?
  private var status: LinkStatus?

  /// The attempts that have not ended.
  var open: [AttemptID] { attempts.keys.sorted { $0.number < $1.number } }

  mutating func open(_ attempt: AttemptID, at: Duration) {
    attempts[attempt] = false
    (current, heardAt) = (attempt, at)
  }

  mutating func up(_ attempt: AttemptID, at: Duration) {
    attempts[attempt] = true
    (current, heardAt) = (attempt, at)
  }

  func isOpen(_ attempt: AttemptID) -> Bool { attempts[attempt] != nil }
  func isUp(_ attempt: AttemptID) -> Bool { attempts[attempt] ?? false }

  /// Ends an attempt. Returns whether its connection was open.
  mutating func end(_ attempt: AttemptID) -> Bool {
    if attempt == current { (current, heardAt) = (nil, nil) }
    return attempts.removeValue(forKey: attempt) ?? false
  }

  /// Returns the time since the last received byte; `nil` without a connection.
  func quiet(at: Duration) -> Duration? { heardAt.map { at - $0 } }

  /// Records a received byte. Returns the time without any before it.
  mutating func hear(at: Duration) -> Duration? {
    defer { if current != nil { heardAt = at } }
    return quiet(at: at)
  }

  /// Returns the status if it differs from the last one.
  mutating func change(to status: LinkStatus) -> LinkStatus? {
    guard self.status != status else { return nil }
    self.status = status
    return status
  }
}
