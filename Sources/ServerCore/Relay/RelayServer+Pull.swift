import LinkCore
import LinkHealth
import LinkStorage
import LinkWire

extension RelayServer {
  /// A phone without a socket wants something.
  mutating func take(
    _ request: RequestID, _ pull: RelayPull, bearer: TokenHash?, wall: Timestamp
  ) {
    guard mode == .serving, !isBehind else {
      return respond(request, .refused(.busy(retryAfter: policy.busyRetry)))
    }
    guard let id = bearer.flatMap({ resumes[$0] }) else {
      return respond(request, .refused(.notSignedIn))
    }
    switch pull {
    case .lease(let order):
      seen(id, wall: wall)
      lease(request, order, to: id)
    case .result(let result):
      seen(id, wall: wall)
      take(request, result, of: id)
    case .assistants(let order):
      seen(id, wall: wall)
      take(request, order, of: id)
    case .push(let address):
      phones[id]?.push = address
      phones[id]?.quietUntil = nil
      if case .away = phones[id]?.presence {
        phones[id]?.seenAt = now
        phones[id]?.leftAt = wall
      }
      armGrace(id)
      store([phones[id]?.kept.map { .phone($0) }].compactMap(\.self), then: .push(request, id))
    }
  }

  /// A sign of a phone that is away: its grace begins anew.
  private mutating func seen(_ id: PhoneID, wall: Timestamp) {
    guard var phone = phones[id], case .away = phone.presence else { return }
    (phone.seenAt, phone.leftAt) = (now, wall)
    phones[id] = phone
    store([phone.kept.map { .phone($0) }].compactMap(\.self))
    armGrace(id)
  }

  /// Gives questions out; those that are given out already again, under the same name.
  ///
  /// Also the one that was sent on its socket: a phone that pulls has no use of its socket.
  private mutating func lease(_ request: RequestID, _ order: LeaseOrder, to id: PhoneID) {
    let bound = min(order.max, policy.maxLeased)
    let until = now.advanced(by: policy.lease)
    var leased: [LeasedQuestion] = []
    for number in phones[id]?.line ?? [] where leased.count < bound {
      guard var call = calls[number], call.ask != nil else { continue }
      var name = ""
      if case .leased(let known, _) = call.stage {
        name = known
      } else {
        lastLease += 1
        name = "\(life)-l\(lastLease)"
        gathered -= call.bytes
        call.wait(from: now)
        call.tries += 1
        call.leases += 1
      }
      call.stage = .leased(name, until: until)
      calls[number] = call
      alarms.set(.call(number), at: call.wake)
      leased.append(LeasedQuestion(id: call.id, question: call.question, lease: name))
    }
    // A pull ends where nothing is left: what comes from now on it does not see.
    if leased.isEmpty { phones[id]?.visitUntil = nil }
    respond(request, .leased(LeasedQuestions(questions: leased, expiresIn: policy.lease)))
  }

  private mutating func take(_ request: RequestID, _ result: LeasedResult, of id: PhoneID) {
    guard let phone = phones[id], let name = result.message.id else {
      return respond(request, .refused(.malformed(reason: "request_id is missing")))
    }
    guard let number = question(name, of: phone), let call = calls[number] else {
      let settled = phone.settled.last { $0.id == name }
      guard let settled else { return respond(request, .refused(.unknownQuestion)) }
      let isSame = settled.wasTaken && settled.lease == result.lease
      return respond(request, isSame ? .taken : .refused(.notWanted))
    }
    guard case .leased(result.lease, let until) = call.stage, now < until else {
      return respond(request, .refused(.leaseExpired))
    }
    switch answer(result.message, number) {
    case .success: respond(request, .taken)
    case .failure(.malformed(let reason)):
      respond(request, .refused(.malformed(reason: reason)))
    case .failure(.tooLarge):
      spoil(number, .tooLarge)
      respond(request, .refused(.tooLarge(limit: policy.maxAnswerBytes)))
    case .failure(.noRoom): respond(request, .refused(.busy(retryAfter: policy.busyRetry)))
    }
  }

  /// Takes an answer under a lease; one that is wrong may be put right while the lease holds.
  private mutating func answer(
    _ message: PhoneMessage, _ call: CallID
  ) -> Result<Void, AnswerFault> {
    switch message {
    case .healthData(_, let object): return answer(object, as: .healthData, call)
    case .summary(_, let object): return answer(object, as: .summary, call)
    case .part(_, let part): return gather(part, for: call)
    case .failure(_, let reason):
      settle(call, .data(.failure(Self.text(reason))), byPhone: true)
      return .success(())
    case .unknown: return .failure(.malformed("a message of an unknown type"))
    }
  }

  private mutating func answer(
    _ object: HealthObject, as kind: HealthQuestion.Kind, _ call: CallID
  ) -> Result<Void, AnswerFault> {
    if let fault = fault(in: object, as: kind, for: call) { return .failure(fault) }
    settle(call, .data(object), byPhone: true)
    return .success(())
  }

  mutating func respond(_ request: RequestID, _ reply: RelayReply) {
    metrics.pulled[reply.word, default: 0] += 1
    effects.append(.respond(request, reply))
  }

  /// Wakes a phone that is away, if a question came into the line since it was woken last.
  mutating func knock(_ id: PhoneID) {
    guard var phone = phones[id], case .away = phone.presence, let address = phone.push else {
      return
    }
    let waiting = phone.line.compactMap { calls[$0] }.filter { $0.isWaiting && $0.ask != nil }
    guard let latest = waiting.map(\.deadlineWall).max(),
      waiting.contains(where: { $0.isNew(since: phone.knockedAt) })
    else { return }
    if let later = [phone.quietUntil, phone.visitUntil].compactMap(\.self).max(), later > now {
      return alarms.set(.knock(id), at: later)
    }
    if let wait = knocks.spend(id.description, at: now) {
      return alarms.set(.knock(id), at: now.advanced(by: wait))
    }
    phone.knockedAt = now
    phone.visitUntil = now.advanced(by: policy.pushGap)
    phones[id] = phone
    metrics.pushed["sent", default: 0] += 1
    effects.append(.push(id, address, expiresAt: latest))
  }

  /// What became of a push; that of an address which is no longer the phone's means nothing.
  mutating func pushed(_ id: PhoneID, to address: PushAddress, _ outcome: PushOutcome) {
    guard var phone = phones[id], phone.push == address else { return }
    switch outcome {
    case .delivered:
      metrics.pushed["delivered", default: 0] += 1
      return
    case .failed:
      metrics.pushed["failed", default: 0] += 1
      (phone.knockedAt, phone.visitUntil) = (nil, nil)
      phone.quietUntil = now.advanced(by: policy.pushGap)
    case .tooMany(let wait):
      metrics.pushed["too_many", default: 0] += 1
      (phone.knockedAt, phone.visitUntil) = (nil, nil)
      phone.quietUntil = now.advanced(by: wait)
    case .gone:
      metrics.pushed["gone", default: 0] += 1
      (phone.push, phone.knockedAt, phone.visitUntil) = (nil, nil, nil)
      store([phone.kept.map { .phone($0) }].compactMap(\.self))
    }
    phones[id] = phone
    armLine(of: id)
    armGrace(id)
    knock(id)
  }
}

extension RelayCall {
  /// Whether it came into the line after the phone was woken, and an assistant waits for it.
  func isNew(since knock: Instant?) -> Bool {
    switch stage {
    case .waiting(let since): ask != nil && knock.map { since > $0 } ?? true
    case .asked, .leased: false
    }
  }
}
