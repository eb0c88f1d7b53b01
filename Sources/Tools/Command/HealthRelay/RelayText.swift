import CommandKit
import HealthRelay
import LinkCore
import LinkRuntime
import LinkWire

/// Writes what happens on a relay in plain lines.
struct RelayLines: RelayView {
  let console: Console
  let shown: ShownAnswers
  private let clock = BootClock()

  init(console: Console, shown: ShownAnswers) {
    self.console = console
    self.shown = shown
  }

  func show(_ update: RelayUpdate) {
    switch update {
    case .status(let status): console.line("-- \(RelayText.status(status, at: clock.now))")
    case .pair(let pair): for line in RelayText.pair(pair, console.style) { console.line(line) }
    case .ended(let receipt):
      let answer = shown.take(receipt)
      console.line("\(StreamText.localTime(clock.wall))  \(RelayText.receipt(receipt))")
      guard let answer else { return }
      console.line(StreamText.safe(String(decoding: answer.bytes, as: UTF8.self)))
    case .problem(let problem, let withheld):
      console.line(RelayText.problem(problem, withheld: withheld))
    }
  }

  /// Said on standard error: the lines above it say the same to whoever reads them.
  func notify(_ notification: HostNotification?) {
    console.diagnostic(RelayText.notification(notification))
  }
}

/// The words for people; nothing that a server says can reach the terminal as a command.
enum RelayText {
  /// Such as `reconnecting 1 of 2 in 2s: reset`; seconds are rounded up.
  static func status(_ status: RelayStatus, at now: Instant) -> String {
    var text = status.state.rawValue
    if status.attempt > 0 {
      text += " \(status.attempt)" + (status.of.map { " of \($0)" } ?? "")
    }
    if let retryAt = status.retryAt {
      text += " in \(Int(StreamEvents.seconds(until: retryAt, from: now).rounded(.up)))s"
    }
    return text + (status.reason.map { ": \(StreamReason.word($0))" } ?? "")
  }

  /// Word and code in letters that can be read across a room, and both once more in a line.
  static func pair(_ pair: RelayPair, _ style: Style) -> [String] {
    let word = StreamText.safe(pair.word.text)
    let code = StreamText.safe(pair.code.text)
    let spaced = word.uppercased().map(String.init).joined(separator: " ")
    let minutes = pair.expiresIn.map { ", within \(Self.minutes($0))" } ?? ""
    return ["", "    " + style.heading(spaced), ""]
      + RelayDigits.rows(code).map { "    " + style.heading($0) }
      + ["", "-- tell your assistant: word \(word), code \(code)\(minutes)"]
      + (pair.message.text.isEmpty
        ? [] : ["-- the server says: \(StreamText.safe(pair.message.text))"])
  }

  /// Rounded up: what is left of the last minute counts.
  private static func minutes(_ time: Duration) -> String {
    let count = max(1, (time.components.seconds + 59) / 60)
    return count == 1 ? "a minute" : "\(count) minutes"
  }

  /// Such as `STEPS  2026-11-01 to 2026-11-02  24 points  35 ms`.
  static func receipt(_ receipt: RelayReceipt) -> String {
    let types = receipt.question.types
    let what = types.isEmpty ? "summary" : types.joined(separator: ", ")
    let span = StreamText.safe("\(receipt.question.start) to \(receipt.question.end)")
    let took = "\(receipt.took.nanoseconds / 1_000_000) ms"
    return "\(what)  \(span)  \(outcome(receipt.outcome))  \(took)"
  }

  private static func outcome(_ outcome: RelayReceipt.Outcome) -> String {
    switch outcome {
    case .answered(1, _): "1 point"
    case .answered(let points, let isTruncated):
      "\(points) points" + (isTruncated ? ", the first of more" : "")
    case .refused(let reason): "refused: \(StreamText.safe(reason))"
    case .cancelled: "cancelled by the assistant"
    case .dropped: "not answered: the connection went away"
    }
  }

  static func problem(_ problem: RelayProblem, withheld: Int) -> String {
    let others = withheld == 0 ? "" : " (\(withheld) others since the one before)"
    return StreamText.notice(problem.kind, problem.detail) + others
  }

  static func notification(_ notification: HostNotification?) -> String {
    guard let notification else { return "notification: none" }
    return "notification: \(notification.title): \(notification.body)"
  }
}

/// Digits of five rows, drawn with number signs so that any terminal has them.
enum RelayDigits {
  private static let rows: [Character: [String]] = [
    "0": ["####", "#  #", "#  #", "#  #", "####"],
    "1": ["  # ", " ## ", "  # ", "  # ", " ###"],
    "2": ["####", "   #", "####", "#   ", "####"],
    "3": ["####", "   #", " ###", "   #", "####"],
    "4": ["#  #", "#  #", "####", "   #", "   #"],
    "5": ["####", "#   ", "####", "   #", "####"],
    "6": ["####", "#   ", "####", "#  #", "####"],
    "7": ["####", "   #", "  # ", " #  ", " #  "],
    "8": ["####", "#  #", "####", "#  #", "####"],
    "9": ["####", "#  #", "####", "   #", "####"],
  ]

  /// Five lines; a wider gap stands in the middle. What is no number stands in one line.
  static func rows(_ code: String) -> [String] {
    let digits = code.compactMap { rows[$0] }
    guard digits.count == code.count, !digits.isEmpty else { return [code] }
    return (0..<5).map { row in
      let parts = digits.map { $0[row] }
      let half = (parts.count + 1) / 2
      return parts[..<half].joined(separator: "  ") + "     "
        + parts[half...].joined(separator: "  ")
    }
  }
}
