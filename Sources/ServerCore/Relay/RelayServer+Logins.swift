import LinkCore
import LinkStorage
import LinkWire

extension RelayServer {
  /// An assistant wants something.
  mutating func take(
    _ id: AskID, _ ask: RelayAsk, bearer: TokenHash?, from address: String, wall: Timestamp
  ) {
    guard mode == .serving else { return refuse(id, .stopping(retryAfter: policy.busyRetry)) }
    guard !isBehind, calls.count + pending.count < policy.maxCalls else {
      return refuse(id, .tooManyWaiting(retryAfter: policy.busyRetry))
    }
    switch ask {
    case .login(let word, let code, let assistant):
      login(id, word: word, code: code, assistant, from: address, wall: wall)
    case .question(let question): take(id, question, bearer: bearer, wall: wall)
    case .logout: logout(id, bearer)
    }
  }

  private mutating func login(
    _ id: AskID, word: String, code: String, _ assistant: AssistantName?, from address: String,
    wall: Timestamp
  ) {
    if let wait = lockOut.wait(address, at: now) {
      return refuse(id, .lockedOut(retryAfter: wait))
    }
    guard let phone = pairs.owner(word: word, code: code) else {
      lockOut.wrong(address, at: now)
      metrics.wrongPairs += 1
      return refuse(id, .wrongPair)
    }
    pairs.remove(phone)
    alarms.clear(.pair(phone))
    wait(id, .login(phone, assistant, wall: wall))
    effects.append(.mint(.access(id)))
    renewPair(of: phone)
  }

  /// Lets a login or a logout wait for secrets and for the store, as long as a call may take.
  private mutating func wait(_ ask: AskID, _ what: Pending) {
    pending[ask] = what
    alarms.set(.pending(ask), at: now.advanced(by: policy.callLimit))
  }

  /// Forgets a login or a logout that waits; returns false if it does not wait any more.
  @discardableResult
  mutating func endPending(_ ask: AskID) -> Bool {
    alarms.clear(.pending(ask))
    return pending.removeValue(forKey: ask) != nil
  }

  /// The store took too long: a token that it keeps after all is ended then.
  mutating func pendingExpired(_ ask: AskID) {
    guard endPending(ask) else { return }
    refuse(ask, .storeFailed(retryAfter: policy.busyRetry))
  }

  /// The token of a login was drawn: it counts once it is kept.
  mutating func grant(_ ask: AskID, _ secret: RelaySecret) {
    guard case .login(let phone, let assistant, let wall) = pending[ask] else { return }
    let access = StoredAccess(
      token: secret.hash, phone: phone, expiresAt: wall.advanced(by: policy.tokenLife),
      assistant: assistant, since: time(ofLogin: wall, at: phone))
    store([.access(access)], then: .access(ask, access, secret))
  }

  /// When a login is said to have been: later than those before it at the same phone, also where
  /// the wall clock went back, since a restart orders tokens by this time.
  private func time(ofLogin wall: Timestamp, at phone: PhoneID) -> Timestamp {
    let stored = (phones[phone]?.tokens ?? []).compactMap { accesses[$0]?.kept.since }
    let waiting = waits.values.compactMap { written in
      if case .access(_, let access, _) = written.wait, access.phone == phone {
        access.since
      } else {
        nil
      }
    }
    guard let last = (stored + waiting).max(), wall <= last else { return wall }
    return last.advanced(by: .nanoseconds(1))
  }

  private mutating func granted(
    _ ask: AskID, _ access: StoredAccess, _ secret: RelaySecret, failure: StoreFailure?
  ) {
    guard endPending(ask) else {
      return store([.endAccess(access.token)])  // Its asker has gone.
    }
    guard failure == nil else { return refuse(ask, .storeFailed(retryAfter: policy.busyRetry)) }
    guard let phone = phones[access.phone], !phone.isOver else {
      store([.endAccess(access.token)])
      let refusal = phones[access.phone].map { absence(of: $0) }
      return refuse(ask, refusal ?? .phoneAway(since: .zero, .pairAgain))
    }
    admit(access, until: now.advanced(by: policy.tokenLife))
    let grant = RelayGrant(
      accessToken: secret.text, expiresIn: policy.tokenLife, user: phone.id.description)
    answer(ask, .loggedIn(grant))
  }

  /// Lets a token ask a phone; one more than its bound ends the oldest, and says so to both ends.
  mutating func admit(_ access: StoredAccess, until: Instant) {
    let (token, phone) = (access.token, access.phone)
    accesses[token] = Access(kept: access, expiresAt: until)
    phones[phone]?.tokens.append(token)
    alarms.set(.access(token), at: until.advanced(by: policy.tokenMemory))
    if let tokens = phones[phone]?.tokens, tokens.count > policy.tokensPerPhone {
      signOut(tokens[0], .byAnother(limit: policy.tokensPerPhone))
    }
    armGrace(phone)
  }

  private mutating func logout(_ id: AskID, _ bearer: TokenHash?) {
    guard let bearer, accesses[bearer] != nil else { return refuse(id, refusal(of: bearer)) }
    wait(id, .logout)
    forget(bearer, then: .logout(id))
  }

  /// Forgets a token; what it still asks ends with this refusal.
  mutating func forget(
    _ token: TokenHash, refusing refusal: RelayRefusal = .cancelled, then wait: Wait = .nothing
  ) {
    guard let access = accesses.removeValue(forKey: token) else { return }
    alarms.clear(.access(token))
    for id in phones[access.phone]?.line ?? [] where calls[id]?.asker == token {
      settle(id, .refused(refusal))
    }
    phones[access.phone]?.tokens.removeAll { $0 == token }
    store([.endAccess(token)], then: wait)
    forgetIfUnasked(access.phone)
    armGrace(access.phone)
  }

  /// The store answered.
  mutating func stored(_ token: StoreToken, failure: StoreFailure?) {
    guard let written = waits.removeValue(forKey: token) else { return }
    storeFailure = failure
    if failure != nil { owe(written.changes) }
    switch written.wait {
    case .nothing: break
    case .phone(let id):
      guard failure != nil else { return greet(id) }
      guard let connection = phones[id]?.connection else { return }
      close(connection, .tryAgainLater)
      end(id, .lost)
    case .access(let ask, let access, let secret):
      granted(ask, access, secret, failure: failure)
    case .logout(let ask):
      guard endPending(ask) else { return }
      guard failure == nil else {
        return refuse(ask, .storeFailed(retryAfter: policy.busyRetry))
      }
      answer(ask, .loggedOut)
    case .push(let request, let id):
      respond(
        request,
        failure == nil ? .registered : .refused(.storeFailed(retryAfter: policy.busyRetry)))
      // This run can use the address whether or not the next one will know it.
      knock(id)
    }
  }

  /// What could not be ended is ended later, and phones are kept as they are then.
  private mutating func owe(_ changes: [RelayChange]) {
    metrics.storeFailures += 1
    for change in changes {
      switch change {
      case .phone(let phone): owedPhones.insert(phone.id)
      case .endPhone, .endAccess, .endQuestion: owedEnds.append(change)
      case .access, .question: continue
      }
    }
    guard !owedEnds.isEmpty || !owedPhones.isEmpty else { return }
    alarms.set(.store, at: now.advanced(by: policy.storeRetry))
  }

  mutating func storeOwed() {
    let owed = owedPhones.sorted().compactMap { phones[$0] }.filter { !$0.isOver }
    let changes = owedEnds + owed.compactMap(\.kept).map { RelayChange.phone($0) }
    (owedEnds, owedPhones) = ([], [])
    store(changes)
  }

  mutating func refuse(_ ask: AskID, _ refusal: RelayRefusal) {
    answer(ask, .refused(refusal))
  }

  mutating func answer(_ ask: AskID, _ outcome: RelayOutcome) {
    metrics.asked[outcome.word, default: 0] += 1
    effects.append(.answer(ask, outcome))
  }

  /// The asker has gone: nothing is said to it any more.
  mutating func abandon(_ ask: AskID) {
    endPending(ask)
    guard let id = callsByAsk.removeValue(forKey: ask) else { return }
    calls[id]?.ask = nil
    settle(id, .refused(.cancelled))
  }
}
