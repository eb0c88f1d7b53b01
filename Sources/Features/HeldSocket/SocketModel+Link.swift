import LinkCore

// What inputs and the link's effects mean for a held socket.
extension SocketModel {
  mutating func take(_ input: Input, _ step: inout Step) {
    switch input {
    case .start: begin(&step)
    case .link(.device(.again)):
      // Asks for another attempt; what was told to stop stays stopped.
      if stopsAt == nil, link.isWanted { begin(&step) }
    case .stop: stopsAt = stopsAt ?? step.now.advanced(by: SocketSettings.flushTimeout)
    case .send(let message): send(message, &step)
    case .link(let event):
      if event.attempt == nil || event.attempt == link.currentAttempt { hear(event, &step) }
    case .credentials(let event): drive(.credentials(event), &step)
    case .socket(let attempt, let news):
      if link.currentAttempt == attempt { hear(news, attempt, &step) }
    case .restored(let kept): queue.restore(kept)
    case .stored(let id): queue.noteStored(id)
    case .storeFailed(let id, let detail):
      queue.drop(id)
      step.show(.notice(.notStored(detail: detail)))
    }
  }

  private mutating func begin(_ step: inout Step) {
    stopsAt = nil
    drive(.want(.live), &step)
    drive(.trigger(.userRefresh), &step)
  }

  /// Takes what the socket of the present attempt said.
  private mutating func hear(_ news: News, _ attempt: AttemptID, _ step: inout Step) {
    switch news {
    case .opened(let subprotocol):
      step.effects.append(.greet(attempt, subprotocol: subprotocol, after: position))
      drive(.opened(attempt), &step)
      if !settings.awaitsConfirmation { drive(.established(attempt), &step) }
    case .message(let message, let marks): received(message, marks, attempt, &step)
    case .reading(let isPaused):
      paused = isPaused ? attempt : nil
      // Silence counts from here on again.
      drive(.heard(attempt), &step)
    case .unsent:
      drive(.reject(attempt, .local(detail: "the socket takes no more")), &step)
    }
  }

  private mutating func received(
    _ message: SocketMessage, _ marks: SocketMarks, _ attempt: AttemptID, _ step: inout Step
  ) {
    if let noted = marks.position { position = noted }
    if marks.provesLife { drive(.validData(attempt), &step) }
    if marks.answersPing, let asked { drive(.pong(attempt, asked), &step) }
    if marks.confirms { drive(.established(attempt), &step) }
    step.show(.message(message))
  }

  /// Takes what any link can be told. Where the app has a ping of its own, control frames say
  /// nothing about the server's program.
  private mutating func hear(_ event: LinkEvent, _ step: inout Step) {
    switch event {
    case .ping, .pong: if !settings.hasPing { drive(HeldLink.Input(event), &step) }
    case .device, .oversized, .lost: drive(HeldLink.Input(event), &step)
    }
    if case .oversized(_, let bytes) = event { step.show(.notice(.oversized(bytes: bytes))) }
    guard case .pong(_, let id) = event else { return }
    let arrived = queue.proven(by: id)
    if settings.outbox == .durable, !arrived.isEmpty { step.effects.append(.remove(arrived)) }
  }

  private mutating func send(_ message: SocketMessage, _ step: inout Step) {
    if let refusal = queue.refusal(of: message) { return step.show(.notice(.refused(refusal))) }
    guard settings.outbox != .off || isConnected && stopsAt == nil else {
      return step.show(.notice(.notConnected))
    }
    let isDurable = settings.outbox == .durable
    let entry = queue.add(message, isStored: !isDurable)
    if isDurable { step.effects.append(.store(entry)) }
  }

  mutating func end(_ step: inout Step) {
    stopsAt = nil
    drive(.want(.none), &step)
    let count = queue.entries.count
    if count > 0 { step.show(.notice(.unsent(count: count))) }
  }

  /// Translates what the link asks for.
  mutating func follow(_ effects: [HeldLink.Effect], _ step: inout Step) {
    for effect in effects {
      switch effect {
      case .prepare(let attempt): drive(.prepared(attempt), &step)
      case .open(let attempt): step.effects.append(.open(attempt))
      case .close(let attempt, let reason):
        step.effects.append(.close(attempt, code: reason.closeCode))
      case .ping(let attempt, let id):
        asked = settings.hasPing ? id : nil
        step.effects.append(settings.hasPing ? .ask(attempt) : .ping(attempt, id))
      case .refreshCredentials: step.effects.append(.refreshCredentials)
      case .status(let status): follow(status, &step)
      // There is no other way to the data of a socket, and no queued connect.
      case .poll, .arm, .disarm: continue
      }
    }
  }

  private mutating func follow(_ status: LinkStatus, _ step: inout Step) {
    let before = shown.status
    shown.status = status
    switch (before.phase == .connected, status.phase == .connected) {
    case (true, false): interrupt(&step)
    case (false, true):
      guard let attempt = link.currentAttempt, let position else { break }
      step.effects.append(.resume(attempt, after: position))
    case (true, true), (false, false): break
    }
    var known = before
    known.quality = status.quality
    if known != status { step.show(.status(status)) }
    if let next = status.quality, next != shown.quality {
      shown.quality = next
      step.show(.quality(next))
    }
  }

  private mutating func interrupt(_ step: inout Step) {
    (asked, paused) = (nil, nil)
    let count = queue.interrupt(repeats: repeats)
    if count > 0 { step.show(.notice(.unproven(count: count, isRepeated: repeats))) }
  }
}
