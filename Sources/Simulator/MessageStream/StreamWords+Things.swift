import LinkCore
import LinkWire
import MessageStream

// What a message stream's things are called.
extension Words {
  /// Its text, and where it stands.
  static func name(_ message: Message) -> String {
    let place = message.position?.description ?? String(message.id.description.prefix(8))
    return "\(quoted(message.text)) (\(place))"
  }

  /// The first few by name, the others as a number.
  static func names(_ messages: [Message]) -> String {
    let first = messages.prefix(3).map(name).joined(separator: ", ")
    guard messages.count > 3, let last = messages.last else { return first }
    return messages.count == 4
      ? "\(first), \(name(last))" : "\(first), … \(name(last)), \(messages.count) in all"
  }

  /// When the server stamped something, as far as the day matters.
  static func time(_ stamp: Timestamp) -> String { RFC3339.format(stamp) }

  static func status(_ status: StreamStatus) -> String {
    var words = status.state.rawValue
    if status.mode != .none { words += " (\(status.mode.rawValue))" }
    if status.attempt > 0 { words += " try \(status.attempt)" }
    if status.attempt > 0, let all = status.of { words += " of \(all)" }
    return words + (status.reason.map { ": \(reason($0))" } ?? "")
  }

  static func query(_ query: PageQuery) -> String {
    switch query {
    case .page(let number, let limit): "page \(number) of \(limit), newest first"
    case .since(let stamp, let page, _): "what is newer than \(time(stamp)), page \(page)"
    case .after(let position, _): "what follows \(position)"
    case .before(let position, _): "what comes before \(position)"
    }
  }

  static func stored(_ change: TimelineChange, _ commit: TimelineCommit) -> String {
    var parts: [String] = []
    if !change.messages.isEmpty {
      parts.append(
        "\(count(change.messages.count, "message")), \(commit.inserted.count) of them new")
    }
    if !commit.edited.isEmpty { parts.append(count(commit.edited.count, "edit")) }
    if let cursor = change.cursor {
      let place = cursor.position?.description ?? cursor.time.map(time) ?? "nothing"
      parts.append("cursor at \(place)")
    }
    if let gaps = change.gaps { parts.append(count(gaps.count, "gap")) }
    if !change.outboxPut.isEmpty { parts.append("\(change.outboxPut.count) to be sent") }
    if !change.outboxRemove.isEmpty {
      parts.append("\(change.outboxRemove.count) not to be sent any more")
    }
    return "keeps " + (parts.isEmpty ? "nothing new" : parts.joined(separator: ", "))
  }

  static func failure(_ failure: StoreFailure) -> String {
    switch failure {
    case .full: "the disk is full"
    case .locked: "the store is locked"
    case .corrupt: "the store is damaged"
    case .fromTheFuture: "the store is of a newer version"
    case .denied: "the store may not be used"
    case .other: "the store fails"
    }
  }
}
