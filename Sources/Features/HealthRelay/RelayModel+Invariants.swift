public import LinkCore

// What always holds between the parts of a relay.
extension RelayModel {
  public func check(_ check: inout InvariantCheck) {
    check.require(
      phase == .on || !link.isWanted, "relay: the link is wanted only after the user's start")
    checkSession(&check)
    checkAnswer(&check)
    if check.isThorough {
      check.require(status == observed, "relay: the user is shown the present state")
    }
    link.check(&check)
    line.check(&check)
    refusals.check(&check)
  }

  /// A session begins with a code and ends with the link.
  private func checkSession(_ check: inout InvariantCheck) {
    switch link.status.phase {
    case .connected:
      check.require(
        welcome != nil || settings.policy.establish.milestone == .opened,
        "relay: connected means that a code came")
    case .disconnected, .failed:
      check.require(
        welcome == nil && line.items.isEmpty, "relay: a session that is over has no questions")
    case .connecting, .reconnecting, .held, .standby: return
    }
  }

  /// An answer is on its way only over the present connection.
  private func checkAnswer(_ check: inout InvariantCheck) {
    guard let first = line.items.first, case .sending = first.progress else { return }
    check.require(
      link.status.phase == .connected && link.currentAttempt == first.attempt,
      "relay: an answer is sent over the connection that waits for it")
  }
}
