import LinkCore
import LinkServerCore
import LinkWire

// Phones and their sockets, from the upgrade to the end.
extension RelayHouse {
  func isOpen(_ id: ConnectionID) -> Bool { sockets[id].map { $0.closesAt == nil } ?? false }

  mutating func open(_ id: ConnectionID, _ arrival: RelayServer.Arrival) {
    let neighbours = sockets.values.count { $0.address == arrival.address }
    let known = returning(arrival)
    var refusal: (Int, String)?
    var leaver: PhoneID?
    if mode != .serves {
      refusal = (503, "draining")
    } else if isBehind || sockets.count >= numbers.maxSockets {
      refusal = (503, "too busy")
    } else if neighbours >= numbers.socketsPerAddress {
      refusal = (429, "too many sockets")
    } else if known == nil, phones.count >= numbers.maxPhones {
      let strangers = phones.values.filter { $0.isAway && accesses(to: $0.id).isEmpty }
      leaver = strangers.min { ($0.seenAt, $0.id) < ($1.seenAt, $1.id) }?.id
      if leaver == nil { refusal = (503, "too busy") }
    }
    if let refusal {
      count("relay_refused_total")
      return out.append(.refuse(id, HTTPRefusal(refusal.0, refusal.1, retryAfter: busy)))
    }
    if let leaver { end(leaver) }
    count("relay_opened_total")
    sockets[id] = Socket(
      address: arrival.address, heardAt: now, pingAt: now.advanced(by: numbers.pingInterval))
    watch(id)
    out.append(.accept(id))
    if let known { return resume(known, on: id) }
    sockets[id]?.arrival = arrival
    out.append(.mint(.phone(id)))
  }

  /// The phone that comes back: the device of a token that brings it back.
  private func returning(_ arrival: RelayServer.Arrival) -> PhoneID? {
    guard arrival.device != nil, arrival.resume != nil else { return nil }
    return phones.values.first {
      !$0.isOver && $0.device == arrival.device && $0.resume == arrival.resume
    }?.id
  }

  private mutating func resume(_ id: PhoneID, on connection: ConnectionID) {
    endOthers(of: phones[id]?.device, than: id)
    count("relay_resumed_total")
    if let former = phones[id]?.connection {
      count("relay_replaced_total")
      close(former, 4409, "replaced by another connection of this device")
      requeue(id, from: former)
    }
    bells[.grace(id)] = nil
    bells[.knock(id)] = nil
    sockets[connection]?.phone = id
    phones[id]?.place = .arriving(connection, token: nil)
    phones[id]?.leftAt = nil
    keep(id)
    if phones[id]?.shown == nil { out.append(.mint(.pair(id))) } else { greet(id) }
  }

  mutating func introduce(
    _ connection: ConnectionID, _ id: PhoneID, _ secret: RelaySecret, _ pair: RelayPair
  ) {
    guard let arrival = sockets[connection]?.arrival else { return }
    guard isOpen(connection) else {
      sockets[connection]?.arrival = nil
      return
    }
    if owner(word: pair.word, code: pair.code) != nil {
      return out.append(.mint(.phone(connection)))
    }
    sockets[connection]?.arrival = nil
    endOthers(of: arrival.device, than: id)
    sockets[connection]?.phone = id
    let token = arrival.device == nil ? nil : secret.text
    phones[id] = Phone(
      id: id, device: arrival.device, resume: arrival.device.map { _ in secret.hash },
      place: .arriving(connection, token: token), seenAt: now)
    hang(pair, by: id)
    guard arrival.device != nil else { return greet(id) }
    keep(id, then: .phone(id))
  }

  /// A device is one phone: the one that came last.
  private mutating func endOthers(of device: UUID128?, than id: PhoneID) {
    guard let device else { return }
    let others = phones.values.filter { $0.device == device && $0.id != id && !$0.isOver }
    for other in others.map(\.id).sorted() { end(other, isReplaced: true) }
  }

  // Pairs.

  /// Letters and digits as they are compared; `nil` for what is too long to be meant.
  private static func plain(_ text: String, upTo longest: Int) -> String? {
    let plain = text.filter { $0 != " " && $0 != "-" }.lowercased()
    return text.utf8.count > 64 || plain.utf8.count > longest ? nil : plain
  }

  func owner(word: String, code: String) -> PhoneID? {
    guard let word = Self.plain(word, upTo: 16), let code = Self.plain(code, upTo: 6) else {
      return nil
    }
    return phones.values.first { phone in
      guard let shown = phone.shown else { return false }
      return Self.plain(shown.word, upTo: 16) == word && Self.plain(shown.code, upTo: 6) == code
    }?.id
  }

  private mutating func hang(_ pair: RelayPair, by id: PhoneID) {
    phones[id]?.shown = pair
    phones[id]?.shownUntil = now.advanced(by: numbers.pairLife)
    ring(.pair(id), after: numbers.pairLife)
  }

  mutating func show(_ pair: RelayPair, of id: PhoneID) {
    guard let phone = phones[id], phone.connection != nil else { return }
    guard owner(word: pair.word, code: pair.code) == nil else {
      return out.append(.mint(.pair(id)))
    }
    hang(pair, by: id)
    switch phone.place {
    case .arriving(_, let token):
      let isUnkept = waits.values.contains { if case .phone(id) = $0.then { true } else { false } }
      if token == nil || !isUnkept { greet(id) }
    case .here: tellPair(of: id, token: nil)
    case .away, .over: return
    }
  }

  mutating func greet(_ id: PhoneID) {
    guard let phone = phones[id], case .arriving(let connection, let token) = phone.place,
      phone.shown != nil
    else { return }
    tellPair(of: id, token: token)
    phones[id]?.place = .here(connection)
    goOn(id)
  }

  mutating func tellPair(of id: PhoneID, token: String?) {
    guard let phone = phones[id], let pair = phone.shown, let connection = phone.connection else {
      return
    }
    var message = "Give this word and code to your assistant. They work once."
    if let notice = phone.notice { message = notice + " " + message }
    phones[id]?.notice = nil
    let isPlain = phone.device == nil
    let code = ConnectionCode(
      code: pair.code, word: pair.word, message: message,
      expiresIn: isPlain ? nil : now.duration(to: phone.shownUntil), resumeToken: token,
      resumed: !isPlain && token == nil, acceptsParts: !isPlain)
    out.append(.send(connection, .connectionCode(code)))
  }

  mutating func renewPair(of id: PhoneID) {
    if mode == .serves, phones[id]?.connection != nil { out.append(.mint(.pair(id))) }
  }

  // Ends.

  mutating func gone(_ connection: ConnectionID, _ code: UInt16, _ wall: Timestamp) {
    guard let socket = sockets.removeValue(forKey: connection) else { return }
    bells[.socket(connection)] = nil
    guard let id = socket.phone, phones[id]?.connection == connection else { return }
    if code == 1009 {
      for call in calls(to: id) where call.stage == .asked(connection) {
        settle(
          call.number, .refused(.answerTooLarge(limit: numbers.maxAnswerBytes)), byPhone: true)
      }
    }
    guard let phone = phones[id], phone.device != nil else { return end(id) }
    // It never heard of its token.
    if case .arriving(_, _?) = phone.place { return end(id) }
    phones[id]?.place = .away(since: now)
    phones[id]?.seenAt = now
    phones[id]?.leftAt = wall
    phones[id]?.wokenAt = nil
    keep(id)
    requeue(id, from: connection)
    keepLine(of: id)
    watchLine(of: id)
    watchGrace(of: id)
    knock(id)
  }

  /// A phone cannot come back any more.
  mutating func end(_ id: PhoneID, isReplaced: Bool = false) {
    guard let phone = phones[id], !phone.isOver else { return }
    if let connection = phone.connection, isReplaced {
      count("relay_replaced_total")
      close(connection, 4409, "replaced by another connection of this device")
    }
    phones[id]?.place = .over(since: phone.leftSince ?? now, isReplaced: isReplaced)
    phones[id]?.push = nil
    for call in calls(to: id) { settle(call.number, .refused(absence(of: id))) }
    phones[id]?.shown = nil
    for bell in [Bell.pair(id), .grace(id), .knock(id)] { bells[bell] = nil }
    if phone.device != nil { store([.endPhone(id)]) }
    forgetIfUnasked(id)
  }

  mutating func forgetIfUnasked(_ id: PhoneID) {
    if phones[id]?.isOver == true, accesses(to: id).isEmpty { phones[id] = nil }
  }

  /// A phone that is away is waited for; with an address as long as an assistant may ask it.
  mutating func watchGrace(of id: PhoneID) {
    guard let phone = phones[id], phone.isAway else { return }
    var until = phone.seenAt.advanced(by: numbers.grace)
    if phone.push != nil {
      for access in accesses(to: id) { until = max(until, access.until) }
    }
    bells[.grace(id)] = until
  }

  // Sockets.

  /// Sets the time of the next ping, of silence, or of an unanswered close frame.
  private mutating func watch(_ id: ConnectionID) {
    guard let socket = sockets[id] else { return }
    let silence = socket.heardAt.advanced(by: numbers.pongWait)
    bells[.socket(id)] = socket.closesAt ?? min(socket.pingAt, silence)
  }

  mutating func look(at id: ConnectionID) {
    guard let socket = sockets[id] else { return }
    if let until = socket.closesAt {
      if until <= now { return out.append(.drop(id)) }
    } else if socket.heardAt.duration(to: now) >= numbers.pongWait {
      count("relay_silent_total")
      return out.append(.drop(id))
    } else if socket.pingAt <= now {
      sockets[id]?.pingAt = now.advanced(by: numbers.pingInterval)
      out.append(.ping(id))
    }
    watch(id)
  }

  mutating func close(_ id: ConnectionID, _ code: UInt16, _ reason: String) {
    guard isOpen(id) else { return }
    sockets[id]?.closesAt = now.advanced(by: numbers.closeWait)
    out.append(.close(id, Closure(code, reason)))
    watch(id)
  }
}
