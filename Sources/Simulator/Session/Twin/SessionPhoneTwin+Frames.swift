import LinkCore
import LinkWire
import Session

// What a server says to a phone's twin.
extension SessionPhoneTwin {
  mutating func hear(_ message: SessionServerMessage, _ attempt: AttemptID) {
    switch message {
    case .hello(let hello): greet(hello, attempt)
    case .connected(let connected): enter(connected, attempt)
    case .authError(let text): lose(attempt, .closed(code: 4401, reason: text), isOurs: true)
    case .error(let error): refuse(error, attempt)
    case .unknown: return
    case .pong, .ack, .response, .responsePart, .replay, .turnComplete, .history, .historyBatch,
      .heartbeat, .draining, .sessionKilled:
      if line?.isConnected == true { hearMore(message, attempt) }
    }
  }

  private mutating func hearMore(_ message: SessionServerMessage, _ attempt: AttemptID) {
    switch message {
    case .pong: pong(attempt)
    case .ack(_, let key): acknowledged(key)
    case .responsePart(let conversation, let key, let index, let text):
      takePiece(text, index, of: key)
      show(.part(conversation: conversation, key: key, index: index, text: text))
    case .response(let response):
      drive(.validData(attempt))
      answered(response)
    case .replay(let id, let entry, let number):
      drive(.validData(attempt))
      repeated(id, entry, number)
    case .history(let window):
      drive(.validData(attempt))
      apply(window)
    case .historyBatch(let all):
      drive(.validData(attempt))
      for window in all { apply(window) }
    case .heartbeat(let time): compareClocks(time)
    case .draining(_, let retry, let window):
      line?.isDraining = true
      drive(.draining(attempt, within: window.map { $0 + retry } ?? retry))
      show(.notice(.draining(retryAfter: retry)))
    case .turnComplete, .sessionKilled, .hello, .connected, .authError, .error, .unknown: return
    }
  }

  private mutating func greet(_ hello: SessionHello, _ attempt: AttemptID) {
    guard let client, let line, !line.isGreeted else { return }
    self.line?.isGreeted = true
    self.line?.features = hello.features
    var known = Set(SessionScribe.words.map(\.0))
    if !hello.features.contains(.boundProof) { known.remove(.boundProof) }
    var connect = SessionConnect(
      session: client.description, version: "0.5.0", features: known, received: kept)
    if hello.challenge != nil { connect.timestamp = hello.timestamp ?? wall }
    out.append(.connect(attempt, connect, challenge: hello.challenge))
  }

  private mutating func enter(_ connected: SessionConnected, _ attempt: AttemptID) {
    guard let line, line.isGreeted, !line.isConnected else { return }
    if connected.version < SessionVersion(0, 4, 0) {
      let reason = "the server speaks version \(SessionScribe.version(connected.version))"
      return lose(attempt, .closed(code: 4403, reason: reason), isOurs: true)
    }
    drive(.established(attempt))
    guard link.status.phase == .connected else { return }
    self.line?.connectedAt = now
    self.line?.version = connected.version
    self.line?.features = connected.features
    let lost = counts.lostAt
    counts.lostAt = nil
    let time = now
    counts.change(at: wall) { day in
      day.connects += 1
      if let lost {
        day.reconnects += 1
        day.reconnecting += lost.duration(to: time)
      }
    }
    if connected.isRecovered == false { missSome() }
  }

  private mutating func missSome() {
    if !jumps { show(.gap(conversation: nil, .notRecovered)) }
    jumps = true
  }

  private mutating func pong(_ attempt: AttemptID) {
    guard let ping = line?.pings.first else { return }
    line?.pings.removeFirst()
    let isFirst = line?.roundTrip == nil
    let time = ping.at.duration(to: now)
    line?.roundTrip = time
    counts.change(at: wall) { day in
      day.roundTrips += 1
      day.roundTripSum += time
      if day.longestRoundTrip < time { day.longestRoundTrip = time }
    }
    let before = quality
    drive(.pong(attempt, ping.id))
    if isFirst, before == quality { show(.quality(quality, roundTrip: time)) }
  }

  private mutating func compareClocks(_ time: Timestamp?) {
    guard let time, line?.knowsSkew == false else { return }
    let skew = wall.duration(to: time)
    if skew.nanoseconds.magnitude <= 30_000_000_000 { return }
    line?.knowsSkew = true
    show(.notice(.clockSkew(skew)))
  }

  mutating func misheard(_ attempt: AttemptID, _ detail: String) {
    line?.unreadable += 1
    line?.wasDeaf = false
    drive(.heard(attempt))
    show(.notice(.malformed(detail)))
    if line?.unreadable == 5 {
      let reason = "too many messages could not be read"
      lose(attempt, .protocolError(detail: reason), isOurs: true)
    }
  }

  // Refusals.

  private mutating func refuse(_ error: SessionError, _ attempt: AttemptID) {
    if error.code == "unsupported_protocol_version" {
      return lose(attempt, .closed(code: 4403, reason: error.message), isOurs: true)
    }
    if error.code == "not_recovered" { return missSome() }
    if let prompt = prompt(of: error) { return refuse(prompt, error) }
    if error.message.hasPrefix("Unknown message type") { return }
    if let conversation = error.conversation, line?.asking[conversation] != nil {
      line?.asking[conversation] = nil
      line?.whole.insert(conversation)
      // A conversation that the user named may be a new one.
      if conversation == named, places[conversation]?.openedBy == nil { return }
    }
    show(.notice(.refused(error)))
  }

  private func prompt(of error: SessionError) -> KeptPrompt? {
    if let key = error.idempotencyKey { return UUID128(key).flatMap { outbox[$0] } }
    guard let line, let conversation = error.conversation, line.asking[conversation] == nil else {
      return nil
    }
    return outbox.all.first { line.sent.contains($0.id) && $0.conversation == conversation }
  }

  // Acknowledgements and numbers.

  mutating func sendAcknowledgements() {
    guard let line else { return }
    for id in owed { out.append(.send(line.attempt, .messageAck(id))) }
    owed = []
  }

  mutating func sendSize() {
    guard let line, (line.told ?? 100) != size.kilobytes else { return }
    if line.told != nil { show(.notice(.payload(kilobytes: size.kilobytes))) }
    self.line?.told = size.kilobytes
    self.line?.awaited.append(nil)
    out.append(.send(line.attempt, .setMaxMessageSize(kilobytes: size.kilobytes)))
  }

  /// Has a message acknowledged once it is stored.
  mutating func note(_ id: String?, _ number: UInt64?) {
    if let id { paper.waiting.acks.append(id) }
    guard let number else { return }
    if jumps, number > got {
      got = number - 1
      early = []
      jumps = false
    }
    guard number > got, early.count < 1_000 || number - got == 1 else { return }
    early.insert(number)
    while early.contains(got + 1) {
      got += 1
      early.remove(got)
    }
    paper.waiting.change.received = got
  }

  // Pieces.

  /// Pieces in order, 16 MiB of them at most.
  private mutating func takePiece(_ text: String, _ index: Int, of key: String) {
    let row = line?.pieces[key]
    let all = line?.pieces.values.joined().reduce(0) { $0 + $1.utf8.count } ?? 0
    guard index == row?.count ?? 0, all + text.utf8.count <= 16_777_216 else {
      line?.pieces[key] = nil
      return
    }
    line?.pieces[key] = (row ?? []) + [text]
  }

  mutating func wholeText(_ count: Int?, of key: String?) -> String? {
    guard let key, let row = line?.pieces.removeValue(forKey: key), row.count == count else {
      return nil
    }
    return row.joined()
  }
}
