import LinkCore
import LinkWire

/// What a server keeps of conversations, and how it tells it.
extension AuditEvidence {
  static func histories(of record: AuditRecord) -> [SessionHistory] {
    record.messages().compactMap {
      if case .history(let history) = $0.1.content { history } else { nil }
    }
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
    let (record, history, words) = try filledHistory()
    let places = history.entries.compactMap(\.place)
    let isRising = zip(places, places.dropFirst()).allSatisfy { $0 < $1 }
    let isWhole = places.count == history.entries.count
    let text = "\(places.count) of \(history.entries.count) messages are numbered; \(words)"
    guard !places.isEmpty else { return .missing(text) }
    // An id that several messages have tells nothing of one of them.
    let known = Dictionary(grouping: history.entries, by: \.id)
      .compactMapValues { $0.count == 1 ? $0[0].place : nil }
    let isStable = Self.histories(of: record).allSatisfy { other in
      other.entries.allSatisfy { known[$0.id] == nil || known[$0.id] == $0.place }
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
    let (record, history, words) = try filledHistory()
    let stamps = history.entries.compactMap(\.timestamp)
    let text = "\(stamps.count) of \(history.entries.count) messages have a time; \(words)"
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
    // A cursor counts in the version that it belongs to.
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

  /// Whether what lies behind a cursor came and nothing else; `nil` without a history to compare
  /// it with.
  private func rest(in record: AuditRecord) -> Finding? {
    let histories = Self.histories(of: record).filter { !$0.entries.isEmpty }
    guard let whole = histories.first, let start = record.sent("{\"type\":\"subscribe\""),
      let second = record.sent("{\"type\":\"subscribe\"", after: start)
    else { return nil }
    let skipped = record.text(second).contains("\"from_offset\":2") ? 2 : 1
    let words =
      "the whole history has \(whole.entries.count) messages; "
      + record.aftermath(of: second, most: 1)
    // Of a history that was long enough, so that a rest of it was asked for.
    guard whole.entries.count > skipped else { return .unseen(words) }
    let wanted = Array(whole.entries.dropFirst(skipped))
    let next = record.next(after: second)
    for (place, message) in record.messages(after: second) where place < next {
      // Messages may have been added.
      guard case .history(let rest) = message.content, rest.entries.starts(with: wanted) else {
        continue
      }
      return .shown("behind the cursor came \(rest.entries.count); " + words)
    }
    return record.hasWaited(after: second) ? .missing(words) : .unseen(words)
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
    let words = "of two conversations \(counts.count) came; " + answer.evidence
    guard !counts.isEmpty else { return .missing(words) }
    guard counts.count > 1 else { return .partly(words) }
    if counts.values.contains(where: { $0 > 0 }) { return .shown(words) }
    let isFilled = (try? filledHistory()) != nil
    return Finding(isFilled ? .partly : .unseen, words + "; no window has a message")
  }
}
