import LinkCore
import LinkWire

/// What happens to prompts, responses and histories.
extension AuditEvidence {
  private static let firstPrompt = #"{"type":"prompt","text":"audit: one""#
  private static let badPrompt = #"{"type":"prompt","resume_session_id""#

  static func histories(of record: AuditRecord) -> [SessionHistory] {
    record.messages().compactMap {
      if case .history(let history) = $0.1.content { history } else { nil }
    }
  }

  /// The responses behind an event.
  private static func responses(
    in record: AuditRecord, after start: Int
  ) -> [(at: Int, SessionResponse)] {
    record.messages(after: start).compactMap { place, message in
      if case .response(let response) = message.content { (place, response) } else { nil }
    }
  }

  func promptAck() throws(Finding) -> Finding {
    let record = try session(.main)
    guard let start = record.sent(Self.firstPrompt) else { throw .unseen(record.outline) }
    let limit = record.sent("{\"type\":\"message_ack\"", after: start) ?? record.events.count
    guard let end = record.first("ack", after: start), end < limit else {
      let hasResponse = record.first("response", after: start) != nil
      return hasResponse ? .partly(record.aftermath(of: start)) : record.absence(after: start)
    }
    return .shown(record.between(start, end))
  }

  func promptRefused() throws(Finding) -> Finding {
    let record = try session(.main)
    guard let start = record.sent(Self.badPrompt) else { throw .unseen(record.outline) }
    guard let end = record.first("error", after: start) else {
      return record.absence(after: start)
    }
    return .shown(record.between(start, end))
  }

  /// The first response to the first prompt.
  private func firstResponse() throws(Finding) -> (
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
    return Finding(response.id == nil ? .missing : .shown, record.between(start, end))
  }

  func ackQuiet() throws(Finding) -> Finding {
    let record = try session(.main)
    guard let start = record.sent("{\"type\":\"message_ack\"") else {
      throw .unseen("not sent: " + record.outline)
    }
    // Behind it a `ping` was sent at once; what comes after the next thing may answer that.
    let sent = record.events.indices.filter {
      if case .sent = record.events[$0].kind { $0 > start } else { false }
    }
    let limit = sent.dropFirst().first ?? record.events.count
    if let error = record.first("error", after: start), error < limit {
      return .missing(record.between(start, error))
    }
    guard let pong = record.first("pong", after: start), pong < limit else {
      return Finding(answersPings ? .missing : .unseen, record.aftermath(of: start))
    }
    return .shown(
      "\(record.text(start)); no error until the `pong` to a `ping` sent behind it, "
        + (record.events[pong].at - record.events[start].at).shown)
  }

  /// The connect of the second connection and what was delivered to it.
  private func delivery() throws(Finding) -> (
    record: AuditRecord, start: Int, end: Int?, id: String?
  ) {
    let record = try session(.replay)
    guard record.first("ack", on: 0) != nil || record.first("response", on: 0) != nil else {
      throw .unseen("no prompt was taken: " + record.outline)
    }
    guard let start = record.sent("connect", on: 1) else { throw .unseen(record.outline) }
    let delivered = record.messages(on: 1).first {
      $0.1.type == "replay" || $0.1.type == "response"
    }
    return (record, start, delivered?.at, delivered?.1.content?.deliveredID)
  }

  func replayed() throws(Finding) -> Finding {
    let (record, start, end, _) = try delivery()
    let words = "a prompt was sent and the connection dropped without `message_ack`; "
    guard let end else {
      // A handler that takes longer than the wait leaves nothing to replay.
      let isAnswered = (try? firstResponse()) != nil
      guard isAnswered else { return .unseen(words + record.aftermath(of: start)) }
      return record.absence(after: start, words)
    }
    return .shown(words + record.between(start, end))
  }

  func ackEnds() throws(Finding) -> Finding {
    let (record, _, _, id) = try delivery()
    guard let id else {
      throw .unseen("nothing was replayed that could be acknowledged")
    }
    guard let start = record.sent("connect", on: 2), record.first("connected", on: 2) != nil else {
      throw .unseen("there was no third connection: " + record.outline)
    }
    let again = record.messages(on: 2).first { $0.1.content?.deliveredID == id }
    if let again { return .missing("acknowledged \(id); " + record.between(start, again.at)) }
    return .shown("acknowledged \(id); it did not come to a third connection within 1.00 s")
  }

  func order() throws(Finding) -> Finding {
    let record = try session(.main)
    guard let second = record.sent(#"{"type":"prompt","text":"audit: two""#),
      let third = record.sent(#"{"type":"prompt","text":"audit: three""#, after: second)
    else { throw .unseen(record.outline) }
    let responses = Self.responses(in: record, after: third).prefix(2)
    let words = "sent two prompts at once; \(record.aftermath(of: third, most: 6))"
    // Handlers may take longer than the wait.
    guard responses.count == 2 else { return .unseen(words) }
    let places = responses.map { _, response in
      place(of: response, among: [record.text(second), record.text(third)])
    }
    guard !places.contains(nil) else {
      throw .unseen("responses do not tell which prompt they answer: " + words)
    }
    return Finding(places == [0, 1] ? .shown : .missing, words)
  }

  /// Which of some prompts a response answers, by its key or, of an echo, by its text.
  private func place(of response: SessionResponse, among prompts: [String]) -> Int? {
    if let key = response.idempotencyKey { return prompts.firstIndex { $0.contains(key) } }
    guard case .success(let text) = response.result else { return nil }
    let names = ["audit: two", "audit: three"]
    return names.firstIndex { text.contains($0) }
  }

  /// The first history with messages, and what it came in.
  private func filledHistory() throws(Finding) -> (
    record: AuditRecord, SessionHistory, words: String
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

  /// Why there is no history with messages.
  private func emptyHistory() throws(Finding) -> Finding {
    let record = try session(.main)
    guard let start = record.sent("{\"type\":\"subscribe\"") else { throw .unseen(record.outline) }
    // Without a prompt that ended, a history may well be empty.
    guard (try? firstResponse()) != nil else { return .unseen(record.aftermath(of: start)) }
    return record.absence(after: start, "no history with messages: ")
  }

  func places() throws(Finding) -> Finding {
    let (_, history, words) = try filledHistory()
    let places = history.entries.compactMap(\.place)
    let isRising = zip(places, places.dropFirst()).allSatisfy { $0 < $1 }
    let isWhole = places.count == history.entries.count
    let text = "\(places.count) of \(history.entries.count) messages are numbered; \(words)"
    guard !places.isEmpty else { return .missing(text) }
    return isRising && isWhole ? .shown(text) : .partly(text)
  }

  func stamps() throws(Finding) -> Finding {
    let (_, history, words) = try filledHistory()
    let count = history.entries.count { $0.timestamp != nil }
    let text = "\(count) of \(history.entries.count) messages have a time; \(words)"
    guard count > 0 else { return .missing(text) }
    return count == history.entries.count ? .shown(text) : .partly(text)
  }

  func sameKey() throws(Finding) -> Finding {
    let (record, start, end, first) = try firstResponse()
    guard let again = record.sent(Self.firstPrompt, after: end) else {
      throw .unseen("not sent twice: " + record.outline)
    }
    let third = record.sent(#"{"type":"prompt","text":"audit: two""#) ?? record.events.count
    let second = Self.responses(in: record, after: again).first { $0.at < third }
    let effects = Self.histories(of: record).first?.entries
      .count { $0.role == .user && $0.text == "audit: one" }
    let words =
      "\(record.text(start)) twice; the first response after "
      + "\((record.events[end].at - record.events[start].at).shown); then "
      + record.aftermath(of: again, most: 2)
      + (effects.map { "; the history has the prompt \($0) times" } ?? "")
    if let effects, effects > 1 { return .missing(words) }
    if let second, second.1.id != first.id || first.id == nil { return .missing(words) }
    return second == nil && effects != 1 ? .unseen(words) : .shown(words)
  }

  func delta() throws(Finding) -> Finding {
    let older = try session(.olderHistory)
    let newer = try session(.main)
    var unseen: String?
    // Of a history that was long enough, so that a rest of it was asked for.
    var missing: String?
    for record in [newer, older] {
      let histories = Self.histories(of: record).filter { !$0.entries.isEmpty }
      guard let whole = histories.first, let start = record.sent("{\"type\":\"subscribe\""),
        let second = record.sent("{\"type\":\"subscribe\"", after: start)
      else { continue }
      let skipped = record.text(second).contains("\"from_offset\":2") ? 2 : 1
      let words =
        "the whole history has \(whole.entries.count) messages; "
        + record.aftermath(of: second, most: 1)
      unseen = words
      guard whole.entries.count > skipped else { continue }
      if record.hasWaited(after: second) { missing = words }
      guard let rest = Self.history(in: record, after: second) else { continue }
      if rest.entries == Array(whole.entries.dropFirst(skipped)) {
        return .shown("behind the cursor came \(rest.entries.count); " + words)
      }
    }
    if let missing { return .missing(missing) }
    guard let unseen else { throw try emptyHistory() }
    return .unseen(unseen)
  }

  private static func history(in record: AuditRecord, after start: Int) -> SessionHistory? {
    for (_, message) in record.messages(after: start) {
      if case .history(let history) = message.content { return history }
    }
    return nil
  }

  func batch() throws(Finding) -> Finding {
    try answered(
      in: session(.main), "{\"type\":\"subscribe_batch\"", by: "session_history_batch")
  }
}
