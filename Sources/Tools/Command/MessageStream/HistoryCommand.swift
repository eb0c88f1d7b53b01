import CommandKit
import Holdfast
import LinkRuntime
import LinkWire
import MessageStream

/// `holdfast history`: shows what is kept of a shop, without asking any server.
enum HistoryCommand {
  private static let shop = Parameter.optional(
    "shop", Format.shop, usual: "the only one that is kept", "the shop")
  private static let limit = Parameter.option(
    "limit", .integer("N", 1...100_000), default: 50,
    "how many messages at most, and how many of those that wait to be sent")
  private static let before = Parameter.optional(
    "before", Format.message, "only messages older than this one")

  /// Messages that are read at a time while an id is looked for.
  private static let page = 1_000

  static var command: Command {
    Command(
      "history", "show the messages that are kept here",
      details: [
        """
        Reads the data directory only, also while a stream writes there. Holes show as gaps, \
        messages that wait to be sent at the end. With --json the events are those of `stream`; \
        where several shops are kept and none is named, each is one object: event "shop", shop.
        """
      ],
      examples: [
        .init("holdfast history", "the newest 50 messages, or the shops that are kept"),
        .init("holdfast history --shop bakery --limit 1000 --json", "as JSON, oldest first"),
      ],
      takes: shop, Shared.data, limit, before, Shared.json, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    let directory = try call.dataDirectory()
    let found: Found
    do throws(StoreFailure) {
      let store = try await Platform.store(in: directory, forReading: true)
      found = try await look(in: store, call)
      await store.close()
    } catch {
      throw CommandFailure(error)
    }
    switch found {
    case .shops(let shops): for shop in shops { show(shop, call) }
    case .excerpt(let excerpt): show(excerpt, call)
    case .noSuch(let id):
      throw CommandFailure(
        .failed, "no message \(id) is kept there", remedy: "take an id that `history` shows")
    }
  }

  private enum Found {
    case shops([ShopID])
    case excerpt(Excerpt)
    case noSuch(MessageID)
  }

  /// What is to be shown of a shop.
  private struct Excerpt {
    var messages: [Message]
    var gaps: [Gap] = []
    var outbox: [OutboxEntry] = []
    /// Entries of the outbox that are left out, all older.
    var hidden = 0
    /// Whether the server has older messages than the first, and none of them is kept.
    var hasUnfetched = false
  }

  private static func look(
    in store: any TimelineStore, _ call: Invocation
  ) async throws(StoreFailure) -> Found {
    let shops = try await store.shops()
    guard let shop = call[shop] ?? (shops.count == 1 ? shops.first : nil) else {
      return .shops(shops)
    }
    let newest = try await store.load(shop, limit: call[limit])
    guard let id = call[before] else {
      let outbox = newest.outbox.suffix(call[limit])
      return .excerpt(
        Excerpt(
          messages: newest.messages, gaps: newest.gaps, outbox: Array(outbox),
          hidden: newest.outbox.count - outbox.count,
          hasUnfetched: !newest.hasOlder && isLate(newest.messages.first)))
    }
    guard let key = try await key(of: id, in: shop, store) else { return .noSuch(id) }
    let older = try await store.older(than: key, in: shop, limit: call[limit])
    var excerpt = Excerpt(messages: older, gaps: newest.gaps)
    if let first = older.first, isLate(first) {
      excerpt.hasUnfetched = try await store.older(than: first.key, in: shop, limit: 1).isEmpty
    }
    return .excerpt(excerpt)
  }

  /// Whether the server said of a message that it is not its first.
  private static func isLate(_ message: Message?) -> Bool {
    (message?.position?.offset ?? 1) > 1
  }

  /// Where a message stands; looks back from the newest, page by page.
  private static func key(
    of id: MessageID, in shop: ShopID, _ store: any TimelineStore
  ) async throws(StoreFailure) -> TimelineKey? {
    var messages = try await store.load(shop, limit: page).messages
    while let oldest = messages.first {
      if let found = messages.first(where: { $0.id == id }) { return found.key }
      messages = try await store.older(than: oldest.key, in: shop, limit: page)
    }
    return nil
  }

  private static func show(_ excerpt: Excerpt, _ call: Invocation) {
    let console = call.console
    let isJSON = call[Shared.json]
    let put: (StreamUpdate) -> Void = { update in
      if isJSON { return StreamEvents(console: console).show(update) }
      for line in StreamText.lines(for: update, console.style) { console.line(line) }
    }
    if excerpt.hasUnfetched, !isJSON {
      console.line("-- the server has older messages; `stream --older N` fetches them")
    }
    let span = excerpt.messages.first.flatMap { first in
      excerpt.messages.last.map { first.key...$0.key }
    }
    var gaps = excerpt.gaps.filter { span?.contains($0.before) ?? false }
    for message in excerpt.messages {
      while let gap = gaps.first, gap.before <= message.key {
        put(.gap(gap))
        gaps.removeFirst()
      }
      put(.messages([message], via: .history))
    }
    if excerpt.hidden > 0, !isJSON {
      let left = excerpt.hidden == 1 ? "an older one is" : "\(excerpt.hidden) older ones are"
      console.line("-- \(left) left out here; --limit shows more")
    }
    for entry in excerpt.outbox {
      if isJSON {
        put(.outbox(entry))
      } else {
        console.line(StreamText.waiting(entry, console.style))
      }
    }
  }

  private static func show(_ shop: ShopID, _ call: Invocation) {
    guard call[Shared.json] else { return call.console.line(shop.text) }
    call.console.object {
      $0.key("event")
      $0.string("shop")
      $0.key("shop")
      $0.string(shop.text)
    }
  }
}

extension Format<MessageID> {
  /// A message by its id.
  fileprivate static let message = Format(
    placeholder: "ID", expectation: "a message's id, a UUID"
  ) {
    MessageID($0)
  } write: {
    $0.description
  }
}
