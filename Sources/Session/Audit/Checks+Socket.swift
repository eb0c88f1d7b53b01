import HoldfastCore
import HoldfastSessionData

/// Checks of the behavior that is visible before a login.
extension AuditEvidence {
  func applicationPing() throws(Finding) -> Finding {
    if let unasked = unaskedPong {
      return .missing("a `pong` came without a `ping`, so it is no answer: " + unasked)
    }
    return try answered(in: record(.pings), "{\"type\":\"ping\"}", by: "pong")
  }

  /// A description of a `pong` on a connection that sent no `ping`; `nil` if there is none.
  private var unaskedPong: String? {
    guard let record = records[.stranger], let pong = record.first("pong") else { return nil }
    return record.between(0, pong)
  }

  /// Returns the finding on whether a message of the given type answered a sent message.
  func answered(
    in record: AuditRecord, _ sent: String, by type: String
  ) throws(Finding) -> Finding {
    guard let start = record.sent(sent) else { throw .unseen("not sent: " + record.outline) }
    let socket = record.events[start].socket
    // A message that arrives after the next message was sent may be an answer to that message.
    guard let end = record.first(type, on: socket, after: start), end < record.next(after: start)
    else { return record.absence(after: start) }
    return .shown(record.between(start, end))
  }

  func protocolPing() throws(Finding) -> Finding {
    let (finding, _) = try protocolTrip()
    return finding
  }

  /// Returns the finding for a WebSocket ping, and the round-trip time.
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

  /// The minimum round-trip time that counts as late.
  static let late = Duration.seconds(2)

  func roundTrips() throws(Finding) -> Finding {
    let record = try record(.pings)
    let sent = record.events.count {
      if case .sent = $0.kind { true } else { false }
    }
    let times = pongTimes
    guard let least = times.first, let most = times.last else {
      // If the application sends no pongs, WebSocket pongs can be measured instead.
      let (finding, time) = try protocolTrip()
      let isLate = time.map { $0 >= Self.late } ?? false
      let evidence = "\(sent) sent, no `pong`; " + finding.evidence
      return isLate ? .partly(evidence) : Finding(finding.outcome, evidence)
    }
    let evidence =
      "\(sent) `ping` sent, \(times.count) answered after \(least.shown) to \(most.shown), "
      + "median \(times[times.count / 2].shown)"
    // Unsolicited pongs cannot be distinguished from answers.
    let pongs = record.messages().count { $0.1.type == "pong" }
    if pongs > sent || unaskedPong != nil { return .partly(evidence + "; \(pongs) `pong` came") }
    return times.count == sent && most < Self.late ? .shown(evidence) : .partly(evidence)
  }

  /// The round-trip times of all answered pings, in ascending order.
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
      let evidence = "offered permessage-deflate; the upgrade after \(event.at.shown) "
      guard let taken = headers["sec-websocket-extensions"], taken.contains("permessage-deflate")
      else { return .missing(evidence + "took no extension") }
      return compressed(evidence + "took \(taken.prefix(80)); ")
    }
    throw .unseen(record.outline)
  }

  /// The minimum length, in bytes, of a message that is worth compressing.
  private static let long = 1_024

  /// Returns the finding on whether compression is used. RFC 7692 lets the sender decide for each
  /// message.
  private func compressed(_ evidence: String) -> Finding {
    let messages = records.values.flatMap { $0.messages().map(\.1) }
    let count = records.values.flatMap(\.compressed.values).reduce(0, +)
    let long = messages.count { $0.count >= Self.long }
    if count > 0 { return .shown(evidence + "\(count) messages came compressed") }
    let found = "none of \(messages.count) messages came compressed, "
    return long > 0
      ? .partly(evidence + found + "\(long) of 1 KiB or more")
      : .unseen(evidence + found + "and none of 1 KiB that shows whether any would")
  }

  func typed() throws(Finding) -> Finding {
    try expectSession()
    return try all("with a `type`") { $0.type?.isEmpty == false }
  }

  func naming() throws(Finding) -> Finding {
    try expectSession()
    return try all("with members in snake_case") { $0.isSnake }
  }

  /// Returns the finding on whether all messages have a property.
  private func all(
    _ evidence: String, _ isFine: (AuditMessage) -> Bool
  ) throws(Finding) -> Finding {
    let messages = records.values.flatMap { $0.messages().map(\.1) }
    let bad = messages.filter { !isFine($0) }
    let text = "\(messages.count - bad.count) of \(messages.count) messages \(evidence)"
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
    // The negotiated version is the lower of the two ends' versions. The audit itself supports the
    // newest version.
    let both = SessionVersion.negotiated(SessionVersion.newest.description, newest: newest)
    let isNegotiated = named != nil && named == both
    let text = "\(announced); received \(message.excerpt)"
    return isNegotiated ? .shown(text) : .partly(text)
  }

  /// Returns the first `connected` message and the version that it contains.
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

  /// Returns the finding on whether requests that need a login are refused.
  ///
  /// The script sends one request that writes and one that reads.
  func early() throws(Finding) -> Finding {
    .worst([
      try refused(.early, sent: "{\"type\":\"unsubscribe\""),
      try refused(.early, sent: "{\"type\":\"subscribe\"", on: 1),
    ])
  }

  /// Returns the finding on whether a wrong key is refused. If there is a challenge, a wrong answer
  /// must also be refused.
  func wrongKey() throws(Finding) -> Finding {
    let key = try refused(.wrongKey, sent: "connect with a wrong key")
    let answer = "connect with a wrong answer"
    guard records[.wrongKey]?.sent(answer) != nil else { return key }
    return .worst([key, try refused(.wrongKey, sent: answer, on: 1)])
  }

  /// Returns the finding on whether a message was refused with `auth_error` and a close.
  ///
  /// If the client was not admitted but did not receive both, the result is `partly`.
  func refused(
    _ name: AuditScript.Name, sent: String, on socket: Int = 0
  ) throws(Finding) -> Finding {
    try expectSession(name)
    let record = try record(name)
    guard let start = record.sent(sent, on: socket) else {
      throw .unseen("not sent: " + record.outline)
    }
    let evidence = record.aftermath(of: start)
    let granted = ["connected", "session_history"]
    if granted.contains(where: { record.first($0, on: socket, after: start) != nil }) {
      return .missing(evidence)
    }
    let hasError = record.first("auth_error", on: socket, after: start) != nil
    let hasEnd = record.end(of: socket).map { $0 > start } ?? false
    if hasError, hasEnd { return .shown(evidence) }
    let absence = record.absence(after: start)
    return hasError || hasEnd || absence.outcome == .missing ? .partly(evidence) : absence
  }

  func oldVersion() throws(Finding) -> Finding {
    _ = try session(.login)
    let record = try record(.oldVersion)
    guard let start = record.sent("connect") else { throw .unseen("not sent: " + record.outline) }
    let evidence = record.aftermath(of: start)
    let isCoded = record.messages(after: start).contains {
      if case .error(let error) = $0.1.content {
        error.code == SessionError.unsupportedVersion
      } else {
        false
      }
    }
    let hasEnd = record.end(of: 0) != nil
    if isCoded { return hasEnd ? .shown(evidence) : .partly(evidence) }
    if record.first("connected", after: start) != nil { return .missing(evidence) }
    // In this case, the server refused something other than the version.
    if record.first("auth_error", after: start) != nil { return .unseen(evidence) }
    return hasEnd ? .partly(evidence) : record.absence(after: start)
  }

  func olderHistory() throws(Finding) -> Finding {
    let record = try session(.olderHistory)
    guard let start = record.sent("connect"), let end = record.first("connected", after: start)
    else { throw .unseen(record.outline) }
    let evidence = record.between(start, end)
    let isOlder = record.messages(after: start).contains {
      if case .connected(let connected) = $0.1.content {
        connected.version == .oldest
      } else {
        false
      }
    }
    guard isOlder else { return .missing(evidence) }
    let histories = Self.histories(of: record)
    guard let history = histories.first(where: { !$0.entries.isEmpty }) ?? histories.first else {
      let asked = record.sent("{\"type\":\"subscribe\"")
      let isPartly = asked.map { record.hasWaited(after: $0) } ?? false
      return Finding(isPartly ? .partly : .unseen, evidence + "; no history came")
    }
    guard case .sequence = history.extent else {
      return .partly(evidence + "; its history has offsets")
    }
    let numbered = history.entries.count { $0.position != nil }
    let text =
      evidence + "; of a history of \(history.entries.count) messages \(numbered) have `seq`"
    guard !history.entries.isEmpty else {
      // The history may be empty if no prompt was completed.
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

  /// Returns the challenge that was sent on a connection.
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
    let evidence = record.aftermath(of: start)
    guard record.first("connected", on: 1) == nil else { return .missing(evidence) }
    // A server that never accepts a second connection of a session would also refuse a correct
    // answer.
    guard finding(.takeover).outcome == .shown else {
      return .unseen("a second connection of a session is refused in any case; " + evidence)
    }
    let hasAnswer = record.first("auth_error", on: 1) != nil || record.end(of: 1) != nil
    return hasAnswer ? .shown(evidence) : .partly(evidence)
  }
}

/// Checks of sizes, load, silence and invalid messages.
extension AuditEvidence {
  func sizeTaken() throws(Finding) -> Finding {
    try answered(in: session(.size), "{\"type\":\"set_max_message_size\"", by: "ack")
  }

  func truncation() throws(Finding) -> Finding {
    let record = try session(.size)
    guard let set = record.sent("{\"type\":\"set_max_message_size\""),
      let start = record.sent("{\"type\":\"prompt\"", after: set)
    else { throw .unseen(record.outline) }
    guard
      let (end, message) = record.messages(after: start).first(where: { $0.1.type == "response" })
    else { throw .unseen("no response: " + record.aftermath(of: start)) }
    let most = AuditPlan.size.kilobytes * 1_024
    let whole = record.messages().first { $0.at < set && $0.1.type == "response" }?.1.count
    let evidence =
      "set \(AuditPlan.size.kilobytes) KiB and sent a prompt of \(AuditPlan.size.text) bytes; "
      + "the response has \(message.count) bytes, "
      + (record.events[end].at - record.events[start].at).shown
      + (whole.map { "; without the size it had \($0) bytes" } ?? "")
    if message.count > most { return .missing(evidence) }
    // Only the full answer to the same prompt shows that this answer was truncated.
    guard let whole, whole > most else {
      return .unseen(evidence + "; the handler's answer is too short to be cut")
    }
    guard case .response(let response) = message.content, case .success = response.result else {
      return .partly(evidence + ", and now it is a failure")
    }
    return .shown(evidence)
  }

  func hugeFrame() throws(Finding) -> Finding {
    let record = try record(.huge)
    guard let start = record.sent("the header", on: 1) else { throw .unseen(record.outline) }
    guard let end = record.end(of: 1), end > start else {
      return record.absence(after: start)
    }
    let evidence = record.between(start, end)
    if case .ended(.closed(1009, _)) = record.events[end].kind { return .shown(evidence) }
    // A connection that sends nothing may also end this early.
    let lifetime = record.events[end].at + .seconds(1)
    if let silent = records[.stranger], let other = silent.end(of: 0),
      silent.events[other].at <= lifetime
    {
      return .unseen(evidence + "; one that sent nothing: " + silent.between(0, other))
    }
    return .shown(evidence)
  }

  /// Returns whether a connection may have ended because a frame on another connection ended all of
  /// them.
  private func isSweptAway(_ end: AuditRecord.Event) -> Bool {
    end.kind.isAbrupt && finding(.bystander).outcome == .missing
  }

  func bystander() throws(Finding) -> Finding {
    let record = try record(.huge)
    guard record.sent("the header", on: 1) != nil,
      let start = record.sent("a WebSocket ping", on: 0)
    else { throw .unseen(record.outline) }
    guard let end = record.first(after: start, { $0.kind == .pong }) else {
      return record.absence(after: start, "on another connection: ")
    }
    return .shown("on another connection: " + record.between(start, end))
  }

  func congestion() throws(Finding) -> Finding {
    let record = try session(.congestion)
    guard let start = record.sent("{\"type\":\"prompt\""),
      let ping = record.sent("{\"type\":\"ping\"}", after: start)
    else { throw .unseen(record.outline) }
    let evidence = "sent 8 prompts of 20 kB, then `ping`; "
    guard let end = record.first("pong", after: ping) else {
      return record.absence(after: ping, evidence)
    }
    let time = record.events[end].at - record.events[ping].at
    let taken = record.messages(after: start).filter { $0.1.isTaken }
    let answers = taken.count { $0.1.type == "response" && $0.at < end }
    let text = evidence + "`pong` after \(time.shown), behind \(answers) of the 8 responses"
    guard !taken.isEmpty else { return .unseen(text + "; no prompt was taken") }
    if time >= .seconds(1) { return Finding(time < Self.late ? .partly : .missing, text) }
    guard answers > 0 else { return .shown(text) }
    // If the prompt's handler takes any time, a ping that is not delayed overtakes the last prompt.
    guard let handler = handlerTime, handler >= Self.noticeable else {
      return .unseen(text + "; handlers that answer at once leave nothing to overtake")
    }
    let detail = text + "; the handler of a prompt takes \(handler.shown)"
    return answers >= 8 ? .missing(detail) : .unseen(detail)
  }

  /// The minimum time of a handler that allows a conclusion about whether a ping overtakes its
  /// prompt.
  private static let noticeable = Duration.milliseconds(20)

  /// The time that the first prompt took beyond the round-trip time of a ping.
  private var handlerTime: Duration? {
    guard let (record, start, end, _) = try? firstResponse() else { return nil }
    let trips = pongTimes
    let trip = trips.isEmpty ? .zero : trips[trips.count / 2]
    return record.events[end].at - record.events[start].at - trip
  }

  /// Returns the finding on how the server handled an invalid message on a separate connection.
  func fault(_ socket: Int) throws(Finding) -> Finding {
    if !speaksSession { return try plainFault(socket) }
    let record = try session(.faults)
    guard let (start, error) = Self.fault(socket, in: record) else {
      throw .unseen("not sent: " + record.outline)
    }
    let isAnswered = record.first("pong", on: socket, after: start) != nil
    // If the server sent an error but never answers pings, a missing pong does not mean that the
    // connection has ended.
    let isAlive =
      isAnswered || error != nil && record.end(of: socket) == nil && !answersPings
    let evidence = error.map { record.between(start, $0) } ?? record.aftermath(of: start)
    if error != nil, isAlive { return .shown(evidence + "; the connection stayed") }
    return error != nil || isAlive ? .partly(evidence) : record.absence(after: start)
  }

  /// Returns the indices of an invalid message and of the error that it caused, if any.
  private static func fault(_ socket: Int, in record: AuditRecord) -> (sent: Int, error: Int?)? {
    guard let connected = record.first("connected", on: socket),
      case let start = record.next(after: connected), start < record.events.count
    else { return nil }
    // An error that arrives after the next ping was sent may be an answer to that ping.
    let error = record.first("error", on: socket, after: start)
    return (start, error.flatMap { $0 < record.next(after: start) ? $0 : nil })
  }

  var answersPings: Bool { finding(.applicationPing).outcome == .shown }

  /// Returns the finding on how a server with another protocol handled an invalid message.
  ///
  /// The errors of the other protocol are not known. A server that ends the connection with a close
  /// frame may have refused the message.
  private func plainFault(_ socket: Int) throws(Finding) -> Finding {
    guard socket == 0 else {
      try expectSession()
      throw .unseen("it was not sent")
    }
    let record = try record(.garbage)
    guard let start = record.sent("{\"type\":\"prompt\"") else { throw .unseen(record.outline) }
    let evidence = record.aftermath(of: start)
    if let end = record.end(of: 0), record.events[end].kind.isAbrupt,
      !isSweptAway(record.events[end])
    {
      return .missing(evidence)
    }
    return .unseen("an error of its own protocol is not known; " + evidence)
  }

  func distinctErrors() throws(Finding) -> Finding {
    let refusal = try refused(.wrongKey, sent: "connect with a wrong key")
    if refusal.outcome == .unseen { return refusal }
    guard refusal.outcome == .shown else { return Finding(.missing, refusal.evidence) }
    let record = try session(.faults)
    guard let at = (0..<4).lazy.compactMap({ Self.fault($0, in: record)?.error }).first else {
      return .partly("\(refusal.evidence); no `error` for what is not valid: " + record.outline)
    }
    return .shown("\(refusal.evidence); for an invalid message \(record.text(at))")
  }

  func heartbeat() throws(Finding) -> Finding {
    let record: AuditRecord
    do throws(Finding) {
      record = try session(.idle)
    } catch {
      // If no client can log in, a connection without a login may still receive heartbeats.
      if let stranger = records[.stranger], let found = beats(in: stranger, after: 0) {
        return found
      }
      throw error
    }
    guard let start = record.sent("connect") else { throw .unseen(record.outline) }
    if let found = beats(in: record, after: start) { return found }
    let time = record.events.last.map { $0.at - record.events[start].at } ?? .zero
    let evidence = "nothing came by itself in \(time.shown): " + record.aftermath(of: start)
    // If the connection or the audit ended earlier, a heartbeat might still have followed.
    return time >= AuditPlan.heartbeat ? .missing(evidence) : .unseen(evidence)
  }

  /// The period after the start in which messages may still belong to the greeting.
  private static let greeting = Duration.seconds(1)

  /// Returns the finding on unsolicited heartbeats and pings after an event; `nil` if there are
  /// none.
  ///
  /// If only one arrived although the next one was due, the result is `partly`.
  private func beats(in record: AuditRecord, after start: Int) -> Finding? {
    let next = record.sent("", after: start) ?? record.events.count
    let indices = (start..<next).filter { index in
      let event = record.events[index]
      guard event.at - record.events[start].at >= Self.greeting else { return false }
      if case .received(let message) = event.kind { return message.type == "heartbeat" }
      return event.kind == .serverPing
    }
    guard let first = indices.first, let last = record.events.last else { return nil }
    let evidence = "without a word of ours " + record.between(start, first)
    let (period, seen) = (record.events[first].at - record.events[start].at, last.at)
    let isDue = seen - record.events[start].at >= period * 5 / 2
    return indices.count > 1 || !isDue
      ? .shown(evidence) : .partly(evidence + ", and no other in \(seen.shown)")
  }

  /// The minimum period of silence that is conclusive.
  private static let silence = Duration.seconds(10)

  func silentClient() throws(Finding) -> Finding {
    if !speaksSession { return try silentStranger() }
    let record = try session(.idle)
    guard let start = record.sent("connect") else { throw .unseen(record.outline) }
    let found = record.sent("{\"type\":\"ping\"}", after: start)
    if let end = record.end(of: 0), end < found ?? .max {
      let evidence = record.aftermath(of: start, most: 8)
      return isSweptAway(record.events[end]) ? .unseen(evidence) : .missing(evidence)
    }
    guard let ping = found else { return record.absence(after: start, most: 8) }
    let quiet = record.events[ping].at - record.events[start].at
    let silence = "said nothing for \(quiet.shown), then "
    let evidence = silence + record.aftermath(of: ping, most: 1)
    guard record.first("pong", after: ping) != nil else {
      // If the server never answers pings, it is unknown whether the connection still works.
      let isUnknown = record.end(of: 0) == nil && !answersPings
      return isUnknown ? .unseen(evidence) : record.absence(after: ping, silence, most: 1)
    }
    return quiet >= Self.silence ? .shown(evidence) : .unseen(evidence)
  }

  private func silentStranger() throws(Finding) -> Finding {
    let record = try record(.stranger)
    guard let ping = record.sent("a WebSocket ping") else { return .unseen(record.outline) }
    let quiet = record.events[ping].at
    let evidence = "said nothing for \(quiet.shown), then " + record.aftermath(of: ping, most: 1)
    let isAnswered = record.first(after: ping) { $0.kind == .pong } != nil
    if isAnswered, quiet >= Self.silence { return .shown(evidence) }
    // The server may end a connection that does not log in, whatever form the login takes.
    return .unseen(record.end(of: 0) == nil ? evidence : record.outline)
  }

  func strangerClosed() throws(Finding) -> Finding {
    guard speaksSession else { throw .unseen("this server has no login to wait for") }
    let record = try record(.stranger)
    guard let end = record.end(of: 0) else {
      let time = record.events.last?.at ?? .zero
      let evidence = "a connection that sent nothing was open after \(time.shown)"
      return time >= AuditPlan.stranger ? .missing(evidence) : .unseen(evidence)
    }
    let evidence = record.between(0, end)
    return isSweptAway(record.events[end]) ? .unseen(evidence) : .shown(evidence)
  }

  func takeover() throws(Finding) -> Finding {
    let record = try session(.takeover)
    guard let start = record.sent("connect", on: 1) else { throw .unseen(record.outline) }
    guard let end = record.first("connected", on: 1) else {
      return record.absence(after: start)
    }
    let evidence = "the same `session_id` from a second connection: " + record.between(start, end)
    return .shown(evidence)
  }

  func burst() throws(Finding) -> Finding {
    guard let record = records[.burst] else { throw .unseen("no burst was sent") }
    var (opened, refused, other) = (0, 0, 0)
    var last = Duration.zero
    for event in record.events {
      switch event.kind {
      case .opened:
        opened += 1
        last = event.at
      case .ended(.http(429, _?, _)), .ended(.http(503, _?, _)): refused += 1
      case .ended: other += 1
      case .opening, .sent, .received, .binary, .serverPing, .pong, .late: break
      }
    }
    let evidence =
      "\(AuditPlan.burst) connections at once: \(opened) opened within \(last.shown), \(refused) "
      + "refused with Retry-After, \(other) ended otherwise"
    if opened + refused >= AuditPlan.burst, other == 0 { return .shown(evidence) }
    return opened + refused > 0 ? .partly(evidence) : .missing(evidence)
  }

  /// Returns the finding on whether there are metrics at the usual path.
  ///
  /// The metrics may be at another path, and a page at this path does not have to contain metrics.
  func metrics() -> Finding {
    let finding = page(["/metrics"])
    guard finding.outcome == .shown else { return .unseen(finding.evidence) }
    guard pages["/metrics"]?.hasSamples == true else {
      return .unseen("no metrics in the text format of Prometheus: " + finding.evidence)
    }
    return finding
  }

  func page(_ paths: [String]) -> Finding {
    var evidence: [String] = []
    for path in paths {
      guard let page = pages[path] else { continue }
      let status = page.status.map { "\($0)" } ?? "nothing"
      evidence.append(
        "GET \(path) was answered by \(status) \(page.excerpt) after \(page.time.shown)")
      if let status = page.status, (200..<300).contains(status) {
        return .shown(evidence.last ?? "")
      }
    }
    return evidence.isEmpty
      ? .unseen("no page was requested") : .missing(evidence.joined(separator: "; "))
  }
}

extension AuditMessage {
  /// Whether the message confirms a prompt or is a successful response to it.
  fileprivate var isTaken: Bool {
    if case .response(let response) = content, case .failure = response.result { return false }
    return type == "ack" || type == "response"
  }
}

extension AuditRecord.Kind {
  /// Whether the event is the end of a connection that was not closed with a close frame.
  fileprivate var isAbrupt: Bool {
    switch self {
    case .ended(.closed): false
    case .ended: true
    case .opening, .opened, .sent, .received, .binary, .serverPing, .pong, .late: false
    }
  }
}
