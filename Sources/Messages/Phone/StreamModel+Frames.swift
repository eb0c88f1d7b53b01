import HoldfastCore
import HoldfastMessageData

// Frames received over the socket.
extension StreamModel {
  mutating func received(_ frame: Frame, _ attempt: AttemptID, _ step: inout Step) {
    guard link.currentAttempt == attempt else { return }  // a late event
    recovery.extendBacklog(until: step.now.advanced(by: settings.fetchTimeout))
    switch frame {
    case .message(let message):
      drive(.validData(attempt), &step)
      recovery.passBacklog(at: message.position)
      takeLive(message, &step)
    case .edited(let message):
      drive(.validData(attempt), &step)
      guard let position = message.changed else { return takeLive(message, &step) }
      recovery.passBacklog(at: position)
      takeEdit(message, at: position, &step)
    case .deleted(let deletion):
      drive(.validData(attempt), &step)
      recovery.passBacklog(at: deletion.changed)
      takeDeletion(deletion, &step)
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
    // The offsets of such a backlog do not show that an event is missing.
    if recovery.backlog?.isSparse ?? false { catchUp(.live, &step) }
    malformed.removeAll { $0.duration(to: step.now) >= .seconds(60) }
    malformed.append(step.now)
    guard malformed.count >= settings.malformedLimit else { return }
    malformed = []
    drive(
      .reject(attempt, .protocolError(detail: "too many malformed messages within a minute")),
      &step)
  }

  mutating func oversized(_ bytes: UInt64, _ attempt: AttemptID, _ step: inout Step) {
    guard link.currentAttempt == attempt else { return }  // a late event
    drive(.heard(attempt), &step)
    step.show(.notice(.oversized(bytes: bytes)))
    catchUp(.live, &step)
  }

  /// Handles a message from the socket, or the server's response to a sent message.
  mutating func takeLive(_ message: ShopMessage, isAnswer: Bool = false, _ step: inout Step) {
    if isOfThePast(message) { noteOtherLog([message], &step) }
    guard !takesNoMore else {
      // Dropped messages are fetched once the store works and the app reads again.
      recovery.again = true
      return
    }
    guard !isOfThePast(message) else {
      doubtCursor(&step)
      return
    }
    if liesBelowAll(message) { openGap(below: oldestKnown, &step) }
    if message.position == nil, !isAnswer, !isSeen(message.id) {
      order.put(message, asked: requests.last)
    }
    if recovery.removed != nil { noteRemoved(before: [message], &step) }
    let via = recovery.via(of: message)
    if unsettled.isEmpty {
      add(message, via: via, isAnswer: isAnswer, &step)
    } else if let newest = unsettled.newest(message) {
      add(newest, via: via, isAnswer: isAnswer, &step)
    }
    follow(noteArrival(message, isAnswer: isAnswer), &step)
  }

  mutating func follow(_ arrival: Arrival, _ step: inout Step) {
    switch arrival {
    case .whole:
      if recovery.backlog == nil { recovery.cursor.wholeAt = wall(at: step.now) }
      commits.waiting.change.cursor = recovery.cursor
    case .hole: if !settings.sendsOnly { catchUp(.live, &step) }
    case .undecided: return
    }
  }

  /// Returns whether a message lies before the cursor but is neither in memory nor in the commits.
  ///
  /// The message is already stored, or it belongs to a range that was not loaded. Storing it alone
  /// would make it look like the end of a complete range.
  func isOfThePast(_ message: ShopMessage) -> Bool {
    // The comparison of positions decides most often, and costs less than hashing the ID.
    message.position != nil && recovery.covers(message) && !timeline.contains(message.id)
      && !commits.holds(message.id)
  }

  /// Returns whether a message without a position has an earlier timestamp than all stored
  /// messages.
  ///
  /// The messages between it and the stored messages were never fetched. If memory is full, the
  /// store may have them, unless a clock went back.
  private func liesBelowAll(_ message: ShopMessage) -> Bool {
    guard message.position == nil, history.hasMore, let time = recovery.cursor.time, let oldestKnown
    else { return false }
    return message.key < oldestKnown
      && (!timeline.isFull
        || message.createdAt < time.advanced(by: .zero - settings.overlap))
  }

  enum Arrival {
    /// No earlier message is missing.
    case whole
    /// An earlier message is missing.
    case hole
    /// A current or later fetch decides.
    case undecided
  }

  /// Moves the cursor if no message before this one is missing.
  private mutating func noteArrival(_ message: ShopMessage, isAnswer: Bool) -> Arrival {
    if let position = message.position {
      if isAnswer, isAmongBacklog(position) { return .undecided }
      return noteArrival(at: position)
    }
    let isIdle = recovery.isIdle
    // The socket may be dead when a post gets its response, so only messages from the socket arrive
    // in order.
    guard isIdle, link.status.phase == .connected, !isAnswer else { return .undecided }
    recovery.cursor.time = max(recovery.cursor.time ?? message.createdAt, message.createdAt)
    recovery.unplaced.remove(message.id)
    return .whole
  }

  /// Moves the cursor if no event before this position is missing.
  mutating func noteArrival(at position: ShopPosition) -> Arrival {
    let isIdle = recovery.isIdle
    recovery.hasPositions = true
    let isConnected = link.status.phase == .connected
    let isWhole = recovery.take(position, advancing: isIdle, isConnected: isConnected)
    guard isIdle else { return .undecided }
    // The socket that is being opened delivers the earlier messages.
    let unprepared = recovery.connecting.unprepared
    let isToCome = unprepared != nil && unprepared == link.currentAttempt
    return isWhole ? .whole : isToCome ? .undecided : .hole
  }
}
