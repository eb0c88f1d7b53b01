import HoldfastCore

/// A turn of the loop: it waits, reads, handles deadlines and, after the handler, writes.
extension SocketHub {
  /// Waits for activity, if it may, and handles it. The results are queued as events.
  func wait(mayWait: Bool) {
    let limit = nextDeadline.map { max(.zero, Clock.now.duration(to: $0)) }
    let ready = poller.wait(atMost: mayWait && !hasWork && !hasStopped ? limit : .zero)
    now = Clock.now
    for readiness in ready { dispatch(readiness) }
    readUnread()
    expire()
  }

  private var nextDeadline: Instant? {
    var retry: Instant?
    if case .paused(let instant) = acceptance { retry = instant }
    return [alarms.first, alarm, stopsAt, retry].compactMap(\.self).min()
  }

  /// Handles a ready descriptor. Its token consists of a connection's serial and slot. The serial 0
  /// denotes a listener or the wake-up descriptor.
  private func dispatch(_ readiness: Readiness) {
    let id = ConnectionID(readiness.token)
    guard id.serial != 0 else {
      if id.slot == 0 {
        home.loop.drainWake()
      } else if id.slot <= listeners.count {
        acceptAll(from: listeners[Int(id.slot) - 1])
      }
      return
    }
    guard let connection = connection(id) else { return }
    if readiness.isBroken, !readiness.isReadable {
      if park(connection) { return }
      // The poller was not asked for bytes, and the connection may have some.
      let wasUnread = connection.wanted.contains(.read) && !connection.watched.contains(.read)
      if wasUnread { return touch(connection) }
      return destroy(connection, as: .reset(detail: "hung up"))
    }
    // Only an exchange that waits for its response watches for this, and it reads nothing in that
    // time.
    if readiness.isEnded, connection.watched.contains(.end) {
      return destroy(connection, as: .ended)
    }
    if readiness.isReadable || connection.isShakingHands { receive(on: connection) }
    if readiness.isWritable || (connection.tls != nil && connection.isBackedUp) {
      pump(connection)
    }
    touch(connection)
  }

  private func readUnread() {
    let ids = unread
    unread = []
    for id in ids {
      guard let connection = connection(id) else { continue }
      receive(on: connection)
      touch(connection)
    }
  }

  // MARK: Deadlines

  private func expire() {
    while let id = alarms.take(dueAt: now) {
      guard let connection = connection(id), let deadline = connection.deadline else { continue }
      if deadline <= now {
        connection.deadline = nil
        expire(connection)
      } else {
        limit(connection, to: now.duration(to: deadline))
      }
    }
    if let alarm, alarm <= now {
      self.alarm = nil
      emit(.woke)
    }
    if case .paused(let retry?) = acceptance, retry <= now { resumeAccepting() }
  }

  private func expire(_ connection: Connection) {
    switch connection.phase {
    case .handshake, .leaving, .lingering, .open: destroy(connection, as: .ended)
    case .passing(let passage): expire(connection, passage)
    case .exchange(let exchange): expire(connection, exchange)
    }
  }

  // MARK: Writing

  /// Writes the bytes that were queued in this turn.
  func flush() {
    for id in takeTouched() {
      guard let connection = connection(id) else { continue }
      connection.isTouched = false
      if case .open(let session) = connection.phase { conclude(connection, session) }
      if !connection.isBackedUp { pump(connection) }
      watch(connection)
    }
  }

  private func watch(_ connection: Connection) {
    guard self.connection(connection.id) === connection else { return }
    let wanted = connection.wanted
    guard wanted != connection.watched else { return }
    connection.watched = wanted
    poller.change(connection.descriptor, wanted, token: connection.id.number)
  }

  /// Writes as many bytes as the socket accepts. An empty queue may start the next phase.
  func pump(_ connection: Connection) {
    guard self.connection(connection.id) === connection, !connection.isShakingHands else { return }
    while !connection.outgoing.isEmpty {
      guard let count = unsafe connection.outgoing.copy(into: scratch) else {
        return destroy(connection, as: .reset(detail: "the file of a response cannot be read"))
      }
      let bytes = unsafe UnsafeRawBufferPointer(rebasing: scratch[..<count])
      switch unsafe connection.write(bytes) {
      case .bytes(let written):
        connection.outgoing.consume(written)
        connection.sentBytes += UInt64(written)
        // A client that accepts a file slowly has the time for each piece, and so has one that
        // another server answers.
        if connection.outgoing.hasFile || connection.isAnsweredElsewhere {
          limit(connection, to: configuration.answerTimeout)
        }
      case .wouldBlock:
        connection.isBackedUp = true
        return
      case .failed(let detail): return destroy(connection, as: .reset(detail: detail))
      }
    }
    let wasBackedUp = connection.isBackedUp
    connection.isBackedUp = false
    emptied(connection, wasBackedUp: wasBackedUp)
  }

  private func emptied(_ connection: Connection, wasBackedUp: Bool) {
    switch connection.phase {
    case .open(let session):
      guard wasBackedUp || session.noticesDrain, session.isOpen else { return }
      session.noticesDrain = false
      emit(.drained(connection.id))
    case .exchange(let exchange): sent(connection, exchange)
    case .passing(let passage): emptied(connection, passage)
    case .leaving:
      connection.shutWriting()
      connection.phase = .lingering
      limit(connection, to: configuration.lingerTimeout)
      touch(connection)
    case .handshake, .lingering: break
    }
  }

  /// Sends the queued bytes, and then closes the connection in stages (RFC 9112 section 9.6).
  func leave(_ connection: Connection) {
    connection.phase = .leaving
    limit(connection, to: configuration.closeTimeout)
    touch(connection)
  }
}
