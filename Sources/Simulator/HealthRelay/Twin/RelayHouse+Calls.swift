import LinkCore
import LinkHealth
import LinkServerCore
import LinkWire

// Questions, from their arrival to their outcomes.
extension RelayHouse {
  mutating func ask(
    _ id: AskID, _ question: HealthQuestion, _ bearer: TokenHash?, _ wall: Timestamp
  ) {
    guard let access = access(bearer), let phone = phones[access.kept.phone] else {
      return refuse(id, strangeness(of: bearer))
    }
    if access.until <= now { return refuse(id, .tokenExpired) }
    if phone.isOver { return refuse(id, absence(of: phone.id)) }
    let until = now.advanced(by: numbers.callLimit)
    let untilWall = wall.advanced(by: numbers.callLimit)
    let line = calls(to: phone.id)
    // One of before a restart is given to the assistant that asks it again.
    let orphan = line.first { $0.ask == nil && $0.asker == bearer && $0.question == question }
    if let orphan, let place = place(of: orphan.number) {
      (calls[place].ask, calls[place].stage) = (id, .waits(since: now))
      (calls[place].deadline, calls[place].deadlineWall) = (until, untilWall)
      watch(orphan.number)
      store([.question(calls[place].kept)])
    } else {
      if isLost(phone) { return refuse(id, absence(of: phone.id)) }
      if line.count >= numbers.callsPerPhone {
        return refuse(id, .tooManyWaiting(retryAfter: busy))
      }
      note(access.kept.token, wall)
      lastCall += 1
      guard let name = RelayRequestID("\(life)-\(lastCall)") else { return }
      calls.append(
        Call(
          number: lastCall, id: name, phone: phone.id, asker: access.kept.token,
          question: question, ask: id, since: now, deadline: until, deadlineWall: untilWall,
          stage: .waits(since: now)))
      watch(lastCall)
      keepLine(of: phone.id)
    }
    goOn(phone.id)
    knock(phone.id)
  }

  /// Until when a phone that nothing can wake is waited for.
  private func hope(for phone: Phone) -> Instant? {
    guard phone.isAway, phone.push == nil else { return nil }
    return phone.seenAt.advanced(by: numbers.returnWait)
  }

  private func isLost(_ phone: Phone) -> Bool { hope(for: phone).map { $0 <= now } ?? false }

  /// Sets when something is due for a question.
  func due(_ call: Call) -> Instant {
    var due = call.deadline
    if let until = call.leaseEnd { due = min(due, until) }
    if call.isWaiting, call.ask != nil, let until = phones[call.phone].flatMap(hope) {
      due = min(due, until)
    }
    return due
  }

  mutating func watch(_ number: UInt64) {
    if let place = place(of: number) { bells[.call(number)] = due(calls[place]) }
  }

  mutating func watchLine(of id: PhoneID) {
    for call in calls(to: id) { watch(call.number) }
  }

  /// Asks a phone on its socket, one question after the other.
  mutating func goOn(_ id: PhoneID) {
    guard case .here(let connection)? = phones[id]?.place, isOpen(connection),
      calls(to: id).allSatisfy(\.isWaiting),
      let place = calls.firstIndex(where: { $0.phone == id && $0.ask != nil })
    else { return }
    calls[place].stage = .asked(connection)
    calls[place].tries += 1
    out.append(.send(connection, .question(calls[place].id, calls[place].question)))
  }

  mutating func requeue(_ id: PhoneID, from connection: ConnectionID) {
    for call in calls(to: id) where call.stage == .asked(connection) { putBack(call.number) }
  }

  private mutating func putBack(_ number: UInt64) {
    guard let place = place(of: number) else { return }
    calls[place].putBack(now)
    watch(number)
  }

  /// What waits for a phone that is away survives a restart.
  mutating func keepLine(of id: PhoneID) {
    guard phones[id]?.isAway == true else { return }
    var changes: [RelayChange] = []
    for place in calls.indices where calls[place].phone == id && !calls[place].isKept {
      calls[place].isKept = true
      changes.append(.question(calls[place].kept))
    }
    store(changes)
  }

  /// Ends a question with its outcome.
  mutating func settle(_ number: UInt64, _ outcome: RelayOutcome, byPhone: Bool = false) {
    guard let place = place(of: number) else { return }
    let call = calls.remove(at: place)
    bells[.call(number)] = nil
    if call.isKept { store([.endQuestion(call.id)]) }
    if let ask = call.ask { say(ask, outcome) }
    switch call.stage {
    case .waits: break
    case .leased(let lease, _):
      let done =
        (phones[call.phone]?.done ?? []) + [
          Done(id: call.id, lease: lease, wasTaken: byPhone)
        ]
      phones[call.phone]?.done = done.suffix(numbers.maxSettled)
    case .asked(let connection):
      if byPhone || !isOpen(connection) { break }
      if phones[call.phone]?.device != nil {
        out.append(.send(connection, .cancel(call.id)))
      } else {
        sockets[connection]?.owed += 1
      }
    }
    goOn(call.phone)
  }

  /// A question is due: its own time, the time of its phone, or its lease is over.
  mutating func timeIsUp(_ number: UInt64) {
    guard let place = place(of: number) else { return }
    let call = calls[place]
    if call.deadline <= now { return settle(number, .refused(lateness(of: call))) }
    if call.isWaiting, call.ask != nil, let phone = phones[call.phone], isLost(phone) {
      return settle(number, .refused(absence(of: call.phone)))
    }
    guard let until = call.leaseEnd, until <= now else { return watch(number) }
    putBack(number)
    goOn(call.phone)
    knock(call.phone)
  }

  private func lateness(of call: Call) -> RelayRefusal {
    let wasAsked = RelayRefusal.timedOut(after: numbers.callLimit)
    guard let phone = phones[call.phone] else { return wasAsked }
    switch phone.place {
    case .arriving, .over: return call.tries > 0 ? wasAsked : absence(of: nil, .mayReturn)
    case .here: return call.tries > 0 ? wasAsked : .tooManyWaiting(retryAfter: busy)
    case .away(let since):
      if call.leases > 0 { return wasAsked }
      let wasWoken = phone.wokenAt.map { call.since <= $0 } ?? false
      return absence(of: since, wasWoken ? .wasWoken : .mayReturn)
    }
  }

  private func absence(of since: Instant?, _ away: RelayRefusal.Away) -> RelayRefusal {
    .phoneAway(since: since?.duration(to: now) ?? .zero, away)
  }

  /// Why a phone cannot be asked.
  func absence(of id: PhoneID) -> RelayRefusal {
    switch phones[id]?.place {
    case .over(_, isReplaced: true): .phoneReplaced
    case .over(let since, isReplaced: false): absence(of: since, .pairAgain)
    case .away(let since): absence(of: since, .mayReturn)
    case .arriving, .here: absence(of: nil, .mayReturn)
    case nil: absence(of: nil, .pairAgain)
    }
  }
}

extension RelayHouse.Call {
  /// Waits again; what came of its answer is worth nothing.
  mutating func putBack(_ now: Instant) {
    (stage, text, pieces, wanted) = (.waits(since: now), "", 0, nil)
  }
}
