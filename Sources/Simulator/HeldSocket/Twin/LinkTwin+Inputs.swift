import LinkCore

// What happens to a link.
extension LinkTwin {
  mutating func take(_ input: HeldLink.Input) {
    switch input {
    case .want(let wish): want(wish)
    case .reachability(let found): change(to: found)
    case .lifecycle(let next): change(to: next)
    case .credentials(let event): take(event)
    case .trigger(let trigger): pull(trigger)
    case .prepared(let name): if place == .preparing, attempt == name { open(run, name) }
    case .opened(let name): opened(name)
    case .found(let name, let isEstablished): found(name, isEstablished)
    case .established(let name): if place == .establishing, attempt == name { connect() }
    case .heard(let name): hear(name) { $0.heard(at: $1) }
    case .validData(let name): data(name)
    case .pong(let name, let id): hear(name) { $0.pong(id, at: $1) }
    case .lost(let name, let failure): lose(name, failure, nil)
    case .reject(let name, let failure): lose(name, failure, .rejected)
    case .draining(let name, let time): drain(name, within: time)
    case .flushed: if leavesAt != nil { leave() }
    case .polled(let id, let failure): polled(id, failure)
    case .requested(let failure): requested(failure)
    }
  }

  private mutating func want(_ next: Wish) {
    let isNew = next != wish
    wish = next
    switch next {
    case .none:
      close(.leaving)
      goIdle(nil)
    case .standbyOnly where isNew || isEnded:
      close(.leaving)
      proceed(.first, after: nil)
    case .live where isNew || isEnded:
      // What the queue brought meanwhile is live already.
      if attempt == nil { proceed(.first, after: nil) }
    case .standbyOnly, .live: return
    }
  }

  /// A transport that the system kept takes the place of a try.
  private mutating func found(_ name: AttemptID, _ isEstablished: Bool) {
    guard name.number > lastAttempt else { return }
    lastAttempt = name.number
    if isEnded { return out.append(.close(name, .leaving)) }
    guard isSideAwake else { return out.append(.close(name, .superseded)) }
    close(.superseded)
    if side.queued != nil { dropSide() }
    establish(name, within: policy.establish.timeout)
    if isEstablished || policy.establish.milestone == .opened { connect() }
  }

  // Credentials.

  private mutating func take(_ event: HeldLink.CredentialsEvent) {
    switch event {
    case .available(let life):
      keys.came(for: life, at: now)
      if place == .refreshing { return hasten(run, after: cause) }
      if place == .failed, reason == .signIn { return proceed(.first, after: nil) }
      if place == .resting { side.hurry(at: now) }
    case .refreshFailed:
      keys.failed(at: now)
      if place == .refreshing { refreshFailed() }
    case .rejected:
      keys.endRefresh()
      let isRefused = keys.refused == keys.generation
      if wish != .none, place == .refreshing || isRefused { signIn() }
    case .cleared:
      keys.vanish()
      if wish != .none { signIn() }
    }
  }

  private mutating func refreshFailed() {
    let failure = cause ?? .local(detail: "credentials could not be refreshed")
    var next = run
    (next.refreshed, next.failures) = (false, next.failures + 1)
    if next.isProbe { rest(failure, isSlow: false) } else { proceed(next, after: failure) }
  }

  private mutating func signIn() {
    close(.leaving)
    goFailed(.signIn)
  }

  mutating func passKeys() {
    if keys.runsUntil != nil { return take(.refreshFailed) }
    if keys.ask(at: now) { out.append(.refreshCredentials) }
  }

  /// An answer beside the link tells of credentials and membership.
  mutating func requested(_ failure: LinkFailure?) {
    guard let failure else {
      keys.refused = nil
      return
    }
    if isEnded { return }
    switch LinkFaults.verdict(failure, policy) {
    case .stop:
      close(.leaving)
      goFailed(.failure(failure))
    case .refresh:
      if keys.runsUntil != nil { return }
      if keys.isVain { return signIn() }
      keys.refused = keys.generation
      if keys.ask(at: now) { out.append(.refreshCredentials) }
    case .retry, .retrySpread, .standby, .standbySlow: return
    }
  }
}
