import LinkCore

/// The credentials of a link, told a second time.
struct LinkKeys: Sendable {
  let policy: GatePolicy
  var areThere: Bool
  var generation: UInt64 = 0
  /// When a refresh is due, and until when one runs.
  var dueAt: Instant?
  var runsUntil: Instant?
  /// The generation that requests were refused with.
  var refused: UInt64?
  private var inARow = 0

  init(_ policy: GatePolicy) {
    self.policy = policy
    areThere = !policy.needsCredentials
  }

  var deadline: Instant? {
    guard let runsUntil else { return dueAt }
    return dueAt.map { $0 < runsUntil ? $0 : runsUntil } ?? runsUntil
  }

  /// Whether newer ones than the refused ones are there, and were not accepted yet.
  var isVain: Bool {
    guard let refused else { return false }
    return generation > refused
  }

  /// Asks for a refresh; returns whether it is the only one.
  mutating func ask(at now: Instant) -> Bool {
    dueAt = nil
    let isOnly = runsUntil == nil
    if isOnly { runsUntil = now.advanced(by: policy.refreshTimeout) }
    return isOnly
  }

  mutating func came(for life: Duration?, at now: Instant) {
    (areThere, inARow, runsUntil, dueAt) = (true, 0, nil, nil)
    generation += 1
    guard let life, life > .zero else { return }
    let half = life / 2
    let rest = life - (policy.refreshLead < half ? policy.refreshLead : half)
    dueAt = now.advanced(by: rest < policy.refreshTimeout ? policy.refreshTimeout : rest)
  }

  mutating func failed(at now: Instant) {
    runsUntil = nil
    var pause = policy.refreshTimeout
    for _ in 0..<min(inARow, 5) { pause = pause + pause }
    inARow += 1
    dueAt = areThere ? now.advanced(by: min(pause, .seconds(300))) : nil
  }

  mutating func endRefresh() { (dueAt, runsUntil) = (nil, nil) }

  mutating func vanish() {
    endRefresh()
    areThere = false
  }
}
