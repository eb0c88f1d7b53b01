import HealthRelay
import LinkCore
import LinkHealth
import LinkWire

// What a phone's twin does with what the backend says.
extension RelayPhoneTwin {
  mutating func hear(_ message: RelayModel.Message, _ of: AttemptID) {
    drive(.validData(of))
    lastWord = now
    switch message {
    case .paired(let next): pair(next, of)
    case .asked(let id, let question): take(id, question, of)
    case .cancelled(let id):
      if let place = line.firstIndex(where: { $0.id == id }) { end(place, .cancelled) }
    case .unknown(let type, let id):
      tell(.unknownType(type))
      refuse(id, nil, "messages of this type are not understood", of)
    case .malformed(let error):
      tell(.malformed("\(error.fault)"))
      refuse(error.id, error.kind, "the message cannot be read: \(error.fault)", of)
    }
  }

  /// Refuses what was not understood, at most 20 times in any minute.
  mutating func refuse(
    _ id: RelayRequestID?, _ kind: HealthQuestion.Kind?, _ reason: String, _ of: AttemptID
  ) {
    refusedAt.removeAll { $0.advanced(by: .seconds(60)) <= now }
    guard refusedAt.count < 20 else { return }
    refusedAt.append(now)
    ask(.refuse(of, id, kind, reason: reason))
  }

  /// The first code of a connection makes it one; others are for further assistants.
  private mutating func pair(_ next: RelayModel.Welcome, _ of: AttemptID) {
    let isFirst = link.status.phase != .connected
    let tookParts = code.map(\.acceptsParts)
    code = next
    if let given = next.resume {
      token = given
    } else if isFirst, !next.isResumed {
      token = nil
    }
    if isFirst {
      if next.isResumed {
        for place in line.indices { line[place].socket = of }
      } else {
        dropQuestions { $0.socket != of }
      }
      if let tookParts, tookParts != next.acceptsParts { forgetAnswers() }
      drive(.established(of))
    }
    ask(.update(.pair(next.pair)))
  }

  private mutating func forgetAnswers() {
    for place in line.indices {
      if let reading = line[place].reading { ask(.discard(WorkID(reading))) }
      line[place].reading = nil
      line[place].readBy = nil
      line[place].answer = nil
      line[place].sent = nil
    }
  }

  private mutating func take(
    _ id: RelayRequestID, _ question: HealthQuestion, _ of: AttemptID
  ) {
    if let place = line.firstIndex(where: { $0.id == id }) {
      line[place].socket = of
    } else if answered.contains(id) {
      return
    } else if line.count < 32 {
      line.append(Question(id: id, question: question, since: now, socket: of))
    } else {
      note(id)
      tell(.busy)
      ask(.refuse(of, id, question.kind, reason: "too many questions wait for this phone"))
    }
  }

  /// 256 answers are remembered.
  private mutating func note(_ id: RelayRequestID) { answered = (answered + [id]).suffix(256) }

  /// Does what can be done for the first question.
  mutating func work() {
    guard let code, let first = line.first else { return }
    if first.reading == nil {
      readings += 1
      line[0].reading = readings
      line[0].readBy = now.advanced(by: .seconds(40))
      ask(.read(WorkID(readings), first.id, first.question, inParts: code.acceptsParts))
    } else if first.answer != nil, first.sent == nil, link.status.phase == .connected,
      link.currentAttempt == first.socket
    {
      send(0)
    }
  }

  private mutating func send(_ part: Int) {
    guard let first = line.first, let reading = first.reading else { return }
    proofs += 1
    let ping = 9_223_372_036_854_775_808 + proofs
    line[0].sent = (part, ping)
    ask(.send(first.socket, WorkID(reading), part: part))
    ask(.ping(first.socket, ping))
  }

  /// A reading is done.
  mutating func read(_ work: WorkID, _ answer: RelayModel.Prepared) {
    guard let first = line.first, first.readBy != nil, first.reading == work.number else {
      return ask(.discard(work))
    }
    line[0].readBy = nil
    line[0].answer = answer
    if case .unreadable(let why) = answer.content { tell(.unreadable(why)) }
  }

  /// A failure stands for an answer that took 40 s.
  mutating func giveUpReading() {
    guard let first = line.first, let late = first.reading else { return }
    let why = "the health data could not be read in time"
    readings += 1
    line[0].reading = readings
    line[0].readBy = nil
    line[0].answer = RelayModel.Prepared(parts: 1, content: .unreadable(reason: why))
    ask(.discard(WorkID(late)))
    ask(.fail(WorkID(readings), first.id, first.question.kind, reason: why))
    tell(.unreadable(why))
  }

  /// What was sent before a ping has arrived.
  mutating func arrived(_ ping: UInt64, _ of: AttemptID) {
    guard let first = line.first, let answer = first.answer, let sent = first.sent,
      sent.ping == ping
    else { return }
    if sent.part < answer.parts - 1 { return send(sent.part + 1) }
    note(first.id)
    switch answer.content {
    case .points(let points, let isCut): end(0, .answered(points: points, isTruncated: isCut))
    case .refused(let why), .unreadable(let why): end(0, .refused(reason: why))
    }
  }

  /// Drops questions, the latest first.
  mutating func dropQuestions(_ isOver: (Question) -> Bool) {
    for place in line.indices.reversed() where isOver(line[place]) { end(place, .dropped) }
  }

  private mutating func end(_ place: Int, _ outcome: RelayReceipt.Outcome) {
    let gone = line.remove(at: place)
    if let reading = gone.reading { ask(.discard(WorkID(reading))) }
    acts.append(.ended(gone.id, gone.question, outcome, took: gone.since.duration(to: now)))
  }
}
