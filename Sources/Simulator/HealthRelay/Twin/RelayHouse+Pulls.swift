import LinkCore
import LinkHealth
import LinkServerCore
import LinkWire

// Phones without a socket: what they pull, and how they are woken (decision 0016).
extension RelayHouse {
  mutating func respond(_ request: RequestID, _ reply: RelayReply) {
    count("relay_pulls_total{reply=\"\(RelayHouseWords.name(of: reply))\"}")
    out.append(.respond(request, reply))
  }

  private mutating func refuse(_ request: RequestID, _ refusal: PullRefusal) {
    respond(request, .refused(refusal))
  }

  mutating func serve(
    _ request: RequestID, _ pull: RelayPull, _ bearer: TokenHash?, _ wall: Timestamp
  ) {
    if mode != .serves || isBehind { return refuse(request, .busy(retryAfter: busy)) }
    let owner = phones.values.first { !$0.isOver && $0.resume != nil && $0.resume == bearer }
    guard let id = owner?.id else { return refuse(request, .notSignedIn) }
    var isAddress = false
    if case .push(let address) = pull {
      isAddress = true
      phones[id]?.push = address
      phones[id]?.quietUntil = nil
    }
    if phones[id]?.isAway == true {
      phones[id]?.seenAt = now
      phones[id]?.leftAt = wall
      if !isAddress { keep(id) }
      watchGrace(of: id)
    }
    switch pull {
    case .lease(let order): lease(request, order.max, to: id)
    case .result(let result): take(request, result, of: id)
    case .assistants(let order): list(request, order, of: id)
    case .push: keep(id, then: .push(request, id))
    }
  }

  private mutating func lease(_ request: RequestID, _ most: Int, to id: PhoneID) {
    let until = now.advanced(by: numbers.lease)
    var leased: [LeasedQuestion] = []
    for place in calls.indices where calls[place].phone == id && calls[place].ask != nil {
      if leased.count == min(most, numbers.maxLeased) { break }
      var name = ""
      if case .leased(let known, _) = calls[place].stage {
        name = known
      } else {
        lastLease += 1
        name = "\(life)-l\(lastLease)"
        calls[place].putBack(now)
        calls[place].tries += 1
        calls[place].leases += 1
      }
      calls[place].stage = .leased(name, until: until)
      watch(calls[place].number)
      leased.append(
        LeasedQuestion(id: calls[place].id, question: calls[place].question, lease: name))
    }
    if leased.isEmpty { phones[id]?.visitUntil = nil }
    respond(request, .leased(LeasedQuestions(questions: leased, expiresIn: numbers.lease)))
  }

  private mutating func take(_ request: RequestID, _ result: LeasedResult, of id: PhoneID) {
    guard let name = result.message.id else {
      return refuse(request, .malformed(reason: "request_id is missing"))
    }
    guard let number = given(name, to: id), let place = place(of: number) else {
      guard let done = phones[id]?.done.last(where: { $0.id == name }) else {
        return refuse(request, .unknownQuestion)
      }
      let isAgain = done.wasTaken && done.lease == result.lease
      return isAgain ? respond(request, .taken) : refuse(request, .notWanted)
    }
    guard case .leased(let lease, let until) = calls[place].stage, lease == result.lease,
      now < until
    else { return refuse(request, .leaseExpired) }
    switch verdict(on: result.message, number) {
    case nil: respond(request, .taken)
    case .malformed(let reason): refuse(request, .malformed(reason: reason))
    case .tooLong:
      spoil(number, .tooLong)
      refuse(request, .tooLarge(limit: numbers.maxAnswerBytes))
    case .noRoom: refuse(request, .busy(retryAfter: busy))
    }
  }

  /// Takes an answer, if nothing is wrong with it.
  private mutating func verdict(on message: PhoneMessage, _ number: UInt64) -> Fault? {
    switch message {
    case .healthData(_, let object):
      if let fault = fault(object, .healthData, number) { return fault }
      settle(number, .data(object), byPhone: true)
    case .summary(_, let object):
      if let fault = fault(object, .summary, number) { return fault }
      settle(number, .data(object), byPhone: true)
    case .part(_, let part):
      if case .failure(let fault) = add(part, to: number) { return fault }
    case .failure(_, let reason): fail(number, reason)
    case .unknown: return .malformed("a message of an unknown type")
    }
    return nil
  }

  // The assistants of a phone.

  private mutating func list(_ request: RequestID, _ order: AssistantsOrder, of id: PhoneID) {
    let all = accesses(to: id).map(\.kept.token)
    switch order {
    case .list: break
    case .endAll: for token in all { signOut(token, .byUser) }
    case .end(let name):
      guard let token = all.first(where: { Self.name(of: $0) == name }) else {
        return refuse(request, .unknownAssistant)
      }
      signOut(token, .byUser)
    }
    var paired = PairedAssistants(limit: numbers.tokensPerPhone, assistants: [])
    for access in accesses(to: id) where now < access.until {
      let kept = access.kept
      paired.assistants.append(
        PairedAssistants.Assistant(
          id: Self.name(of: kept.token), name: kept.assistant, since: kept.since,
          lastQuestion: kept.lastAsked, expiresAt: kept.expiresAt))
    }
    respond(request, .assistants(paired))
  }

  /// Twelve hexadecimal digits.
  static func name(of token: TokenHash) -> String {
    let digits = Array("0123456789abcdef")
    var name = ""
    for byte in token.bytes[..<6] {
      name.append(digits[Int(byte) / 16])
      name.append(digits[Int(byte) % 16])
    }
    return name
  }

  // Pushes.

  /// Wakes a phone that is away for what came since it was woken.
  mutating func knock(_ id: PhoneID) {
    guard let phone = phones[id], phone.isAway, let address = phone.push else { return }
    let waiting = calls(to: id).filter { $0.isWaiting && $0.ask != nil }
    let isNew = waiting.contains { call in
      guard let woken = phone.wokenAt, let since = call.waitsSince else { return true }
      return woken < since
    }
    guard isNew, let until = waiting.map(\.deadlineWall).max() else { return }
    let later = max(phone.quietUntil ?? now, phone.visitUntil ?? now)
    if later > now {
      bells[.knock(id)] = later
      return
    }
    if let wait = rest(of: id) { return ring(.knock(id), after: wait) }
    phones[id]?.wokenAt = now
    phones[id]?.visitUntil = now.advanced(by: numbers.pushGap)
    count("relay_pushes_total{outcome=\"sent\"}")
    out.append(.push(id, address, expiresAt: until))
  }

  /// How long a phone must not be woken because it was too often; counts one time if it may.
  private mutating func rest(of id: PhoneID) -> Duration? {
    if restedAt[id] == nil, restedAt.count >= numbers.maxPhones {
      restedAt = restedAt.filter { now < $0.value }
      if restedAt.count >= numbers.maxPhones { return numbers.pushInterval * numbers.pushBurst }
    }
    let rested = max(restedAt[id] ?? now, now)
    let owed = now.duration(to: rested.advanced(by: numbers.pushInterval))
    let most = numbers.pushInterval * numbers.pushBurst
    if owed > most { return owed - most }
    restedAt[id] = rested.advanced(by: numbers.pushInterval)
    return nil
  }

  mutating func pushed(_ id: PhoneID, _ address: PushAddress, _ outcome: PushOutcome) {
    guard phones[id]?.push == address else { return }
    let name: String
    switch outcome {
    case .delivered: return count("relay_pushes_total{outcome=\"delivered\"}")
    case .failed:
      name = "failed"
      phones[id]?.quietUntil = now.advanced(by: numbers.pushGap)
    case .tooMany(let wait):
      name = "too_many"
      phones[id]?.quietUntil = now.advanced(by: wait)
    case .gone:
      name = "gone"
      phones[id]?.push = nil
    }
    count("relay_pushes_total{outcome=\"\(name)\"}")
    phones[id]?.wokenAt = nil
    phones[id]?.visitUntil = nil
    if phones[id]?.push == nil { keep(id) }
    watchLine(of: id)
    watchGrace(of: id)
    knock(id)
  }
}
