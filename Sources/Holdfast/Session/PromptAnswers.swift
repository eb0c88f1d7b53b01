public import Foundation
public import HoldfastCore
import HoldfastPorts
import HoldfastSession
import HoldfastSessionData
import HoldfastSocket
import Synchronization

/// The reason why `HeldSession.answer(to:)` returned no answer, and the prompt that it concerns.
public struct AnswerError: Error, Sendable, Hashable {
  /// The key of the prompt, by which it can be retried or discarded, and a late answer be matched.
  public var key: UUID128
  /// The reason why there is no answer.
  public var reason: Reason

  /// Creates an error.
  public init(key: UUID128, _ reason: Reason) { (self.key, self.reason) = (key, reason) }

  /// The reasons why there is no answer.
  public enum Reason: Sendable, Hashable {
    /// The session or the server refused the prompt, or the server could not answer it. The text
    /// says why.
    ///
    /// A prompt that the session had accepted can be retried.
    case failed(String)
    /// The server stopped before the answer was complete. The prompt is not sent again.
    case interrupted
    /// The server may have the prompt but did not report its outcome. The prompt can be retried.
    case unsure
    /// The store on this device can never be used. The prompt and its answer may be lost when the
    /// app ends.
    case notStored(StoreFailure)
    /// The session has failed, or was closed if there is no failure.
    ///
    /// If `isQueued` is true, the prompt stays in the outbox and is sent when the session connects
    /// again, at the latest in the next run. Otherwise the session was closed before it had
    /// accepted the prompt.
    case ended(LinkFailure?, isQueued: Bool)
    /// The time limit has passed. The prompt stays in the outbox, and its answer is reported as an
    /// event. The second value says why the session was not connected; it is `nil` if it was, or
    /// if it made its first attempt.
    case timeout(after: Duration, LinkStatus.Reason?)
    /// The task that waited was cancelled. The prompt stays in the outbox, and its answer is
    /// reported as an event.
    case cancelled
  }
}

extension AnswerError: CustomStringConvertible, LocalizedError {
  /// A sentence that says what happened.
  public var description: String { reason.description }

  /// The same text as `description`.
  public var errorDescription: String? { description }
}

extension AnswerError.Reason: CustomStringConvertible {
  /// A sentence that says what happened.
  public var description: String {
    switch self {
    case .failed(let reason): "the prompt was not answered: \(reason)"
    case .interrupted: "the answer was interrupted"
    case .unsure: "the server may have the prompt but did not report its outcome"
    case .notStored(let failure): "the prompt could not be stored on this device: \(failure)"
    case .ended(let failure, let isQueued):
      (failure.map { "the session has ended: \($0)" }
        ?? "the session was closed before the answer arrived")
        + (isQueued ? "; the prompt waits in the outbox" : "; the prompt was not accepted")
    case .timeout(let limit, let reason):
      "there was no answer within \(limit.text)" + (reason.map { ": \($0)" } ?? "")
        + "; the prompt stays in the outbox"
    case .cancelled: "the wait was cancelled; the prompt stays in the outbox"
    }
  }
}

/// The outcome of a prompt for the caller that waits for it.
struct PromptOutcome: Sendable {
  enum Answer: Sendable {
    case success(SessionEntry)
    case failure(AnswerError.Reason)
  }

  fileprivate(set) var answer: Answer
  /// The numbers of the news items that the caller receives with the outcome, in order.
  let news: [UInt64]

  init(_ answer: Answer, news: [UInt64] = []) {
    (self.answer, self.news) = (answer, news)
  }

  /// Returns the answer to the prompt with this key.
  func result(of key: UUID128) throws(AnswerError) -> SessionEntry {
    switch answer {
    case .success(let entry): return entry
    case .failure(let reason): throw AnswerError(key: key, reason)
    }
  }
}

/// The callers of one session that wait for the answers to their prompts.
///
/// It receives each update independently of the app's loop, so that the callers need no loop.
final class PromptAnswers: Sendable {
  private struct State {
    /// The awaited prompts, and whether each is known to be in the outbox.
    var awaited: [UUID128: Bool] = [:]
    /// The numbers of the messages that arrived while answers are awaited, by ID.
    var messages: [String: UInt64] = [:]
    var failures = FinalFailures()
    /// The reason in the last status.
    var reason: LinkStatus.Reason?

    /// The outcome of all prompts while none can be answered.
    var end: PromptOutcome? {
      if let store = failures.store { return PromptOutcome(.failure(.notStored(store))) }
      // The session stores prompts while it has failed.
      return failures.link.map { PromptOutcome(.failure(.ended($0, isQueued: true))) }
    }
  }

  private let waiters = OutcomeWaiters<UUID128, PromptOutcome>()
  private let state = Mutex(State())

  /// The maximum number of messages whose numbers are known. Answers among other messages are
  /// returned, but not marked as shown.
  private static let limit = 1_000

  /// Registers a prompt, before it is passed to the session.
  ///
  /// - Returns: False if a call already waits for this key.
  @discardableResult
  func register(_ key: UUID128) -> Bool {
    state.withLock { state in
      guard state.awaited[key] == nil else { return false }
      state.awaited[key] = false
      waiters.register(key)
      return true
    }
  }

  /// Returns the outcome of a registered prompt.
  func outcome(
    of key: UUID128, within limit: Duration?, on clock: any LinkClock
  ) async -> PromptOutcome {
    let late = PromptOutcome(.failure(.timeout(after: limit ?? .zero, nil)))
    var outcome =
      await waiters.wait(for: key, within: limit, on: clock, late: late)
      ?? PromptOutcome(.failure(.cancelled))
    let (isQueued, reason) = state.withLock { state in
      defer { if state.awaited.isEmpty { state.messages = [:] } }
      return (state.awaited.removeValue(forKey: key) ?? false, state.reason)
    }
    switch outcome.answer {
    case .failure(.ended(nil, _)): outcome.answer = .failure(.ended(nil, isQueued: isQueued))
    case .failure(.timeout(let limit, _)):
      outcome.answer = .failure(.timeout(after: limit, reason))
    case .success, .failure: break
    }
    return outcome
  }

  /// Ends the waits that an update of the session decides.
  func note(_ update: SessionUpdate) {
    switch update {
    case .message(let entry, _, let news):
      state.withLock { state in
        guard !state.awaited.isEmpty else { return }
        if state.messages.count >= Self.limit { state.messages = [:] }
        state.messages[entry.id] = news
      }
    case .prompt(let prompt, let news): note(prompt, news)
    case .status(let status):
      state.withLock { $0.reason = status.reason }
      change { $0.note(link: status.isFinal ? status.failure : nil) }
    case .notice(.store(let failure)): change { $0.note(store: failure) }
    case .notice(.storeRecovered): change { $0.noteStoreRecovered() }
    case .quality, .pending, .part, .gap, .record, .notice: return
    }
  }

  private func note(_ prompt: SessionPromptState, _ news: UInt64?) {
    guard let answer = Self.answer(to: prompt) else {
      // The session reports a prompt once it is stored.
      return state.withLock { state in
        if state.awaited[prompt.key] != nil { state.awaited[prompt.key] = true }
      }
    }
    let message = state.withLock { state in prompt.answer.flatMap { state.messages[$0.id] } }
    waiters.resolve(prompt.key, PromptOutcome(answer, news: [message, news].compactMap(\.self)))
  }

  /// Returns the answer to a prompt, or the reason why it has none; `nil` while it has no outcome.
  private static func answer(to prompt: SessionPromptState) -> PromptOutcome.Answer? {
    switch prompt.state {
    case .queued, .sent, .accepted: nil
    case .answered: prompt.answer.map(PromptOutcome.Answer.success) ?? .failure(.unsure)
    case .failed: .failure(.failed(prompt.reason ?? "no reason was given"))
    case .interrupted: .failure(.interrupted)
    case .unsure: .failure(.unsure)
    }
  }

  /// Lets later callers wait again, because the user asks for another attempt.
  func beginRestart() { change { $0.beginRestart() } }

  /// Ends the waits if the session could not begin again.
  func endRestart() { change { $0.endRestart() } }

  /// Ends all waits, because the session has ended.
  func end() {
    waiters.endAll(PromptOutcome(.failure(.ended(nil, isQueued: false))), isOver: true)
  }

  private func change(_ body: (inout FinalFailures) -> Void) {
    state.withLock { state in
      body(&state.failures)
      waiters.change(end: state.end)
    }
  }
}
