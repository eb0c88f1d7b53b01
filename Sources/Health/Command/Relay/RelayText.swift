import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastHealth
import HoldfastHealthRelay
import HoldfastPorts
import HoldfastRelayData

/// The lines that show a relay's updates to people. Texts from the server are escaped.
enum RelayText {
  /// Returns the lines for an update. They are empty for a status.
  static func lines(for news: RelayNews, _ style: Style) -> [String] {
    switch news.update {
    case .status: []
    case .pair(let pair):
      self.pair(pair, style)
        + (news.mcp.map { ["-- assistants reach the backend over MCP at \(mcp($0))"] } ?? [])
    case .assistant(let assistant): self.assistant(assistant, ending: news.ending ?? "")
    case .ended(let receipt):
      ["\(BootClock().wall.local)  \(self.receipt(receipt))"]
        + (news.answer.map { [String(decoding: $0.bytes, as: UTF8.self).printable] } ?? [])
    case .problem(let problem, let withheld): [self.problem(problem, withheld: withheld)]
    }
  }

  /// Returns an address for assistants. A backend that is reached on this machine may have another
  /// one for them.
  private static func mcp(_ url: String) -> String {
    let isLocal = ["http://127.0.0.1", "http://localhost", "http://[::1]"].contains {
      url.hasPrefix($0)
    }
    return isLocal ? "\(url), or at the --public-url of `holdfast serve`" : url
  }

  /// Returns the word and the code in large letters, followed by a line that contains both.
  static func pair(_ pair: RelayPair, _ style: Style) -> [String] {
    let word = pair.word.text.printable
    let code = pair.code.text.printable
    let spaced = word.uppercased().map(String.init).joined(separator: " ")
    let minutes = pair.expiresIn.map { ", within \(Self.minutes($0))" } ?? ""
    return ["", "    " + style.heading(spaced), ""]
      + RelayDigits.rows(code).map { "    " + style.heading($0) }
      + ["", "-- tell your assistant: word \(word), code \(code)\(minutes)"]
      + (pair.message.text.isEmpty
        ? [] : ["-- the server says: \(pair.message.text.printable)"])
  }

  /// Returns the lines about an assistant that has signed in.
  static func assistant(
    _ assistant: PairedAssistants.Assistant, ending command: String
  ) -> [String] {
    let name = assistant.name.map { "\($0)".printable } ?? "an assistant without a name"
    let time = assistant.since.map { "\($0.local)  " } ?? ""
    return [
      "\(time)\(name) has signed in and may ask for health data",
      "-- if you did not expect this: \(command)",
    ]
  }

  /// Returns a duration in minutes, rounded up.
  private static func minutes(_ time: Duration) -> String {
    let count = max(1, (time.components.seconds + 59) / 60)
    return count == 1 ? "1 minute" : "\(count) minutes"
  }

  /// Returns a text such as `STEPS  2026-11-01 to 2026-11-02  24 points  35 ms`.
  static func receipt(_ receipt: RelayReceipt) -> String {
    let types = receipt.question.types
    let what = types.isEmpty ? "summary" : types.joined(separator: ", ")
    let took = "\(receipt.duration.nanoseconds / 1_000_000) ms"
    guard let start = receipt.question.bounds.start, let end = receipt.question.bounds.end else {
      return "list of types  \(outcome(receipt.outcome))  \(took)"
    }
    let span = "\(start) to \(end)".printable
    return "\(what)  \(span)  \(outcome(receipt.outcome))  \(took)"
  }

  private static func outcome(_ outcome: RelayReceipt.Outcome) -> String {
    switch outcome {
    case .answered(1, _): "1 point"
    case .answered(let points, let isTruncated):
      "\(points) points" + (isTruncated ? ", truncated" : "")
    case .refused(let reason): "refused: \(reason.printable)"
    case .cancelled: "cancelled by the assistant"
    case .dropped: "not answered: the connection was lost"
    }
  }

  static func problem(_ problem: RelayProblem, withheld: Int) -> String {
    let others = withheld == 0 ? "" : " (\(withheld) others since the last one)"
    return NoticeText.line(problem.kind, problem.description) + others
  }
}

/// Large digits with a height of five rows, drawn with number signs.
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

  /// Returns the five rows of a code, with a gap in the middle. A code with other characters is
  /// returned unchanged.
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
