import LinkCore
import LinkWire

// What comes in over the socket.
extension StreamModel {
  mutating func received(_ frame: Frame, _ attempt: AttemptID, _ step: inout Step) {
    guard link.currentAttempt == attempt else { return }  // late
    recovery.arrears?.until = step.now.advanced(by: settings.fetchTimeout)
    switch frame {
    case .message(let message):
      drive(.validData(attempt), &step)
      recovery.passArrears(with: message)
      takeLive(message, &step)
    case .draining(let window):
      drive(.heard(attempt), &step)
      drive(.draining(attempt, within: window), &step)
      step.show(.notice(.draining(within: window)))
    case .unknown(let type):
      drive(.heard(attempt), &step)
      step.show(.notice(.unknownType(type)))
    case .malformed(let error):
      drive(.heard(attempt), &step)
      takeMalformed(error, attempt, &step)
    }
  }

  private mutating func takeMalformed(
    _ error: MessageError, _ attempt: AttemptID, _ step: inout Step
  ) {
    step.show(.notice(.malformed(error)))
    malformed.removeAll { $0.duration(to: step.now) >= .seconds(60) }
    malformed.append(step.now)
    guard malformed.count >= settings.malformedLimit else { return }
    malformed = []
    drive(
      .reject(attempt, .protocolError(detail: "too many malformed messages within a minute")),
      &step)
  }

  mutating func oversized(_ bytes: UInt64, _ attempt: AttemptID, _ step: inout Step) {
    guard link.currentAttempt == attempt else { return }  // late
    drive(.heard(attempt), &step)
    step.show(.notice(.oversized(bytes: bytes)))
    catchUp(.live, &step)
  }

  /// A message of the socket, or the server's answer to one that was sent.
  mutating func takeLive(_ message: Message, isAnswer: Bool = false, _ step: inout Step) {
    noteOtherLog([message], &step)
    guard !takesNoMore else {
      // What is not taken now is fetched when the store works and the app reads again.
      recovery.again = true
      return
    }
    guard !isOfThePast(message) else {
      doubtCursor(&step)
      return
    }
    if liesBelowAll(message) { openGap(below: oldestKnown, &step) }
    add([message], via: recovery.via(of: message), isAnswer: isAnswer, &step)
    switch noteArrival(message, isAnswer: isAnswer) {
    case .whole:
      if recovery.arrears == nil { recovery.cursor.wholeAt = wall(at: step.now) }
      commits.waiting.change.cursor = recovery.cursor
    case .hole: if !settings.sendsOnly { catchUp(.live, &step) }
    case .undecided: return
    }
  }

  /// A message before the cursor that neither memory nor the commits know is kept already, or lies
  /// in what was not loaded yet: stored alone it would look like the end of a whole stretch.
  private func isOfThePast(_ message: Message) -> Bool {
    message.position != nil && recovery.covers(message) && timeline[message.id] == nil
      && !commits.holds(message.id)
  }

  /// Takes the server's log for a new one if one of these messages shows that it is.
  ///
  /// The newest page is fetched, instead of what is being fetched.
  mutating func noteOtherLog(_ messages: [Message], _ step: inout Step) {
    guard let position = otherPosition(in: messages) else { return }
    beginNewLog(at: position, &step)
    guard let run = recovery.run else {
      doubtCursor(&step)
      return
    }
    recovery.run = nil
    for purpose in run.purposes { catchUp(purpose, &step) }
  }

  /// Returns the position of a message that stands where another message is known to stand.
  ///
  /// Only the past counts, and of it only what lies above the newest gap: below a gap messages may
  /// be of a log that was replaced.
  func otherPosition(in messages: [Message]) -> Position? {
    let unknown = messages.filter(isOfThePast)
    guard !unknown.isEmpty else { return nil }
    let edge = gaps.last?.before
    let known = (timeline.messages + commits.messages).filter { $0.key >= edge ?? $0.key }
    let positions = Set(known.compactMap(\.position))
    return unknown.lazy.compactMap(\.position).first { positions.contains($0) }
  }

  /// Forgets how far the server's log is known: it was put back to an earlier state, and has other
  /// messages since.
  ///
  /// Positions of what is kept mean nothing in the new log, so time tells what was whole before.
  mutating func beginNewLog(at position: Position, _ step: inout Step) {
    step.show(.notice(.newEpoch(position)))
    let newest = timeline.forgetPositions(where: recovery.covers)
    recovery.beginNewLog(under: position.epoch, wholeUntil: newest)
    commits.waiting.change.cursor = recovery.cursor
    commits.waiting.isOfNewLog = true
  }

  /// A message without a position that was stamped before all that is kept: it follows no
  /// neighbour, and the pages between them were never fetched.
  ///
  /// Where memory is full the store may have what lies between, unless a clock went back.
  private func liesBelowAll(_ message: Message) -> Bool {
    guard message.position == nil, history.hasMore, let time = recovery.cursor.time, let oldestKnown
    else { return false }
    return message.key < oldestKnown
      && (!timeline.isFull
        || message.createdAt < time.advanced(by: .zero - settings.overlap))
  }

  /// Asks the server: either the store has the message, or the log was put back.
  mutating func doubtCursor(_ step: inout Step) {
    if recovery.run != nil {
      recovery.again = true
    } else if recovery.isSettled, link.status.phase == .connected {
      catchUp(.live, &step)
    }
  }

  private enum Arrival {
    /// Nothing is missing before it.
    case whole
    /// Something is.
    case hole
    /// What is being fetched, or will be, decides.
    case undecided
  }

  /// Moves the cursor if nothing is missing before the message.
  private mutating func noteArrival(_ message: Message, isAnswer: Bool) -> Arrival {
    let isSettled = recovery.isSettled
    if let position = message.position {
      recovery.hasPositions = true
      let isConnected = link.status.phase == .connected
      let isWhole = recovery.take(position, advancing: isSettled, isConnected: isConnected)
      guard isSettled else { return .undecided }
      // The socket under way brings what lies before it.
      let isToCome = recovery.unprepared != nil && recovery.unprepared == link.currentAttempt
      return isWhole ? .whole : isToCome ? .undecided : .hole
    }
    // The socket may be dead when a post is answered: only what it brings itself came in order.
    guard isSettled, link.status.phase == .connected, !isAnswer else { return .undecided }
    recovery.cursor.time = max(recovery.cursor.time ?? message.createdAt, message.createdAt)
    recovery.unplaced.remove(message.id)
    return .whole
  }

  /// Hands messages on that were not seen yet, as far as memory knows; the store knows the rest.
  ///
  /// - Parameter isAnswer: Whether it is the answer to a post, which is no other entry's message.
  mutating func add(
    _ messages: [Message], via: Via, isAnswer: Bool = false, _ step: inout Step
  ) {
    let unseen = messages.filter { message in
      if commits.holds(message.id) { return commits.isEdited(by: message) }
      guard timeline.contains(message.id) else { return true }
      // A message is searched for only if it may have changed.
      guard message.updatedAt != nil, let kept = timeline[message.id] else { return false }
      return message.isEdit(of: kept)
    }
    guard !unseen.isEmpty else { return }
    let isPlaced = recovery.isSettled && link.status.phase == .connected && !isAnswer
    let kept = unseen.filter { message in
      if !isAnswer, claim(message, &step) { return false }
      if !isPlaced { recovery.noteUnplaced(message) }
      return true
    }
    commits.waiting.add(kept, via: via)
  }
}

extension Message {
  /// Whether this is a later text of the same message.
  func isEdit(of kept: Message) -> Bool {
    guard let updatedAt else { return false }
    return updatedAt > kept.updatedAt ?? kept.createdAt
  }
}
