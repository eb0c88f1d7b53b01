import HoldfastCore
import HoldfastProtocols

/// WebSocket messages in both directions.
extension SocketHub {
  func take(_ bytes: RawSpan, _ connection: Connection, _ session: Session) {
    var events: [WebSocketEvent] = []
    session.socket.receive(bytes, into: &events)
    for event in events { translate(event, connection, session) }
    touch(connection)
  }

  private func translate(
    _ event: WebSocketEvent, _ connection: Connection, _ session: Session
  ) {
    switch event {
    case .text(let bytes) where !session.isClosing: emit(.text(connection.id, bytes))
    case .binary(let bytes) where !session.isClosing: emit(.binary(connection.id, bytes))
    case .pong(let bytes) where !session.isClosing: emit(.pong(connection.id, bytes))
    case .text, .binary, .pong, .ping, .oversized: break
    case .closed(let code, let reason):
      end(connection, session, .peerClosed(code: code, reason: reason))
    case .failed(let error):
      end(connection, session, .violation(code: error.code, detail: error.detail))
    case .ended: end(connection, session, .ended)
    }
  }

  /// Reports the end of a WebSocket exactly once.
  func end(_ connection: Connection, _ session: Session, _ ending: SocketEnding) {
    guard !session.isOver else { return }
    emit(.closed(connection.id, session.ending(unless: ending)))
    session.stage = .over
  }

  /// Queues the frames that the protocol implementation produced. A close frame follows the
  /// handler's messages.
  func conclude(_ connection: Connection, _ session: Session) {
    let frames = session.socket.takeOutput()
    guard session.isOver else { return enqueue(frames, connection, session) }
    connection.outgoing.append(frames)
    leave(connection)
  }

  /// Queues frames up to the bound. If frames would exceed it, nothing more is queued.
  ///
  /// Only bytes that the socket has not accepted are counted, so the bytes queued in this turn are
  /// written first.
  func enqueue(_ frames: [UInt8], _ connection: Connection, _ session: Session) {
    guard !frames.isEmpty, session.takesFrames else { return }
    let room = (session.maxQueuedBytes ?? configuration.maxQueuedBytes) - frames.count
    if connection.outgoing.byteCount > room, !connection.isBackedUp {
      pump(connection)
      guard self.connection(connection.id) === connection else { return }
    }
    guard connection.outgoing.byteCount <= room else {
      guard session.isOpen else { return }
      session.stage = .overflowing
      return emit(.overflow(connection.id))
    }
    connection.outgoing.append(frames)
    touch(connection)
  }
}

extension Session {
  var isOpen: Bool {
    switch stage {
    case .open: true
    case .overflowing, .closing, .over: false
    }
  }

  var isClosing: Bool {
    switch stage {
    case .closing: true
    case .open, .overflowing, .over: false
    }
  }

  var isOver: Bool {
    switch stage {
    case .over: true
    case .open, .overflowing, .closing: false
    }
  }

  /// Whether frames may still be queued.
  var takesFrames: Bool { isOpen || isOver }

  /// Returns the end to report. A close by the server takes precedence, except over a drop or a
  /// stop.
  func ending(unless ending: SocketEnding) -> SocketEnding {
    guard case .closing(let code, let reason) = stage else { return ending }
    switch ending {
    case .peerClosed, .closed, .violation, .ended, .reset:
      return .closed(code: code, reason: reason)
    case .dropped, .stopped: return ending
    }
  }
}

extension Exchange {
  /// The request that the handler has received but not completely answered; `nil` if there is none.
  var unanswered: RequestID? {
    switch stage {
    case .answering, .streaming: request
    case .reading, .sending: nil
    }
  }
}
