import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastHealth
import HoldfastHealthRelay
import HoldfastJSON
import HoldfastPorts
import HoldfastRelayData
import Synchronization

/// The answers that are to be shown with their questions.
///
/// The answers take up at most 16 MiB, except that the newest answer is always stored. Older
/// answers are dropped, and their questions are shown without values.
final class ShownAnswers: Sendable {
  /// The maximum number of stored bytes, which is twice the maximum length of an answer.
  private static let maxBytes = 2 * HealthPart.maxObjectBytes

  private let isWanted: Bool
  /// The URL of the backend for assistants.
  let mcp: String
  /// The command that lists the assistants of this phone and ends them.
  let assistants: String
  private let answers = Mutex<[(id: RelayRequestID, object: HealthObject)]>([])

  init(isWanted: Bool, mcp: String, assistants: String) {
    (self.isWanted, self.mcp, self.assistants) = (isWanted, mcp, assistants)
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

  /// Removes and returns the answer to a question; `nil` if it was not sent or is not to be shown.
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

/// An update of a relay, with the answer to show, if any.
struct RelayNews: ShownUpdate {
  var update: RelayUpdate
  var answer: HealthObject?
  /// The URL of the backend for assistants, if it is to be shown with a pair.
  var mcp: String?
  /// The command that ends a new assistant.
  var ending: String?

  /// The paragraph that describes the JSON events in help texts.
  static let details =
    JSONEvents.details + """
      status (status idle|starting|running|reconnecting|error|stopping, attempt, of, retryIn in \
      seconds, reason), pair (word, code, message, expiresIn in seconds, mcp), assistant, when one \
      has signed in (id, name, version, since, expires_at), question (id, \
      types, start, end (null for a list of types), outcome answered|refused|cancelled|dropped, points, reason, \
      milliseconds; with --show-values also answer, as the assistant receives it), problem \
      (kind, detail, withheld), notification (title, body; null when it is removed) if there is \
      no desktop to show it.
      """

  /// - Parameter shown: The answers that are to be shown with their questions.
  init(_ update: RelayUpdate, _ shown: ShownAnswers) {
    self.update = update
    switch update {
    case .ended(let receipt): answer = shown.take(receipt)
    // In the original backend, pairs do not expire, and assistants connect to another address.
    case .pair(let pair): mcp = pair.expiresIn == nil ? nil : shown.mcp
    case .assistant(let assistant): ending = "\(shown.assistants) --end \(assistant.id)".printable
    case .status, .problem: break
    }
  }

  var state: LinkState? {
    guard case .status(let status) = update else { return nil }
    return LinkState(
      name: status.state.rawValue, attempt: status.attempt, maxAttempts: status.maxAttempts,
      retryAt: status.retryAt, mode: nil, reason: status.reason)
  }

  var isNotice: Bool { false }

  func lines(_ style: Style) -> [String] { RelayText.lines(for: self, style) }

  func write(to events: JSONEvents) {
    switch update {
    case .status: return
    case .pair(let pair):
      events.write("pair") {
        $0.entry("word", pair.word.text)
        $0.entry("code", pair.code.text)
        $0.entry("message", pair.message.text)
        $0.entry("expiresIn", pair.expiresIn?.components.seconds)
        $0.entry("mcp", mcp)
      }
    case .assistant(let assistant):
      events.write("assistant") { assistant.writeMembers(to: &$0) }
    case .ended(let receipt):
      events.write("question") {
        receipt.write(to: &$0)
        guard let answer else { return }
        $0.key("answer")
        $0.raw(answer.bytes)
      }
    case .problem(let problem, let withheld):
      events.write("problem") {
        $0.entry("kind", problem.kind)
        $0.entry("detail", problem.description)
        $0.entry("withheld", withheld)
      }
    }
  }
}

extension Invocation {
  /// Reports a notification if no desktop can show it. `nil` removes the notification.
  func report(_ notification: HostNotification?) {
    guard self[Shared.json] else {
      // The text goes to standard error, because standard output already reports the same facts.
      let text = notification.map { "\($0.title): \($0.body)" } ?? "none"
      return console.diagnostic("notification: \(text)")
    }
    JSONEvents(console).write("notification") {
      $0.entry("title", notification?.title)
      $0.entry("body", notification?.body)
    }
  }
}

extension RelayReceipt {
  fileprivate func write(to writer: inout JSONWriter) {
    writer.entry("id", id.text)
    writer.entry("types", question.types)
    writer.entry("start", question.bounds.start?.description)
    writer.entry("end", question.bounds.end?.description)
    writer.entry("outcome", outcome.name)
    writer.entry("points", outcome.points)
    writer.entry("reason", outcome.reason)
    writer.entry("milliseconds", duration.nanoseconds / 1_000_000)
  }
}

extension RelayReceipt.Outcome {
  /// The stable name of the outcome, for scripts.
  var name: String {
    switch self {
    case .answered: "answered"
    case .refused: "refused"
    case .cancelled: "cancelled"
    case .dropped: "dropped"
    }
  }

  /// The number of points that were sent; `nil` if no answer was sent.
  var points: Int? {
    switch self {
    case .answered(let points, _): points
    case .refused, .cancelled, .dropped: nil
    }
  }

  /// The reason for a refusal; `nil` for other outcomes.
  var reason: String? {
    switch self {
    case .refused(let reason): reason
    case .answered, .cancelled, .dropped: nil
    }
  }
}

extension RelayProblem {
  /// The stable name of the problem, for scripts.
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
}
