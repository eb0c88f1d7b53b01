import LinkCore
import LinkStorage
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
    if let position = message.position,
      takesOtherPlace(message) || beginsAmongOthers(message, position)
    {
      goBack(before: position, &step)
    }
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
      writer.set(cursor: recovery.cursor)
    case .hole: if !settings.sendsOnly { catchUp(.live, &step) }
    case .undecided: return
    }
  }

  /// A message before the cursor that neither memory nor the writer knows is kept already, or lies
  /// in what was not loaded yet: stored alone it would look like the end of a whole stretch.
  private func isOfThePast(_ message: Message) -> Bool {
    message.position != nil && recovery.covers(message) && timeline[message.id] == nil
      && !writer.holds(message.id)
  }

  /// Whether it has the position of another message that is kept: the log was put back within its
  /// epoch, and has grown again since.
  func takesOtherPlace(_ message: Message) -> Bool {
    isOfThePast(message) && isDisplaced(by: message)
  }

  /// Whether what a socket brings first of what was missed is another message than the one that is
  /// kept at its position.
  private func beginsAmongOthers(_ message: Message, _ position: Position) -> Bool {
    guard recovery.arrears != nil, let opening = recovery.opening, opening.offset > 0,
      opening == recovery.cursor.position
    else { return false }
    return position == Position(epoch: opening.epoch, offset: opening.following)
      && isDisplaced(by: message)
  }

  /// What lies shortly before may be other messages, too: a page of it is fetched again.
  mutating func goBack(before position: Position, _ step: inout Step) {
    let lowest = (timeline.messages + writer.messages).lowestOffset(from: position)
    recovery.goBack(before: position, by: settings.catchUpPage, lowest: lowest)
    writer.set(cursor: recovery.cursor)
    guard let run = recovery.run else { return }
    recovery.run = nil
    for purpose in run.purposes { catchUp(purpose, &step) }
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

  /// Either the store has it, or the log went back: the server knows which.
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
      if writer.holds(message.id) { return writer.isEdited(by: message) }
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
    writer.add(kept, via: via)
  }
}

extension Message {
  /// Whether this is a later text of the same message.
  func isEdit(of kept: Message) -> Bool {
    guard let updatedAt else { return false }
    return updatedAt > kept.updatedAt ?? kept.createdAt
  }
}
