import LinkCore
import LinkStorage
import LinkWire

extension RelayServer {
  /// A phone wants a socket.
  mutating func open(_ id: ConnectionID, _ arrival: Arrival, wall: Timestamp) {
    if let refused = noRoom(for: arrival) ?? noName(for: arrival) {
      metrics.refused += 1
      effects.append(.refuse(id, refused))
      return
    }
    metrics.opened += 1
    addresses[arrival.address, default: 0] += 1
    sockets[id] = RelaySocket(
      address: arrival.address, life: SocketLife(at: now, policy.timing))
    arm(id)
    effects.append(.accept(id))
    if let known = resumable(arrival) {
      resume(known, on: id)
    } else {
      arrivals[id] = arrival
      effects.append(.mint(.phone(id)))
    }
  }

  private func noRoom(for arrival: Arrival) -> HTTPRefusal? {
    guard mode == .serving else {
      return HTTPRefusal(503, "draining", retryAfter: policy.busyRetry)
    }
    guard !isBehind, sockets.count < policy.maxSockets else {
      return HTTPRefusal(503, "too busy", retryAfter: policy.busyRetry)
    }
    guard addresses[arrival.address, default: 0] < policy.socketsPerAddress else {
      return HTTPRefusal(429, "too many sockets", retryAfter: policy.busyRetry)
    }
    return nil
  }

  /// At the bound of phones the one goes that nobody is paired with and that is away the longest:
  /// who connects and leaves again and again shuts nobody out.
  private mutating func noName(for arrival: Arrival) -> HTTPRefusal? {
    guard phones.count >= policy.maxPhones, resumable(arrival) == nil else { return nil }
    let strangers = phones.values.filter { phone in
      guard case .away = phone.presence else { return false }
      return phone.tokens.isEmpty
    }
    guard let first = strangers.min(by: { ($0.seenAt, $0.id) < ($1.seenAt, $1.id) }) else {
      return HTTPRefusal(503, "too busy", retryAfter: policy.busyRetry)
    }
    end(first.id, .lost)
    return nil
  }

  /// The phone that a token brings back, if the same device shows it.
  private func resumable(_ arrival: Arrival) -> PhoneID? {
    guard let device = arrival.device, let id = arrival.resume.flatMap({ resumes[$0] }),
      phones[id]?.device == device
    else { return nil }
    return id
  }

  private mutating func resume(_ id: PhoneID, on connection: ConnectionID) {
    if let device = phones[id]?.device { endOthers(of: device, than: id) }
    guard var phone = phones[id] else { return }
    metrics.resumed += 1
    if let former = phone.connection {
      metrics.replaced += 1
      close(former, .replaced)
      requeue(id, from: former)
    }
    alarms.clear(.grace(id))
    alarms.clear(.knock(id))
    sockets[connection]?.phone = id
    phone.presence = .greeting(connection, token: nil)
    phone.leftAt = nil
    phones[id] = phone
    store([phone.kept.map { .phone($0) }].compactMap(\.self))
    if pairs.pair(of: id) == nil { effects.append(.mint(.pair(id))) } else { greet(id) }
  }

  /// Ends all that a device was before it was this phone. Where the store failed to keep an end,
  /// a process that restarts finds more than one phone of a device.
  private mutating func endOthers(of device: UUID128, than id: PhoneID) {
    let others = (formers.removeValue(forKey: device) ?? []) + [devices[device]].compactMap(\.self)
    for other in others.sorted() where other != id { end(other, .replaced) }
    devices[device] = id
  }

  /// What was drawn came.
  mutating func take(_ minted: Minted) {
    switch minted {
    case .phone(let connection, let id, let secret, let pair):
      introduce(connection, id, secret, pair)
    case .pair(let id, let pair): show(pair, of: id)
    case .access(let ask, let secret): grant(ask, secret)
    }
  }

  /// A phone that was never here before gets a name.
  private mutating func introduce(
    _ connection: ConnectionID, _ id: PhoneID, _ secret: RelaySecret, _ pair: RelayPair
  ) {
    guard let arrival = arrivals.removeValue(forKey: connection), isOpen(connection) else {
      return
    }
    guard phones[id] == nil, pairs.owner(word: pair.word, code: pair.code) == nil else {
      arrivals[connection] = arrival
      effects.append(.mint(.phone(connection)))
      return
    }
    let device = arrival.device
    if let device { endOthers(of: device, than: id) }
    sockets[connection]?.phone = id
    let phone = RelayPhone(
      id: id, device: device, resume: secret.hash,
      presence: .greeting(connection, token: device == nil ? nil : secret.text), seenAt: now)
    phones[id] = phone
    if let kept = phone.kept {
      resumes[secret.hash] = id
      remember(pair, of: id)
      // It is told its token once that will be known again after a restart.
      store([.phone(kept)], then: .phone(id))
    } else {
      show(pair, of: id)
    }
  }

  /// Shows a pair; one that another phone shows is drawn again.
  private mutating func show(_ pair: RelayPair, of id: PhoneID) {
    guard let phone = phones[id], phone.connection != nil, remember(pair, of: id) else { return }
    switch phone.presence {
    case .greeting:
      // The first pair of a phone may be over before the store has the phone.
      if !isBeingKept(id) { greet(id) }
    case .here(let connection): tellPair(of: phone, on: connection, token: nil)
    case .away, .over: break
    }
  }

  private func isBeingKept(_ id: PhoneID) -> Bool {
    waits.values.contains { if case .phone(id) = $0.wait { true } else { false } }
  }

  @discardableResult
  private mutating func remember(_ pair: RelayPair, of id: PhoneID) -> Bool {
    let until = now.advanced(by: policy.pairLife)
    guard pairs.show(pair, of: id, until: until) else {
      effects.append(.mint(.pair(id)))
      return false
    }
    alarms.set(.pair(id), at: until)
    return true
  }

  /// Tells a phone its pair: from here on it counts as connected.
  mutating func greet(_ id: PhoneID) {
    guard let phone = phones[id], case .greeting(let connection, let token) = phone.presence,
      isOpen(connection), pairs.pair(of: id) != nil
    else { return }
    tellPair(of: phone, on: connection, token: token)
    phones[id]?.presence = .here(connection)
    advance(id)
  }

  mutating func tellPair(
    of phone: RelayPhone, on connection: ConnectionID, token: String?
  ) {
    guard isOpen(connection), let (pair, until) = pairs.pair(of: phone.id) else { return }
    let advice = "Give this word and code to your assistant. They work once."
    var code = ConnectionCode(
      code: pair.code, word: pair.word,
      message: phone.notice.map { "\($0) \(advice)" } ?? advice)
    phones[phone.id]?.notice = nil
    if phone.device != nil {
      code.expiresIn = now.duration(to: until)
      code.resumeToken = token
      code.resumed = token == nil
      code.acceptsParts = true
    }
    effects.append(.send(connection, .connectionCode(code)))
  }

  /// The pair's time is over: a phone that is here shows a fresh one.
  mutating func pairExpired(_ id: PhoneID) {
    pairs.remove(id)
    renewPair(of: id)
  }

  mutating func renewPair(of id: PhoneID) {
    guard mode == .serving, phones[id]?.connection != nil else { return }
    effects.append(.mint(.pair(id)))
  }

  /// A socket ended.
  mutating func gone(_ connection: ConnectionID, code: UInt16, wall: Timestamp) {
    guard let socket = sockets[connection] else { return }
    forget(connection)
    guard let id = socket.phone, var phone = phones[id], phone.connection == connection else {
      return
    }
    if code == 1009 { refuseTooLarge(id, on: connection) }
    phone = phones[id] ?? phone
    switch phone.presence {
    case .greeting(_, token: nil), .here: break
    case .greeting, .away, .over: return end(id, .lost)  // It never heard of its token.
    }
    guard phone.device != nil else { return end(id, .lost) }
    phone.presence = .away(since: now)
    (phone.seenAt, phone.leftAt) = (now, wall)
    // It came since it was woken: what waits wakes it anew.
    phone.knockedAt = nil
    phones[id] = phone
    store([phone.kept.map { .phone($0) }].compactMap(\.self))
    requeue(id, from: connection)
    keepLine(of: id)
    armLine(of: id)
    armGrace(id)
    knock(id)
  }

  /// Ends a phone's pairing; those who still hold tokens are told why.
  mutating func end(_ id: PhoneID, _ ending: RelayPhone.Ending) {
    guard var phone = phones[id], !phone.isOver else { return }
    var since = now
    if case .away(let left) = phone.presence { since = left }
    if let connection = phone.connection, ending == .replaced {
      metrics.replaced += 1
      close(connection, .replaced)
    }
    phone.presence = .over(since: since, ending)
    phone.push = nil
    phones[id] = phone
    for call in phone.line { settle(call, .refused(absence(of: phone))) }
    pairs.remove(id)
    for alarm in [RelayAlarm.pair(id), .grace(id), .knock(id)] { alarms.clear(alarm) }
    resumes[phone.resume] = nil
    if let device = phone.device {
      if devices[device] == id { devices[device] = nil }
      store([.endPhone(id)])
    }
    forgetIfUnasked(id)
  }

  /// A phone that is over is remembered as long as somebody may ask for it.
  mutating func forgetIfUnasked(_ id: PhoneID) {
    guard let phone = phones[id], phone.isOver, phone.tokens.isEmpty else { return }
    phones[id] = nil
  }

  /// Arms the end of the grace: without a push address soon, else when its last token expires.
  mutating func armGrace(_ id: PhoneID) {
    guard let phone = phones[id], case .away = phone.presence else { return }
    let short = phone.seenAt.advanced(by: policy.grace)
    let last = phone.tokens.compactMap { accesses[$0]?.expiresAt }.max()
    let until = phone.push == nil ? short : max(short, last ?? short)
    alarms.set(.grace(id), at: until)
  }

  mutating func endGrace(_ id: PhoneID) {
    guard case .away = phones[id]?.presence else { return }
    end(id, .lost)
  }
}
