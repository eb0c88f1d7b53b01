import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastMessageData
import HoldfastMessageStream

/// The lines that show a stream's updates to people. Messages and server texts are escaped.
struct StreamText {
  static let ids = Parameter.flag(
    "ids", "show the id of each message, for `edit`, `delete` and `send --reply-to`")

  let style: Style
  /// Whether each message is shown with its id.
  var showsIDs = false
  /// The messages to which the lines refer.
  var quotes: [MessageID: Quote] = [:]

  /// Returns the lines for an update. They are empty for a status.
  func lines(for update: StreamUpdate) -> [String] {
    switch update {
    case .status, .history, .outboxDone: []
    case .messages(let messages, _): messages.map { message($0) }
    case .edited(let messages): messages.map { "-- edited: \(line(of: $0))" }
    case .deleted(let deletions): deletions.map { "-- deleted: \(name(of: $0.id))" }
    case .gap:
      ["-- older messages are missing here; `stream --older N` fetches those that the server keeps"]
    case .gapClosed: ["-- no messages are missing there any more"]
    case .outbox(let entry): lines(for: entry)
    case .notice(let value): [NoticeText.line(value.kind, value.description)]
    }
  }

  /// The notice for a shop that has older messages than the messages shown.
  static let hasOlder = "older messages exist; `stream --older N` shows them"

  /// The notice for a new consumer if the shop has older messages that are not stored.
  static let lacksOlder =
    "older messages exist and are not stored, and so are not delivered; add --older N to fetch them"

  private func message(_ message: ShopMessage) -> String {
    line(of: message) + (message.isEdited ? " (edited)" : "")
  }

  /// Returns a message on one line, with the beginning of the message to which it replies.
  private func line(of message: ShopMessage) -> String {
    let quote = Quote(message)
    let reply = message.parent.map { parent in
      "↳ \(quotes[parent].map { "\($0.name): \"\($0.excerpt)\"" } ?? "message \(parent)")  "
    }
    return "\(head(quote, message.id))  \(reply ?? "")\(Self.shown(message.text))"
  }

  /// Returns the id if ids are shown, the time and the author of a message.
  private func head(_ quote: Quote, _ id: MessageID) -> String {
    let start = showsIDs ? "\(id)  " : ""
    return "\(start)\(quote.createdAt.local)  \(style.heading(quote.name))"
  }

  /// Returns the words for a message without its text.
  private func name(of id: MessageID) -> String {
    quotes[id].map { head($0, id) } ?? "message \(id)"
  }

  /// Returns a text in which `[image URL]` stands for each image.
  private static func shown(_ text: String) -> String {
    Quote.text(of: text) { "[image \($0)]" }.printable
  }

  private static func shown(_ entry: OutboxEntry) -> String {
    guard let image = entry.image else { return shown(entry.text) }
    let picture = "[image, \(image.type.rawValue), \(image.size) bytes]"
    return entry.text.isEmpty ? picture : "\(shown(entry.text)) \(picture)"
  }

  /// Returns the lines for a change of the outbox. An edit or a deletion that failed is followed by
  /// its message, which stays as it is.
  private func lines(for entry: OutboxEntry) -> [String] {
    switch entry.state {
    case .queued(0): return []
    case .queued: return [waiting(entry)]
    case .failed:
      guard let target = entry.target, let quote = quotes[target] else { return [waiting(entry)] }
      return [waiting(entry), "-- unchanged: \(head(quote, target))  \(quote.excerpt)"]
    }
  }

  /// Returns the line for a message, an edit or a deletion that the server has not confirmed.
  func waiting(_ entry: OutboxEntry) -> String {
    let (what, text) = words(entry)
    return switch entry.state {
    case .queued(0): "-- \(what)waiting to be sent\(text)"
    case .queued(1): "-- \(what)waiting to be sent after 1 attempt\(text)"
    case .queued(let tries): "-- \(what)waiting to be sent after \(tries) attempts\(text)"
    case .failed(let reason): style.alarm("-- \(what)not sent") + " (\(reason.printable))\(text)"
    }
  }

  /// Returns the line for an entry that the user discarded.
  func discarded(_ entry: OutboxEntry) -> String {
    let (what, text) = words(entry)
    return "-- \(what)discarded\(text)"
  }

  /// Returns the words for the kind of an entry, and its text.
  private func words(_ entry: OutboxEntry) -> (kind: String, text: String) {
    let text = ": \(Self.shown(entry))"
    return switch entry.action {
    case .post: (entry.parent.map { "reply to \($0) " } ?? "", text)
    case .edit(let id): ("edit of \(id) ", text)
    case .delete(let id): ("deletion of \(id) ", "")
    }
  }
}

/// The beginning of a message, for lines that refer to it.
struct Quote: Sendable, Hashable {
  let createdAt: Timestamp
  /// The name of the author, printable.
  let name: String
  /// The first characters of the text, printable.
  let excerpt: String

  /// The maximum number of characters of an excerpt.
  static let length = 40

  init(_ message: ShopMessage) {
    createdAt = message.createdAt
    name = (message.username ?? message.user).printable
    let text = Self.text(of: message.text) { _ in "[image]" }
    // A character can consist of any number of scalars.
    let start = String(text.unicodeScalars.prefix(Self.length))
    let cut = start.unicodeScalars.count < text.unicodeScalars.count ? "…" : ""
    excerpt = start.split(whereSeparator: \.isNewline).joined(separator: " ").printable + cut
  }

  /// Returns a text in which the references to images are replaced.
  static func text(of text: String, image: (Substring) -> String) -> String {
    guard !ImageReference.urls(in: text).isEmpty else { return text }
    let parts = ImageReference.parts(of: text).map { part in
      switch part {
      case .text(let text): String(text)
      case .image(let url): image(url)
      }
    }
    return parts.joined()
  }
}
