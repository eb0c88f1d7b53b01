import LinkCore
import LinkServerCore
import LinkWire

// What assistants want, their tokens, and what the store answers.
extension RelayHouse {
  mutating func answer(
    _ id: AskID, _ ask: RelayAsk, _ bearer: TokenHash?, from address: String, _ wall: Timestamp
  ) {
    guard mode == .serves else { return refuse(id, .stopping(retryAfter: busy)) }
    if isBehind || calls.count + pending.count >= numbers.maxCalls {
      return refuse(id, .tooManyWaiting(retryAfter: busy))
    }
    switch ask {
    case .login(let word, let code, let assistant):
      logIn(id, word, code, assistant, from: address, wall)
    case .question(let question): self.ask(id, question, bearer, wall)
    case .logout:
      guard let bearer, access(bearer) != nil else { return refuse(id, strangeness(of: bearer)) }
      pending[id] = .logout
      ring(.pending(id), after: numbers.callLimit)
      forget(bearer, then: .logout(id))
    }
  }

  mutating func say(_ ask: AskID, _ outcome: RelayOutcome) {
    count("relay_calls_total{outcome=\"\(RelayHouseWords.name(of: outcome))\"}")
    out.append(.answer(ask, outcome))
  }

  mutating func refuse(_ ask: AskID, _ refusal: RelayRefusal) { say(ask, .refused(refusal)) }

  private mutating func logIn(
    _ id: AskID, _ word: String, _ code: String, _ assistant: AssistantName?,
    from address: String, _ wall: Timestamp
  ) {
    if let wait = lock.wait(address, now) { return refuse(id, .lockedOut(retryAfter: wait)) }
    guard let phone = owner(word: word, code: code) else {
      lock.wrong(address, now)
      count("relay_wrong_pairs_total")
      return refuse(id, .wrongPair)
    }
    phones[phone]?.shown = nil
    bells[.pair(phone)] = nil
    pending[id] = .login(phone, assistant, wall)
    ring(.pending(id), after: numbers.callLimit)
    out.append(.mint(.access(id)))
    renewPair(of: phone)
  }

  /// A token was drawn: it is kept first.
  mutating func grant(_ ask: AskID, _ secret: RelaySecret) {
    guard case .login(let phone, let name, let wall)? = pending[ask] else { return }
    var since = wall
    var others = accesses(to: phone).map(\.kept.since)
    for written in waits.values {
      if case .access(_, let access, _) = written.then, access.phone == phone {
        others.append(access.since)
      }
    }
    for other in others {
      if let other, since <= other { since = Timestamp(nanoseconds: other.nanoseconds + 1) }
    }
    let access = KeptAccess(
      token: secret.hash, phone: phone, expiresAt: wall.advanced(by: numbers.tokenLife),
      assistant: name, since: since)
    store([.access(access)], then: .access(ask, access, secret.text))
  }

  private mutating func granted(
    _ ask: AskID, _ access: KeptAccess, _ token: String, isKept: Bool
  ) {
    guard endPending(ask) else { return store([.endAccess(access.token)]) }
    guard isKept else { return refuse(ask, .storeFailed(retryAfter: busy)) }
    guard let phone = phones[access.phone], !phone.isOver else {
      store([.endAccess(access.token)])
      return refuse(ask, absence(of: access.phone))
    }
    letIn(access, until: now.advanced(by: numbers.tokenLife))
    say(
      ask,
      .loggedIn(
        RelayGrant(
          accessToken: token, expiresIn: numbers.tokenLife, user: access.phone.uuid.description)))
  }

  private mutating func endPending(_ ask: AskID) -> Bool {
    bells[.pending(ask)] = nil
    return pending.removeValue(forKey: ask) != nil
  }

  mutating func abandon(_ ask: AskID) {
    _ = endPending(ask)
    guard let place = calls.firstIndex(where: { $0.ask == ask }) else { return }
    calls[place].ask = nil
    settle(calls[place].number, .refused(.cancelled))
  }

  /// What is still pending when the server stops.
  mutating func refusePending(_ refusal: RelayRefusal) {
    for ask in pending.keys.sorted() where endPending(ask) { refuse(ask, refusal) }
  }

  // Tokens.

  /// Lets a token in; one too many ends the oldest of its phone.
  mutating func letIn(_ access: KeptAccess, until: Instant) {
    accesses.append(Access(kept: access, until: until))
    bells[.access(access.token)] = until.advanced(by: numbers.tokenMemory)
    let all = accesses(to: access.phone)
    if all.count > numbers.tokensPerPhone, let oldest = all.first {
      signOut(oldest.kept.token, .byAnother(limit: numbers.tokensPerPhone))
    }
    watchGrace(of: access.phone)
  }

  mutating func signOut(_ token: TokenHash, _ reason: RelayRefusal.SignOut) {
    guard let access = access(token) else { return }
    ended.removeAll { $0.token == token }
    ended.append(
      Ended(token: token, reason: reason, until: now.advanced(by: numbers.tokenMemory)))
    forget(token, refusing: .signedOut(reason))
    guard case .byAnother(let limit) = reason, now < access.until else { return }
    var name = "The assistant that was paired first"
    if let assistant = access.kept.assistant {
      name = assistant.name + (assistant.version.map { " " + $0 } ?? "")
    }
    phones[access.kept.phone]?.notice =
      "\(name) was signed out: another assistant was paired, and a phone has at most \(limit)."
    if case .here? = phones[access.kept.phone]?.place {
      tellPair(of: access.kept.phone, token: nil)
    }
  }

  mutating func forget(
    _ token: TokenHash, refusing refusal: RelayRefusal = .cancelled, then: Then = .nothing
  ) {
    guard let access = access(token) else { return }
    let phone = access.kept.phone
    accesses.removeAll { $0.kept.token == token }
    bells[.access(token)] = nil
    for call in calls(to: phone) where call.asker == token {
      settle(call.number, .refused(refusal))
    }
    store([.endAccess(token)], then: then)
    forgetIfUnasked(phone)
    watchGrace(of: phone)
  }

  /// Why a token that is not known opens nothing.
  func strangeness(of bearer: TokenHash?) -> RelayRefusal {
    let known = ended.last { $0.token == bearer && now < $0.until }
    return known.map { .signedOut($0.reason) } ?? .notSignedIn
  }

  // The store.

  mutating func stored(_ number: UInt64, _ failure: StoreFailure?) {
    guard let written = waits.removeValue(forKey: number) else { return }
    self.failure = failure
    if failure != nil { owe(written.changes) }
    switch written.then {
    case .nothing: return
    case .phone(let id):
      if failure == nil { return greet(id) }
      guard let connection = phones[id]?.connection else { return }
      close(connection, 1013, "try again later")
      end(id)
    case .access(let ask, let access, let token):
      granted(ask, access, token, isKept: failure == nil)
    case .logout(let ask):
      guard endPending(ask) else { return }
      if failure == nil {
        say(ask, .loggedOut)
      } else {
        refuse(ask, .storeFailed(retryAfter: busy))
      }
    case .push(let request, let id):
      respond(request, failure == nil ? .registered : .refused(.storeFailed(retryAfter: busy)))
      knock(id)
    }
  }

  /// Ends, and phones as they are, are stored again.
  private mutating func owe(_ changes: [RelayChange]) {
    count("relay_store_failures_total")
    for change in changes {
      switch change {
      case .phone(let phone): owedPhones.insert(phone.id)
      case .endPhone, .endAccess, .endQuestion: owedEnds.append(change)
      case .access, .question: break
      }
    }
    if !owedEnds.isEmpty || !owedPhones.isEmpty { ring(.store, after: numbers.storeRetry) }
  }

  mutating func storeOwed() {
    var changes = owedEnds
    for id in owedPhones.sorted() {
      if let phone = phones[id], !phone.isOver, let kept = phone.kept {
        changes.append(.phone(kept))
      }
    }
    (owedEnds, owedPhones) = ([], [])
    store(changes)
  }

  /// Notes when an assistant asked; the store is told within a minute.
  mutating func note(_ token: TokenHash, _ wall: Timestamp) {
    for place in accesses.indices where accesses[place].kept.token == token {
      accesses[place].kept.lastAsked = wall
    }
    if unnoted.isEmpty { ring(.notes, after: .seconds(60)) }
    unnoted.insert(token)
  }

  mutating func storeNotes() {
    bells[.notes] = nil
    let known = unnoted.sorted().compactMap { access($0)?.kept }
    unnoted = []
    store(known.map { .access($0) })
  }
}
