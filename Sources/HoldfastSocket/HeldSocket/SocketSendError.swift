public import Foundation
public import HoldfastCore

extension HeldSocket {
  /// The reason why a socket did not accept a message.
  public struct SendError: Error, Sendable, Hashable {
    /// The number of the message.
    public var id: UInt64
    /// The reason why the message was not accepted.
    public var reason: Reason

    /// Creates an error.
    public init(id: UInt64, _ reason: Reason) { (self.id, self.reason) = (id, reason) }

    /// The reasons why a socket does not accept a message.
    public enum Reason: Error, Sendable, Hashable {
      /// There is no connection, and the outbox is off.
      case notConnected
      /// The outbox did not accept the message.
      case refused(OutboxRefusal)
      /// The durable outbox could not store the message.
      case notStored(detail: String)
      /// The socket was closed. The message is lost, unless a durable outbox stored it at the same
      /// time.
      case closed
      /// The task that waited was cancelled. The socket may have accepted the message.
      case cancelled
    }
  }
}

extension HeldSocket.SendError: CustomStringConvertible, LocalizedError {
  /// A sentence that says what happened.
  public var description: String { reason.description }

  /// The same text as `description`.
  public var errorDescription: String? { description }
}

extension HeldSocket.SendError.Reason: CustomStringConvertible {
  /// A sentence that says what happened.
  public var description: String {
    switch self {
    case .notConnected: "the message was not sent: there is no connection"
    case .refused(.full): "the message was not sent: too many wait"
    case .refused(.tooLong(let bytes)):
      "the message was not sent: its \(bytes) bytes are over the limit of \(ProvenQueue.longest)"
    case .notStored(let detail): "the message was not sent: \(detail)"
    case .closed: "the message was not sent: the socket was closed"
    case .cancelled: "the wait was cancelled; the message may be sent"
    }
  }
}
