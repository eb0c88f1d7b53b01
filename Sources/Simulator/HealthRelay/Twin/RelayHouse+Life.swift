import LinkCore
import LinkServerCore
import LinkWire

// The beginning and the end.
extension RelayHouse {
  mutating func restore(_ kept: RelayKept, _ wall: Timestamp) {
    var changes: [RelayChange] = []
    for phone in kept.phones.prefix(numbers.maxPhones) where phones[phone.id] == nil {
      var since = now
      if let left = phone.leftAt, left < wall { since = now.advanced(by: wall.duration(to: left)) }
      phones[phone.id] = Phone(
        id: phone.id, device: phone.device, resume: phone.resume, place: .away(since: since),
        push: phone.push, seenAt: since, leftAt: phone.leftAt ?? wall)
      if phone.leftAt == nil, let now = phones[phone.id]?.kept { changes.append(.phone(now)) }
    }
    let byAge = kept.accesses.sorted { left, right in
      let (one, other) = (left.since ?? left.expiresAt, right.since ?? right.expiresAt)
      return one == other ? left.token < right.token : one < other
    }
    for access in byAge {
      let until = now.advanced(by: wall.duration(to: access.expiresAt))
      if until.advanced(by: numbers.tokenMemory) <= now {
        changes.append(.endAccess(access.token))
        continue
      }
      if phones[access.phone] == nil {
        phones[access.phone] = Phone(
          id: access.phone, device: nil, resume: nil,
          place: .over(since: now, isReplaced: false), seenAt: now)
      }
      letIn(access, until: until)
    }
    for question in kept.questions where !takesBack(question, wall) {
      changes.append(.endQuestion(question.id))
    }
    for phone in kept.phones { watchGrace(of: phone.id) }
    store(changes)
  }

  /// A question of before a restart waits for its asker; false if there is none to wait for.
  private mutating func takesBack(_ kept: KeptQuestion, _ wall: Timestamp) -> Bool {
    let deadline = now.advanced(by: wall.duration(to: kept.deadline))
    let isRoom =
      calls(to: kept.phone).count < numbers.callsPerPhone && calls.count < numbers.maxCalls
    guard let phone = phones[kept.phone], !phone.isOver, access(kept.asker) != nil, isRoom,
      now < deadline, !calls.contains(where: { $0.id == kept.id })
    else { return false }
    lastCall += 1
    calls.append(
      Call(
        number: lastCall, id: kept.id, phone: kept.phone, asker: kept.asker,
        question: kept.question, ask: nil, since: now,
        deadline: min(deadline, now.advanced(by: numbers.callLimit)),
        deadlineWall: kept.deadline, stage: .waits(since: now), isKept: true))
    watch(lastCall)
    return true
  }

  // The end.

  mutating func drain(within window: Duration) {
    guard mode == .serves else { return }
    let isIdle = calls.isEmpty && pending.isEmpty
    mode = .warns(
      within: window, closeAt: isIdle ? now : now.advanced(by: numbers.drainGrace),
      until: now.advanced(by: numbers.drainLimit))
  }

  mutating func goOnLeaving() {
    if case .warns(let window, let at, let until) = mode, now >= min(at, until) {
      mode = .leaves(until: until)
      leave(within: window)
    }
    guard case .leaves(let until) = mode else { return }
    if until <= now { giveUp() }
    guard sockets.isEmpty, waits.isEmpty else { return }
    mode = .ended
    out.append(.finished)
  }

  private mutating func leave(within window: Duration) {
    storeNotes()
    let refusal = RelayRefusal.stopping(retryAfter: max(window, busy))
    for call in calls { settle(call.number, .refused(refusal)) }
    refusePending(refusal)
    let words = "draining within_ms=\(window.nanoseconds / 1_000_000)"
    for id in sockets.keys.sorted() { close(id, 1001, words) }
  }

  private mutating func giveUp() {
    for id in sockets.keys.sorted() {
      bells[.socket(id)] = nil
      out.append(.drop(id))
    }
    for number in waits.keys.sorted() {
      if case .push(let request, _)? = waits[number]?.then {
        respond(request, .refused(.busy(retryAfter: busy)))
      }
    }
    (sockets, waits) = ([:], [:])
  }
}
