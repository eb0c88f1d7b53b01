import CommandKit
import LinkCore
import LinkRuntime
import LinkWire
import MessageStream

/// Writes what happens on a stream as JSON, one object a line.
struct StreamEvents {
  let console: Console
  private let clock = BootClock()

  /// What the help texts say about them.
  static let details = """
    With --json every line has "at" (ISO 8601) and "event": status (status, attempt, of, retryIn \
    in seconds, mode live|polling|none, reason), message (id, createdAt, username, text, via \
    live|catchUp|poll|history; each id once), edited (id, username, text, updatedAt), gap and \
    gapClosed (from, to), outbox (key, text, state queued|failed, tries, reason), sent (key, id), \
    discarded (key), notice (kind, detail).
    """

  func show(_ update: StreamUpdate) {
    switch update {
    case .status(let status): write("status") { write(status, to: &$0) }
    case .messages(let messages, let via):
      for message in messages { show(message, via: via) }
    case .edited(let messages):
      for message in messages { write("edited") { Self.write(edited: message, to: &$0) } }
    case .gap(let gap): write("gap") { Self.write(gap, to: &$0) }
    case .gapClosed(let gap): write("gapClosed") { Self.write(gap, to: &$0) }
    case .outbox(let entry): write("outbox") { Self.write(entry, to: &$0) }
    case .outboxDone(let key, let message): done(key, message)
    case .history: return  // only asked for by screens that scroll
    case .notice(let notice): note(notice.kind, notice.detail)
    }
  }

  func note(_ kind: String, _ detail: String?) {
    write("notice") {
      $0.key("kind")
      $0.string(kind)
      $0.key("detail")
      $0.string(detail)
    }
  }

  func show(_ message: Message, via: Via) {
    write("message") {
      $0.key("id")
      $0.string(message.id.description)
      $0.key("createdAt")
      $0.string(RFC3339.format(message.createdAt))
      $0.key("username")
      $0.string(message.username)
      $0.key("text")
      $0.string(message.text)
      $0.key("via")
      $0.string(via.rawValue)
    }
  }

  /// Writes one line: the time, the event's name, and its own members.
  func write(_ event: String, done: String? = nil, _ members: (inout JSONWriter) -> Void) {
    console.object(done: done) {
      $0.key("at")
      $0.string(Self.milliseconds(clock.wall))
      $0.key("event")
      $0.string(event)
      members(&$0)
    }
  }

  private func done(_ key: UUID128, _ message: MessageID?) {
    write(message == nil ? "discarded" : "sent") {
      $0.key("key")
      $0.string(key.description)
      guard let message else { return }
      $0.key("id")
      $0.string(message.description)
    }
  }

  private func write(_ status: StreamStatus, to writer: inout JSONWriter) {
    writer.key("status")
    writer.string(status.state.rawValue)
    writeTries(status.attempt, of: status.of, retryAt: status.retryAt, to: &writer)
    writer.key("mode")
    writer.string(status.mode.rawValue)
    writer.key("reason")
    writer.string(status.reason.map(StreamReason.word))
  }

  /// Which try it is, of how many, and in how many seconds the next one comes.
  func writeTries(_ attempt: Int, of: Int?, retryAt: Instant?, to writer: inout JSONWriter) {
    writer.key("attempt")
    writer.int(attempt)
    writer.key("of")
    if let of { writer.int(of) } else { writer.null() }
    writer.key("retryIn")
    if let retryAt {
      writer.double(Self.seconds(until: retryAt, from: clock.now))
    } else {
      writer.null()
    }
  }

  private static func write(edited message: Message, to writer: inout JSONWriter) {
    writer.key("id")
    writer.string(message.id.description)
    writer.key("username")
    writer.string(message.username)
    writer.key("text")
    writer.string(message.text)
    writer.key("updatedAt")
    writer.string(message.updatedAt.map(RFC3339.format))
  }

  static func write(_ gap: Gap, to writer: inout JSONWriter) {
    writer.key("from")
    writer.string(gap.after.map { RFC3339.format($0.createdAt) })
    writer.key("to")
    writer.string(RFC3339.format(gap.before.createdAt))
  }

  static func write(_ entry: OutboxEntry, to writer: inout JSONWriter) {
    writer.key("key")
    writer.string(entry.id.description)
    writer.key("text")
    writer.string(entry.text)
    writer.key("state")
    switch entry.state {
    case .queued(let tries):
      writer.string("queued")
      writer.key("tries")
      writer.int(tries)
    case .failed(let reason):
      writer.string("failed")
      writer.key("reason")
      writer.string(reason)
    }
  }

  /// Seconds, never less than none, to the millisecond.
  static func seconds(until end: Instant, from now: Instant) -> Double {
    let nanoseconds = max(0, now.duration(to: end).nanoseconds)
    return Double((nanoseconds + 500_000) / 1_000_000) / 1_000
  }

  /// ISO 8601 in UTC with exactly three digits behind the second, so that texts sort.
  static func milliseconds(_ time: Timestamp) -> String {
    let second: Int64 = 1_000_000_000
    let fraction = (time.nanoseconds % second + second) % second
    let whole = RFC3339.format(Timestamp(nanoseconds: time.nanoseconds - fraction))
    let digits = String(fraction / 1_000_000 + 1_000).dropFirst()
    return "\(whole.dropLast()).\(digits)Z"
  }
}

/// The events of a stream, one behind the other.
actor StreamObjects: StreamView {
  private let events: StreamEvents

  init(console: Console) {
    events = StreamEvents(console: console)
  }

  func show(_ update: StreamUpdate) { events.show(update) }

  func note(_ kind: String, _ detail: String?) { events.note(kind, detail) }

  func end() {}
}

/// Where a stream's news go.
protocol StreamView: Sendable {
  func show(_ update: StreamUpdate) async
  /// Something of the command's own that deserves a line.
  func note(_ kind: String, _ detail: String?) async
  /// Nothing follows.
  func end() async
}

extension StreamNotice {
  /// One stable word.
  var kind: String {
    switch self {
    case .malformed: "malformed"
    case .rejected: "rejected"
    case .unknownType: "unknown-type"
    case .oversized: "oversized"
    case .fetchFailed: "fetch-failed"
    case .store: "store"
    case .storeRecovered: "store-recovered"
    case .draining: "draining"
    case .newEpoch: "new-epoch"
    case .signIn: "sign-in"
    case .forbidden: "forbidden"
    case .security: "security"
    }
  }

  /// What is known beyond it.
  var detail: String? {
    switch self {
    case .malformed(let error): error.description
    case .rejected(let count): "\(count) entries of a page"
    case .unknownType(let type): type
    case .oversized(let bytes): "\(bytes) bytes"
    case .fetchFailed(let failure), .security(let failure): StreamReason.text(failure)
    case .store(let failure): failure.description
    case .draining(let window): "the server closes within \(window.text)"
    case .newEpoch(let position): position.description
    case .storeRecovered, .signIn, .forbidden: nil
    }
  }
}
