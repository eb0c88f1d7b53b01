import LinkCore
import LinkWire

extension RelayServer {
  /// Takes what was kept, before anything else happens; what is over is forgotten there too.
  mutating func restore(_ kept: RelayKept, wall: Timestamp) {
    var changes: [RelayChange] = []
    for phone in kept.phones.prefix(policy.maxPhones) {
      changes += restore(phone, wall: wall)
    }
    for access in kept.accesses {
      let expiresAt = now.advanced(by: wall.duration(to: access.expiresAt))
      guard now < expiresAt.advanced(by: policy.tokenMemory), accesses[access.token] == nil else {
        changes.append(.endAccess(access.token))
        continue
      }
      if phones[access.phone] == nil { remember(access.phone) }
      admit(access.token, to: access.phone, until: expiresAt)
    }
    for question in kept.questions where !restore(question, wall: wall) {
      changes.append(.endQuestion(question.id))
    }
    for phone in kept.phones { armGrace(phone.id) }
    store(changes)
  }

  /// A phone that was connected when the process ended counts as gone from now on.
  private mutating func restore(_ kept: KeptPhone, wall: Timestamp) -> [RelayChange] {
    guard phones[kept.id] == nil else { return [] }
    let left = kept.leftAt.map { min(.zero, wall.duration(to: $0)) } ?? .zero
    let since = now.advanced(by: left)
    var phone = RelayPhone(
      id: kept.id, device: kept.device, resume: kept.resume, presence: .away(since: since),
      push: kept.push, seenAt: since)
    phone.leftAt = kept.leftAt ?? wall
    phones[kept.id] = phone
    devices[kept.device] = kept.id
    resumes[kept.resume] = kept.id
    return kept.leftAt == nil ? phone.kept.map { [.phone($0)] } ?? [] : []
  }

  /// A phone of which only its askers are known.
  private mutating func remember(_ id: PhoneID) {
    let nothing = [UInt8](repeating: 0, count: 32)
    guard let resume = TokenHash(nothing) else { return }
    phones[id] = RelayPhone(
      id: id, device: nil, resume: resume, presence: .over(since: now, .lost), seenAt: now)
  }

  /// A question waits for its asker to ask it again; false when nobody could.
  private mutating func restore(_ kept: KeptQuestion, wall: Timestamp) -> Bool {
    let deadline = now.advanced(by: wall.duration(to: kept.deadline))
    guard let phone = phones[kept.phone], !phone.isOver, accesses[kept.asker] != nil,
      callsByRequest[kept.id] == nil, now < deadline,
      phone.line.count < policy.callsPerPhone, calls.count < policy.maxCalls
    else { return false }
    lastCall += 1
    var call = RelayCall(
      id: kept.id, phone: kept.phone, asker: kept.asker, question: kept.question, ask: nil,
      since: now, deadline: min(deadline, now.advanced(by: policy.callLimit)),
      deadlineWall: kept.deadline, stage: .waiting(since: now))
    call.isKept = true
    enter(CallID(lastCall), call)
    return true
  }

  /// Begins to go away: new work is refused, what is open may still end well.
  mutating func drain(within window: Duration) {
    guard mode == .serving else { return }
    let isIdle = calls.isEmpty && pending.isEmpty
    mode = .draining(
      within: window, closeAt: isIdle ? now : now.advanced(by: policy.drainGrace),
      giveUpAt: now.advanced(by: policy.drainLimit))
  }

  mutating func advanceDrain() {
    if case .draining(let window, let closeAt, let giveUpAt) = mode, now >= closeAt {
      mode = .leaving(giveUpAt: giveUpAt)
      let late = RelayRefusal.stopping(retryAfter: max(window, policy.busyRetry))
      for id in calls.keys.sorted() { settle(id, .refused(late)) }
      for id in pending.keys.sorted() {
        pending[id] = nil
        refuse(id, late)
      }
      for id in sockets.keys.sorted() { close(id, .draining(within: window)) }
    }
    guard case .leaving(let giveUpAt) = mode else { return }
    if now >= giveUpAt {
      for id in sockets.keys.sorted() {
        forget(id)
        effects.append(.drop(id))
      }
      for token in waits.keys.sorted() {
        guard case .push(let request, _) = waits[token]?.wait else { continue }
        respond(request, .refused(.busy(retryAfter: policy.busyRetry)))
      }
      waits = [:]
    }
    guard sockets.isEmpty, waits.isEmpty else { return }
    mode = .finished
    effects.append(.finished)
  }
}
