import HoldfastCommandKit
import Holdfast
import HoldfastCore
import HoldfastJSON
import HoldfastFeaturePorts
import HoldfastStorage
import HoldfastWire
import HoldfastMessageStream

/// The command `holdfast history`: shows the stored messages of a shop without a server.
enum HistoryCommand {
  private static let shop = Parameter.optional(
    "shop", Format.shop, usual: "the only one that is stored", "the shop's id")
  private static let limit = Parameter.option(
    "limit", .integer("N", 1...100_000), default: 50,
    "the most messages to show, and the most unsent ones")
  private static let before = Parameter.optional(
    "before", .uuid("ID", of: "a message's id"), "show only messages older than this one")

  /// The number of messages that are read at a time when searching for an ID.
  private static let page = 1_000

  static var command: Command {
    Command(
      "history", "show the stored messages",
      details: [
        """
        Reads only the data directory, which a running stream may be writing to. Missing messages \
        are shown as gaps, unsent messages at the end. Edits that wait to be sent are applied, and \
        messages whose deletion waits are hidden. With --json the events are those of \
        `stream`. If several shops are stored and none is given, each is one object: event "shop", \
        shop.
        """
      ],
      examples: [
        .init("holdfast history", "the newest 50 messages, or the stored shops"),
        .init("holdfast history --shop bakery --limit 1000 --json", "as JSON, oldest first"),
      ],
      takes: shop, Shared.writtenData, limit, before, Shared.json, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    let directory = try call.dataDirectory()
    let found = try await CommandFailure.catching { () throws(StoreFailure) in
      let store = try await HoldfastPlatform.store(in: directory, forReading: true)
      return try await store.closing { () throws(StoreFailure) in try await find(in: store, call) }
    }
    switch found {
    case .shops(let shops):
      for shop in shops { call.put(shop.text, event: "shop") { $0.entry("shop", shop.text) } }
      if shops.isEmpty { call.diagnostic("\(directory) contains no messages of any shop") }
    case .excerpt(let excerpt): show(excerpt, call)
    case .unknown(let shop, let known): call.diagnostic(nothing(of: shop, known))
    case .noSuch(let id):
      throw CommandFailure(
        .failed, "message \(id) is not stored", remedy: "use an id that `history --json` shows")
    }
  }

  private enum Found {
    case shops([ShopID])
    case excerpt(Excerpt)
    /// No message of this shop is stored, but there are messages of other shops.
    case unknown(ShopID, known: [ShopID])
    case noSuch(MessageID)
  }

  /// The part of a shop's history to show.
  private struct Excerpt {
    var messages: [ShopMessage]
    var gaps: [ShopGap] = []
    var outbox: [OutboxEntry] = []
    /// The edits and deletions that wait.
    var pending = PendingChanges()
    /// The number of older outbox entries that are not shown.
    var hidden = 0
    /// Whether the server may have messages older than the first message shown. None is stored.
    var hasUnfetched = false
  }

  private static func find(
    in store: any TimelineStore, _ call: Invocation
  ) async throws(StoreFailure) -> Found {
    let shops = try await store.shops()
    guard let shop = call[shop] ?? (shops.count == 1 ? shops.first : nil) else {
      return .shops(shops)
    }
    guard shops.contains(shop) else { return .unknown(shop, known: shops) }
    let newest = try await store.load(shop, limit: call[limit])
    guard let id = call[before] else {
      let outbox = newest.outbox.suffix(call[limit])
      return .excerpt(
        Excerpt(
          messages: newest.messages, gaps: newest.gaps, outbox: Array(outbox),
          pending: PendingChanges(newest.outbox), hidden: newest.outbox.count - outbox.count,
          hasUnfetched: !newest.hasOlder && isLate(newest.messages.first)))
    }
    guard let key = try await key(of: id, in: shop, store) else { return .noSuch(id) }
    let older = try await store.older(than: key, in: shop, limit: call[limit])
    var excerpt = Excerpt(
      messages: older, gaps: newest.gaps, pending: PendingChanges(newest.outbox))
    if let first = older.first, isLate(first) {
      excerpt.hasUnfetched = try await store.older(than: first.key, in: shop, limit: 1).isEmpty
    }
    return .excerpt(excerpt)
  }

  private static func nothing(of shop: ShopID, _ known: [ShopID]) -> String {
    let names = known.map(\.text)
    let hint =
      Spelling.nearest(to: shop.text, among: names).map { "did you mean \($0)?" }
      ?? (names.isEmpty
        ? "nor of any other shop" : "messages are stored of \(names.joined(separator: ", "))")
    return "no message of shop \(shop) is stored; \(hint)"
  }

  /// Returns whether the server may have messages before this message, according to the message's
  /// position.
  private static func isLate(_ message: ShopMessage?) -> Bool {
    (message?.position?.offset ?? 1) > 1
  }

  /// Returns the key of a message, searching page by page from the newest message.
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
      if isJSON { return update.write(to: JSONEvents(console)) }
      for line in update.lines(console.style) { console.line(line) }
    }
    if excerpt.hasUnfetched, !isJSON {
      console.line("-- the server may have older messages; `stream --older N` fetches them")
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
      if let shown = excerpt.pending.shown(message) { put(.messages([shown], via: .history)) }
    }
    if excerpt.hidden > 0, !isJSON {
      let left = excerpt.hidden == 1 ? "1 older one is" : "\(excerpt.hidden) older ones are"
      console.line("-- \(left) omitted here; --limit shows more")
    }
    for entry in excerpt.outbox {
      if isJSON {
        put(.outbox(entry))
      } else {
        console.line(StreamText.waiting(entry, console.style))
      }
    }
  }
}
