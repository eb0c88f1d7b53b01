public import Foundation
public import Holdfast

/// One message as a row of a list.
public struct MessageRow: Sendable, Hashable, Identifiable {
  /// The message itself.
  public var message: Message
  /// Its id.
  public var id: MessageID { message.id }
  /// Its text.
  public var text: String { message.text }
  /// The display name of its author, or what the server calls them.
  public var author: String { message.username ?? message.user }
  /// When it was written, by the server's clock.
  public var date: Date { Date(message.createdAt) }

  /// The row of a message.
  public init(_ message: Message) { self.message = message }
}

/// One message of the user that has not arrived yet, as a row of a list.
public struct WaitingRow: Sendable, Hashable, Identifiable {
  /// What is known of it.
  public var entry: OutboxEntry
  /// Its idempotency key.
  public var id: UUID128 { entry.id }
  /// Its text.
  public var text: String { entry.text }
  /// When the user sent it.
  public var date: Date { Date(entry.createdAt) }
  /// Whether it is not tried any more; the user can retry or discard it.
  public var hasFailed: Bool {
    switch entry.state {
    case .queued: false
    case .failed: true
    }
  }

  /// The row of an entry.
  public init(_ entry: OutboxEntry) { self.entry = entry }
}
