import HoldfastCore
import HoldfastSessionData

/// Checks of prompts, responses and histories.
extension AuditEvidence {
  private static let firstPrompt = #"{"type":"prompt","text":"audit: one""#
  private static let secondPrompt = #"{"type":"prompt","text":"audit: two""#
  private static let thirdPrompt = #"{"type":"prompt","text":"audit: three""#
  private static let badPrompt = #"{"type":"prompt","resume_session_id""#

  /// Returns the responses that follow an event.
  private static func responses(
    in record: AuditRecord, after start: Int
  ) -> [(at: Int, SessionResponse)] {
    record.messages(after: start).compactMap { index, message in
      if case .response(let response) = message.content { (index, response) } else { nil }
    }
  }

  func promptAck() throws(Finding) -> Finding {
    let record = try session(.main)
    guard let start = record.sent(Self.firstPrompt) else { throw .unseen(record.outline) }
    let limit = record.sent("{\"type\":\"message_ack\"", after: start) ?? record.events.count
    let response = record.first("response", after: start)
    guard let end = record.first("ack", after: start), end < limit else {
      return response != nil ? .partly(record.aftermath(of: start)) : record.absence(after: start)
    }
    // After the response, there is nothing left to confirm.
    guard response.map({ end < $0 }) ?? true else { return .partly(record.aftermath(of: start)) }
    return .shown(record.between(start, end))
  }

  func promptRefused() throws(Finding) -> Finding {
    let record = try session(.main)
    guard let start = record.sent(Self.badPrompt) else { throw .unseen(record.outline) }
    // A message that arrives after the next message was sent may be an answer to that message.
    let answers = record.messages(after: start).prefix { $0.at < record.next(after: start) }
    guard let end = answers.first(where: { $0.1.isRefusal })?.at else {
      return record.absence(after: start)
    }
    let isConfirmed = answers.contains { $0.1.type == "ack" }
    return Finding(isConfirmed ? .partly : .shown, record.between(start, end))
  }

  /// Returns the first response to the first prompt.
  func firstResponse() throws(Finding) -> (
    record: AuditRecord, start: Int, end: Int, SessionResponse
  ) {
    let record = try session(.main)
    guard let start = record.sent(Self.firstPrompt) else { throw .unseen(record.outline) }
    guard let (end, response) = Self.responses(in: record, after: start).first else {
      throw .unseen(
        "no response within \(AuditPlan.work.shown): " + record.aftermath(of: start))
    }
    return (record, start, end, response)
  }

  func messageID() throws(Finding) -> Finding {
    let (record, start, end, response) = try firstResponse()
    let evidence = record.between(start, end)
    guard let id = response.id else { return .missing(evidence) }
    guard let third = record.sent(Self.thirdPrompt) else { return .shown(evidence) }
    let later = Self.responses(in: record, after: third).map(\.1)
    let ids = later.compactMap(\.id)
    // The first response may arrive again, because its prompt was sent twice.
    let isReused = later.contains {
      $0.id == id
        && ($0.result != response.result || $0.idempotencyKey != response.idempotencyKey)
    }
    let isRepeated = isReused || ids.count > 1 && Set(ids).count == 1
    return isRepeated
      ? .missing("the same id names several responses; " + evidence) : .shown(evidence)
  }

  func ackQuiet() throws(Finding) -> Finding {
    let record = try session(.main)
    guard let start = record.sent("{\"type\":\"message_ack\"") else {
      throw .unseen("not sent: " + record.outline)
    }
    let hasID = record.messages().contains { $0.at < start && $0.1.content?.deliveredID != nil }
    // A `ping` was sent immediately afterwards. A message that arrives after the next sent message
    // may be an answer to that message.
    let sent = record.events.indices.filter {
      if case .sent = record.events[$0].kind { $0 > start } else { false }
    }
    let limit = sent.dropFirst().first ?? record.events.count
    if let error = record.first("error", after: start), error < limit {
      // The server may refuse an ID that no response contained, but must not refuse the type.
      let isOfType = record.text(error).contains("message_ack")
      return Finding(hasID || isOfType ? .missing : .unseen, record.between(start, error))
    }
    guard hasID else {
      return .unseen("no response had an id to acknowledge: " + record.aftermath(of: start))
    }
    guard let pong = record.first("pong", after: start), pong < limit, answersPings else {
      return Finding(answersPings ? .missing : .unseen, record.aftermath(of: start))
    }
    return .shown(
      "\(record.text(start)); no error until the `pong` to a `ping` sent behind it, "
        + (record.events[pong].at - record.events[start].at).shown)
  }

  /// The first delivery of the expected response on a connection.
  private struct Delivery {
    var at: Int
    var id: String?
  }

  /// Returns the delivery that belongs to the prompt whose connection was dropped.
  private func delivery(on socket: Int, in record: AuditRecord) -> Delivery? {
    guard let prompt = record.sent("{\"type\":\"prompt\"", on: 0) else { return nil }
    let sent = record.text(prompt)
    let delivered = record.messages(on: socket).first { $0.1.content?.answers(sent) == true }
    return delivered.map { Delivery(at: $0.at, id: $0.1.content?.deliveredID) }
  }

  func replayed() throws(Finding) -> Finding {
    let record = try session(.replay)
    guard record.first("ack", on: 0) != nil || record.first("response", on: 0) != nil else {
      throw .unseen("no prompt was taken: " + record.outline)
    }
    guard let start = record.sent("connect", on: 1) else { throw .unseen(record.outline) }
    var evidence = "a prompt was sent and the connection dropped without `message_ack`; "
    guard let first = delivery(on: 1, in: record) else {
      // If the handler takes longer than the wait, there is nothing to replay.
      let isAnswered = (try? firstResponse()) != nil
      guard isAnswered else { return .unseen(evidence + record.aftermath(of: start)) }
      return record.absence(after: start, evidence)
    }
    // The first delivery may not be a replay if the handler finished while this connection was
    // open.
    evidence += record.between(start, first.at) + "; without `message_ack` again, "
    guard let again = record.sent("connect", on: 2), record.first("connected", on: 2) != nil else {
      throw .unseen(evidence + "there was no third connection: " + record.outline)
    }
    guard let second = delivery(on: 2, in: record), second.id == first.id else {
      return record.absence(after: again, evidence)
    }
    return .shown(evidence + record.between(again, second.at))
  }

  func ackEnds() throws(Finding) -> Finding {
    let record = try session(.replay)
    guard let delivered = delivery(on: 2, in: record), let id = delivered.id,
      let asked = record.first("connected", on: 2)
    else { throw .unseen("nothing was replayed that could be acknowledged") }
    guard record.sent("connect", on: 3) != nil, let start = record.first("connected", on: 3) else {
      throw .unseen("there was no fourth connection: " + record.outline)
    }
    let again = record.messages(on: 3).first { $0.1.content?.deliveredID == id }
    if let again { return .missing("acknowledged \(id); " + record.between(start, again.at)) }
    let next = record.next(after: start)
    let wait = record.events[min(next, record.events.count - 1)].at - record.events[start].at
    let evidence = "acknowledged \(id); it did not come to a fourth connection within \(wait.shown)"
    let time = record.events[delivered.at].at - record.events[asked].at
    return time < wait ? .shown(evidence) : .unseen(evidence + ", and before after \(time.shown)")
  }

  func order() throws(Finding) -> Finding {
    let record = try session(.main)
    guard let second = record.sent(Self.secondPrompt),
      let third = record.sent(Self.thirdPrompt, after: second)
    else { throw .unseen(record.outline) }
    let responses = Self.responses(in: record, after: third).map(\.1)
    let evidence = "sent two prompts at once; \(record.aftermath(of: third, most: 6))"
    // A handler may take longer than the wait.
    guard responses.count > 1 else { return .unseen(evidence) }
    var indices: [Int] = []
    for response in responses {
      let index = index(of: response, among: [record.text(second), record.text(third)])
      if let index, !indices.contains(index) { indices.append(index) }
    }
    guard indices.count == 2 else {
      // A prompt that was refused at once does not have to wait for the other prompt.
      let hasFailed = responses.contains {
        if case .failure = $0.result { true } else { false }
      }
      let reason = hasFailed ? "a prompt failed" : "responses do not tell which prompt they answer"
      throw .unseen("\(reason): \(evidence)")
    }
    return Finding(indices == [0, 1] ? .shown : .missing, evidence)
  }

  /// Returns the index of the prompt that a response answers.
  ///
  /// The prompt is identified by its key or, if the response is an echo, by its text. Returns `nil`
  /// if the response is a failure.
  private func index(of response: SessionResponse, among prompts: [String]) -> Int? {
    guard case .success(let text) = response.result else { return nil }
    if let key = response.idempotencyKey {
      return prompts.firstIndex { $0.contains("\"idempotency_key\":\"\(key)\"") }
    }
    let matches = ["audit: two", "audit: three"].map { text.contains($0) }
    // A text that quotes both prompts does not identify either of them.
    return matches == [true, false] ? 0 : matches == [false, true] ? 1 : nil
  }

  func sameKey() throws(Finding) -> Finding {
    let (record, start, end, first) = try firstResponse()
    guard let again = record.sent(Self.firstPrompt, after: end) else {
      throw .unseen("not sent twice: " + record.outline)
    }
    let third = record.sent(Self.secondPrompt) ?? record.events.count
    let second = Self.responses(in: record, after: again).first { $0.at < third }?.1
    let history = Self.histories(of: record).first
    let effects = history?.entries.count { $0.role == .user && $0.text == "audit: one" }
    let evidence =
      "\(record.text(start)) twice; the first response after "
      + "\((record.events[end].at - record.events[start].at).shown); then "
      + record.aftermath(of: again, most: 2)
      + (effects.map { "; the history has the prompt \($0) times" } ?? "")
    if let effects, effects > 1 { return .missing(evidence) }
    // A history that is truncated may omit the second copy.
    let isOnce = effects == 1 && history?.isComplete == true && history?.gap == nil
    guard let second else { return isOnce ? .shown(evidence) : .unseen(evidence) }
    guard second.result == first.result else {
      return isOnce ? .partly(evidence) : .missing(evidence)
    }
    if isOnce || first.id != nil && second.id == first.id { return .shown(evidence) }
    return first.id == nil ? .unseen(evidence) : .missing(evidence)
  }
}

extension SessionServerMessage {
  /// Returns whether the message answers a prompt with the given JSON text, or replays the response
  /// to the prompt.
  ///
  /// Only identifiers that the message contains are compared.
  fileprivate func answers(_ sent: String) -> Bool {
    switch self {
    case .response(let response):
      let names = [response.conversation, response.idempotencyKey].compactMap(\.self)
      return names.allSatisfy { sent.contains("\"\($0)\"") }
    case .replay(_, let entry, _): return sent.contains("\"\(entry.conversation)\"")
    case .hello, .connected, .pong, .ack, .responsePart, .error, .authError, .turnComplete,
      .history, .historyBatch, .heartbeat, .draining, .sessionKilled, .unknown:
      return false
    }
  }
}

extension AuditMessage {
  /// Whether the message refuses a prompt: an error, or a response that reports a failure.
  fileprivate var isRefusal: Bool {
    if case .response(let response) = content, case .failure = response.result { return true }
    return type == "error"
  }
}

/// Checks of the conversations that a server stores and of how it sends them.
extension AuditEvidence {
  static func histories(of record: AuditRecord) -> [SessionHistory] {
    record.messages().compactMap {
      if case .history(let history) = $0.1.content { history } else { nil }
    }
  }

  /// Returns the first history that contains messages, with its record and the evidence for it.
  private func filledHistory() throws(Finding) -> (
    record: AuditRecord, SessionHistory, evidence: String
  ) {
    for name in [AuditScript.Name.main, .olderHistory] {
      let record = try session(name)
      guard let start = record.sent("{\"type\":\"subscribe\""),
        let end = record.first("session_history", after: start),
        let history = Self.histories(of: record).first, !history.entries.isEmpty
      else { continue }
      return (record, history, record.between(start, end))
    }
    throw try emptyHistory()
  }

  /// Returns the finding for the lack of a history that contains messages.
  private func emptyHistory() throws(Finding) -> Finding {
    let record = try session(.main)
    guard let start = record.sent("{\"type\":\"subscribe\"") else { throw .unseen(record.outline) }
    // The history may be empty if no prompt was completed.
    guard (try? firstResponse()) != nil else { return .unseen(record.aftermath(of: start)) }
    return record.absence(after: start, "no history with messages: ")
  }

  func places() throws(Finding) -> Finding {
    let (record, history, evidence) = try filledHistory()
    let numbers = history.entries.compactMap(\.position)
    let isRising = zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 }
    let isWhole = numbers.count == history.entries.count
    let text = "\(numbers.count) of \(history.entries.count) messages are numbered; \(evidence)"
    guard !numbers.isEmpty else { return .missing(text) }
    // An ID that several messages share does not identify any of them.
    let known = Dictionary(grouping: history.entries, by: \.id)
      .compactMapValues { $0.count == 1 ? $0[0].position : nil }
    let isStable = Self.histories(of: record).allSatisfy { other in
      other.entries.allSatisfy { known[$0.id] == nil || known[$0.id] == $0.position }
    }
    guard isStable else {
      return .partly("a message has another number in another window; " + text)
    }
    let users = history.entries.filter { $0.role == .user }.map(\.text)
    let sent = ["audit: one", "audit: two", "audit: three"].compactMap { users.firstIndex(of: $0) }
    let isInOrder = zip(sent, sent.dropFirst()).allSatisfy { $0 < $1 }
    guard isInOrder else { return .partly("the prompts stand in another order; " + text) }
    return isRising && isWhole ? .shown(text) : .partly(text)
  }

  func stamps() throws(Finding) -> Finding {
    let (record, history, evidence) = try filledHistory()
    let stamps = history.entries.compactMap(\.timestamp)
    let text = "\(stamps.count) of \(history.entries.count) messages have a time; \(evidence)"
    guard !stamps.isEmpty else { return .missing(text) }
    let isNear = stamps.allSatisfy {
      let skew = record.wall.duration(to: $0)
      return skew < Self.day && skew > .zero - Self.day
    }
    guard isNear else { return .partly("a time is a day from this machine's or more; " + text) }
    return stamps.count == history.entries.count ? .shown(text) : .partly(text)
  }

  private static let day = Duration.seconds(86_400)

  func delta() throws(Finding) -> Finding {
    let older = try session(.olderHistory)
    let newer = try session(.main)
    // Each protocol version has its own kind of cursor.
    let (_, low) = Self.negotiated(in: older)
    let (_, high) = Self.negotiated(in: newer)
    var findings: [Finding] = []
    if high ?? .newest >= .newest, let found = rest(in: newer) { findings.append(found) }
    if low ?? .oldest < .newest, let found = rest(in: older) { findings.append(found) }
    let seen = findings.filter { $0.outcome != .unseen }
    guard let missing = seen.first(where: { $0.outcome == .missing }) else {
      if let shown = seen.first { return shown }
      guard let unseen = findings.first else { throw try emptyHistory() }
      return unseen
    }
    return Finding(seen.count { $0.outcome == .shown } > 0 ? .partly : .missing, missing.evidence)
  }

  /// Returns the finding on whether exactly the messages after a cursor arrived; `nil` if there is
  /// no history to compare them with.
  private func rest(in record: AuditRecord) -> Finding? {
    let histories = Self.histories(of: record).filter { !$0.entries.isEmpty }
    guard let whole = histories.first, let start = record.sent("{\"type\":\"subscribe\""),
      let second = record.sent("{\"type\":\"subscribe\"", after: start)
    else { return nil }
    let skipped = record.text(second).contains("\"from_offset\":2") ? 2 : 1
    let evidence =
      "the whole history has \(whole.entries.count) messages; "
      + record.aftermath(of: second, most: 1)
    // The history must be longer than the part before the cursor.
    guard whole.entries.count > skipped else { return .unseen(evidence) }
    let wanted = Array(whole.entries.dropFirst(skipped))
    let next = record.next(after: second)
    for (index, message) in record.messages(after: second) where index < next {
      // More messages may have been added in the meantime.
      guard case .history(let rest) = message.content, rest.entries.starts(with: wanted) else {
        continue
      }
      return .shown("behind the cursor came \(rest.entries.count); " + evidence)
    }
    return record.hasWaited(after: second) ? .missing(evidence) : .unseen(evidence)
  }

  func batch() throws(Finding) -> Finding {
    let record = try session(.main)
    let sent = "{\"type\":\"subscribe_batch\""
    let answer = try answered(in: record, sent, by: "session_history_batch")
    guard answer.outcome == .shown, let start = record.sent(sent) else { return answer }
    let asked = record.text(start)
    var counts: [String: Int] = [:]
    for (_, message) in record.messages(after: start) {
      guard case .historyBatch(let histories) = message.content else { continue }
      for history in histories where asked.contains("\"\(history.conversation)\"") {
        counts[history.conversation, default: 0] += history.entries.count
      }
    }
    let evidence = "of two conversations \(counts.count) came; " + answer.evidence
    guard !counts.isEmpty else { return .missing(evidence) }
    guard counts.count > 1 else { return .partly(evidence) }
    if counts.values.contains(where: { $0 > 0 }) { return .shown(evidence) }
    let isFilled = (try? filledHistory()) != nil
    return Finding(isFilled ? .partly : .unseen, evidence + "; no window has a message")
  }
}
