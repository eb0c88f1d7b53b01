import LinkCore
import LinkWire
import MessageStream

// What comes over the socket of the twin, and what it keeps.
extension StreamPhoneTwin {
  mutating func received(_ frame: StreamModel.Frame, _ attempt: AttemptID) {
    guard attempt == link.currentAttempt else { return }
    mend.arrears?.until = now.advanced(by: settings.fetchTimeout)
    switch frame {
    case .message(let message):
      drive(.validData(attempt))
      if message.position != nil, mend.via(message) == .live { mend.arrears = nil }
      takeLive(message)
    case .draining(let window):
      drive(.heard(attempt))
      drive(.draining(attempt, within: window))
      notice(.draining(within: window))
    case .unknown(let type):
      drive(.heard(attempt))
      notice(.unknownType(type))
    case .malformed(let error):
      drive(.heard(attempt))
      notice(.malformed(error))
      malformed = malformed.filter { $0.duration(to: now) < .seconds(60) } + [now]
      if malformed.count < settings.malformedLimit { return }
      malformed = []
      let words = "too many malformed messages within a minute"
      drive(.reject(attempt, .protocolError(detail: words)))
    }
  }

  /// Takes a message of the socket, or the server's answer to a post.
  mutating func takeLive(_ message: Message, answers isAnswer: Bool = false) {
    let isOther = isOld(message) && tookPlace(message)
    if isOther || startsElsewhere(message) { goBack(before: message) }
    if takesNothing {
      mend.again = true
      return
    }
    if isOld(message) {
      if mend.run != nil {
        mend.again = true
      } else if mend.isSettled, isConnected {
        catchUp(.live)
      }
      return
    }
    if isBelowAll(message) { openGap(below: allKeys.min()) }
    add([message], mend.via(message), answers: isAnswer)
    arrive(message, answers: isAnswer)
  }

  /// Whether a message lies in what is whole, and is not known.
  func isOld(_ message: Message) -> Bool {
    message.position != nil && mend.covers(message) && !isSeen(message.id)
  }

  /// Whether the first message behind the place where a socket began is not the one that is kept.
  private func startsElsewhere(_ message: Message) -> Bool {
    guard mend.arrears != nil, let start = mend.opening, start == mend.cursor.position,
      start.offset > 0
    else {
      return false
    }
    let next = Position(epoch: start.epoch, offset: start.offset &+ 1)
    return message.position == next && start.offset < .max && tookPlace(message)
  }

  /// Another message stands at a place: what lies before it may be another log, too.
  mutating func goBack(before message: Message) {
    guard let place = message.position else { return }
    let span = UInt64(settings.catchUpPage) + 1
    let known = (kept + pen.messages).compactMap(\.position).filter { $0.epoch == place.epoch }
    var least = place.offset
    while least > 1, known.contains(where: { $0.offset == least - 1 }) { least -= 1 }
    var offset = max(place.offset > span ? place.offset - span : 0, least > 0 ? least - 1 : 0)
    let isLower = mend.cursor.position.map { $0.epoch != place.epoch || offset < $0.offset } ?? true
    if !isLower || least == place.offset && least > 1 {
      // All that is known of this log is gone from it: its newest page comes, as after long.
      offset = 0
      mend.cursor.wholeAt = Timestamp(nanoseconds: 0)
    }
    mend.cursor.position = Position(epoch: place.epoch, offset: offset)
    mend.ahead = []
    mend.arrears = nil
    mend.isCurrent = false
    noteCursor()
    let causes = mend.run?.causes ?? []
    mend.run = nil
    for cause in causes { catchUp(cause) }
  }

  private func isBelowAll(_ message: Message) -> Bool {
    guard message.position == nil, past.hasMore, let time = mend.cursor.time,
      let oldest = allKeys.min(), message.key < oldest
    else { return false }
    // With more in the store than memory holds, only a clock that went far back tells.
    let isAllKnown = kept.count < settings.memory
    return isAllKnown || message.createdAt < time.advanced(by: .zero - settings.overlap)
  }

  private mutating func arrive(_ message: Message, answers isAnswer: Bool) {
    let isSettled = mend.isSettled
    if let place = message.position {
      mend.hasPositions = true
      let isWhole = mend.take(place, advancing: isSettled, isConnected: isConnected)
      if !isSettled { return }
      if !isWhole {
        let isToCome = mend.unprepared != nil && mend.unprepared == link.currentAttempt
        if !isToCome, !settings.sendsOnly { catchUp(.live) }
        return
      }
    } else {
      if !isSettled || !isConnected || isAnswer { return }
      mend.cursor.time = max(mend.cursor.time ?? message.createdAt, message.createdAt)
      mend.loose = mend.loose.filter { $0 != message.id }
    }
    if mend.arrears == nil { mend.cursor.wholeAt = wall }
    noteCursor()
  }

  /// Hands over what was not seen, or says later words.
  mutating func add(_ messages: [Message], _ via: Via, answers isAnswer: Bool = false) {
    let new = messages.filter { message in
      if pen.holds(message.id) { return pen.isOutdated(by: message) }
      return known(message.id).map { message.isLater(than: $0) } ?? true
    }
    let isPlaced = mend.isSettled && isConnected && !isAnswer
    var taken: [Message] = []
    // What answers one entry is the message of no other.
    for message in new where isAnswer || !withholds(message) {
      if !isPlaced, message.position == nil, !mend.loose.contains(message.id) {
        mend.loose.append(message.id)
      }
      taken.append(message)
    }
    pen.add(taken, via)
  }

  /// Makes a gap that is not there yet.
  @discardableResult
  mutating func openGap(below edge: TimelineKey?, endsNowhere: Bool = false) -> Gap? {
    guard let edge, !gaps.contains(where: { $0.before == edge }) else { return nil }
    let whole = (kept + pen.messages).filter { message in
      !endsNowhere && message.key < edge && mend.covers(message)
    }
    let gap = Gap(after: whole.map(\.key).max(), before: edge)
    gaps = (gaps + [gap]).sorted { $0.before < $1.before }
    pen.write(gaps)
    show(.gap(gap))
    return gap
  }

  mutating func close(_ gap: Gap) {
    guard gaps.contains(gap) else { return }
    gaps = gaps.filter { $0 != gap }
    pen.write(gaps)
    show(.gapClosed(gap))
  }
}
