public import HoldfastCore
public import HoldfastLinkChecks
public import HoldfastSession
public import HoldfastSessionData

/// Sessions: two phones of two people, and a server with a program behind it.
///
/// Each phone has its own conversation, and both take part in a third conversation. The program
/// answers each prompt after a while. It must run exactly once for each prompt.
public enum SessionsFeature: ObservedFeature {
  /// The model of a session on a phone.
  public typealias Model = SessionModel
  /// The checkers of the guarantees that are specific to a session.
  public typealias Checkers = SessionCheckers

  package static let phones = 2

  /// A fact that is specific to this world.
  public enum Fact: Sendable, Equatable {
    /// The program was started for a prompt with this text.
    case ran(text: String)
    /// The user of a phone discarded a failed prompt.
    case discarded(phone: Int, UUID128)
    /// A phone was notified that the server dropped messages.
    case dropped(phone: Int)
    /// The ledger found a violation by the server.
    case broken(Finding.Kind, detail: String)
    /// The daily statistics on a phone's disk at the end of the run.
    case counted(phone: Int, [SessionDay])
  }

  /// The feature's part of a phone's state. The checkers use it in addition to the link's state.
  public struct State: Sendable {
    package var phone = 0
    /// The number of prompts that have not ended.
    package var unanswered = 0
    package var isWritten = true
    /// Whether the server has no idempotency keys, and whether a prompt that may have reached the
    /// server waits for a sign of its arrival. The wait may be longer than the calm phase.
    package var isPlain = false
    package var waitsForSign = false
    /// The IDs of other users' messages in the followed conversations that the app has not shown.
    package private(set) var expected: Set<String> = []
    /// The IDs of all of the program's answers on the server.
    package var answers: Set<String> = []
    /// The names of the prompts that have been answered.
    package var answered: Set<String> = []
    /// The attempt on which the phone last received the server's `connected` message.
    package var connected: AttemptID?
    /// The IDs of the messages that the app has shown, and of those on its disk.
    package private(set) var shown: Set<String> = []
    package var durable: Set<String> = []
    /// Whether the server has recorded that the phone takes part in the shared conversation.
    package var hasJoined = false
    /// The number up to which the disk has recorded that news were shown.
    package var confirmed: UInt64 = 0
    /// The numbers of the single news for which the disk has recorded the same.
    package var marked: Set<UInt64> = []
    /// Whether the phone was notified that messages are missing, and whether the server may drop
    /// messages.
    package var hasGap = false
    package var mayDrop = false
    /// Whether all messages have different texts. If so, a message with the same text but another
    /// ID is the same message.
    package var hasUniqueTexts = true

    package init() {}

    /// Returns whether the disk has recorded that news were shown.
    package func isConfirmed(_ news: UInt64) -> Bool { news <= confirmed || marked.contains(news) }

    package var missing: Int { hasGap || !hasJoined ? 0 : expected.count }

    package mutating func expect(_ id: String) { if !shown.contains(id) { expected.insert(id) } }

    package mutating func show(_ id: String) {
      shown.insert(id)
      expected.remove(id)
    }
  }

  public static var name: String { "session" }
  public static var policy: LinkPolicy { .session }

  public static func step(
    _ phone: HostID, _ input: Input?, isLate: Bool, _ effects: [Effect],
    _ checkers: inout CheckerSet<SessionsFeature>
  ) {
    checkers.stepped(phone, input, isLate: isLate, effects)
  }

  public static func observe(
    _ seen: Seen, of phone: Int?, _ checkers: inout CheckerSet<SessionsFeature>
  ) {
    checkers.handle(seen, of: phone)
  }

  /// The maximum time for which an upload delays pings.
  public static var timeLimit: Duration { SessionSettings.longestUpload }
  public static func isHealed(_ phoneState: PhoneState<SessionsFeature>) -> Bool {
    (phoneState.own.unanswered == 0 || phoneState.own.waitsForSign) && phoneState.own.missing == 0
  }

  public static func remains(_ phoneState: PhoneState<SessionsFeature>) -> String {
    ", \(phoneState.own.unanswered) without an answer, \(phoneState.own.missing) to show"
  }

  public static func checkBounds(
    _ phoneState: PhoneState<SessionsFeature>, _ found: (String, Int, Int) -> Void
  ) {
    if phoneState.own.unanswered > 1_000 { found("prompts", phoneState.own.unanswered, 1_000) }
  }

  public static func expose(_ effect: Effect, _ look: (String, String) -> Void) {
    switch effect {
    case .send(_, .prompt(let prompt)): look(prompt.text, "a prompt")
    case .update(.message(let entry, _, _)): look(entry.text, "a message")
    case .update(.part(_, _, _, let text)): look(text, "a message")
    case .update(.prompt(let prompt, _)): look(prompt.reason ?? prompt.text, "a prompt")
    case .update(.status(let status)):
      if let text = status.reason?.text { look(text, "a status") }
    case .connect: look("\(effect)", "a log")
    case .update, .send, .open, .close, .refreshCredentials, .probe, .commit: return
    }
  }

  public static func isLogged(_ effect: Effect) -> Bool {
    switch effect {
    case .send(_, .prompt), .update(.message), .update(.part), .update(.prompt): false
    case .send, .update: true
    case .connect, .open, .close, .refreshCredentials, .probe, .commit: false
    }
  }

  // Traces.

  public static func statusLabel(_ effect: Effect) -> String? {
    if case .update(.status(let status)) = effect { TraceText.status(status) } else { nil }
  }
}

extension Finding.Kind {
  /// A message was sent before another message that had priority over it.
  public static let outranked = Finding.Kind(rawValue: "outranked")
  /// A gap was shown although the server dropped nothing.
  public static let falseGap = Finding.Kind(rawValue: "falseGap")
}
