import LinkCore
import LinkWire

/// What is visible before a login.
extension AuditEvidence {
  func applicationPing() throws(Finding) -> Finding {
    if let unasked = unaskedPong {
      return .missing("a `pong` came without a `ping`, so it is no answer: " + unasked)
    }
    return try answered(in: record(.pings), "{\"type\":\"ping\"}", by: "pong")
  }

  /// What was seen of a `pong` on a connection that had sent no `ping`.
  private var unaskedPong: String? {
    guard let record = records[.stranger], let pong = record.first("pong") else { return nil }
    return record.between(0, pong)
  }

  /// Whether a message was answered by one of a type.
  func answered(
    in record: AuditRecord, _ sent: String, by type: String
  ) throws(Finding) -> Finding {
    guard let start = record.sent(sent) else { throw .unseen("not sent: " + record.outline) }
    let socket = record.events[start].socket
    // What comes behind the next thing that was sent may answer that.
    guard let end = record.first(type, on: socket, after: start), end < record.next(after: start)
    else { return record.absence(after: start) }
    return .shown(record.between(start, end))
  }

  func protocolPing() throws(Finding) -> Finding {
    let (finding, _) = try protocolTrip()
    return finding
  }

  /// The answer to a WebSocket ping, and how long it took.
  private func protocolTrip() throws(Finding) -> (Finding, Duration?) {
    let record = try record(.opening)
    guard let start = record.sent("a WebSocket ping") else {
      throw .unseen("not sent: " + record.outline)
    }
    guard let end = record.first(after: start, { $0.kind == .pong }) else {
      return (record.absence(after: start), nil)
    }
    let time = record.events[end].at - record.events[start].at
    return (.shown(record.between(start, end)), time)
  }

  /// The shortest round trip that is called late.
  static let late = Duration.seconds(2)

  func roundTrips() throws(Finding) -> Finding {
    let record = try record(.pings)
    let sent = record.events.count {
      if case .sent = $0.kind { true } else { false }
    }
    let times = pongTimes
    guard let least = times.first, let most = times.last else {
      // Without pongs of the application those of the WebSocket can be measured.
      let (finding, time) = try protocolTrip()
      let isLate = time.map { $0 >= Self.late } ?? false
      let words = "\(sent) sent, no `pong`; " + finding.evidence
      return isLate ? .partly(words) : Finding(finding.outcome, words)
    }
    let words =
      "\(sent) `ping` sent, \(times.count) answered after \(least.shown) to \(most.shown), "
      + "median \(times[times.count / 2].shown)"
    // Pongs that nobody asked for cannot be told from the answers.
    let pongs = record.messages().count { $0.1.type == "pong" }
    if pongs > sent || unaskedPong != nil { return .partly(words + "; \(pongs) `pong` came") }
    return times.count == sent && most < Self.late ? .shown(words) : .partly(words)
  }

  /// The round trips of the pings of one connection, from the shortest on.
  var pongTimes: [Duration] {
    guard let record = records[.pings] else { return [] }
    let times = record.events.indices.compactMap { start -> Duration? in
      guard case .sent = record.events[start].kind, let end = record.first("pong", after: start)
      else { return nil }
      return record.events[end].at - record.events[start].at
    }
    return times.sorted()
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
      return compressed(words + "took \(taken.prefix(80)); ")
    }
    throw .unseen(record.outline)
  }

  /// The least length in bytes of a message that is worth compressing.
  private static let long = 1_024

  /// Whether the extension is used: RFC 7692 leaves each message to its sender.
  private func compressed(_ words: String) -> Finding {
    let messages = records.values.flatMap { $0.messages().map(\.1) }
    let count = records.values.flatMap(\.compressed.values).reduce(0, +)
    let long = messages.count { $0.count >= Self.long }
    if count > 0 { return .shown(words + "\(count) messages came compressed") }
    let found = "none of \(messages.count) messages came compressed, "
    return long > 0
      ? .partly(words + found + "\(long) of 1 KiB or more")
      : .unseen(words + found + "and none of 1 KiB that shows whether any would")
  }

  func typed() throws(Finding) -> Finding {
    try expectSession()
    return try all("with a `type`") { $0.type?.isEmpty == false }
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
    guard let announced, let newest = hello?.2.version.flatMap({ SessionVersion($0) }) else {
      return .missing("no version in `hello`: " + (try record(.pings)).outline)
    }
    let record = try session(.login)
    let (message, named) = Self.negotiated(in: record)
    guard let message else { throw .unseen(announced) }
    // The lower one of both ends, of which this one speaks the newest.
    let both = SessionVersion.negotiated(SessionVersion.newest.description, newest: newest)
    let isNegotiated = named != nil && named == both
    let text = "\(announced); received \(message.excerpt)"
    return isNegotiated ? .shown(text) : .partly(text)
  }

  /// The first `connected`, and the version that it names.
  static func negotiated(in record: AuditRecord) -> (AuditMessage?, SessionVersion?) {
    for (_, message) in record.messages() where message.type == "connected" {
      guard case .connected(let connected) = message.content,
        message.names.contains("negotiated_protocol_version")
      else { return (message, nil) }
      return (message, connected.version)
    }
    return (nil, nil)
  }

  func announced() throws(Finding) -> Finding {
    try expectSession()
    guard let hello else { return .missing("no `hello`: " + (try record(.pings)).outline) }
    let names = hello.2.features.map(\.rawValue).sorted()
    return names.isEmpty
      ? .missing("`hello` announces no features")
      : .shown("`hello` announces \(names.joined(separator: ", "))")
  }

  /// Whether what needs a login is refused: what writes and what reads.
  func early() throws(Finding) -> Finding {
    .worst([
      try refused(.early, sent: "{\"type\":\"unsubscribe\""),
      try refused(.early, sent: "{\"type\":\"subscribe\"", on: 1),
    ])
  }

  /// Whether a wrong key is refused, and a wrong answer to the challenge where there is one.
  func wrongKey() throws(Finding) -> Finding {
    let key = try refused(.wrongKey, sent: "connect with a wrong key")
    let answer = "connect with a wrong answer"
    guard records[.wrongKey]?.sent(answer) != nil else { return key }
    return .worst([key, try refused(.wrongKey, sent: answer, on: 1)])
  }

  /// Whether something was refused by `auth_error` and a close. Who is neither let in nor told is
  /// half refused.
  func refused(
    _ name: AuditScript.Name, sent: String, on socket: Int = 0
  ) throws(Finding) -> Finding {
    try expectSession(name)
    let record = try record(name)
    guard let start = record.sent(sent, on: socket) else {
      throw .unseen("not sent: " + record.outline)
    }
    let words = record.aftermath(of: start)
    let granted = ["connected", "session_history"]
    if granted.contains(where: { record.first($0, on: socket, after: start) != nil }) {
      return .missing(words)
    }
    let hasError = record.first("auth_error", on: socket, after: start) != nil
    let hasEnd = record.end(of: socket).map { $0 > start } ?? false
    if hasError, hasEnd { return .shown(words) }
    let absence = record.absence(after: start)
    return hasError || hasEnd || absence.outcome == .missing ? .partly(words) : absence
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
    // Then it was not the version that was refused.
    if record.first("auth_error", after: start) != nil { return .unseen(words) }
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
    guard let history = histories.first(where: { !$0.entries.isEmpty }) ?? histories.first else {
      let asked = record.sent("{\"type\":\"subscribe\"")
      let isPartly = asked.map { record.hasWaited(after: $0) } ?? false
      return Finding(isPartly ? .partly : .unseen, words + "; no history came")
    }
    guard case .sequence = history.place else {
      return .partly(words + "; its history has offsets")
    }
    let numbered = history.entries.count { $0.place != nil }
    let text = words + "; of a history of \(history.entries.count) messages \(numbered) have `seq`"
    guard !history.entries.isEmpty else {
      // Without a prompt that ended, a history may well be empty.
      return Finding(record.first("response") == nil ? .unseen : .partly, text)
    }
    return numbered == history.entries.count ? .shown(text) : .partly(text)
  }

  func keyAgain() throws(Finding) -> Finding {
    let first = try session(.login)
    guard let connected = first.first("connected"),
      let login = first.sent("connect", on: first.events[connected].socket)
    else { throw .unseen(first.outline) }
    let record = try record(.main)
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
    guard let start = record.sent("connect") else { throw .unseen(record.outline) }
    guard Self.challenge(in: record) != nil else {
      return .missing("`hello` holds no challenge, and the key itself was sent")
    }
    guard let end = record.first("connected", on: 0, after: start) else {
      return .missing("only the key itself is accepted; " + record.aftermath(of: start))
    }
    let wrong = "connect with a wrong answer"
    if let refusal = records[.wrongKey], refusal.sent(wrong) != nil,
      case let finding = try refused(.wrongKey, sent: wrong, on: 1), finding.outcome == .missing
    {
      return .missing("any answer is accepted; " + finding.evidence)
    }
    return .shown("sent `challenge_response`; \(record.between(start, end))")
  }

  /// The challenge of a connection.
  private static func challenge(in record: AuditRecord, on socket: Int = 0) -> String? {
    for (_, message) in record.messages(on: socket) {
      if case .hello(let hello) = message.content { return hello.challenge }
    }
    return nil
  }

  func challengeOnce() throws(Finding) -> Finding {
    _ = try session(.login)
    let record = try session(.challengeTwice)
    guard let challenge = Self.challenge(in: record) else {
      return .missing("`hello` holds no challenge; what is sent once can be sent again")
    }
    guard challenge != Self.challenge(in: record, on: 1) else {
      return .missing("two connections have the same challenge, \(challenge)")
    }
    guard let start = record.sent("connect with the answer", on: 1) else {
      throw .unseen(record.outline)
    }
    let words = record.aftermath(of: start)
    guard record.first("connected", on: 1) == nil else { return .missing(words) }
    // A server that never lets a session in beside itself would refuse a new answer as well.
    guard finding(.takeover).outcome == .shown else {
      return .unseen("a second connection of a session is refused in any case; " + words)
    }
    let hasAnswer = record.first("auth_error", on: 1) != nil || record.end(of: 1) != nil
    return hasAnswer ? .shown(words) : .partly(words)
  }
}
