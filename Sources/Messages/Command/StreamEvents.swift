import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastJSON
import HoldfastMessageData
import HoldfastMessageStream

extension StreamUpdate: ShownUpdate {
  /// The paragraph that describes the JSON events in help texts.
  static let details =
    JSONEvents.details + """
      status (status, attempt, of, retryIn in seconds, mode live|polling|none, reason), message \
      (id, createdAt, username, text, images: the URLs if there are any, via \
      live|catchUp|poll|history, or null with --consumer or --from, position; each id once), \
      edited (id, username, text, images, updatedAt, position of the edit), deleted (id, position \
      of the deletion, or null if it is not known), these three with delivery (a number) with \
      --consumer or --from, gap and gapClosed (from, to), outbox (key, text, image: its type if \
      there is one, for a change of a message action edit|delete and its id, state queued|failed, \
      tries, reason), sent (key, id), discarded (key), notice (kind, detail). A reply also has \
      parentId, the id of the message to which it replies, in message, edited and outbox.
      """

  var state: LinkState? {
    guard case .status(let status) = self else { return nil }
    return LinkState(
      name: status.state.rawValue, attempt: status.attempt, maxAttempts: status.maxAttempts,
      retryAt: status.retryAt, mode: status.mode, reason: status.reason)
  }

  var isNotice: Bool {
    if case .notice = self { true } else { false }
  }

  func lines(_ style: Style) -> [String] { StreamText(style: style).lines(for: self) }

  func write(to events: JSONEvents) {
    switch self {
    case .status, .history: return
    case .messages(let messages, let via):
      for message in messages { events.write("message") { message.write(to: &$0, via: via) } }
    case .edited(let messages):
      for message in messages { events.write("edited", message.writeEdit) }
    case .deleted(let deletions):
      for deletion in deletions { events.write("deleted", deletion.write) }
    case .gap(let gap): events.write("gap", gap.write)
    case .gapClosed(let gap): events.write("gapClosed", gap.write)
    case .outbox(let entry): events.write("outbox", entry.write)
    case .outboxDone(let key, let message):
      events.write(message == nil ? "discarded" : "sent") {
        $0.entry("key", key.description)
        if let message { $0.entry("id", message.description) }
      }
    case .notice(let notice): events.note(notice.kind, notice.description)
    }
  }
}

extension ShopDelivery {
  /// Writes the event for a message, an edit or a deletion, with the number of the delivery.
  func write(to events: JSONEvents) {
    let kind =
      switch content {
      case .message: "message"
      case .edit: "edited"
      case .deletion: "deleted"
      }
    events.write(kind) {
      $0.entry("delivery", number)
      switch content {
      case .message(let message): message.write(to: &$0, via: nil)
      case .edit(let message): message.writeEdit(to: &$0)
      case .deletion(let deletion): deletion.write(to: &$0)
      }
    }
  }
}

extension DeletedMessage {
  fileprivate func write(to writer: inout JSONWriter) {
    writer.entry("id", id.description)
    writer.entry("position", changed?.description)
  }
}

extension ShopMessage {
  fileprivate func write(to writer: inout JSONWriter, via: StreamUpdate.Via?) {
    writer.entry("id", id.description)
    writer.entry("createdAt", RFC3339.format(createdAt))
    writer.entry("username", username)
    content.write(to: &writer)
    writer.entry("via", via?.rawValue)
    writer.entry("position", position?.description)
  }

  fileprivate func writeEdit(to writer: inout JSONWriter) {
    writer.entry("id", id.description)
    writer.entry("username", username)
    content.write(to: &writer)
    writer.entry("updatedAt", updatedAt.map(RFC3339.format))
    writer.entry("position", changed?.description)
  }
}

extension MessageContent {
  /// Writes the text with the URLs of the images to which it refers, and the message to which the
  /// message replies, if there are any.
  fileprivate func write(to writer: inout JSONWriter) {
    writer.entry("text", text)
    let urls = ImageReference.urls(in: text)
    if !urls.isEmpty { writer.entry("images", urls.map(String.init)) }
    if let parent { writer.entry("parentId", parent.description) }
  }
}

extension ShopGap {
  fileprivate func write(to writer: inout JSONWriter) {
    writer.entry("from", after.map { RFC3339.format($0.createdAt) })
    writer.entry("to", RFC3339.format(before.createdAt))
  }
}

extension OutboxEntry {
  func write(to writer: inout JSONWriter) {
    writer.entry("key", id.description)
    if let image { writer.entry("image", image.type.rawValue) }
    content.write(to: &writer)
    switch action {
    case .post: break
    case .edit(let message):
      writer.entry("action", "edit")
      writer.entry("id", message.description)
    case .delete(let message):
      writer.entry("action", "delete")
      writer.entry("id", message.description)
    }
    switch state {
    case .queued(let tries):
      writer.entry("state", "queued")
      writer.entry("tries", tries)
    case .failed(let reason):
      writer.entry("state", "failed")
      writer.entry("reason", reason)
    }
  }
}

extension StreamNotice {
  /// The stable name of the notice, for scripts.
  var kind: String {
    switch self {
    case .malformed: "malformed"
    case .rejected: "rejected"
    case .unknownType: "unknown-type"
    case .oversized: "oversized"
    case .fetchFailed: "fetch-failed"
    case .sendFailed: "send-failed"
    case .store: "store"
    case .storeRecovered: "store-recovered"
    case .draining: "draining"
    case .newEpoch: "new-epoch"
    case .signIn: "sign-in"
    case .forbidden: "forbidden"
    case .security: "security"
    }
  }
}
