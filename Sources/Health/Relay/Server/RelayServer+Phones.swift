import HoldfastCore
import HoldfastHealth
package import HoldfastRelayData
import HoldfastServerParts

// The sockets of phones.
extension RelayServer {
  mutating func overflowed(_ id: ConnectionID) {
    guard sockets.isOpen(id) else { return }
    metrics.slowReaders += 1
    close(id, .slowReader)
  }

  /// Handles the alarm of a socket.
  ///
  /// A dropped socket is removed by the `phoneGone` input that follows. That input contains the
  /// wall-clock time.
  mutating func wake(_ id: ConnectionID) {
    switch sockets.alarm(id, at: now) {
    case nil: return
    case .unanswered: return emit(.drop(id))
    case .silent:
      metrics.silent += 1
      return emit(.drop(id))
    case .ping: emit(.ping(id))
    case .early: break
    }
    arm(id)
  }

  /// Sends a close frame. Later messages from the socket are ignored.
  mutating func close(_ id: ConnectionID, _ closure: Closure) {
    guard sockets.close(id, at: now) else { return }
    emit(.close(id, closure))
    arm(id)
  }

  mutating func forget(_ id: ConnectionID) {
    if sockets.remove(id) { alarms.clear(.socket(id)) }
  }

  private mutating func arm(_ id: ConnectionID) {
    if let wake = sockets.wake(id) { alarms.set(.socket(id), at: wake) }
  }
}

// The lifetime of phones, from the upgrade to the end of their pairing.
extension RelayServer {
  /// Handles the upgrade request of a phone.
  mutating func open(_ id: ConnectionID, _ arrival: Arrival, wall: Timestamp) {
    if let refused = noRoom(for: arrival) ?? noName(for: arrival) {
      metrics.refused += 1
      return emit(.refuse(id, refused))
    }
    metrics.opened += 1
    sockets.open(id, from: arrival.address, at: now)
    arm(id)
    emit(.accept(id))
    if let known = phones.resumed(by: arrival) {
      resume(known, on: id)
    } else {
      sockets.wait(arrival, on: id)
      emit(.drawToken(.phone(id)))
    }
  }

  private mutating func noRoom(for arrival: Arrival) -> HTTPRefusal? {
    guard frame.isServing else {
      metrics.refusals.add(.draining)
      return HTTPRefusal(503, "draining", retryAfter: policy.busyRetry)
    }
    guard !writes.isBehind, sockets.count < policy.maxSockets else {
      metrics.refusals.add(writes.isBehind ? .store : .ceiling(.phones))
      return HTTPRefusal(503, "too busy", retryAfter: policy.busyRetry)
    }
    guard sockets.count(of: arrival.address) < policy.socketsPerAddress else {
      metrics.refusals.add(.ceiling(.addressPhones))
      return HTTPRefusal(429, "too many sockets", retryAfter: policy.busyRetry)
    }
    return nil
  }

  /// Makes room for a new phone. Returns a refusal if that is impossible.
  ///
  /// At the bound, an away phone that no assistant is paired with is removed: the one that has been
  /// away the longest. A client that connects and leaves repeatedly therefore does not block other
  /// phones.
  private mutating func noName(for arrival: Arrival) -> HTTPRefusal? {
    guard phones.count >= policy.maxPhones, phones.resumed(by: arrival) == nil else { return nil }
    guard let stranger = phones.longestAway(where: { tokens.tokens(of: $0).isEmpty }) else {
      metrics.refusals.add(.ceiling(.knownPhones))
      return HTTPRefusal(503, "too busy", retryAfter: policy.busyRetry)
    }
    end(stranger, .lost)
    return nil
  }

  private mutating func resume(_ id: PhoneID, on connection: ConnectionID) {
    if let device = phones[id]?.device { endOthers(of: device, than: id) }
    guard let phone = phones[id] else { return }
    metrics.resumed += 1
    if let former = phone.connection {
      metrics.replaced += 1
      if let heard = sockets.lastReceived(former) { tokens.missed(by: id, since: heard) }
      close(former, .replaced)
      requeue(id, from: former)
    }
    alarms.clear(.grace(id))
    alarms.clear(.wakePush(id))
    sockets.assign(connection, to: id)
    phones.change(id) { $0.resume(on: connection) }
    store(phones[id]?.changes ?? [])
    if pairing.pair(of: id) == nil { emit(.drawToken(.pair(id))) } else { greet(id) }
  }

  /// Ends the pairings of all earlier registrations of the same device.
  private mutating func endOthers(of device: UUID128, than id: PhoneID) {
    for other in phones.claim(device, for: id) { end(other, .replaced) }
  }

  /// Handles the result of a token request.
  mutating func take(_ tokenDrawn: DrawnToken) {
    switch tokenDrawn {
    case .phone(let connection, let id, let secret, let pair):
      introduce(connection, id, secret, pair)
    case .pair(let id, let pair): show(pair, of: id)
    case .access(let call, let secret): grant(call, secret)
    }
  }

  /// Creates a phone that connects for the first time.
  private mutating func introduce(
    _ connection: ConnectionID, _ id: PhoneID, _ secret: RelaySecret, _ pair: RelayPair
  ) {
    guard let arrival = sockets.takeArrival(on: connection) else { return }
    guard phones[id] == nil, !pairing.isShown(pair) else {
      sockets.wait(arrival, on: connection)
      return emit(.drawToken(.phone(connection)))
    }
    if let device = arrival.device { endOthers(of: device, than: id) }
    sockets.assign(connection, to: id)
    let phone = RelayPhone(
      id: id, device: arrival.device, secret: secret, on: connection, at: now)
    phones.add(phone)
    if phone.device != nil {
      remember(pair, of: id)
      // The token is sent after it has been stored, so that it stays valid after a restart.
      store(phone.changes, then: .phone(id))
    } else {
      show(pair, of: id)
    }
  }

  /// Shows a new pairing code on a phone. If another phone shows the same code, a new one is
  /// requested.
  private mutating func show(_ pair: RelayPair, of id: PhoneID) {
    guard let phone = phones[id], phone.connection != nil, remember(pair, of: id) else { return }
    switch phone.presence {
    case .greeting:
      // The first pairing code of a phone may expire before the phone is stored.
      if !writes.storesPhone(id) { greet(id) }
    case .here(let connection): sendPair(of: phone, on: connection, token: nil)
    case .away, .over: break
    }
  }

  @discardableResult
  private mutating func remember(_ pair: RelayPair, of id: PhoneID) -> Bool {
    let until = now.advanced(by: policy.pairLife)
    guard pairing.show(pair, of: id, until: until) else {
      emit(.drawToken(.pair(id)))
      return false
    }
    alarms.set(.pair(id), at: until)
    return true
  }

  /// Sends a phone its pairing code. From then on, the phone counts as connected.
  mutating func greet(_ id: PhoneID) {
    guard let phone = phones[id], case .greeting(let connection, let token) = phone.presence,
      sockets.isOpen(connection), pairing.pair(of: id) != nil
    else { return }
    sendPair(of: phone, on: connection, token: token)
    phones.change(id) { $0.greeted(on: connection) }
    advance(id)
  }

  mutating func sendPair(of phone: RelayPhone, on connection: ConnectionID, token: String?) {
    guard sockets.isOpen(connection), let (pair, until) = pairing.pair(of: phone.id) else { return }
    let advice = "Give this word and code to your assistant. They work once."
    var code = ConnectionCode(
      code: pair.code, word: pair.word,
      message: phone.notice.map { "\($0) \(advice)" } ?? advice)
    phones.change(phone.id) { $0.notice = nil }
    if phone.device != nil {
      code.expiresIn = now.duration(to: until)
      code.resumeToken = token
      code.resumed = token == nil
      code.acceptsParts = true
      code.newAssistants = tokens.takeNew(to: phone.id, at: now).map { .init($0) }
    }
    emit(.send(connection, .connectionCode(code)))
  }

  /// Sends a connected phone its code again, with what is new. If its next code is being drawn, that
  /// one has what is new.
  mutating func sendPairAgain(to id: PhoneID) {
    guard let phone = phones[id], case .here(let connection) = phone.presence else { return }
    sendPair(of: phone, on: connection, token: nil)
  }

  /// Removes an expired pairing code. A connected phone then shows a new one.
  mutating func pairExpired(_ id: PhoneID) {
    pairing.remove(id)
    renewPair(of: id)
  }

  mutating func renewPair(of id: PhoneID) {
    guard frame.isServing, phones[id]?.connection != nil else { return }
    emit(.drawToken(.pair(id)))
  }

  /// Handles the end of a socket.
  mutating func gone(_ connection: ConnectionID, code: UInt16, wall: Timestamp) {
    let (owner, heard) = (sockets.phone(on: connection), sockets.lastReceived(connection))
    forget(connection)
    guard let id = owner, phones[id]?.connection == connection else { return }
    if let heard { tokens.missed(by: id, since: heard) }
    if code == 1009 { refuseTooLarge(id, on: connection) }
    guard let phone = phones[id] else { return }
    switch phone.presence {
    case .greeting(_, token: nil), .here: break
    case .greeting, .away, .over: return end(id, .lost)  // The token was never sent.
    }
    guard phone.device != nil else { return end(id, .lost) }
    let now = now
    phones.change(id) { $0.leave(at: now, wall: wall) }
    store(phones[id]?.changes ?? [])
    requeue(id, from: connection)
    storeLine(of: id)
    armLine(of: id)
    armGrace(id)
    sendWakePush(to: id)
  }

  /// Ends a phone's pairing. Assistants that still have tokens receive the reason.
  package mutating func end(_ id: PhoneID, _ ending: RelayPhone.Ending) {
    guard let phone = phones[id], !phone.isOver else { return }
    if let connection = phone.connection, ending == .replaced {
      metrics.replaced += 1
      close(connection, .replaced)
    }
    guard let ended = phones.end(id, ending, at: now) else { return }
    for question in questions.line(of: id) { finish(question, .refused(absence(of: ended))) }
    questions.forget(id)
    pairing.remove(id)
    for alarm in [RelayAlarm.pair(id), .grace(id), .wakePush(id)] { alarms.clear(alarm) }
    if ended.device != nil { store([.endPhone(id)]) }
    endGrants(of: id)
    forgetIfUnasked(id)
  }

  /// Removes a phone whose pairing is over, unless an assistant still has a token for it.
  mutating func forgetIfUnasked(_ id: PhoneID) {
    if tokens.tokens(of: id).isEmpty { phones.forget(id) }
  }

  /// Sets the alarm for the end of a phone's grace period.
  ///
  /// Without a push address, the period is short. With one, it lasts until the last token expires.
  /// A grant (OAuth) extends it likewise, since its client renews it by itself, and so does an access
  /// that synced samples answer.
  mutating func armGrace(_ id: PhoneID) {
    guard let phone = phones[id], phone.isAway else { return }
    let short = phone.seenAt.advanced(by: policy.grace)
    let lasting = tokens.accesses(to: id).filter {
      phone.wakePush.address != nil || $0.stored.generation != nil || syncedUser(of: $0) != nil
    }
    alarms.set(.grace(id), at: max(short, lasting.map(\.expiresAt).max() ?? short))
  }

  mutating func endGrace(_ id: PhoneID) {
    if phones[id]?.isAway == true { end(id, .lost) }
  }
}

// Questions, and the times at which they are sent to phones.
extension RelayServer {
  /// Handles a question from an assistant.
  mutating func take(
    _ call: RequestID, _ question: HealthQuestion, bearer: TokenHash?, wall: Timestamp
  ) {
    guard let bearer, let access = tokens[bearer], let phone = phones[access.phone] else {
      return refuse(call, tokens.refusal(of: bearer, at: now))
    }
    guard now < access.expiresAt else { return refuse(call, .tokenExpired) }
    guard !phone.isOver else { return refuse(call, absence(of: phone)) }
    if let id = questions.adopt(question, to: phone.id, of: bearer, call, at: now, wall: wall) {
      arm(id)
      if let adopted = questions[id] { store([.question(adopted.stored)]) }
    } else {
      if let until = phone.mayReturn(within: policy.returnWait), until <= now,
        syncedUser(of: access) == nil
      {
        return refuse(call, absence(of: phone))
      }
      guard !questions.isFull(phone.id) else {
        return refuse(call, .tooManyWaiting(retryAfter: policy.busyRetry))
      }
      if tokens.noteQuestion(of: bearer, wall: wall) {
        alarms.set(.notes, at: now.advanced(by: Self.noteInterval))
      }
      if policy.renewsTokens, access.stored.generation == nil {
        extend(bearer, access, to: nil, by: policy.tokenLife, wall: wall)
      }
      let id = questions.add(question, to: phone.id, of: bearer, call, at: now, wall: wall)
      arm(id)
      storeLine(of: phone.id)
      readSyncedIfDue(id)
    }
    advance(phone.id)
    sendWakePush(to: phone.id)
  }

  /// The maximum delay before the time of an assistant's last question is stored.
  private static let noteInterval = Duration.seconds(60)

  /// Returns when to stop waiting for a phone that no push can wake, or `nil` for other questions.
  private func waitsUntil(_ question: RelayQuestion) -> Instant? {
    guard question.isWaiting, question.call != nil, question.synced != .reading else { return nil }
    return phones[question.phone]?.mayReturn(within: policy.returnWait)
  }

  mutating func arm(_ id: QuestionID) {
    guard let question = questions[id] else { return }
    let all = [question.wake, waitsUntil(question), syncedDue(question)].compactMap(\.self)
    alarms.set(.question(id), at: all.min() ?? question.wake)
  }

  /// Resets the alarms of a phone's questions after it disconnected or lost its push address.
  mutating func armLine(of id: PhoneID) {
    for question in questions.line(of: id) { arm(question) }
  }

  /// Sends the phone its first waiting question, if it is connected and no question is under way.
  private mutating func advance(_ id: PhoneID) {
    guard case .here(let connection) = phones[id]?.presence, sockets.isOpen(connection),
      let next = questions.askNext(of: id, on: connection)
    else { return }
    emit(.send(connection, .question(next.id, next.question)))
  }

  /// Puts the question that was in progress on a closed socket back into the queue.
  private mutating func requeue(_ id: PhoneID, from connection: ConnectionID) {
    for question in questions.asked(on: connection, of: id) { wait(question) }
  }

  /// Puts a question back into the queue of its phone.
  private mutating func wait(_ id: QuestionID) {
    questions.wait(id, from: now)
    arm(id)
  }

  /// Stores the questions for a phone that is away, so that they survive a restart.
  private mutating func storeLine(of id: PhoneID) {
    if phones[id]?.isAway == true { store(questions.keep(lineOf: id)) }
  }

  /// Ends a question with its outcome.
  mutating func finish(_ id: QuestionID, _ outcome: RelayOutcome, byPhone: Bool = false) {
    guard let question = questions.end(id) else { return }
    alarms.clear(.question(id))
    if question.isStored { store([.endQuestion(question.id)]) }
    if let call = question.call { answer(call, outcome) }
    metrics.ended(outcome.name, after: question.since.duration(to: now))
    release(question, byPhone: byPhone)
    advance(question.phone)
  }

  /// Informs the phone, if possible, that no call waits for the answer any more.
  private mutating func release(_ question: RelayQuestion, byPhone: Bool) {
    switch question.stage {
    case .waiting: break
    case .leased(let lease, _): questions.remember(question, lease: lease, wasTaken: byPhone)
    case .asked(let connection):
      guard !byPhone, sockets.isOpen(connection) else { return }
      if phones[question.phone]?.device == nil {
        // A plain phone answers an unknown question with an error that does not identify a
        // question.
        sockets.addPendingAnswer(connection)
      } else {
        emit(.send(connection, .cancel(question.id)))
      }
    }
  }

  /// Handles the deadline or the expired lease of a question.
  mutating func wake(_ id: QuestionID) {
    guard let question = questions[id] else { return }
    if now >= question.deadline { return finish(id, .refused(lateness(of: question))) }
    readSyncedIfDue(id)
    if let question = questions[id], let until = waitsUntil(question), until <= now,
      let phone = phones[question.phone]
    {
      return finish(id, .refused(absence(of: phone)))
    }
    guard case .leased(_, let until) = question.stage, now >= until else { return arm(id) }
    wait(id)
    advance(question.phone)
    sendWakePush(to: question.phone)
  }

  /// Returns the reason why a question has not been answered in time.
  private func lateness(of question: RelayQuestion) -> RelayRefusal {
    guard let phone = phones[question.phone] else { return .timedOut(after: policy.callLimit) }
    switch phone.presence {
    case .greeting, .over:
      return question.tries > 0
        ? .timedOut(after: policy.callLimit) : .phoneAway(since: .zero, .mayReturn)
    case .here:
      return question.tries > 0
        ? .timedOut(after: policy.callLimit) : .tooManyWaiting(retryAfter: policy.busyRetry)
    case .away(let since):
      guard question.leases == 0 else { return .timedOut(after: policy.callLimit) }
      let wasWoken = phone.wakePush.sentAt.map { $0 >= question.since } ?? false
      return .phoneAway(since: since.duration(to: now), wasWoken ? .wasWoken : .mayReturn)
    }
  }

  /// Returns the reason why a phone that is not connected cannot receive questions.
  func absence(of phone: RelayPhone) -> RelayRefusal {
    switch phone.presence {
    case .over(_, .replaced): .phoneReplaced
    case .over(let since, .lost): .phoneAway(since: since.duration(to: now), .pairAgain)
    case .away(let since): .phoneAway(since: since.duration(to: now), .mayReturn)
    case .greeting, .here: .phoneAway(since: .zero, .mayReturn)
    }
  }
}

// Messages that phones send on their sockets.
extension RelayServer {
  /// Handles a message that a phone sent on its socket.
  mutating func said(_ connection: ConnectionID, _ message: PhoneMessage) {
    guard let phone = speaker(on: connection) else { return metrics.mismatches += 1 }
    switch message {
    case .healthData, .summary, .types:
      guard let (kind, id, object) = message.answer else { return }
      deliver(object, as: kind, to: questions.given(id, to: phone), on: connection)
    case .part(let id, let part):
      guard let question = questions.given(id, to: phone) else { return mismatch(on: connection) }
      do throws(AnswerFault) {
        try gather(part, of: question)
      } catch {
        spoil(question, error)
      }
    case .failure(let id?, let reason):
      guard let question = questions.given(id, to: phone) else { return mismatch(on: connection) }
      finish(question, .data(.failure(Self.text(reason))), byPhone: true)
    case .failure(nil, let reason):
      guard let question = unnamed(on: connection, of: phone) else { return }
      finish(question, .data(.failure(Self.text(reason))), byPhone: true)
    case .unknown(_, let id):
      guard let question = id.flatMap({ questions.given($0, to: phone) }) else {
        return mismatch(on: connection)
      }
      finish(question, .refused(.malformed(reason: "a message of an unknown type")), byPhone: true)
    }
  }

  /// Handles data from a phone that is not a valid message.
  mutating func unreadable(_ connection: ConnectionID, _ error: RelayWireError) {
    guard let phone = speaker(on: connection) else { return metrics.mismatches += 1 }
    let question =
      if let id = error.id { questions.given(id, to: phone) } else {
        unnamed(on: connection, of: phone)
      }
    guard let question else { return error.id == nil ? () : mismatch(on: connection) }
    finish(question, .refused(.malformed(reason: error.description)), byPhone: true)
  }

  /// Returns the phone that uses a connection.
  private func speaker(on connection: ConnectionID) -> PhoneID? {
    guard sockets.isOpen(connection), let id = sockets.phone(on: connection),
      phones[id]?.presence == .here(connection)
    else { return nil }
    return id
  }

  /// Returns the question to which an error without an id belongs.
  ///
  /// This is the question under way, unless a plain phone may still answer questions that have
  /// ended.
  private mutating func unnamed(on connection: ConnectionID, of phone: PhoneID) -> QuestionID? {
    guard !sockets.hasPendingAnswers(connection),
      let question = questions.asked(on: connection, of: phone).first
    else {
      mismatch(on: connection)
      return nil
    }
    return question
  }

  /// Counts a message that is late, repeated or unrequested.
  private mutating func mismatch(on connection: ConnectionID) {
    metrics.mismatches += 1
    sockets.takePendingAnswer(connection)
  }

  private mutating func deliver(
    _ object: HealthObject, as kind: HealthQuestion.Kind, to question: QuestionID?,
    on connection: ConnectionID
  ) {
    guard let question else { return mismatch(on: connection) }
    if let fault = questions.fault(in: object, as: kind, to: question) {
      return spoil(question, fault, byPhone: true)
    }
    finish(question, .data(questions.checked(object, to: question)), byPhone: true)
  }

  /// Adds a part of an answer. The last part ends the question.
  private mutating func gather(_ part: HealthPart, of id: QuestionID) throws(AnswerFault) {
    guard let whole = try questions.gather(part, of: id) else { return }
    finish(id, .data(questions.checked(whole, to: id)), byPhone: true)
  }

  /// Ends a question whose answer cannot be passed on.
  private mutating func spoil(
    _ question: QuestionID, _ fault: AnswerFault, byPhone: Bool = false
  ) {
    let refusal: RelayRefusal =
      switch fault {
      case .malformed(let reason): .malformed(reason: reason)
      case .tooLarge: .answerTooLarge(limit: policy.maxAnswerBytes)
      case .noRoom: .tooManyWaiting(retryAfter: policy.busyRetry)
      }
    finish(question, .refused(refusal), byPhone: byPhone)
  }

  /// Ends the question whose answer exceeded the socket's size limit, since it would exceed it
  /// again.
  private mutating func refuseTooLarge(_ id: PhoneID, on connection: ConnectionID) {
    for question in questions.asked(on: connection, of: id) {
      finish(question, .refused(.answerTooLarge(limit: policy.maxAnswerBytes)), byPhone: true)
    }
  }

  /// Returns the phone's reason for not answering, or a default text if the reason is empty.
  private static func text(_ reason: String) -> String {
    reason.isEmpty ? "the phone could not answer" : reason
  }
}

// Phones without a socket: their pulls, and the pushes that wake them.
extension RelayServer {
  /// Handles a pull.
  mutating func take(
    _ request: RequestID, _ pull: RelayPull, bearer: TokenHash?, wall: Timestamp
  ) {
    guard frame.isServing, !writes.isBehind else {
      return respond(request, .refused(.busy(retryAfter: policy.busyRetry)))
    }
    guard let id = phones.resumed(by: bearer) else {
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
      let now = now
      phones.change(id) {
        $0.register(address)
        $0.seen(at: now, wall: wall)
      }
      armGrace(id)
      store(phones[id]?.changes ?? [], then: .push(request, id))
    case .synced(let choice, let address):
      seen(id, wall: wall)
      take(request, choice, from: address, of: id)
    }
  }

  /// Records a request from a phone that is away, and restarts its grace period.
  private mutating func seen(_ id: PhoneID, wall: Timestamp) {
    let now = now
    guard phones.change(id, { $0.seen(at: now, wall: wall) }) == true else { return }
    store(phones[id]?.changes ?? [])
    armGrace(id)
  }

  private mutating func lease(_ request: RequestID, _ order: LeaseRequest, to id: PhoneID) {
    let given = questions.lease(to: id, max: order.max, at: now)
    for question in given { arm(question.id) }
    if given.isEmpty { phones.change(id) { $0.endVisit() } }
    respond(
      request,
      .leased(LeasedQuestions(questions: given.map(\.leased), expiresIn: policy.lease)))
  }

  private mutating func take(_ request: RequestID, _ result: LeasedResult, of id: PhoneID) {
    guard let name = result.message.id else {
      return respond(request, .refused(.malformed(reason: "request_id is missing")))
    }
    guard let number = questions.given(name, to: id), let question = questions[number] else {
      guard let ended = questions.ended(name, of: id) else {
        return respond(request, .refused(.unknownQuestion))
      }
      let isSame = ended.wasTaken && ended.lease == result.lease
      return respond(request, isSame ? .taken : .refused(.notWanted))
    }
    guard case .leased(result.lease, let until) = question.stage, now < until else {
      return respond(request, .refused(.leaseExpired))
    }
    do throws(AnswerFault) {
      try answer(result.message, number)
      respond(request, .taken)
    } catch {
      switch error {
      case .malformed(let reason): respond(request, .refused(.malformed(reason: reason)))
      case .tooLarge:
        spoil(number, .tooLarge)
        respond(request, .refused(.tooLarge(limit: policy.maxAnswerBytes)))
      case .noRoom: respond(request, .refused(.busy(retryAfter: policy.busyRetry)))
      }
    }
  }

  /// Handles an answer to a leased question. The phone may correct an invalid answer while the
  /// lease is valid.
  private mutating func answer(
    _ message: PhoneMessage, _ question: QuestionID
  ) throws(AnswerFault) {
    switch message {
    case .healthData, .summary, .types:
      guard let (kind, _, object) = message.answer else { return }
      try answer(object, as: kind, question)
    case .part(_, let part): try gather(part, of: question)
    case .failure(_, let reason):
      finish(question, .data(.failure(Self.text(reason))), byPhone: true)
    case .unknown: throw .malformed("a message of an unknown type")
    }
  }

  private mutating func answer(
    _ object: HealthObject, as kind: HealthQuestion.Kind, _ question: QuestionID
  ) throws(AnswerFault) {
    if let fault = questions.fault(in: object, as: kind, to: question) { throw fault }
    finish(question, .data(questions.checked(object, to: question)), byPhone: true)
  }

  mutating func respond(_ request: RequestID, _ reply: RelayReply) {
    metrics.pulled[reply.name, default: 0] += 1
    emit(.respond(request, reply))
  }

  /// Revokes the access of the assistants that the order names, and responds with the others.
  private mutating func take(_ request: RequestID, _ order: AssistantsOrder, of id: PhoneID) {
    let all = tokens.tokens(of: id)
    switch order {
    case .list: break
    case .endAll: for token in all { signOut(token, .byUser) }
    case .end(let name):
      guard let token = all.first(where: { $0.shortName == name }) else {
        return respond(request, .refused(.unknownAssistant))
      }
      signOut(token, .byUser)
    case .synced(let name, let allows):
      guard allowSynced(allows, to: name, of: id) else {
        return respond(request, .refused(.unknownAssistant))
      }
    }
    respond(request, .assistants(assistants(of: id)))
  }

  private func assistants(of id: PhoneID) -> PairedAssistants {
    let live = tokens.accesses(to: id).filter { now < $0.expiresAt }
    return PairedAssistants(
      limit: policy.tokensPerPhone,
      assistants: live.map { PairedAssistants.Assistant($0) }, syncedUser: phones[id]?.synced?.name)
  }

  /// Wakes a phone that is away if a question has arrived since the last push.
  mutating func sendWakePush(to id: PhoneID) {
    guard let phone = phones[id], phone.isAway, phone.wakePush.address != nil else { return }
    let waiting = questions.questions(to: id).filter { $0.isWaiting && $0.call != nil }
    guard let latest = waiting.map(\.deadlineWall).max(),
      waiting.contains(where: { $0.isNew(since: phone.wakePush.sentAt) })
    else { return }
    switch phones.wake(id, at: now) {
    case nil: return
    case .wait(let later): alarms.set(.wakePush(id), at: later)
    case .send(let address):
      metrics.pushesSent += 1
      emit(.push(id, address, expiresAt: latest))
    }
  }

  /// Handles the result of a push, unless the phone has changed its push address.
  mutating func pushed(_ id: PhoneID, to address: PushAddress, _ outcome: PushOutcome) {
    guard phones[id]?.wakePush.address == address else { return }
    metrics.pushed[outcome.metric, default: 0] += 1
    let (now, gap) = (now, policy.pushGap)
    guard phones.change(id, { $0.pushed(outcome, at: now, gap: gap) }) == true else { return }
    if case .gone = outcome { store(phones[id]?.changes ?? []) }
    armLine(of: id)
    armGrace(id)
    sendWakePush(to: id)
  }
}

extension PairedAssistants.Assistant {
  /// Creates the description of an access for the user of its phone.
  fileprivate init(_ access: RelayAccess) {
    let stored = access.stored
    self.init(
      id: stored.token.shortName, name: stored.assistant, since: stored.since,
      lastQuestion: stored.lastAsked, expiresAt: stored.expiresAt, readsSynced: stored.readsSynced)
  }
}

extension PushOutcome {
  /// The name of the outcome in metrics.
  fileprivate var metric: String {
    switch self {
    case .delivered: "delivered"
    case .failed: "failed"
    case .tooMany: "too_many"
    case .gone: "gone"
    }
  }
}
