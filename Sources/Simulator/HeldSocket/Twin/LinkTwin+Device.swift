import LinkCore

// What the device tells.
extension LinkTwin {
  mutating func change(to next: Reachability) {
    let before = network
    network = next
    if let before, isSame(before, next) { return }
    switch next {
    case .unreachable: shut(.unreachable)
    case .captivePortal: shut(.captivePortal)
    case .reachable:
      switch before {
      case nil: return
      case .reachable: moved()
      case .unreachable, .captivePortal: reopened()
      }
    }
  }

  private func isSame(_ one: Reachability, _ other: Reachability) -> Bool {
    guard case .reachable(let left, _) = one, case .reachable(let right, _) = other else {
      return one == other
    }
    return left == right
  }

  /// There is no way out.
  private mutating func shut(_ obstacle: Obstacle) {
    switch place {
    case .idle, .failed: return
    case .ready:
      switch policy.gate.networkChange {
      case .reconnect, .loss:
        close(.networkChanged)
        goHeld(by: obstacle, .again)
      case .probe: suspect()
      case .ignore: return
      }
    case .preparing, .opening, .establishing:
      close(.networkChanged)
      goHeld(by: obstacle, run)
    case .held, .settling, .waiting, .refreshing: goHeld(by: obstacle, run)
    case .resting: goHeld(by: obstacle, .again)
    }
  }

  /// There is a way out again.
  private mutating func reopened() {
    if place == .ready { return suspect() }
    guard place == .held else { return }
    if let obstacle { goHeld(by: obstacle, run) } else { settle(run.anew, policy.gate.settle) }
  }

  /// Traffic goes another way.
  private mutating func moved() {
    let (rule, settles) = (policy.gate.networkChange, policy.gate.settle)
    if rule == .ignore { return }
    switch place {
    case .idle, .held, .refreshing, .failed: return
    case .ready:
      if rule == .probe { return suspect() }
      close(.networkChanged)
      if rule == .reconnect { return settle(.again, settles) }
      // The try that follows a loss may be the first to go the new way.
      proceed(.again, after: .unreachable(detail: "the network changed"))
    case .preparing, .opening, .establishing:
      guard rule == .reconnect else { return }
      close(.networkChanged)
      settle(run, settles)
    case .settling: settle(run, settles)
    case .waiting: settle(run.anew, settles)
    case .resting:
      if wish == .live, !side.isSlow, !isLeft { settle(.again, settles) }
    }
  }

  private mutating func settle(_ next: LinkRun, _ time: Duration) {
    if time == .zero { return hasten(next, after: nil) }
    go(.settling)
    (run, until) = (next, now.advanced(by: time))
  }

  mutating func change(to next: Lifecycle) {
    if next == phase { return }
    phase = next
    switch next {
    case .background: leaveSoon()
    case .foreground: comeBack()
    }
  }

  private mutating func leaveSoon() {
    // Nothing wakes an app that is suspended: what waits is armed now.
    if side.rearmAt != nil { side.forget() }
    guard case .leave(let time, _) = policy.gate.background, !isEnded else { return }
    if place == .ready || place == .establishing, time > .zero {
      leavesAt = now.advanced(by: time)
    } else {
      leave()
    }
  }

  mutating func leave() {
    leavesAt = nil
    guard case .leave(_, let then) = policy.gate.background else { return }
    close(.background)
    switch then {
    case .hold: goHeld(by: obstacle ?? .background, .again)
    case .standby: proceed(.again, after: nil)
    case .idle: goIdle(.ended(.background))
    }
  }

  private mutating func comeBack() {
    if leavesAt != nil {
      leavesAt = nil
      return suspect()
    }
    guard case .connect(let time) = policy.gate.foreground else { return }
    var isExhausted = false
    if case .exhausted? = reason, place == .failed { isExhausted = true }
    if place == .ready { return suspect() }
    guard place == .held || place == .resting || isExhausted else { return }
    if let obstacle { return goHeld(by: obstacle, .first) }
    side.hurry(at: now)
    settle(.first, time)
  }
}
