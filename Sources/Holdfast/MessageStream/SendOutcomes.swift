import HoldfastSocket
public import Foundation
public import HoldfastCore
import HoldfastStorage
import HoldfastWire
import HoldfastMessageStream
import Synchronization

/// The reason why `send` returned without the server having stored the message.
public enum SendError: Error, Sendable, Hashable {
  /// The message was refused, or no attempt to send it had an answer.
  ///
  /// A message that the stream had accepted stays in the outbox as failed, and can be retried. The
  /// stream does not accept an empty or too long text, or a message while the outbox is full.
  case refused(LinkFailure)
  /// The message was discarded.
  case discarded
  /// The store on this device cannot be used, and no retry can help. The message may be lost when
  /// the app ends.
  case notStored(StoreFailure)
  /// The stream has failed, or was closed if there is no failure.
  ///
  /// A message that was sent before stays in the outbox.
  case ended(LinkFailure?)
  /// The task that waited was cancelled. The message stays in the outbox and is sent.
  case cancelled
}

extension SendError: CustomStringConvertible, LocalizedError {
  /// A sentence that says what happened.
  public var description: String {
    switch self {
    case .refused(let failure): "the message was refused: \(failure)"
    case .discarded: "the message was discarded"
    case .notStored(let failure): "the message could not be stored on this device: \(failure)"
    case .ended(nil): "the stream was closed before the server had the message"
    case .ended(let failure?): "the stream has ended: \(failure)"
    case .cancelled: "the wait was cancelled; the message stays in the outbox"
    }
  }

  public var errorDescription: String? { description }
}

/// The senders of one stream that wait until the server has stored their messages.
final class SendOutcomes: Sendable {
  private typealias Outcome = Result<MessageID, SendError>

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
      if let ended { return .failure(.ended(ended)) }
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

  /// Returns the id of a registered message, once the server has stored it.
  func message(_ id: UUID128) async throws(SendError) -> MessageID {
    let outcome = await waiters.wait(for: id)
    state.withLock { $0.awaited[id] = nil }
    guard let outcome else { throw .cancelled }
    return try outcome.get()
  }

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
  func end() { waiters.endAll(.failure(.ended(nil)), isOver: true) }

  private func change(_ body: (inout State) -> Void) {
    state.withLock { state in
      body(&state)
      if let end = state.end { waiters.endAll(end) } else { waiters.reopen() }
    }
  }
}
