import LinkCore
import LinkServerCore
import LinkWire

// Sockets, from the upgrade to the end.
extension SessionHouse {
  func isOpen(_ id: ConnectionID) -> Bool { sockets[id].map { $0.closesAt == nil } ?? false }

  mutating func say(_ id: ConnectionID, _ message: SessionServerMessage) {
    out.append(.send(id, message))
  }

  mutating func refuse(
    _ id: ConnectionID, _ code: String, _ words: String, of prompt: SessionPrompt
  ) {
    refuse(id, code, words, prompt.conversation, prompt.idempotencyKey)
  }

  mutating func refuse(
    _ id: ConnectionID, _ code: String, _ words: String, _ conversation: String? = nil,
    _ key: String? = nil
  ) {
    guard isOpen(id) else { return }
    count("session_errors_total{code=\"\(code)\"}")
    say(
      id,
      .error(
        SessionError(message: words, code: code, conversation: conversation, idempotencyKey: key)))
  }

  mutating func open(_ id: ConnectionID, _ arrival: SessionServer.Arrival) {
    let neighbours = sockets.values.count { $0.address == arrival.address }
    var refusal: (Int, String)?
    if neighbours >= numbers.socketsPerAddress { refusal = (429, "too many sockets") }
    if sockets.count >= numbers.sockets { refusal = (503, "too busy") }
    if mode != .serves { refusal = (503, "draining") }
    if let refusal {
      count("session_refused_total")
      return out.append(
        .refuse(id, HTTPRefusal(refusal.0, refusal.1, retryAfter: .seconds(2))))
    }
    count("session_opened_total")
    sockets[id] = Socket(
      address: arrival.address, heardAt: now, pingAt: now.advanced(by: .seconds(30)),
      challenge: arrival.challenge)
    watch(id)
    ring(.beat(id), after: .seconds(30))
    out.append(.accept(id))
    say(
      id,
      .hello(
        SessionHello(
          message: "Holdfast session server", version: "0.5.0", authVersion: 1,
          instructions: "Send connect with session_id, and with api_key or challenge_response.",
          challenge: arrival.challenge, timestamp: wall,
          features: Set(SessionScribe.words.map(\.0)))))
  }

  /// Sets the time of the next ping, of silence, or of an unanswered close frame.
  private mutating func watch(_ id: ConnectionID) {
    guard let socket = sockets[id] else { return }
    let silence = socket.heardAt.advanced(by: .seconds(90))
    bells[.socket(id)] = socket.closesAt ?? min(socket.pingAt, silence)
  }

  mutating func look(at id: ConnectionID) {
    guard let socket = sockets[id] else { return }
    var isOver = false
    if let until = socket.closesAt {
      isOver = until <= now
    } else if socket.heardAt.duration(to: now) >= .seconds(90) {
      count("session_silent_total")
      isOver = true
    } else if socket.pingAt <= now {
      sockets[id]?.pingAt = now.advanced(by: .seconds(30))
      out.append(.ping(id))
    }
    guard isOver else { return watch(id) }
    out.append(.drop(id))
    ring(.socket(id), after: .seconds(5))
  }

  mutating func beat(_ id: ConnectionID) {
    guard isOpen(id) else { return }
    guard sockets[id]?.peer != nil else { return close(id, 4408, "no connect in time") }
    say(id, .heartbeat(wall))
    ring(.beat(id), after: .seconds(45))
  }

  mutating func close(_ id: ConnectionID, _ code: UInt16, _ reason: String) {
    guard isOpen(id) else { return }
    sockets[id]?.closesAt = now.advanced(by: .seconds(5))
    sockets[id]?.lane = []
    sockets[id]?.awaitsDrain = false
    sockets[id]?.inFlight = 0
    bells[.beat(id)] = nil
    out.append(.close(id, Closure(code, reason)))
    watch(id)
  }

  mutating func overflow(_ id: ConnectionID) {
    guard isOpen(id) else { return }
    count("session_slow_readers_total")
    close(id, 1013, "slow reader")
  }

  mutating func gone(_ id: ConnectionID) {
    guard let socket = sockets.removeValue(forKey: id) else { return }
    bells[.socket(id)] = nil
    bells[.beat(id)] = nil
    for conversation in socket.follows.keys { drop(conversation) }
    guard let client = socket.peer?.client else { return }
    let time = wall
    clients[client]?.sockets.removeAll { $0 == id }
    clients[client]?.kept.seenAt = time
  }

  // What clients say.

  mutating func hear(
    _ id: ConnectionID, _ message: SessionClientMessage, _ proof: SessionServer.Proof
  ) {
    guard isOpen(id), let socket = sockets[id] else { return }
    count("session_messages_total")
    if case .ping = message { return say(id, .pong) }
    guard let peer = socket.peer else {
      guard case .connect(let connect) = message else { return keepOut(id) }
      return enter(id, connect, proof)
    }
    goesOn(peer.client)
    switch message {
    case .ping: return
    case .connect: refuse(id, "already_connected", "This connection is connected.")
    case .messageAck(let message): acknowledge(message, by: peer.client)
    case .prompt(let prompt): self.prompt(id, prompt, of: peer.client)
    case .subscribe(let one): subscribe(id, [one], isBatch: false)
    case .subscribeBatch(let all): subscribe(id, all, isBatch: true)
    case .unsubscribe(let conversation):
      sockets[id]?.follows[conversation] = nil
      drop(conversation)
    case .setMaxMessageSize(let size):
      sockets[id]?.peer?.longest = min(size * 1_024, numbers.longestMessage)
      say(id, .ack(message: "Max message size set to \(size) KB", idempotencyKey: nil))
    case .killSession(let conversation): kill(conversation, for: id)
    case .disconnect: close(id, 1000, "disconnected")
    case .unknown(let type): refuse(id, "unknown_type", "Unknown message type: \(type)")
    }
  }

  mutating func puzzle(_ id: ConnectionID, _ detail: String, _ field: String?) {
    guard isOpen(id) else { return }
    count("session_unreadable_total")
    guard sockets[id]?.peer != nil else { return keepOut(id) }
    switch field {
    case "last_seq", "from_offset", "file_signature_seen", "sessions":
      refuse(id, "invalid_subscribe", detail)
    case _: refuse(id, "invalid_message", detail)
    }
  }

  private mutating func keepOut(_ id: ConnectionID) {
    count("session_unauthorized_total")
    say(id, .authError(message: "Authentication failed"))
    close(id, 4401, "authentication failed")
  }

  private mutating func enter(
    _ id: ConnectionID, _ connect: SessionConnect, _ proof: SessionServer.Proof
  ) {
    switch proof {
    case .key: break
    case .none: return keepOut(id)
    case .challenge:
      let skew = connect.timestamp.map { wall.duration(to: $0).nanoseconds.magnitude }
      guard let skew, skew <= 30_000_000_000 else { return keepOut(id) }
    }
    guard let version = SessionWire.spoken(connect.version) else {
      count("session_outdated_total")
      var error = SessionError(
        message: "This server speaks versions from 0.4.0 on; update the client.",
        code: "unsupported_protocol_version")
      (error.required, error.received) = (SessionVersion(0, 4, 0), connect.version)
      say(id, .error(error))
      return close(id, 4426, "unsupported protocol version")
    }
    let name = connect.session
    guard hasPlace(for: name) else {
      refuse(id, "busy", "The server remembers as many clients as it can; try again later.")
      return close(id, 1013, "try again later")
    }
    if clients[name] == nil {
      clients[name] = Client(kept: KeptSessionClient(id: name, seenAt: wall))
    }
    let time = wall
    clients[name]?.kept.seenAt = time
    sockets[id]?.peer = Peer(
      client: name, speaksOffsets: version >= SessionVersion(0, 5, 0),
      takesParts: connect.features.contains(.parts),
      longest: min(102_400, numbers.longestMessage))
    count("session_connected_total")
    clients[name]?.sockets.append(id)
    ring(.beat(id), after: .seconds(45))
    greet(id, connect, version)
  }

  /// The client that was seen the longest ago, and waits for nothing, makes room.
  private mutating func hasPlace(for name: String) -> Bool {
    if clients[name] != nil || clients.count < numbers.clients { return true }
    let busy = Set(jobs.values.filter { $0.answer == nil }.map(\.client))
    let away = clients.filter { $0.value.sockets.isEmpty && !busy.contains($0.key) }
    guard
      let first = away.min(by: { ($0.value.kept.seenAt, $0.key) < ($1.value.kept.seenAt, $1.key) })
    else { return false }
    forget(client: first.key)
    return true
  }

  private mutating func greet(
    _ id: ConnectionID, _ connect: SessionConnect, _ version: SessionVersion
  ) {
    let name = connect.session
    let isWhole = goOn(connect)
    say(
      id,
      .connected(
        SessionConnected(
          message: "Session registered", session: name, version: version,
          features: connect.features, received: clients[name]?.kept.lastPrompt,
          isRecovered: isWhole)))
    if !isWhole {
      count("session_unrecovered_total")
      refuse(
        id, "not_recovered",
        "Messages that you did not acknowledge are no longer kept; read the histories instead.")
    }
    let shelf = clients[name]?.shelf ?? []
    sockets[id]?.lane += shelf.map { .replay($0) }
    count("session_replayed_total", UInt64(shelf.count))
    if sockets[id]?.peer?.takesParts == true {
      for job in jobs.keys.sorted() where jobs[job]?.client == name && jobs[job]?.stage == .runs {
        sendPart(job, to: id)
      }
    }
    pump(id)
    let open = (clients[name]?.sockets ?? []).filter { isOpen($0) }
    if open.count > numbers.socketsPerClient {
      close(open[0], 4409, "replaced by newer connections of this client")
    }
  }

  /// Goes on behind what a client has; returns whether nothing was lost.
  private mutating func goOn(_ connect: SessionConnect) -> Bool {
    let name = connect.session
    var isWhole = true
    if let has = connect.received, let client = clients[name]?.kept {
      if client.lastNumber < has {
        isWhole = false
        clients[name]?.kept.lastNumber = has
        if let kept = clients[name]?.kept { later(.client(kept)) }
      }
      if let lost = client.lost, lost <= has { clients[name]?.kept.lost = nil }
    }
    if let lost = clients[name]?.kept.lost {
      isWhole = false
      clients[name]?.told = lost
    }
    guard let has = connect.received else { return isWhole }
    for id in clients[name]?.shelf ?? [] {
      if let answer = jobs[id]?.answer, answer.number <= has {
        acknowledge(answer.message, by: name)
      }
    }
    return isWhole
  }

  /// A client that was told of a loss says something: it knows.
  private mutating func goesOn(_ name: String) {
    guard let client = clients[name], let lost = client.kept.lost, lost <= client.told else {
      return
    }
    clients[name]?.kept.lost = nil
    if let kept = clients[name]?.kept { later(.client(kept)) }
  }
}
