import LinkCore
import LinkWire

/// What is visible before a login.
extension AuditEvidence {
  func applicationPing() throws(Finding) -> Finding {
    try answered(in: record(.pings), "{\"type\":\"ping\"}", by: "pong")
  }

  /// Whether a message was answered by one of a type.
  func answered(
    in record: AuditRecord, _ sent: String, by type: String
  ) throws(Finding) -> Finding {
    guard let start = record.sent(sent) else { throw .unseen("not sent: " + record.outline) }
    // What comes behind the next thing that was sent may answer that.
    let next = record.first(after: start) {
      if case .sent = $0.kind { $0.socket == record.events[start].socket } else { false }
    }
    guard let end = record.first(type, after: start), end < next ?? .max else {
      return record.absence(after: start)
    }
    return .shown(record.between(start, end))
  }

  func protocolPing() throws(Finding) -> Finding {
    let record = try record(.opening)
    guard let start = record.sent("a WebSocket ping") else {
      throw .unseen("not sent: " + record.outline)
    }
    guard let end = record.first(after: start, { $0.kind == .pong }) else {
      return record.absence(after: start)
    }
    return .shown(record.between(start, end))
  }

  /// The shortest round trip that is called late.
  static let late = Duration.seconds(2)

  func roundTrips() throws(Finding) -> Finding {
    let record = try record(.pings)
    let sent = record.events.indices.filter {
      if case .sent = record.events[$0].kind { true } else { false }
    }
    let times = sent.compactMap { start in
      record.first("pong", after: start).map { record.events[$0].at - record.events[start].at }
    }.sorted()
    guard let least = times.first, let most = times.last else {
      // Without pongs of the application those of the WebSocket can be measured.
      let finding = try protocolPing()
      let words = "\(sent.count) sent, no `pong`; "
      return Finding(finding.outcome, words + finding.evidence)
    }
    let middle = times[times.count / 2]
    let words =
      "\(sent.count) `ping` sent, \(times.count) answered after \(least.shown) to \(most.shown), "
      + "median \(middle.shown)"
    return times.count == sent.count && most < Self.late ? .shown(words) : .partly(words)
  }

  func closing() throws(Finding) -> Finding {
    let record = try record(.opening)
    guard let start = record.sent("a close frame") else {
      throw .unseen("not sent: " + record.outline)
    }
    guard let end = record.end(of: 0), end > start else {
      return record.absence(after: start)
    }
    guard case .ended(.closed) = record.events[end].kind else {
      return .partly(record.between(start, end))
    }
    return .shown(record.between(start, end))
  }

  func compression() throws(Finding) -> Finding {
    let record = try record(.opening)
    for event in record.events {
      guard case .opened(let headers) = event.kind else { continue }
      let words = "offered permessage-deflate; the upgrade after \(event.at.shown) "
      guard let taken = headers["sec-websocket-extensions"], taken.contains("permessage-deflate")
      else { return .missing(words + "took no extension") }
      return .shown(words + "took \(taken.prefix(80))")
    }
    throw .unseen(record.outline)
  }

  func typed() throws(Finding) -> Finding {
    try expectSession()
    return try all("with a `type`") { $0.type != nil }
  }

  func naming() throws(Finding) -> Finding {
    try expectSession()
    return try all("with members in snake_case") { $0.isSnake }
  }

  /// Whether all messages have a property.
  private func all(
    _ words: String, _ isFine: (AuditMessage) -> Bool
  ) throws(Finding) -> Finding {
    let messages = records.values.flatMap { $0.messages().map(\.1) }
    let bad = messages.filter { !isFine($0) }
    let text = "\(messages.count - bad.count) of \(messages.count) messages \(words)"
    guard let example = bad.map(\.excerpt).min() else { return .shown(text) }
    return Finding(bad.count < messages.count ? .partly : .missing, "\(text); one is \(example)")
  }

  func version() throws(Finding) -> Finding {
    try expectSession()
    let announced = hello.flatMap { hello in
      hello.2.version.map {
        "`hello` announced \($0) \(hello.record.events[hello.at].at.shown) "
          + "after the start"
      }
    }
    guard let announced else {
      return .missing("no version in `hello`: " + (try record(.pings)).outline)
    }
    let record = try session(.login)
    guard let place = record.first("connected"),
      let message = record.messages().first(where: { $0.at == place })?.1
    else { throw .unseen(announced) }
    let isNegotiated = message.names.contains("negotiated_protocol_version")
    let text = "\(announced); received \(message.excerpt)"
    return isNegotiated ? .shown(text) : .partly(text)
  }

  func announced() throws(Finding) -> Finding {
    try expectSession()
    guard let hello else { return .missing("no `hello`: " + (try record(.pings)).outline) }
    let names = hello.2.features.map(\.rawValue).sorted()
    return names.isEmpty
      ? .missing("`hello` announces no features")
      : .shown("`hello` announces \(names.joined(separator: ", "))")
  }

  /// Whether something was refused by `auth_error` and a close.
  func refused(_ name: AuditScript.Name, sent: String) throws(Finding) -> Finding {
    try expectSession()
    let record = try record(name)
    guard let start = record.sent(sent) else { throw .unseen("not sent: " + record.outline) }
    let hasError = record.first("auth_error", after: start) != nil
    let hasEnd = record.end(of: 0).map { $0 > start } ?? false
    let words = record.aftermath(of: start)
    if hasError, hasEnd { return .shown(words) }
    return hasError || hasEnd ? .partly(words) : record.absence(after: start)
  }

  func oldVersion() throws(Finding) -> Finding {
    _ = try session(.login)
    let record = try record(.oldVersion)
    guard let start = record.sent("connect") else { throw .unseen("not sent: " + record.outline) }
    let words = record.aftermath(of: start)
    let isCoded = record.messages(after: start).contains {
      if case .error(let error) = $0.1.content {
        error.code == SessionError.unsupportedVersion
      } else {
        false
      }
    }
    let hasEnd = record.end(of: 0) != nil
    if isCoded { return hasEnd ? .shown(words) : .partly(words) }
    if record.first("connected", after: start) != nil { return .missing(words) }
    return hasEnd ? .partly(words) : record.absence(after: start)
  }

  func olderHistory() throws(Finding) -> Finding {
    let record = try session(.olderHistory)
    guard let start = record.sent("connect"), let end = record.first("connected", after: start)
    else { throw .unseen(record.outline) }
    let words = record.between(start, end)
    let isOlder = record.messages(after: start).contains {
      if case .connected(let connected) = $0.1.content {
        connected.version == .oldest
      } else {
        false
      }
    }
    guard isOlder else { return .missing(words) }
    let histories = Self.histories(of: record)
    guard let history = histories.first else {
      let asked = record.sent("{\"type\":\"subscribe\"")
      let isPartly = asked.map { record.hasWaited(after: $0) } ?? false
      return Finding(isPartly ? .partly : .unseen, words + "; no history came")
    }
    guard case .sequence = history.place else {
      return .partly(words + "; its history has offsets")
    }
    return .shown(words + "; a history of \(history.entries.count) messages has `seq`")
  }

  func keyAgain() throws(Finding) -> Finding {
    let first = try session(.login)
    guard let login = first.sent("connect"), let connected = first.first("connected") else {
      throw .unseen(first.outline)
    }
    let record = try record(.byKey)
    guard let start = record.sent("connect") else { throw .unseen(record.outline) }
    guard let end = record.first("connected", after: start) else {
      return record.absence(after: start)
    }
    return .shown("\(first.between(login, connected)); on another: \(record.between(start, end))")
  }

  func challengeOffered() throws(Finding) -> Finding {
    try expectSession()
    guard let hello else { return .missing("no `hello`: " + (try record(.pings)).outline) }
    guard let challenge = hello.2.challenge else {
      return .missing(hello.record.text(hello.at))
    }
    return .shown("`hello` holds a challenge of \(challenge.count) characters")
  }

  func challengeTaken() throws(Finding) -> Finding {
    let record = try session(.login)
    guard let start = record.sent("connect"), let end = record.first("connected", after: start)
    else { throw .unseen(record.outline) }
    guard Self.challenge(in: record) else {
      return .missing("`hello` holds no challenge, and the key itself was sent")
    }
    return .shown("sent `challenge_response`; \(record.between(start, end))")
  }

  private static func challenge(in record: AuditRecord) -> Bool {
    record.messages().contains {
      if case .hello(let hello) = $0.1.content { hello.challenge != nil } else { false }
    }
  }

  func challengeOnce() throws(Finding) -> Finding {
    _ = try session(.login)
    let record = try session(.challengeTwice)
    guard Self.challenge(in: record) else {
      return .missing("`hello` holds no challenge; what is sent once can be sent again")
    }
    guard let start = record.sent("connect with the answer", on: 1) else {
      throw .unseen(record.outline)
    }
    let words = record.aftermath(of: start)
    guard record.first("connected", on: 1) == nil else { return .missing(words) }
    let hasAnswer = record.first("auth_error", on: 1) != nil || record.end(of: 1) != nil
    return hasAnswer ? .shown(words) : .partly(words)
  }
}
