import LinkCore
import LinkWire
import MessageStream

/// Once nothing goes wrong any more everything becomes whole within a stated time, and a stream
/// that was left waits for nothing.
struct Healing {
  private(set) var found = Findings()
  private var calm: Instant?
  private var isWhole = false
  private var isLeft = false

  init() {}
}

extension Healing: Watch {
  mutating func told(_ input: StreamModel.Input, isLate: Bool, _ facts: Facts) {
    if case .close = input { isLeft = true }
    if case .open = input { isLeft = false }
  }

  mutating func met(_ happening: Happening, _ facts: Facts) {
    if case .calm = happening { calm = facts.now }
  }

  mutating func settled(_ facts: Facts) {
    guard let calm, !isWhole else { return }
    isWhole =
      facts.isWhole && facts.status.phase == .connected && facts.disk.outbox.isEmpty
      && calm.duration(to: facts.now) <= facts.settings.calmLimit
  }

  /// The run is over.
  mutating func conclude(_ facts: Facts) {
    if calm != nil, !isWhole {
      let limit = facts.settings.calmLimit.components.seconds
      found.add(
        .unhealed, at: facts.now,
        "not whole within \(limit) s of calm: \(facts.status.words), "
          + "\(facts.disk.outbox.count) to send")
    }
    if isLeft, let deadline = facts.deadline {
      found.add(.storm, at: facts.now, "was left, and still waits for \(deadline.nanoseconds) ns")
    }
  }
}

extension StreamSettings {
  /// From calm until everything must be whole: the longest wait that the policy makes by itself (a
  /// probe of the slow standby), a series of tries after it, and half a minute for the work.
  var calmLimit: Duration {
    var wait = Duration.zero
    if case .poll(let poll) = policy.standby {
      wait = max(poll.slowProbe, poll.probe) * (1 + poll.jitter)
    }
    return wait + policy.retry.windows.map(\.per).reduce(.zero, max) + .seconds(90)
  }
}
