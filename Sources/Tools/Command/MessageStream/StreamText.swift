import CommandKit
import LinkCore
import LinkRuntime
import LinkWire
import MessageStream

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Writes what happens on a stream in plain lines, for a pipe or a file.
actor StreamLines: StreamView {
  private let console: Console
  private let clock = BootClock()
  private var repeats = Repeats()

  init(console: Console) {
    self.console = console
  }

  func show(_ update: StreamUpdate) {
    if case .status(let status) = update {
      put(["-- \(StreamText.status(status, at: clock.now))"], isNotice: false)
    } else {
      put(StreamText.lines(for: update, console.style), isNotice: update.isNotice)
    }
  }

  func note(_ kind: String, _ detail: String?) {
    put([StreamText.notice(kind, detail)], isNotice: true)
  }

  func end() {
    for line in repeats.counted() { console.line(line) }
  }

  private func put(_ lines: [String], isNotice: Bool) {
    for line in repeats.lines(lines, isNotice: isNotice, at: clock.now) { console.line(line) }
  }
}

extension StreamUpdate {
  /// Whether it only deserves a line.
  var isNotice: Bool {
    if case .notice = self { true } else { false }
  }
}

/// The words for people; nothing that a message holds can reach the terminal as a command.
enum StreamText {
  /// The lines for all but a status, which a screen shows elsewhere.
  static func lines(for update: StreamUpdate, _ style: Style) -> [String] {
    switch update {
    case .status, .history: []
    case .messages(let messages, _): messages.map { message($0, style) }
    case .edited(let messages): messages.map { message($0, style) + " (edited)" }
    case .gap: ["-- older messages are missing here; `stream --older N` fetches them"]
    case .gapClosed: ["-- no more messages are missing there"]
    case .outbox(let entry): outbox(entry, style).map { [$0] } ?? []
    case .outboxDone: []
    case .notice(let value): [notice(value.kind, value.detail)]
    }
  }

  /// Said where older messages exist than those shown.
  static let hasOlder = "older messages exist; `stream --older N` shows them"

  /// Why no server takes a text as a message; `nil` for one that may do.
  static func fault(of text: String) -> String? {
    let (count, most) = (text.unicodeScalars.count, MessageLimits().maxCharacters)
    return count <= most ? nil : "it has \(count) characters, and a message has at most \(most)"
  }

  static func message(_ message: Message, _ style: Style) -> String {
    let name = style.heading(safe(message.username ?? message.user))
    return "\(localTime(message.createdAt))  \(name)  \(safe(message.text))"
  }

  /// Only what needs the user's eye: waiting for the first try is no news.
  static func outbox(_ entry: OutboxEntry, _ style: Style) -> String? {
    entry.state == .queued(tries: 0) ? nil : waiting(entry, style)
  }

  /// A message that the server does not have yet.
  static func waiting(_ entry: OutboxEntry, _ style: Style) -> String {
    switch entry.state {
    case .queued(0): "-- waiting to be sent: \(safe(entry.text))"
    case .queued(1): "-- waiting to be sent after a try: \(safe(entry.text))"
    case .queued(let tries): "-- waiting to be sent after \(tries) tries: \(safe(entry.text))"
    case .failed(let reason):
      style.alarm("-- not sent") + " (\(safe(reason))): \(safe(entry.text))"
    }
  }

  static func notice(_ kind: String, _ detail: String?) -> String {
    "-- \(kind)" + (detail.map { ": \(safe($0))" } ?? "")
  }

  /// Such as `RECONNECTING 2 of 5 in 4s: closed-1012`; seconds are rounded up.
  static func status(_ status: StreamStatus, at now: Instant) -> String {
    var text = status.state.rawValue
    if status.mode != .none { text += " (\(status.mode.rawValue))" }
    if status.attempt > 0 {
      text += " \(status.attempt)" + (status.of.map { " of \($0)" } ?? "")
    }
    if let retryAt = status.retryAt {
      text += " in \(Int(StreamEvents.seconds(until: retryAt, from: now).rounded(.up)))s"
    }
    return text + (status.reason.map { ": \(StreamReason.word($0))" } ?? "")
  }

  /// Controls, line ends and what turns the direction of writing appear as escapes.
  static func safe(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: isUnsafe) else { return text }
    return text.unicodeScalars.reduce(into: "") { result, scalar in
      switch scalar {
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case _ where isUnsafe(scalar):
        result += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
      case _: result.unicodeScalars.append(scalar)
      }
    }
  }

  private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate:
      // Joiners belong to words and emoji.
      scalar.value != 0x200D && scalar.value != 0x200C
    case _: false
    }
  }

  /// `2026-11-20 07:08:09` where the reader is.
  static func localTime(_ time: Timestamp) -> String {
    var seconds = time_t(time.nanoseconds / 1_000_000_000)
    var parts = unsafe tm()
    guard unsafe localtime_r(&seconds, &parts) != nil else { return RFC3339.format(time) }
    let numbers = unsafe [
      parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
    ]
    let pieces = numbers.map { String(String($0 + 100).dropFirst()) }
    let year = unsafe parts.tm_year + 1900
    let date = "\(year)-\(pieces[0])-\(pieces[1])"
    return "\(date) \(pieces[2]):\(pieces[3]):\(pieces[4])"
  }
}
