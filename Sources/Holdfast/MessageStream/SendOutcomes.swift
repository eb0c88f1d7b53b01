public import Foundation
public import HoldfastCore
import HoldfastMessageData
import HoldfastMessageStream
import HoldfastPorts
import HoldfastSocket
import Synchronization

/// The reason why `ShopStream.send`, `edit` or `delete` returned without the server having stored
/// the message or the change, and the entry that it concerns.
public struct SendError: Error, Sendable, Hashable {
  /// The id of the message's entry in the outbox, by which it can be retried or discarded, and a
  /// late update be matched.
  public var id: UUID128
  /// The reason why the server is not known to have the message.
  public var reason: Reason

  /// Creates an error.
  public init(id: UUID128, _ reason: Reason) { (self.id, self.reason) = (id, reason) }

  /// The reasons why the server is not known to have a message.
  public enum Reason: Sendable, Hashable {
    /// The message was refused, no attempt to send it had an answer, or the user must sign in.
    ///
    /// A message that the stream had accepted stays in the outbox as failed. It is not sent again
    /// before `retry(_:)`. The stream does not accept an empty or too long text, or a message while
    /// the outbox is full.
    case refused(LinkFailure)
    /// The message was discarded, or a later edit or deletion of the same message replaced it.
    case discarded
    /// The message was deleted: before its edit arrived, or before it could be posted again.
    case deleted
    /// The server has no message with this id, and so cannot edit or delete it.
    case unknown
    /// The store on this device cannot be used, and no retry can help. The message waits in memory
    /// and is lost when the app ends.
    case notStored(StoreFailure)
    /// The stream has failed, or was closed if there is no failure.
    ///
    /// If `isQueued` is true, the message waits in the outbox: do not send it again. The stream
    /// sends it after `reconnect()` or, if it was closed, when the shop is opened again. Otherwise
    /// the message is not in the outbox.
    case ended(LinkFailure?, isQueued: Bool)
    /// The time limit has passed. The message stays in the outbox and is sent.
    ///
    /// The failure is the last one of the message or of the connection; `nil` if there was none. A
    /// 404 response, for example, can mean that the path in the server's URL is wrong.
    case timeout(LinkFailure?)
    /// The task that waited was cancelled. The message stays in the outbox and is sent.
    case cancelled
  }
}

extension SendError: CustomStringConvertible, LocalizedError {
  /// A sentence that says what happened.
  public var description: String { reason.description }

  /// The same text as `description`.
  public var errorDescription: String? { description }
}

extension SendError.Reason: CustomStringConvertible {
  /// A sentence that says what happened.
  public var description: String {
    switch self {
    case .refused(let failure): "the message was not sent: \(failure)"
    case .discarded: "the message was discarded"
    case .deleted: "the message was deleted"
    case .unknown: "the server has no such message"
    case .notStored(let failure): "the message could not be stored on this device: \(failure)"
    case .ended(let failure, let isQueued):
      (failure.map { "the stream has ended: \($0)" }
        ?? "the stream was closed before the server had the message")
        + (isQueued ? "; the message waits in the outbox" : "; the message is not in the outbox")
    case .timeout(let failure):
      "the server did not have the message in time" + (failure.map { ": \($0)" } ?? "")
        + "; the message stays in the outbox"
    case .cancelled: "the wait was cancelled; the message stays in the outbox"
    }
  }
}

/// The senders of one stream that wait until the server has stored their messages.
final class SendOutcomes: Sendable {
  /// The outcome of an awaited message.
  ///
  /// An `.ended` outcome does not contain whether the message is queued: the model knows it.
  enum Outcome: Sendable {
    case success(MessageID)
    case failure(SendError.Reason)
  }

  private struct State {
    /// The failures of the last attempts of awaited messages.
    var attempts: [UUID128: LinkFailure] = [:]
    /// The last failure of the connection or of a request; `nil` while the stream is connected.
    var latest: LinkFailure?
    var failures = FinalFailures()

    /// The outcome of all messages while none can be sent.
    var end: Outcome? {
      if let store = failures.store { return .failure(.notStored(store)) }
      return failures.link.map { .failure(.ended($0, isQueued: false)) }
    }
  }

  private let waiters = OutcomeWaiters<UUID128, Outcome>()
  private let state = Mutex(State())

  /// Registers a message, before it is passed to the stream.
  func register(_ id: UUID128) { waiters.register(id) }

  /// Returns the outcome of a registered message.
  func outcome(
    of id: UUID128, within limit: Duration?, on clock: any LinkClock
  ) async -> Outcome {
    let late = Outcome.failure(.timeout(nil))
    let outcome = await waiters.wait(for: id, within: limit, on: clock, late: late)
    let failure = state.withLock { $0.attempts.removeValue(forKey: id) ?? $0.latest }
    if case .failure(.timeout)? = outcome { return .failure(.timeout(failure)) }
    return outcome ?? .failure(.cancelled)
  }

  /// Records the failure of one attempt. The outbox contains only a text.
  func note(_ failure: LinkFailure, of id: UUID128) {
    state.withLock { state in
      if waiters.isRegistered(id) { state.attempts[id] = failure }
    }
  }

  /// Ends the waits that an update of the stream decides.
  func note(_ update: StreamUpdate) {
    switch update {
    case .outboxDone(let id, let message):
      let attempt = state.withLock { $0.attempts[id] }
      let reason: SendError.Reason =
        switch attempt?.missingMessage {
        case .deleted: .deleted
        case .unknown: .unknown
        case nil: .discarded
        }
      waiters.resolve(id, message.map(Outcome.success) ?? .failure(reason))
    case .outbox(let entry):
      guard case .failed(let reason) = entry.state else { return }
      let failure = state.withLock { $0.attempts[entry.id] }
      waiters.resolve(entry.id, .failure(.refused(failure ?? .local(detail: reason))))
    case .status(let status):
      note(status)
      change { $0.note(link: status.isFinal ? status.failure : nil) }
    case .notice(.fetchFailed(let failure)), .notice(.sendFailed(let failure)):
      state.withLock { $0.latest = failure }
    case .notice(.store(let failure)): change { $0.note(store: failure) }
    case .notice(.storeRecovered): change { $0.noteStoreRecovered() }
    case .messages, .edited, .deleted, .gap, .gapClosed, .history, .notice: return
    }
  }

  private func note(_ status: StreamStatus) {
    let failure = status.failure ?? status.reason.map { LinkFailure.local(detail: $0.description) }
    // A status without a reason, for example of the next attempt, does not end the condition.
    guard failure != nil || status.state == .connected else { return }
    state.withLock { $0.latest = failure }
  }

  /// Returns the failure of the last attempt of a registered message; `nil` if there was none.
  func lastFailure(of id: UUID128) -> LinkFailure? { state.withLock { $0.attempts[id] } }

  /// Lets later senders wait again, because the user asks for another attempt.
  func beginRestart() { change { $0.beginRestart() } }

  /// Ends the waits if the stream could not begin again.
  func endRestart() { change { $0.endRestart() } }

  /// Ends all waits, because the stream has ended.
  func end() { waiters.endAll(.failure(.ended(nil, isQueued: false)), isOver: true) }

  private func change(_ body: (inout FinalFailures) -> Void) {
    state.withLock { state in
      body(&state.failures)
      waiters.change(end: state.end)
    }
  }
}
