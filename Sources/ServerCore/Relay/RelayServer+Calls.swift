import LinkCore
import LinkHealth
import LinkStorage
import LinkWire

extension RelayServer {
  /// An assistant asks a phone.
  mutating func take(
    _ ask: AskID, _ question: HealthQuestion, bearer: TokenHash?, wall: Timestamp
  ) {
    guard let bearer, let access = accesses[bearer], let phone = phones[access.phone] else {
      return refuse(ask, refusal(of: bearer))
    }
    guard now < access.expiresAt else { return refuse(ask, .tokenExpired) }
    guard !phone.isOver else { return refuse(ask, absence(of: phone)) }
    if let waiting = phone.line.first(where: { isOrphan($0, of: bearer, question) }) {
      return adopt(waiting, ask, wall: wall)
    }
    if let until = mayReturn(phone), until <= now { return refuse(ask, absence(of: phone)) }
    guard phone.line.count < policy.callsPerPhone else {
      return refuse(ask, .tooManyWaiting(retryAfter: policy.busyRetry))
    }
    noteQuestion(of: bearer, wall: wall)
    lastCall += 1
    guard let request = RelayRequestID("\(life)-\(lastCall)") else {
      preconditionFailure("32 characters and a number fit 64 bytes, and are not empty")
    }
    enter(
      CallID(lastCall),
      RelayCall(
        id: request, phone: phone.id, asker: bearer, question: question, ask: ask, since: now,
        deadline: now.advanced(by: policy.callLimit),
        deadlineWall: wall.advanced(by: policy.callLimit), stage: .waiting(since: now)))
    keepLine(of: phone.id)
    advance(phone.id)
    knock(phone.id)
  }

  /// Whether a question of before a restart waits for the one who asks this.
  private func isOrphan(_ id: CallID, of asker: TokenHash, _ question: HealthQuestion) -> Bool {
    guard let call = calls[id] else { return false }
    return call.ask == nil && call.asker == asker && call.question == question
  }

  /// Gives a question of before a restart to the one who asks it again.
  private mutating func adopt(_ id: CallID, _ ask: AskID, wall: Timestamp) {
    guard var call = calls[id] else { return }
    call.ask = ask
    call.deadline = now.advanced(by: policy.callLimit)
    call.deadlineWall = wall.advanced(by: policy.callLimit)
    call.stage = .waiting(since: now)
    calls[id] = call
    callsByAsk[ask] = id
    arm(id)
    store([.question(call.kept)])
    advance(call.phone)
    knock(call.phone)
  }

  mutating func enter(_ id: CallID, _ call: RelayCall) {
    calls[id] = call
    callsByRequest[call.id] = id
    if let ask = call.ask { callsByAsk[ask] = id }
    phones[call.phone]?.line.append(id)
    arm(id)
  }

  /// Until when a phone that is away is waited for; `nil` if it is connected or a push can wake it.
  private func mayReturn(_ phone: RelayPhone) -> Instant? {
    guard case .away = phone.presence, phone.push == nil else { return nil }
    return phone.seenAt.advanced(by: policy.returnWait)
  }

  /// Until when a question waits for a phone that nothing can wake; `nil` for any other question.
  private func waitsUntil(_ call: RelayCall) -> Instant? {
    guard call.isWaiting, call.ask != nil else { return nil }
    return phones[call.phone].flatMap(mayReturn)
  }

  private mutating func arm(_ id: CallID) {
    guard let call = calls[id] else { return }
    alarms.set(.call(id), at: min(call.wake, waitsUntil(call) ?? call.wake))
  }

  /// Sets anew when the questions to a phone end: it left, or its push address is gone.
  mutating func armLine(of id: PhoneID) {
    for call in phones[id]?.line ?? [] { arm(call) }
  }

  /// Asks the phone the first question in line, if it is here and none is under way.
  ///
  /// A question that lost its asker in a restart is not asked: its answer would have
  /// no receiver.
  mutating func advance(_ id: PhoneID) {
    guard let phone = phones[id], case .here(let connection) = phone.presence,
      isOpen(connection),
      phone.line.allSatisfy({ calls[$0]?.isWaiting ?? true }),
      let next = phone.line.first(where: { calls[$0]?.ask != nil }), var call = calls[next]
    else { return }
    call.stage = .asked(connection)
    call.tries += 1
    calls[next] = call
    effects.append(.send(connection, .question(call.id, call.question)))
  }

  /// The socket on which a question was under way is no more: it is asked again on the next.
  mutating func requeue(_ id: PhoneID, from connection: ConnectionID) {
    for call in phones[id]?.line ?? [] where calls[call]?.stage == .asked(connection) {
      wait(call)
    }
  }

  /// Puts a question back into the line.
  mutating func wait(_ id: CallID) {
    guard var call = calls[id] else { return }
    gathered -= call.bytes
    call.wait(from: now)
    calls[id] = call
    arm(id)
  }

  /// Questions to a phone that is away are kept, so that a restart does not lose them.
  mutating func keepLine(of id: PhoneID) {
    guard let phone = phones[id], case .away = phone.presence else { return }
    var changes: [RelayChange] = []
    for number in phone.line {
      guard var call = calls[number], !call.isKept else { continue }
      call.isKept = true
      calls[number] = call
      changes.append(.question(call.kept))
    }
    store(changes)
  }

  /// Ends a question with its one outcome.
  mutating func settle(_ id: CallID, _ outcome: RelayOutcome, byPhone: Bool = false) {
    guard let call = calls.removeValue(forKey: id) else { return }
    callsByRequest[call.id] = nil
    phones[call.phone]?.line.removeAll { $0 == id }
    alarms.clear(.call(id))
    gathered -= call.bytes
    if call.isKept { store([.endQuestion(call.id)]) }
    if let ask = call.ask {
      callsByAsk[ask] = nil
      answer(ask, outcome)
    }
    release(call, byPhone: byPhone)
    advance(call.phone)
  }

  /// Lets the phone know, as far as it can, that nobody waits any more.
  private mutating func release(_ call: RelayCall, byPhone: Bool) {
    switch call.stage {
    case .waiting: break
    case .leased(let lease, _):
      let settled = RelayPhone.Settled(id: call.id, lease: lease, wasTaken: byPhone)
      phones[call.phone]?.settled.append(settled)
      let excess = (phones[call.phone]?.settled.count ?? 0) - policy.maxSettled
      if excess > 0 { phones[call.phone]?.settled.removeFirst(excess) }
    case .asked(let connection):
      guard !byPhone, isOpen(connection) else { return }
      if phones[call.phone]?.device == nil {
        // A plain phone answers what it does not know with an error that names no question.
        sockets[connection]?.owed += 1
      } else {
        effects.append(.send(connection, .cancel(call.id)))
      }
    }
  }

  /// The deadline or the lease of a question is over.
  mutating func wake(_ id: CallID) {
    guard let call = calls[id] else { return }
    if now >= call.deadline { return settle(id, .refused(lateness(of: call))) }
    if let until = waitsUntil(call), until <= now, let phone = phones[call.phone] {
      return settle(id, .refused(absence(of: phone)))
    }
    guard case .leased(_, let until) = call.stage, now >= until else { return arm(id) }
    wait(id)
    advance(call.phone)
    knock(call.phone)
  }

  /// Why a question was not answered in time.
  private func lateness(of call: RelayCall) -> RelayRefusal {
    guard let phone = phones[call.phone] else { return .timedOut(after: policy.callLimit) }
    switch phone.presence {
    case .greeting, .over:
      return call.tries > 0
        ? .timedOut(after: policy.callLimit) : .phoneAway(since: .zero, .mayReturn)
    case .here:
      return call.tries > 0
        ? .timedOut(after: policy.callLimit) : .tooManyWaiting(retryAfter: policy.busyRetry)
    case .away(let since):
      guard call.leases == 0 else { return .timedOut(after: policy.callLimit) }
      let wasWoken = phone.knockedAt.map { $0 >= call.since } ?? false
      return .phoneAway(since: since.duration(to: now), wasWoken ? .wasWoken : .mayReturn)
    }
  }

  /// Why a phone that is over cannot be asked.
  func absence(of phone: RelayPhone) -> RelayRefusal {
    switch phone.presence {
    case .over(_, .replaced): .phoneReplaced
    case .over(let since, .lost): .phoneAway(since: since.duration(to: now), .pairAgain)
    case .away(let since): .phoneAway(since: since.duration(to: now), .mayReturn)
    case .greeting, .here: .phoneAway(since: .zero, .mayReturn)
    }
  }
}

extension RelayCall {
  /// What is kept of it.
  var kept: StoredQuestion {
    StoredQuestion(
      id: id, phone: phone, asker: asker, question: question, deadline: deadlineWall)
  }
}
