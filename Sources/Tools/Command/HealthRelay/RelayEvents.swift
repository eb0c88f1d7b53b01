import CommandKit
import HealthRelay
import LinkCore
import LinkRuntime
import LinkWire
import Synchronization

/// Where a relay's news go.
protocol RelayView: Sendable {
  func show(_ update: RelayUpdate)
  /// What no desktop shows; `nil` takes it away.
  func notify(_ notification: HostNotification?)
}

/// Answers on their way to whoever wants to see them.
///
/// Holds 16 MiB, and the newest whatever its size: of those before it the oldest are let go, and
/// their questions are shown without values.
final class ShownAnswers: Sendable {
  /// Twice the longest answer.
  private static let maxBytes = 2 * HealthPart.maxObjectBytes

  private let isWanted: Bool
  private let answers = Mutex<[(id: RelayRequestID, object: HealthObject)]>([])

  init(isWanted: Bool) {
    self.isWanted = isWanted
  }

  func put(_ answer: HealthObject, for id: RelayRequestID) {
    answers.withLock { answers in
      answers.removeAll { $0.id == id }
      answers.append((id, answer))
      var bytes = answers.reduce(0) { $0 + $1.object.bytes.count }
      while bytes > Self.maxBytes, answers.count > 1 {
        bytes -= answers.removeFirst().object.bytes.count
      }
    }
  }

  /// What was told; `nil` unless it is wanted and was told.
  func take(_ receipt: RelayReceipt) -> HealthObject? {
    let answer = answers.withLock { answers -> HealthObject? in
      guard let index = answers.firstIndex(where: { $0.id == receipt.id }) else { return nil }
      return answers.remove(at: index).object
    }
    switch receipt.outcome {
    case .answered, .refused: return isWanted ? answer : nil
    case .cancelled, .dropped: return nil
    }
  }
}

/// Writes what happens on a relay as JSON, one object a line.
struct RelayObjects: RelayView {
  private let events: StreamEvents
  private let shown: ShownAnswers

  init(console: Console, shown: ShownAnswers) {
    events = StreamEvents(console: console)
    self.shown = shown
  }

  func show(_ update: RelayUpdate) {
    switch update {
    case .status(let status): events.write("status") { write(status, to: &$0) }
    case .pair(let pair): events.write("pair") { Self.write(pair, to: &$0) }
    case .ended(let receipt):
      let answer = shown.take(receipt)
      events.write("question") {
        Self.write(receipt, to: &$0)
        guard let answer else { return }
        $0.key("answer")
        $0.raw(answer.bytes)
      }
    case .problem(let problem, let withheld):
      events.write("problem") {
        $0.key("kind")
        $0.string(problem.kind)
        $0.key("detail")
        $0.string(problem.detail)
        $0.key("withheld")
        $0.int(withheld)
      }
    }
  }

  func notify(_ notification: HostNotification?) {
    events.write("notification") {
      $0.key("title")
      $0.string(notification?.title)
      $0.key("body")
      $0.string(notification?.body)
    }
  }

  private func write(_ status: RelayStatus, to writer: inout JSONWriter) {
    writer.key("status")
    writer.string(status.state.rawValue)
    events.writeTries(status.attempt, of: status.of, retryAt: status.retryAt, to: &writer)
    writer.key("reason")
    writer.string(status.reason.map(StreamReason.word))
  }

  private static func write(_ pair: RelayPair, to writer: inout JSONWriter) {
    writer.key("word")
    writer.string(pair.word.text)
    writer.key("code")
    writer.string(pair.code.text)
    writer.key("message")
    writer.string(pair.message.text)
    writer.key("expiresIn")
    if let left = pair.expiresIn { writer.int(left.components.seconds) } else { writer.null() }
  }

  private static func write(_ receipt: RelayReceipt, to writer: inout JSONWriter) {
    writer.key("id")
    writer.string(receipt.id.text)
    writer.key("types")
    writer.beginArray()
    for type in receipt.question.types { writer.string(type) }
    writer.endArray()
    writer.key("start")
    writer.string(receipt.question.start.description)
    writer.key("end")
    writer.string(receipt.question.end.description)
    writer.key("outcome")
    writer.string(receipt.outcome.word)
    writer.key("points")
    if let points = receipt.outcome.points { writer.int(points) } else { writer.null() }
    writer.key("reason")
    writer.string(receipt.outcome.reason)
    writer.key("milliseconds")
    writer.int(receipt.took.nanoseconds / 1_000_000)
  }
}

/// The events, as help texts tell them.
enum RelayEvents {
  static let details = """
    With --json every line has "at" (ISO 8601) and "event": status (status \
    idle|starting|running|reconnecting|error|stopping, attempt, of, retryIn in seconds, reason), \
    pair (word, code, message, expiresIn in seconds), question (id, types, start, end, outcome \
    answered|refused|cancelled|dropped, points, reason, milliseconds; with --show-values also \
    answer, as the assistant gets it), problem (kind, detail, withheld), notification (title, \
    body; null when it is gone), where no desktop shows it.
    """
}

extension RelayQuestion {
  /// What is asked for; nothing for a summary of the phone's own choice.
  var types: [String] {
    switch self {
    case .healthData(let query): [query.valueType.rawValue]
    case .summary(let query): query.metrics.map(\.valueType.rawValue)
    }
  }

  /// From here on.
  var start: HealthTime {
    switch self {
    case .healthData(let query): query.start
    case .summary(let query): query.start
    }
  }

  /// Up to here.
  var end: HealthTime {
    switch self {
    case .healthData(let query): query.end
    case .summary(let query): query.end
    }
  }
}

extension RelayReceipt.Outcome {
  /// One stable word.
  var word: String {
    switch self {
    case .answered: "answered"
    case .refused: "refused"
    case .cancelled: "cancelled"
    case .dropped: "dropped"
    }
  }

  /// How many points were told.
  var points: Int? {
    switch self {
    case .answered(let points, _): points
    case .refused, .cancelled, .dropped: nil
    }
  }

  /// Why it was refused.
  var reason: String? {
    switch self {
    case .refused(let reason): reason
    case .answered, .cancelled, .dropped: nil
    }
  }
}

extension RelayProblem {
  /// One stable word.
  var kind: String {
    switch self {
    case .connection: "connection"
    case .inBackground: "in-background"
    case .malformed: "malformed"
    case .unknownType: "unknown-type"
    case .oversized: "oversized"
    case .unreadable: "unreadable"
    case .busy: "busy"
    }
  }

  /// What is known beyond it.
  var detail: String? {
    switch self {
    case .connection(let failure): StreamReason.text(failure)
    case .malformed(let detail), .unknownType(let detail), .unreadable(let detail): detail
    case .oversized(let bytes): "\(bytes) bytes"
    case .inBackground, .busy: nil
    }
  }
}
