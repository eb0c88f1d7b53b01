import LinkCore
import LinkWire

/// Sizes, load, silence and what is not valid.
extension AuditEvidence {
  func sizeTaken() throws(Finding) -> Finding {
    try answered(in: session(.size), "{\"type\":\"set_max_message_size\"", by: "ack")
  }

  func truncation() throws(Finding) -> Finding {
    let record = try session(.size)
    guard let start = record.sent("{\"type\":\"prompt\"") else { throw .unseen(record.outline) }
    guard
      let (end, message) = record.messages(after: start).first(where: { $0.1.type == "response" })
    else { throw .unseen("no response: " + record.aftermath(of: start)) }
    let most = AuditPlan.size.kilobytes * 1_024
    let words =
      "set \(AuditPlan.size.kilobytes) KiB and sent a prompt of \(AuditPlan.size.text) bytes; "
      + "the response has \(message.count) bytes, "
      + (record.events[end].at - record.events[start].at).shown
    if message.count > most { return .missing(words) }
    guard message.count > most / 2 || message.excerpt.contains("0123456789") else {
      return .unseen(words + "; the handler's answer is too short to be cut")
    }
    return .shown(words)
  }

  func hugeFrame() throws(Finding) -> Finding {
    let record = try record(.huge)
    guard let start = record.sent("the header", on: 1) else { throw .unseen(record.outline) }
    guard let end = record.end(of: 1), end > start else {
      return record.absence(after: start)
    }
    return .shown(record.between(start, end))
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
    let words = "sent 8 prompts of 20 kB, then `ping`; "
    guard let end = record.first("pong", after: ping) else {
      return record.absence(after: ping, words)
    }
    let time = record.events[end].at - record.events[ping].at
    let answers = record.messages(after: ping).count { $0.1.type == "response" && $0.at < end }
    let text = words + "`pong` after \(time.shown), behind \(answers) of the 8 responses"
    return Finding(time < .seconds(1) ? .shown : time < Self.late ? .partly : .missing, text)
  }

  /// How a message that is not valid was taken: what was sent on a connection of its own.
  func fault(_ socket: Int) throws(Finding) -> Finding {
    if !speaksSession { return try plainFault(socket) }
    let record = try session(.faults)
    guard let connected = record.first("connected", on: socket),
      let start = record.first(
        after: connected,
        { event in
          if case .sent = event.kind { event.socket == socket } else { false }
        })
    else { throw .unseen("not sent: " + record.outline) }
    let error = record.first("error", on: socket, after: start)
    let isAnswered = record.first("pong", on: socket, after: start) != nil
    // A server that answers no ping at all is not taken for one that ended the connection, if it
    // says anything.
    let isAlive =
      isAnswered || error != nil && record.end(of: socket) == nil && !answersPings
    let words = error.map { record.between(start, $0) } ?? record.aftermath(of: start)
    if error != nil, isAlive { return .shown(words + "; the connection stayed") }
    return error != nil || isAlive ? .partly(words) : record.absence(after: start)
  }

  var answersPings: Bool { finding(.applicationPing).outcome == .shown }

  /// The same for a server without a session, which has no errors to send.
  private func plainFault(_ socket: Int) throws(Finding) -> Finding {
    guard socket == 0 else {
      try expectSession()
      throw .unseen("it was not sent")
    }
    let record = try record(.garbage)
    guard let start = record.sent("{\"type\":\"prompt\"") else { throw .unseen(record.outline) }
    let isAlive = record.first(after: start, { $0.kind == .pong }) != nil
    return Finding(isAlive ? .partly : .missing, record.aftermath(of: start))
  }

  func distinctErrors() throws(Finding) -> Finding {
    let refusal = try refused(.wrongKey, sent: "connect with a wrong key")
    guard refusal.outcome == .shown else { return Finding(.missing, refusal.evidence) }
    let record = try session(.faults)
    guard let (at, _) = record.messages().first(where: { $0.1.type == "error" }) else {
      return .partly("\(refusal.evidence); no `error` for what is not valid: " + record.outline)
    }
    return .shown("\(refusal.evidence); for an invalid message \(record.text(at))")
  }

  func heartbeat() throws(Finding) -> Finding {
    for name in [AuditScript.Name.idle, .stranger] {
      guard let record = records[name],
        let place = record.first("heartbeat") ?? record.first({ $0.kind == .serverPing })
      else { continue }
      let start = record.sent("connect") ?? 0
      return .shown("without a word of ours " + record.between(min(start, place), place))
    }
    let record = try session(.idle)
    guard let start = record.sent("connect") else { throw .unseen(record.outline) }
    let time = record.events.last.map { $0.at - record.events[start].at } ?? .zero
    let words = "nothing came by itself in \(time.shown): " + record.aftermath(of: start)
    // A connection that ended before, or an audit, says nothing about a later heartbeat.
    return time >= AuditPlan.heartbeat ? .missing(words) : .unseen(words)
  }

  /// The least silence that shows something.
  private static let silence = Duration.seconds(10)

  func silentClient() throws(Finding) -> Finding {
    if !speaksSession { return try silentStranger() }
    let record = try session(.idle)
    guard let start = record.sent("connect") else { throw .unseen(record.outline) }
    guard let ping = record.sent("{\"type\":\"ping\"}", after: start) else {
      return record.absence(after: start, most: 8)
    }
    let quiet = record.events[ping].at - record.events[start].at
    let silence = "said nothing for \(quiet.shown), then "
    let words = silence + record.aftermath(of: ping, most: 1)
    guard record.first("pong", after: ping) != nil else {
      // A server that answers no ping at all does not show whether the connection works.
      let isUnknown = record.end(of: 0) == nil && !answersPings
      return isUnknown ? .unseen(words) : record.absence(after: ping, silence, most: 1)
    }
    return quiet >= Self.silence ? .shown(words) : .unseen(words)
  }

  private func silentStranger() throws(Finding) -> Finding {
    let record = try record(.stranger)
    guard let ping = record.sent("a WebSocket ping") else { return .unseen(record.outline) }
    let quiet = record.events[ping].at
    let words = "said nothing for \(quiet.shown), then " + record.aftermath(of: ping, most: 1)
    if record.first(after: ping, { $0.kind == .pong }) != nil { return .shown(words) }
    guard let end = record.end(of: 0) else { return .unseen(words) }
    return record.events[end].at >= Self.silence ? .unseen(words) : .missing(record.outline)
  }

  func strangerClosed() throws(Finding) -> Finding {
    guard speaksSession else { throw .unseen("this server has no login to wait for") }
    let record = try record(.stranger)
    guard let end = record.end(of: 0) else {
      let time = record.events.last?.at ?? .zero
      let words = "a connection that sent nothing was open after \(time.shown)"
      return time >= AuditPlan.stranger ? .missing(words) : .unseen(words)
    }
    return .shown(record.between(0, end))
  }

  func takeover() throws(Finding) -> Finding {
    let record = try session(.takeover)
    guard let start = record.sent("connect", on: 1) else { throw .unseen(record.outline) }
    guard let end = record.first("connected", on: 1) else {
      return record.absence(after: start)
    }
    let words = "the same `session_id` from a second connection: " + record.between(start, end)
    return .shown(words)
  }

  func burst() throws(Finding) -> Finding {
    guard let record = records[.burst] else { throw .unseen("no burst was sent") }
    var (opened, told, other) = (0, 0, 0)
    var last = Duration.zero
    for event in record.events {
      switch event.kind {
      case .opened:
        opened += 1
        last = event.at
      case .ended(.http(429, _?, _)), .ended(.http(503, _?, _)): told += 1
      case .ended: other += 1
      case .opening, .sent, .received, .binary, .serverPing, .pong, .late: break
      }
    }
    let words =
      "\(AuditPlan.burst) connections at once: \(opened) opened within \(last.shown), \(told) "
      + "refused with Retry-After, \(other) ended otherwise"
    if opened + told >= AuditPlan.burst, other == 0 { return .shown(words) }
    return opened + told > 0 ? .partly(words) : .missing(words)
  }

  /// Metrics that are not at the usual path may be elsewhere.
  func metrics() -> Finding {
    let finding = page(["/metrics"])
    return finding.outcome == .shown ? finding : .unseen(finding.evidence)
  }

  func page(_ paths: [String]) -> Finding {
    var words: [String] = []
    for path in paths {
      guard let page = pages[path] else { continue }
      let status = page.status.map { "\($0)" } ?? "nothing"
      words.append("GET \(path) was answered by \(status) \(page.excerpt) after \(page.time.shown)")
      if let status = page.status, (200..<300).contains(status) { return .shown(words.last ?? "") }
    }
    return words.isEmpty
      ? .unseen("no page was requested") : .missing(words.joined(separator: "; "))
  }
}
