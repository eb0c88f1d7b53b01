import LinkCore
import LinkStorage

extension RelayServer {
  /// Takes what was kept, before anything else happens; what is over is forgotten there too.
  mutating func restore(_ kept: StoredRelay, wall: Timestamp) {
    var changes: [RelayChange] = []
    for phone in kept.phones.prefix(policy.maxPhones) {
      changes += restore(phone, wall: wall)
    }
    // By age, so that the order in which one more ends the oldest is that of before.
    let accesses = kept.accesses.sorted {
      ($0.since ?? $0.expiresAt, $0.token) < ($1.since ?? $1.expiresAt, $1.token)
    }
    for access in accesses {
      let expiresAt = now.advanced(by: wall.duration(to: access.expiresAt))
      guard now < expiresAt.advanced(by: policy.tokenMemory), self.accesses[access.token] == nil
      else {
        changes.append(.endAccess(access.token))
        continue
      }
      if phones[access.phone] == nil { remember(access.phone) }
      admit(access, until: expiresAt)
    }
    for question in kept.questions where !restore(question, wall: wall) {
      changes.append(.endQuestion(question.id))
    }
    for phone in kept.phones { armGrace(phone.id) }
    store(changes)
  }

  /// A phone that was connected when the process ended counts as gone from now on.
  private mutating func restore(_ kept: StoredPhone, wall: Timestamp) -> [RelayChange] {
    guard phones[kept.id] == nil else { return [] }
    let left = kept.leftAt.map { min(.zero, wall.duration(to: $0)) } ?? .zero
    let since = now.advanced(by: left)
    var phone = RelayPhone(
      id: kept.id, device: kept.device, resume: kept.resume, presence: .away(since: since),
      push: kept.push, seenAt: since)
    phone.leftAt = kept.leftAt ?? wall
    phones[kept.id] = phone
    if let other = devices[kept.device] { formers[kept.device, default: []].append(other) }
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
  private mutating func restore(_ kept: StoredQuestion, wall: Timestamp) -> Bool {
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

  /// The input that begins a drain.
  public static func drain(within window: Duration) -> Input { .drain(within: window) }

  /// Whether the drain has ended.
  public var isFinished: Bool { mode == .finished }

  /// Refuses new work from now on; open questions may still be answered during the grace.
  mutating func drain(within window: Duration) {
    let isIdle = calls.isEmpty && pending.isEmpty
    _ = mode.drain(
      within: window, at: now, grace: isIdle ? .zero : policy.drainGrace,
      limit: policy.drainLimit)
  }

  mutating func advanceDrain() {
    if let window = mode.leave(at: now) { leave(within: window) }
    if mode.givesUp(at: now) { giveUp() }
    switch mode {
    case .serving, .draining, .finished: return
    case .leaving: break
    }
    guard sockets.isEmpty, waits.isEmpty, owedEnds.isEmpty, owedPhones.isEmpty, mode.finish()
    else { return }
    effects.append(.finished)
  }

  /// Ends all calls and begins to close all sockets.
  private mutating func leave(within window: Duration) {
    storeNotes()
    let late = RelayRefusal.stopping(retryAfter: max(window, policy.busyRetry))
    for id in calls.keys.sorted() { settle(id, .refused(late)) }
    for id in pending.keys.sorted() {
      endPending(id)
      refuse(id, late)
    }
    for id in sockets.keys.sorted() { close(id, .draining(within: window)) }
  }

  /// Drops what is left when the time of the drain is up.
  private mutating func giveUp() {
    for id in sockets.keys.sorted() {
      forget(id)
      effects.append(.drop(id))
    }
    for token in waits.keys.sorted() {
      guard case .push(let request, _) = waits[token]?.wait else { continue }
      respond(request, .refused(.busy(retryAfter: policy.busyRetry)))
    }
    (waits, owedEnds, owedPhones) = ([:], [], [])
  }
}
