import HoldfastCommandKit
import HoldfastCore
import HoldfastStorage
import HoldfastWire
import HoldfastMessageStream

/// The lines that show a stream's updates to people. Messages and server texts are escaped.
enum StreamText {
  /// Returns the lines for an update. They are empty for a status.
  static func lines(for update: StreamUpdate, _ style: Style) -> [String] {
    switch update {
    case .status, .history, .outboxDone: []
    case .messages(let messages, _): messages.map { message($0, style) }
    case .edited(let messages): messages.map { message($0, style, isEdited: true) }
    case .deleted(let deletions): deletions.map { "-- message \($0.id) was deleted" }
    case .gap: ["-- older messages are missing here; `stream --older N` fetches them"]
    case .gapClosed: ["-- no messages are missing there any more"]
    case .outbox(let entry): entry.state == .queued(tries: 0) ? [] : [waiting(entry, style)]
    case .notice(let value): [NoticeText.line(value.kind, value.description)]
    }
  }

  /// The notice for a shop that has older messages than the messages shown.
  static let hasOlder = "older messages exist; `stream --older N` shows them"

  /// The notice for a new consumer if the shop has older messages that are not stored.
  static let lacksOlder =
    "older messages exist and are not stored, and so are not delivered; add --older N to fetch them"

  static func message(
    _ message: ShopMessage, _ style: Style, isEdited: Bool = false
  ) -> String {
    let name = style.heading((message.username ?? message.user).printable)
    let mark = isEdited || message.isEdited ? " (edited)" : ""
    return "\(message.createdAt.local)  \(name)  \(message.text.printable)\(mark)"
  }

  /// Returns the line for a message that the server has not confirmed.
  static func waiting(_ entry: OutboxEntry, _ style: Style) -> String {
    let text = entry.text.printable
    return switch entry.state {
    case .queued(0): "-- waiting to be sent: \(text)"
    case .queued(1): "-- waiting to be sent after 1 attempt: \(text)"
    case .queued(let tries): "-- waiting to be sent after \(tries) attempts: \(text)"
    case .failed(let reason): style.alarm("-- not sent") + " (\(reason.printable)): \(text)"
    }
  }
}
