import HoldfastSocket
public import Foundation
public import HoldfastCore
import HoldfastStorage
import HoldfastWire
import HoldfastMessageStream
import Synchronization

/// The reason why `ShopStream.send` returned without the server having stored the message, and the
/// message that it concerns.
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
    /// The message was discarded.
    case discarded
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
    case timeout
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
    case .notStored(let failure): "the message could not be stored on this device: \(failure)"
    case .ended(let failure, let isQueued):
      (failure.map { "the stream has ended: \($0)" }
        ?? "the stream was closed before the server had the message")
        + (isQueued ? "; the message waits in the outbox" : "; the message is not in the outbox")
    case .timeout: "the server did not have the message in time; it stays in the outbox"
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

  /// An awaited message.
  private struct Awaited {
    /// The failure of its last attempt.
    var failure: LinkFailure?
  }

  private struct State {
    var awaited: [UUID128: Awaited] = [:]
    /// The failure for which the link is not tried again.
    var ended: LinkFailure?
    /// The failure for which the store is not tried again.
    var unusable: StoreFailure?

    /// The outcome of all messages while none can be sent.
    var end: Outcome? {
      if let unusable { return .failure(.notStored(unusable)) }
      if let ended { return .failure(.ended(ended, isQueued: false)) }
      return nil
    }
  }

  private let waiters = OutcomeWaiters<UUID128, Outcome>()
  private let state = Mutex(State())

  /// Registers a message, before it is passed to the stream.
  func register(_ id: UUID128) {
    state.withLock { $0.awaited[id] = Awaited() }
    waiters.register(id)
  }

  /// Returns the outcome of a registered message.
  func outcome(of id: UUID128) async -> Outcome {
    let outcome = await waiters.wait(for: id)
    state.withLock { $0.awaited[id] = nil }
    return outcome ?? .failure(.cancelled)
  }

  /// Ends the wait for a message after its time limit.
  func expire(_ id: UUID128) { waiters.resolve(id, .failure(.timeout)) }

  /// Records the failure of one attempt. The outbox contains only a text.
  func note(_ failure: LinkFailure, of id: UUID128) {
    state.withLock { $0.awaited[id]?.failure = failure }
  }

  /// Ends the waits that an update of the stream decides.
  func note(_ update: StreamUpdate) {
    switch update {
    case .outboxDone(let id, let message):
      waiters.resolve(id, message.map(Outcome.success) ?? .failure(.discarded))
    case .outbox(let entry):
      guard case .failed(let reason) = entry.state else { return }
      let failure = state.withLock { $0.awaited[entry.id]?.failure }
      waiters.resolve(entry.id, .failure(.refused(failure ?? .local(detail: reason))))
    case .status(let status): change { $0.ended = status.isFinal ? status.failure : nil }
    case .notice(.store(let failure)):
      switch failure {
      case .corrupt, .fromTheFuture: change { $0.unusable = failure }
      case .locked, .full, .denied, .other: return  // storing is retried
      }
    case .notice(.storeRecovered): change { $0.unusable = nil }
    case .messages, .edited, .gap, .gapClosed, .history, .notice: return
    }
  }

  /// Lets later senders wait again, because the user asks for another attempt.
  func reopen() { change { ($0.ended, $0.unusable) = (nil, nil) } }

  /// Ends all waits, because the stream has ended.
  func end() { waiters.endAll(.failure(.ended(nil, isQueued: false)), isOver: true) }

  private func change(_ body: (inout State) -> Void) {
    state.withLock { state in
      body(&state)
      if let end = state.end { waiters.endAll(end) } else { waiters.reopen() }
    }
  }
}
