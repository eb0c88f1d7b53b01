import LinkCore
import LinkStorage
import LinkWire

extension SessionServer {
  /// A client wants a socket.
  mutating func open(_ id: ConnectionID, _ arrival: Arrival) {
    if let refused = noRoom(for: arrival) {
      metrics.refused += 1
      effects.append(.refuse(id, refused))
      return
    }
    metrics.opened += 1
    addresses[arrival.address, default: 0] += 1
    sockets[id] = SessionSocket(
      address: arrival.address, life: SocketLife(at: now, policy.timing),
      stage: .greeted(challenge: arrival.challenge))
    arm(id)
    alarms.set(.beat(id), at: now.advanced(by: policy.connectWait))
    effects.append(.accept(id))
    tell(
      id,
      .hello(
        SessionHello(
          message: "Holdfast session server",
          instructions: "Send connect with session_id, and with api_key or challenge_response.",
          challenge: arrival.challenge, timestamp: wall,
          features: Set(SessionFeature.allCases))))
  }

  private func noRoom(for arrival: Arrival) -> HTTPRefusal? {
    guard mode == .serving else {
      return HTTPRefusal(503, "draining", retryAfter: policy.busyRetry)
    }
    guard sockets.count < policy.maxSockets else {
      return HTTPRefusal(503, "too busy", retryAfter: policy.busyRetry)
    }
    guard addresses[arrival.address, default: 0] < policy.socketsPerAddress else {
      return HTTPRefusal(429, "too many sockets", retryAfter: policy.busyRetry)
    }
    return nil
  }

  /// A client said something.
  mutating func said(_ id: ConnectionID, _ message: SessionClientMessage, _ proof: Proof) {
    guard let socket = sockets[id], socket.life.isOpen else { return }
    metrics.messages += 1
    if message == .ping { return tell(id, .pong) }
    guard let peer = socket.peer else {
      guard case .connect(let connect) = message else { return refuseEntrance(id) }
      return enter(id, connect, proof)
    }
    noteReturn(of: peer.client)
    switch message {
    case .ping: break
    case .connect: fail(id, "already_connected", "This connection is connected.")
    case .messageAck(let message): take(message, of: peer.client)
    case .prompt(let prompt): self.prompt(id, prompt, of: peer)
    case .subscribe(let subscription): subscribe(id, subscription)
    case .subscribeBatch(let all): subscribe(id, all)
    case .unsubscribe(let conversation): unsubscribe(id, conversation)
    case .setMaxMessageSize(let kilobytes): setMaxMessageSize(id, kilobytes)
    case .killSession(let conversation): kill(conversation, for: id)
    case .disconnect: close(id, .disconnected)
    case .unknown(let type): fail(id, "unknown_type", "Unknown message type: \(type)")
    }
  }

  /// A client sent what is no message.
  mutating func unreadable(_ id: ConnectionID, _ detail: String, _ field: String?) {
    guard let socket = sockets[id], socket.life.isOpen else { return }
    metrics.unreadable += 1
    guard socket.peer != nil else { return refuseEntrance(id) }
    let cursors = ["last_seq", "from_offset", "file_signature_seen", "sessions"]
    let isCursor = field.map { cursors.contains($0) } ?? false
    fail(id, isCursor ? "invalid_subscribe" : "invalid_message", detail)
  }

  private mutating func setMaxMessageSize(_ id: ConnectionID, _ kilobytes: Int) {
    guard case .connected(var peer) = sockets[id]?.stage else { return }
    peer.maxBytes = min(kilobytes * 1_024, policy.maxMessageBytes)
    sockets[id]?.stage = .connected(peer)
    tell(id, .ack(message: "Max message size set to \(kilobytes) KB", idempotencyKey: nil))
  }

  func isOpen(_ id: ConnectionID) -> Bool { sockets[id]?.life.isOpen == true }

  /// Sends what does not wait behind responses and histories.
  mutating func tell(_ id: ConnectionID, _ message: SessionServerMessage) {
    effects.append(.send(id, message))
  }

  /// Refuses one message.
  mutating func fail(
    _ id: ConnectionID, _ code: String, _ text: String, conversation: String? = nil,
    key: String? = nil
  ) {
    guard isOpen(id) else { return }
    metrics.errors[code, default: 0] += 1
    tell(
      id,
      .error(
        SessionError(message: text, code: code, conversation: conversation, idempotencyKey: key)))
  }

  mutating func overflowed(_ id: ConnectionID) {
    guard isOpen(id) else { return }
    metrics.slowReaders += 1
    close(id, .slowReader)
  }

  /// Handles the alarm of a socket.
  mutating func wake(_ id: ConnectionID) {
    switch sockets[id]?.life.alarm(at: now, policy.timing) {
    case nil: return
    case .unanswered: return drop(id)
    case .silent:
      metrics.silent += 1
      return drop(id)
    case .ping: effects.append(.ping(id))
    case .early: break
    }
    arm(id)
  }

  /// Ends a connection without a word; asks again if its end does not follow.
  private mutating func drop(_ id: ConnectionID) {
    effects.append(.drop(id))
    alarms.set(.socket(id), at: now.advanced(by: policy.closeWait))
  }

  /// Sends the heartbeat, or ends the wait for `connect`.
  mutating func beat(_ id: ConnectionID) {
    guard let socket = sockets[id], socket.life.isOpen else { return }
    guard socket.peer != nil else { return close(id, .notConnected) }
    tell(id, .heartbeat(wall))
    alarms.set(.beat(id), at: now.advanced(by: policy.heartbeat))
  }

  /// Sends a close frame; from then on what the client says is ignored.
  mutating func close(_ id: ConnectionID, _ closure: Closure) {
    guard sockets[id]?.life.close(at: now, policy.timing) == true else { return }
    alarms.clear(.beat(id))
    sockets[id]?.lane = SessionLane()
    effects.append(.close(id, closure))
    arm(id)
  }

  /// A socket ended.
  mutating func forget(_ id: ConnectionID) {
    guard let socket = sockets.removeValue(forKey: id) else { return }
    alarms.clear(.socket(id))
    alarms.clear(.beat(id))
    let left = addresses[socket.address, default: 1] - 1
    addresses[socket.address] = left > 0 ? left : nil
    for conversation in socket.subscriptions.keys {
      talks[conversation]?.readers.remove(id)
      forgetIfEmpty(conversation)
    }
    guard let client = socket.peer?.client else { return }
    let seenAt = wall
    clients[client]?.sockets.removeAll { $0 == id }
    clients[client]?.kept.seenAt = seenAt
  }

  private mutating func arm(_ id: ConnectionID) {
    guard let life = sockets[id]?.life else { return }
    alarms.set(.socket(id), at: life.wake(policy.timing))
  }
}
