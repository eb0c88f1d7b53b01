import LinkCore
import LinkHealth
import LinkWire

// What comes in over the socket, and how it is answered.
extension RelayModel {
  mutating func opened(_ attempt: AttemptID, _ step: inout Step) {
    guard link.currentAttempt == attempt else { return }  // late
    line.forgetAnswered()
    drive(.opened(attempt), &step)
  }

  mutating func received(_ message: Message, _ attempt: AttemptID, _ step: inout Step) {
    guard link.currentAttempt == attempt else { return }  // late
    heard(attempt, &step)
    switch message {
    case .paired(let welcome): paired(welcome, attempt, &step)
    case .asked(let id, let question): asked(id, question, attempt, &step)
    case .cancelled(let id):
      guard let index = line.items.firstIndex(where: { $0.id == id }) else { return }
      remove(index, .cancelled, &step)
    case .unknown(let type, let id):
      tell(.unknownType(type), &step)
      refuse(id, nil, "messages of this type are not understood", attempt, &step)
    case .malformed(let error):
      tell(.malformed(error.description), &step)
      refuse(error.id, error.kind, "the message cannot be read: \(error)", attempt, &step)
    }
  }

  mutating func oversized(_ bytes: UInt64, _ attempt: AttemptID, _ step: inout Step) {
    guard link.currentAttempt == attempt else { return }  // late
    heard(attempt, &step)
    tell(.oversized(bytes: bytes), &step)
    refuse(nil, nil, "a message of \(bytes) bytes is too long", attempt, &step)
  }

  /// Any message shows that the backend wants something, understood or not; pings and pongs do not.
  private mutating func heard(_ attempt: AttemptID, _ step: inout Step) {
    lastMessage = step.now
    drive(.validData(attempt), &step)
  }

  private mutating func paired(_ next: Welcome, _ attempt: AttemptID, _ step: inout Step) {
    let isNew = link.status.phase != .connected
    let couldSendParts = welcome?.acceptsParts ?? next.acceptsParts
    welcome = next
    // A backend that knows the phone need not say the token again, nor with each further pair.
    if next.resume != nil || isNew && !next.isResumed { resume = next.resume }
    if isNew {
      if next.isResumed { line.adopt(attempt) } else { drop(&step) { $0.attempt != attempt } }
      // What was cut for a backend that takes parts does not fit one that takes none.
      if couldSendParts != next.acceptsParts { readAgain(&step) }
      drive(.established(attempt), &step)
    }
    step.show(.pair(next.pair))
  }

  private mutating func asked(
    _ id: RelayRequestID, _ question: HealthQuestion, _ attempt: AttemptID, _ step: inout Step
  ) {
    guard !line.knows(id) else {
      line.adopt(id, attempt)
      return
    }
    guard line.items.count < RelaySettings.lineLimit else {
      line.noteAnswered(id)
      tell(.busy, &step)
      step.effects.append(
        .refuse(attempt, id, question.kind, reason: "too many questions wait for this phone"))
      return
    }
    line.items.append(
      RequestLine.Item(id: id, question: question, attempt: attempt, askedAt: step.now))
  }

  private mutating func refuse(
    _ id: RelayRequestID?, _ kind: HealthQuestion.Kind?, _ reason: String, _ attempt: AttemptID,
    _ step: inout Step
  ) {
    guard refusals.pass(at: step.now) else { return }
    step.effects.append(.refuse(attempt, id, kind, reason: reason))
  }

  /// Does for the first in line what can be done now.
  mutating func moveUp(_ step: inout Step) {
    guard let welcome, let first = line.items.first else { return }
    switch first.progress {
    case .waiting:
      let work = line.newWork()
      line.items[0].progress = .reading(
        work, until: step.now.advanced(by: RelaySettings.readTimeout))
      step.effects.append(
        .read(work, first.id, first.question, inParts: welcome.acceptsParts))
    case .prepared(let work, let prepared):
      guard link.status.phase == .connected, link.currentAttempt == first.attempt else { return }
      send(work, prepared, part: 0, first.attempt, &step)
    case .reading, .sending: return
    }
  }

  /// One part at a time, each behind the proof that the one before arrived: a slow way out is not
  /// filled so far that the link's own pings would come too late.
  private mutating func send(
    _ work: WorkID, _ prepared: Prepared, part: Int, _ attempt: AttemptID, _ step: inout Step
  ) {
    let ping = line.newPing()
    line.items[0].progress = .sending(work, prepared, part: part, ping: ping)
    step.effects.append(.send(attempt, work, part: part))
    step.effects.append(.ping(attempt, ping))
  }

  mutating func takePrepared(_ work: WorkID, _ prepared: Prepared, _ step: inout Step) {
    guard case .reading(work, _)? = line.items.first?.progress else {
      step.effects.append(.discard(work))  // late
      return
    }
    line.items[0].progress = .prepared(work, prepared)
    if case .unreadable(let reason) = prepared.content { tell(.unreadable(reason), &step) }
  }

  /// A pong: what was sent before its ping has arrived.
  mutating func confirm(_ attempt: AttemptID, _ id: UInt64, _ step: inout Step) {
    guard link.currentAttempt == attempt, let first = line.items.first,
      case .sending(let work, let prepared, let part, id) = first.progress
    else { return }
    if part + 1 < prepared.parts {
      send(work, prepared, part: part + 1, attempt, &step)
      return
    }
    line.noteAnswered(first.id)
    switch prepared.content {
    case .points(let count, let isTruncated):
      remove(0, .answered(points: count, isTruncated: isTruncated), &step)
    case .refused(let reason), .unreadable(let reason):
      remove(0, .refused(reason: reason), &step)
    }
  }

  /// The store did not answer in time: an honest failure takes the answer's place.
  mutating func expireReading(_ step: inout Step) {
    guard let first = line.items.first, case .reading(let late, _) = first.progress else { return }
    let reason = "the health data could not be read in time"
    let work = line.newWork()
    step.effects.append(.discard(late))
    step.effects.append(.fail(work, first.id, first.question.kind, reason: reason))
    line.items[0].progress = .prepared(
      work, Prepared(parts: 1, content: .unreadable(reason: reason)))
    tell(.unreadable(reason), &step)
  }

  private mutating func readAgain(_ step: inout Step) {
    for index in line.items.indices {
      if let work = line.items[index].progress.work { step.effects.append(.discard(work)) }
      line.items[index].progress = .waiting
    }
  }

  /// Lets go of the questions that nobody waits for any more.
  mutating func drop(_ step: inout Step, where isOver: (RequestLine.Item) -> Bool) {
    for index in line.items.indices.reversed() where isOver(line.items[index]) {
      remove(index, .dropped, &step)
    }
  }

  private mutating func remove(
    _ index: Int, _ outcome: RelayReceipt.Outcome, _ step: inout Step
  ) {
    let item = line.items.remove(at: index)
    if let work = item.progress.work { step.effects.append(.discard(work)) }
    step.show(.ended(RelayReceipt(item, outcome, at: step.now)))
  }
}

extension RequestLine {
  /// The backend kept the session: all that was asked before is waited for here.
  mutating func adopt(_ attempt: AttemptID) {
    for index in items.indices { items[index].attempt = attempt }
  }

  /// The backend asked again on another connection.
  mutating func adopt(_ id: RelayRequestID, _ attempt: AttemptID) {
    guard let index = items.firstIndex(where: { $0.id == id }) else { return }
    items[index].attempt = attempt
  }

  /// The socket is gone: whether what was on its way arrived is not known.
  mutating func interrupt() {
    guard case .sending(let work, let prepared, _, _)? = items.first?.progress else { return }
    items[0].progress = .prepared(work, prepared)
  }
}
