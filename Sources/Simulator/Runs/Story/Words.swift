import LinkCore
import LinkWire
import MessageStream

/// How a story says things.
enum Words {
  /// As `0:12:03.250`.
  static func clock(_ time: Duration) -> String {
    let total = time.nanoseconds / 1_000_000
    let (seconds, thousandths) = total.quotientAndRemainder(dividingBy: 1000)
    let rest = [
      padded(seconds / 60 % 60, to: 2),
      padded(seconds % 60, to: 2) + "." + padded(thousandths, to: 3),
    ]
    return "\(seconds / 3600):" + rest.joined(separator: ":")
  }

  private static func padded(_ number: Int64, to width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }

  /// As `250 ms`, `12.3 s`, `5 min 3 s` or `2 h 5 min`; cut, not rounded.
  static func length(_ time: Duration) -> String {
    let thousandths = time.nanoseconds / 1_000_000
    let seconds = thousandths / 1000
    switch seconds {
    case ..<0: return "-" + length(.zero - time)
    case 0: return "\(thousandths) ms"
    case ..<60:
      let tenths = thousandths / 100 % 10
      return tenths == 0 ? "\(seconds) s" : "\(seconds).\(tenths) s"
    case ..<3600: return "\(seconds / 60) min" + (seconds % 60 == 0 ? "" : " \(seconds % 60) s")
    case _:
      let minutes = seconds / 60 % 60
      return "\(seconds / 3600) h" + (minutes == 0 ? "" : " \(minutes) min")
    }
  }

  /// As `1 message` or `3 messages`.
  static func count(_ number: Int, _ noun: String) -> String {
    number == 1 ? "1 \(noun)" : "\(number) \(noun)s"
  }

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

  static func quoted(_ text: String) -> String {
    text.count > 30 ? "“\(text.prefix(30))…”" : "“\(text)”"
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

  static func reason(_ reason: LinkStatus.Reason) -> String {
    switch reason {
    case .obstacle(.unreachable): "there is no way out"
    case .obstacle(.captivePortal): "a login page is in the way"
    case .obstacle(.background): "the app is in background"
    case .failure(let failure): Words.failure(failure)
    case .exhausted(let failure): "all tries failed, the last one with \(Words.failure(failure))"
    case .signIn: "the user must sign in"
    case .ended(let cause): "ended (\(cause.rawValue))"
    case .settling: "the network settles"
    }
  }

  static func failure(_ failure: LinkFailure) -> String {
    switch failure {
    case .unreachable: "no route"
    case .dns: "an unknown name"
    case .refused: "a refused connection"
    case .timeout(let phase): "a time-out (\(phase.rawValue))"
    case .tls: "a failure of TLS"
    case .reset: "a reset"
    case .ended: "an end without a word"
    case .closed(let code, _): "close code \(code)"
    case .http(let status, let wish, _):
      "status \(status)" + (wish.map { ", wait \(length($0))" } ?? "")
    case .protocolError: "a breach of the protocol"
    case .proxy: "a failing proxy"
    case .captivePortal: "a login page"
    case .local: "a failure of the device"
    }
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

  /// What happens on the other side of the phone.
  static func outside(_ happening: Happening) -> [Story.Part] {
    switch happening {
    case .accepted(let message, let isNew):
      [(.server, (isNew ? "accepts " : "knows already ") + name(message))]
    case .beganAnew(let epoch, let kept):
      [(.server, "begins anew as epoch \(epoch) with \(count(kept.count, "message"))")]
    case .upgraded(let attempt, 101):
      [(.server, "takes connection \(attempt.number)")]
    case .upgraded(let attempt, let status):
      [(.server, "refuses connection \(attempt.number) with status \(status)")]
    case .serverLost(let attempt):
      [(.server, "has connection \(attempt.number) no longer")]
    case .wentDead(let attempt):
      [(.network, "nothing will pass on connection \(attempt.number) any more")]
    case .launched, .killed, .suspended, .resumed, .told, .ticked, .stored, .began, .ended, .calm:
      []
    }
  }
}
