import Holdfast
import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastJSON
import HoldfastSession

extension SessionUpdate: ShownUpdate {
  /// The paragraph that describes the JSON events in help texts.
  static let details =
    JSONEvents.details + """
      status (status DISCONNECTED|CONNECTING|CONNECTED|RECONNECTING|FAILED, attempt, of, retryIn \
      in seconds, mode live|none, reason), prompt (key, text, state \
      queued|sent|accepted|answered|failed|interrupted|unsure, reason, conversation), message (id, \
      conversation, role user|assistant|system, text, via live|replay|history; each id once), \
      quality (quality good|degraded|poor, rtt in seconds), gap (reason, conversation), notice \
      (kind, detail).
      """

  var state: LinkState? {
    if case .status(let status) = self { LinkState(status) } else { nil }
  }

  var isNotice: Bool {
    switch self {
    case .notice, .record, .quality: true
    case .status, .pending, .prompt, .message, .part, .gap: false
    }
  }

  func lines(_ style: Style) -> [String] {
    switch self {
    case .status, .part, .record: return []
    case .quality(let quality, let trip):
      let detail = trip.map { ", round trip \(Self.milliseconds($0)) ms" } ?? ""
      return [NoticeText.line("quality", quality.rawValue + detail)]
    case .pending(let prompts):
      return prompts.map { "-- waiting for an answer: \($0.text.printable)" }
    case .prompt(let prompt, _): return Self.lines(prompt, style)
    case .message(let entry, _, _):
      return ["\(style.heading(entry.role.rawValue))  \(entry.text.printable)"]
    case .gap(_, let gap): return ["-- messages are missing here: \(gap.rawValue)"]
    case .notice(let notice): return [NoticeText.line(notice.kind, notice.description)]
    }
  }

  private static func lines(_ prompt: SessionPromptState, _ style: Style) -> [String] {
    let text = prompt.text.printable
    let reason = prompt.reason.map { " (\($0.printable))" } ?? ""
    switch prompt.state {
    case .queued: return ["-- queued\(reason): \(text)"]
    case .failed, .interrupted, .unsure:
      return [style.alarm("-- \(prompt.state.rawValue)") + "\(reason): \(text)"]
    case .sent, .accepted, .answered: return []
    }
  }

  private static func milliseconds(_ time: Duration) -> Int64 { time.nanoseconds / 1_000_000 }

  func write(to events: JSONEvents) {
    switch self {
    case .status, .pending, .part: return
    case .quality(let quality, let trip):
      events.write("quality") {
        $0.entry("quality", quality.rawValue)
        $0.entry("rtt", trip.map { Double($0.nanoseconds) / 1e9 })
      }
    case .prompt(let prompt, _): events.write("prompt", prompt.write)
    case .message(let entry, let via, _):
      events.write("message") {
        $0.entry("id", entry.id)
        $0.entry("conversation", entry.conversation)
        $0.entry("role", entry.role.rawValue)
        $0.entry("text", entry.text)
        $0.entry("via", via.rawValue)
      }
    case .gap(let conversation, let gap):
      events.write("gap") {
        $0.entry("reason", gap.rawValue)
        $0.entry("conversation", conversation)
      }
    case .record(let record): events.note("connection", record.text)
    case .notice(let notice): events.note(notice.kind, notice.description)
    }
  }
}

extension SessionPromptState {
  fileprivate func write(to writer: inout JSONWriter) {
    writer.entry("key", key.description)
    writer.entry("text", text)
    writer.entry("state", state.rawValue)
    writer.entry("reason", reason)
    writer.entry("conversation", conversation)
  }
}

extension SessionRecord {
  /// A description of the record on one line.
  fileprivate var text: String {
    let why =
      switch reason {
      case .failure(let failure): failure.description
      case .closed(let reason): "closed by this device: \(reason)"
      }
    var parts = ["from \(RFC3339.format(startedAt)) to \(RFC3339.format(endedAt))"]
    if let connected { parts.append("connected for \(Self.whole(connected).text)") }
    if let network { parts.append("network \(network)") }
    if let roundTrip { parts.append("round trip \(Self.whole(roundTrip).text)") }
    return (parts + [why]).joined(separator: ", ")
  }

  /// Returns a duration, rounded down to whole milliseconds.
  private static func whole(_ time: Duration) -> Duration {
    .milliseconds(time.nanoseconds / 1_000_000)
  }
}

extension SessionNotice {
  /// The stable name of the notice, for scripts.
  fileprivate var kind: String {
    switch self {
    case .stale: "stale"
    case .malformed: "malformed"
    case .refused: "refused"
    case .oversized: "oversized"
    case .draining: "draining"
    case .clockSkew: "clock-skew"
    case .payload: "payload"
    case .store: "store"
    case .storeRecovered: "store-recovered"
    case .unanswered: "unanswered"
    }
  }
}
