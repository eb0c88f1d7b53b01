import LinkCore
import LinkStorage
import LinkWire

// What the server says.
extension SessionModel {
  mutating func hear(
    _ message: SessionServerMessage, _ attempt: AttemptID, _ step: inout Step
  ) {
    switch message {
    case .hello(let hello): greet(hello, attempt, &step)
    case .connected(let connected): self.connected(connected, attempt, &step)
    case .authError(let text):
      lose(attempt, .closed(code: 4401, reason: text), isOpen: true, &step)
    case .error(let error): refused(error, attempt, &step)
    case .unknown: return  // session_list, recent_sessions, available_commands, and later ones
    case .pong, .ack, .response, .responsePart, .replay, .turnComplete, .history, .historyBatch,
      .heartbeat, .draining, .sessionKilled:
      if talk?.stage == .connected { hearConnected(message, attempt, &step) }
    }
  }

  private mutating func hearConnected(
    _ message: SessionServerMessage, _ attempt: AttemptID, _ step: inout Step
  ) {
    switch message {
    case .pong: pong(attempt, &step)
    case .ack(_, let key): acknowledged(key, &step)
    case .response(let response):
      drive(.validData(attempt), &step)
      answered(response, &step)
    case .responsePart(let conversation, let key, let index, let text):
      talk?.pieces.add(text, at: index, of: key)
      step.show(.part(conversation: conversation, key: key, index: index, text: text))
    case .replay(let id, let entry, let number):
      drive(.validData(attempt), &step)
      replayed(id, entry, number, &step)
    case .history(let window):
      drive(.validData(attempt), &step)
      apply(window, &step)
    case .historyBatch(let windows):
      drive(.validData(attempt), &step)
      for window in windows { apply(window, &step) }
    case .heartbeat(let time): compare(time, &step)
    case .draining(_, let retryAfter, let window):
      talk?.isDraining = true
      drive(.draining(attempt, within: retryAfter + (window ?? .zero)), &step)
      step.show(.notice(.draining(retryAfter: retryAfter)))
    case .turnComplete(let conversation, _): completed(conversation, &step)
    case .sessionKilled: return  // the response says it
    case .hello, .connected, .authError, .error, .unknown: return  // taken before
    }
  }

  private mutating func greet(
    _ hello: SessionHello, _ attempt: AttemptID, _ step: inout Step
  ) {
    guard let client, talk?.stage == .opening else { return }
    talk?.stage = .greeted
    var connect = SessionConnect(
      session: client.description, features: Set(SessionFeature.allCases), received: stored)
    if hello.challenge != nil {
      // The server's own time, so that a wrong clock keeps no client out.
      connect.timestamp = hello.timestamp ?? wall(at: step.now)
    }
    if !hello.features.contains(.boundProof) { connect.features.remove(.boundProof) }
    step.effects.append(.connect(attempt, connect, challenge: hello.challenge))
  }

  private mutating func connected(
    _ connected: SessionConnected, _ attempt: AttemptID, _ step: inout Step
  ) {
    guard talk?.stage == .greeted else { return }
    guard connected.version >= .oldest else {
      let reason = "the server speaks version \(connected.version)"
      return lose(attempt, .closed(code: 4403, reason: reason), isOpen: true, &step)
    }
    drive(.established(attempt), &step)
    guard link.status.phase == .connected else { return }
    talk?.stage = .connected
    talk?.connectedAt = step.now
    talk?.version = connected.version
    talk?.features = connected.features
    metrics.noteConnected(at: wall(at: step.now), step.now)
    if connected.isRecovered == false { notRecovered(&step) }
  }

  private mutating func notRecovered(_ step: inout Step) {
    if !skipsNumbers { step.show(.gap(conversation: nil, .notRecovered)) }
    skipsNumbers = true
  }

  /// Takes a refusal: of the session, of a prompt, or of something that can be left out.
  private mutating func refused(
    _ error: SessionError, _ attempt: AttemptID, _ step: inout Step
  ) {
    if error.code == SessionError.unsupportedVersion {
      lose(attempt, .closed(code: 4403, reason: error.message), isOpen: true, &step)
    } else if error.code == "not_recovered" {
      notRecovered(&step)
    } else if let key = error.idempotencyKey {
      if let prompt = UUID128(key).flatMap({ queue[$0] }) { refused(prompt, error, &step) }
    } else if error.message.hasPrefix("Unknown message type") {
      // The original says so to acknowledgements, and a plain server to what it does not know.
      if error.message.contains("set_max_message_size") { talk?.forget(.size) }
    } else if !refusedWithoutKey(error, &step) {
      // A conversation that the user named may be a new one.
      if let conversation = error.conversation, leave(conversation, &step),
        conversation == named, conversations[conversation]?.openedBy == nil
      {
        return
      }
      step.show(.notice(.refused(error)))
    }
  }

  /// The server has nothing of a conversation, or does not say; false if it was not asked for.
  private mutating func leave(_ conversation: String, _ step: inout Step) -> Bool {
    guard talk?.subscribing.removeValue(forKey: conversation) != nil else { return false }
    talk?.current.insert(conversation)
    conclude(conversation, &step)
    return true
  }

  mutating func malformed(_ attempt: AttemptID, _ detail: String, _ step: inout Step) {
    guard talk?.attempt == attempt else { return }
    talk?.malformed += 1
    talk?.wasDeaf = false
    drive(.heard(attempt), &step)
    step.show(.notice(.malformed(detail)))
    guard talk?.malformed == SessionSettings.malformedLimit else { return }
    lose(
      attempt, .protocolError(detail: "too many messages could not be read"), isOpen: true, &step)
  }

  /// Compares the clocks; their difference is shown, and used for nothing.
  private mutating func compare(_ time: Timestamp?, _ step: inout Step) {
    guard let time, talk?.knowsSkew == false else { return }
    let skew = wall(at: step.now).duration(to: time)
    guard skew > SessionSettings.skewLimit || skew < .zero - SessionSettings.skewLimit else {
      return
    }
    talk?.knowsSkew = true
    step.show(.notice(.clockSkew(skew)))
  }

  // MARK: Acknowledgements and numbers

  mutating func sendAcks(_ step: inout Step) {
    guard let talk else { return }
    step.effects += owed.map { .send(talk.attempt, .messageAck($0)) }
    if !owed.isEmpty { self.talk?.hasAcknowledged = true }
    owed = []
  }

  mutating func sendSize(_ step: inout Step) {
    guard let current = talk, current.isIdempotent || current.awaited.isEmpty && leaving == nil
    else { return }
    guard current.toldSize ?? PayloadSize.untold != payload.kilobytes else { return }
    if current.toldSize != nil { step.show(.notice(.payload(kilobytes: payload.kilobytes))) }
    talk?.toldSize = payload.kilobytes
    talk?.expectAck(of: .size, at: step.now)
    step.effects.append(.send(current.attempt, .setMaxMessageSize(kilobytes: payload.kilobytes)))
  }

  /// Notes that a message of the server is on its way to the store, which then acknowledges it.
  mutating func keep(id: String?, number: UInt64?) {
    if let id { writer.waiting.acks.append(id) }
    guard let number else { return }
    if skipsNumbers, number > received {
      // What came beyond a hole before may come again under other numbers.
      (received, skipsNumbers, ahead) = (number - 1, false, [])
    }
    let isNext = number == received + 1
    guard number > received, isNext || ahead.count < SessionSettings.numbersAhead else { return }
    ahead.insert(number)
    while ahead.remove(received + 1) != nil { received += 1 }
    writer.waiting.change.received = received
  }
}
