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
    return "\(message.createdAt.local)  \(name)  \(shown(message.text))\(mark)"
  }

  /// Returns a text in which `[image URL]` stands for each image.
  private static func shown(_ text: String) -> String {
    guard !ImageReference.urls(in: text).isEmpty else { return text.printable }
    let parts = ImageReference.parts(of: text).map { part in
      switch part {
      case .text(let text): String(text)
      case .image(let url): "[image \(url)]"
      }
    }
    return parts.joined().printable
  }

  private static func shown(_ entry: OutboxEntry) -> String {
    guard let image = entry.image else { return entry.text.printable }
    let picture = "[image, \(image.type.rawValue), \(image.size) bytes]"
    return entry.text.isEmpty ? picture : "\(entry.text.printable) \(picture)"
  }

  /// Returns the line for a message, an edit or a deletion that the server has not confirmed.
  static func waiting(_ entry: OutboxEntry, _ style: Style) -> String {
    let (what, text) = words(entry)
    return switch entry.state {
    case .queued(0): "-- \(what)waiting to be sent\(text)"
    case .queued(1): "-- \(what)waiting to be sent after 1 attempt\(text)"
    case .queued(let tries): "-- \(what)waiting to be sent after \(tries) attempts\(text)"
    case .failed(let reason): style.alarm("-- \(what)not sent") + " (\(reason.printable))\(text)"
    }
  }

  /// Returns the line for an entry that the user discarded.
  static func discarded(_ entry: OutboxEntry) -> String {
    let (what, text) = words(entry)
    return "-- \(what)discarded\(text)"
  }

  /// Returns the words for the kind of an entry, and its text.
  private static func words(_ entry: OutboxEntry) -> (kind: String, text: String) {
    let text = ": \(shown(entry))"
    return switch entry.action {
    case .post: ("", text)
    case .edit(let id): ("edit of \(id) ", text)
    case .delete(let id): ("deletion of \(id) ", "")
    }
  }
}
