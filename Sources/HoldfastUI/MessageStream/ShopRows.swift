public import Foundation
public import Holdfast
public import HoldfastMessageData

/// A message, as a row of a list.
public struct MessageRow: Sendable, Hashable, Identifiable {
  /// The message. If the user has edited it, it has the new text.
  public var message: ShopMessage
  /// The user's edit or deletion of the message that the server has not confirmed; `nil` if there
  /// is none. A message whose deletion waits has no row.
  public var change: OutboxEntry?
  /// The id of the message.
  public var id: MessageID { message.id }
  /// The text of the message.
  public var text: String { message.text }
  /// The display name of the author, or the author's user id if there is no display name.
  public var author: String { message.username ?? message.user }
  /// Whether the text of the message was edited.
  public var isEdited: Bool { message.isEdited }
  /// The time at which the message was created, according to the server's clock.
  public var date: Date { message.date }

  /// A text to show that says why the server refused the change; `nil` if there is no change or it
  /// waits.
  public var reason: String? { change.flatMap { WaitingRow($0).reason } }

  /// Creates the row of a message.
  public init(_ message: ShopMessage, change: OutboxEntry? = nil) {
    (self.message, self.change) = (message, change)
  }
}

/// A message of the user that the server has not received yet, as a row of a list.
public struct WaitingRow: Sendable, Hashable, Identifiable {
  /// The entry of the message in the outbox.
  public var entry: OutboxEntry
  /// The idempotency key of the message.
  public var id: UUID128 { entry.id }
  /// The text of the message.
  public var text: String { entry.text }
  /// The time at which the user sent the message.
  public var date: Date { entry.date }
  /// Whether sending has failed. The user can then retry or discard the message.
  public var hasFailed: Bool { reason != nil }
  /// A text to show that says why sending has failed, such as `no answer from the server`; `nil` if
  /// the message waits.
  public var reason: String? {
    switch entry.state {
    case .queued: nil
    case .failed(let reason): reason
    }
  }

  /// Creates the row of an entry.
  public init(_ entry: OutboxEntry) { self.entry = entry }
}
