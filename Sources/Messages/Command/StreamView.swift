import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastMessageData
import HoldfastMessageStream

/// A view of a shop's stream that remembers what it showed, for lines that refer to a message: a
/// reply, a deletion, a failed edit.
actor StreamView: LinkView {
  private let output: any LinkView<QuotedUpdate>
  private let showsIDs: Bool
  private var quotes = Quotes()

  init(_ output: any LinkView<QuotedUpdate>, showsIDs: Bool) {
    self.output = output
    self.showsIDs = showsIDs
  }

  func show(_ update: StreamUpdate) async {
    let quoted = QuotedUpdate(update: update, quotes: quotes.take(update), showsIDs: showsIDs)
    await output.show(quoted)
  }

  func note(_ kind: String, _ detail: String?) async { await output.note(kind, detail) }

  func end() async { await output.end() }
}

/// An update of a stream with the messages to which its lines refer.
struct QuotedUpdate: ShownUpdate {
  let update: StreamUpdate
  let quotes: [MessageID: Quote]
  let showsIDs: Bool

  var state: LinkState? { update.state }
  var isNotice: Bool { update.isNotice }

  func lines(_ style: Style) -> [String] {
    StreamText(style: style, showsIDs: showsIDs, quotes: quotes).lines(for: update)
  }

  func write(to events: JSONEvents) { update.write(to: events) }
}

/// The beginnings of the messages that were shown last.
struct Quotes: Sendable {
  private var known: [MessageID: Quote] = [:]
  private var order: [MessageID] = []

  /// The number of messages that are remembered.
  static let limit = 1_000

  /// Applies an update. Returns the messages to which its lines refer.
  mutating func take(_ update: StreamUpdate) -> [MessageID: Quote] {
    switch update {
    case .messages(let messages, _), .edited(let messages):
      for message in messages { note(message) }
      return quotes(of: messages.compactMap(\.parent))
    case .deleted(let deletions):
      defer { for deletion in deletions { known[deletion.id] = nil } }
      return quotes(of: deletions.map(\.id))
    case .outbox(let entry): return quotes(of: [entry.target].compactMap(\.self))
    case .status, .gap, .gapClosed, .outboxDone, .history, .notice: return [:]
    }
  }

  private mutating func note(_ message: ShopMessage) {
    if known.updateValue(Quote(message), forKey: message.id) == nil { order.append(message.id) }
    guard order.count > 2 * Self.limit else { return }
    for id in order.prefix(order.count - Self.limit) { known[id] = nil }
    order.removeFirst(order.count - Self.limit)
  }

  private func quotes(of ids: [MessageID]) -> [MessageID: Quote] {
    var found: [MessageID: Quote] = [:]
    for id in ids { found[id] = known[id] }
    return found
  }
}
