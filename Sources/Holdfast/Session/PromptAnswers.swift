public import Foundation
public import HoldfastCore
import HoldfastSocket
import HoldfastWire
import HoldfastSession
import Synchronization

/// The reason why `HeldSession.answer(to:)` returned no answer.
public enum AnswerError: Error, Sendable, Hashable {
  /// The session or the server refused the prompt, or the server could not answer it. The text
  /// says why.
  case failed(String)
  /// The server stopped before the answer was complete. The prompt is not sent again.
  case interrupted
  /// The server may have the prompt but did not report its outcome.
  case unsure
  /// The session has failed, or was closed if there is no failure. The prompt stays in the outbox
  /// and is sent when the session connects again, if the session had accepted it.
  case ended(LinkFailure?)
  /// The time limit has passed. The prompt stays in the outbox, and its answer is reported as an
  /// event.
  case timeout
  /// The task that waited was cancelled. The prompt stays in the outbox, and its answer is reported
  /// as an event.
  case cancelled
}

extension AnswerError: CustomStringConvertible, LocalizedError {
  /// A sentence that says what happened.
  public var description: String {
    switch self {
    case .failed(let reason): "the prompt was not answered: \(reason)"
    case .interrupted: "the answer was interrupted"
    case .unsure: "the server may have the prompt but did not report its outcome"
    case .ended(nil): "the session was closed before the answer arrived"
    case .ended(let failure?): "the session has ended: \(failure)"
    case .timeout: "there was no answer in time; the prompt stays in the outbox"
    case .cancelled: "the wait was cancelled; the prompt stays in the outbox"
    }
  }

  /// The same text as `description`.
  public var errorDescription: String? { description }
}

/// The outcome of a prompt for the caller that waits for it.
struct PromptOutcome: Sendable {
  typealias Answer = Result<SessionEntry, AnswerError>

  let result: Answer
  /// The numbers of the news items that the caller receives with the outcome, in order.
  let news: [UInt64]

  init(_ result: Answer, news: [UInt64] = []) {
    (self.result, self.news) = (result, news)
  }
}

/// The callers of one session that wait for the answers to their prompts.
///
/// It receives each update independently of the app's loop, so that the callers need no loop.
final class PromptAnswers: Sendable {
  private struct State {
    var awaited: Set<UUID128> = []
    /// The numbers of the messages that arrived while answers are awaited, by ID.
    var messages: [String: UInt64] = [:]
  }

  private let waiters = OutcomeWaiters<UUID128, PromptOutcome>()
  private let state = Mutex(State())

  /// The maximum number of messages whose numbers are known. Answers among other messages are
  /// returned, but not marked as shown.
  private static let limit = 1_000

  /// Registers a prompt, before it is passed to the session.
  func register(_ key: UUID128) {
    state.withLock { _ = $0.awaited.insert(key) }
    waiters.register(key)
  }

  /// Returns the outcome of a registered prompt.
  func outcome(of key: UUID128) async -> PromptOutcome {
    let outcome = await waiters.wait(for: key)
    state.withLock { state in
      state.awaited.remove(key)
      if state.awaited.isEmpty { state.messages = [:] }
    }
    return outcome ?? PromptOutcome(.failure(.cancelled))
  }

  /// Ends the wait for a prompt after its time limit.
  func expire(_ key: UUID128) { waiters.resolve(key, PromptOutcome(.failure(.timeout))) }

  /// Ends the waits that an update of the session decides.
  func note(_ update: SessionUpdate) {
    switch update {
    case .message(let entry, _, let news):
      state.withLock { state in
        guard !state.awaited.isEmpty else { return }
        if state.messages.count >= Self.limit { state.messages = [:] }
        state.messages[entry.id] = news
      }
    case .prompt(let prompt, let news):
      guard let result = Self.result(of: prompt) else { return }
      let message = state.withLock { state in prompt.answer.flatMap { state.messages[$0.id] } }
      waiters.resolve(
        prompt.key, PromptOutcome(result, news: [message, news].compactMap(\.self)))
    case .status(let status):
      if status.isFinal {
        waiters.endAll(PromptOutcome(.failure(.ended(status.failure))))
      } else {
        waiters.reopen()
      }
    case .quality, .pending, .part, .gap, .record, .notice: return
    }
  }

  /// Returns the result of a prompt; `nil` while it has none.
  private static func result(of prompt: SessionPromptState) -> PromptOutcome.Answer? {
    switch prompt.state {
    case .queued, .sent, .accepted: nil
    case .answered: prompt.answer.map(PromptOutcome.Answer.success) ?? .failure(.unsure)
    case .failed: .failure(.failed(prompt.reason ?? "no reason was given"))
    case .interrupted: .failure(.interrupted)
    case .unsure: .failure(.unsure)
    }
  }

  /// Lets later callers wait again, because the user asks for another attempt.
  func reopen() { waiters.reopen() }

  /// Ends all waits, because the session has ended.
  func end() { waiters.endAll(PromptOutcome(.failure(.ended(nil))), isOver: true) }
}
