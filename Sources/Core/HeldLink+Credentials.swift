// Credentials: refreshed before they expire, once for each refusal, never in a loop.
extension HeldLink {
  mutating func credentials(_ event: CredentialsEvent, _ step: inout Step) {
    switch event {
    case .available(let expiresIn):
      gate.credentials.renewed(expiresIn: expiresIn, at: step.now)
      goOnWithCredentials(&step)
    case .refreshFailed:
      gate.credentials.refreshFailed(at: step.now)
      refreshFailed(&step)
    case .rejected:
      gate.credentials.refreshRejected()
      guard gate.wish != .none else { return }
      if gate.credentials.isRefused || isWaitingForCredentials { signIn(&step) }
    case .cleared:
      gate.credentials.forget()
      if gate.wish != .none { signIn(&step) }
    }
  }

  /// A refresh took too long, or one is due.
  mutating func expireCredentials(_ step: inout Step) {
    if gate.credentials.isRefreshing {
      credentials(.refreshFailed, &step)
    } else if gate.credentials.refresh(at: step.now) {
      step.effects.append(.refreshCredentials)
    }
  }

  private var isWaitingForCredentials: Bool {
    guard case .refreshing = state else { return false }
    return true
  }

  private mutating func goOnWithCredentials(_ step: inout Step) {
    switch state {
    case .refreshing(let refreshing):
      expedite(refreshing.series, after: refreshing.failure, &step)
    case .failed(.signIn):
      proceed(.first, after: nil, &step)
    case .resting:
      // A poll that was refused asks again with the new ones.
      standby.hurry(at: step.now)
    case .idle, .held, .settling, .waiting, .preparing, .opening, .establishing, .ready, .failed:
      return
    }
  }

  private mutating func refreshFailed(_ step: inout Step) {
    guard case .refreshing(let refreshing) = state else { return }
    var series = refreshing.series
    series.refreshed = false
    series.failures += 1
    let failure = refreshing.failure ?? .local(detail: "credentials could not be refreshed")
    if series.isProbe {
      rest(failure, slow: false, &step)
    } else {
      proceed(series, after: failure, &step)
    }
  }

  private mutating func signIn(_ step: inout Step) {
    closeCurrent(.leaving, &step)
    end(.signIn, &step)
  }

  /// A request beside the link was answered.
  mutating func requested(_ failure: LinkFailure?, _ step: inout Step) {
    guard let failure else {
      gate.credentials.noteAccepted()
      return
    }
    guard gate.wish != .none, !isFailed else { return }
    switch policy.verdict(on: failure) {
    case .refresh where gate.credentials.isRefreshing: return
    case .refresh where gate.credentials.isRenewedInVain: signIn(&step)
    case .refresh:
      gate.credentials.noteRefusedByREST()
      if gate.credentials.refresh(at: step.now) { step.effects.append(.refreshCredentials) }
    case .stop:
      closeCurrent(.leaving, &step)
      end(.failure(failure), &step)
    case .retry, .retrySpread, .standby, .standbySlow: return
    }
  }

  private var isFailed: Bool {
    guard case .failed = state else { return false }
    return true
  }
}
