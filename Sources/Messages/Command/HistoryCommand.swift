import Holdfast
package import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastJSON
import HoldfastMessageData
import HoldfastMessageStream

/// The command `holdfast history`: shows the stored messages of a shop without a server.
package enum HistoryCommand {
  private static let shop = Parameter.optional(
    "shop", Format.shop, usual: "the only one that is stored", "the shop's id")
  private static let limit = Parameter.option(
    "limit", .integer("N", 1...100_000), default: 50,
    "the most messages to show, and the most unsent ones")
  private static let before = Parameter.optional(
    "before", .message("ID"), "show only messages older than this one")

  package static var command: Command {
    Command(
      "history", "show the stored messages",
      details: [
        """
        Reads only the data directory, which a running stream may be writing to. Missing messages \
        are shown as gaps, unsent messages at the end. Edits that wait to be sent are applied, and \
        messages whose deletion waits are hidden. A reply shows the beginning of its message, or \
        its id if that message is not stored among the next 10,000 older ones. With --json the events are those of \
        `stream`. If several shops are stored and none is given, each is one object: event "shop", \
        shop.
        """
      ],
      examples: [
        .init("holdfast history", "the newest 50 messages, or the stored shops"),
        .init("holdfast history --shop bakery --limit 1000 --json", "as JSON, oldest first"),
        .init("holdfast history --ids", "with ids, of which `edit` takes the first characters"),
      ],
      takes: shop, Shared.writtenData, limit, before, StreamText.ids, Shared.json, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    let directory = try call.dataDirectory()
    let store = try await CommandFailure.catching { () throws(StoreFailure) in
      try await HoldfastPlatform.store(in: directory, forReading: true)
    }
    let found = try await store.closing { () throws(CommandFailure) in
      let end = try await end(in: store, call)
      return try await CommandFailure.catching { () throws(StoreFailure) in
        try await find(in: store, before: end, call)
      }
    }
    switch found {
    case .shops(let shops):
      for shop in shops { call.put(shop.text, event: "shop") { $0.entry("shop", shop.text) } }
      if shops.isEmpty { call.diagnostic("\(directory) contains no messages of any shop") }
    case .excerpt(let excerpt): show(excerpt, call)
    case .unknown(let shop, let known): call.diagnostic(nothing(of: shop, known))
    }
  }

  private enum Found {
    case shops([ShopID])
    case excerpt(Excerpt)
    /// No message of this shop is stored, but there are messages of other shops.
    case unknown(ShopID, known: [ShopID])
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
    /// The messages to which messages of the excerpt reply.
    var quotes: [MessageID: Quote] = [:]
  }

  /// Returns the key of the message before which the excerpt ends; `nil` if it ends at the newest one.
  private static func end(
    in store: any TimelineStore, _ call: Invocation
  ) async throws(CommandFailure) -> TimelineKey? {
    guard let name = call[before] else { return nil }
    let shops = try await CommandFailure.catching { () throws(StoreFailure) in
      try await store.shops()
    }
    guard let shop = shop(of: call, among: shops), shops.contains(shop) else { return nil }
    return try await name.key(of: shop, in: store)
  }

  private static func shop(of call: Invocation, among shops: [ShopID]) -> ShopID? {
    call[shop] ?? (shops.count == 1 ? shops.first : nil)
  }

  private static func find(
    in store: any TimelineStore, before end: TimelineKey?, _ call: Invocation
  ) async throws(StoreFailure) -> Found {
    let shops = try await store.shops()
    guard let shop = shop(of: call, among: shops) else { return .shops(shops) }
    guard shops.contains(shop) else { return .unknown(shop, known: shops) }
    var excerpt = try await excerpt(of: shop, in: store, before: end, call)
    excerpt.quotes = try await quotes(for: excerpt.messages, of: shop, in: store)
    return .excerpt(excerpt)
  }

  private static func excerpt(
    of shop: ShopID, in store: any TimelineStore, before end: TimelineKey?, _ call: Invocation
  ) async throws(StoreFailure) -> Excerpt {
    let newest = try await store.load(shop, limit: call[limit])
    guard let key = end else {
      let outbox = newest.outbox.suffix(call[limit])
      return Excerpt(
        messages: newest.messages, gaps: newest.gaps, outbox: Array(outbox),
        pending: PendingChanges(newest.outbox), hidden: newest.outbox.count - outbox.count,
        hasUnfetched: !newest.hasOlder && isLate(newest.messages.first))
    }
    let older = try await store.older(than: key, in: shop, limit: call[limit])
    var excerpt = Excerpt(
      messages: older, gaps: newest.gaps, pending: PendingChanges(newest.outbox))
    if let first = older.first, isLate(first) {
      excerpt.hasUnfetched = try await store.older(than: first.key, in: shop, limit: 1).isEmpty
    }
    return excerpt
  }

  /// Returns the messages to which messages reply. Ten pages of older messages are searched.
  private static func quotes(
    for messages: [ShopMessage], of shop: ShopID, in store: any TimelineStore
  ) async throws(StoreFailure) -> [MessageID: Quote] {
    var wanted = Set(messages.compactMap(\.parent))
    var found: [MessageID: Quote] = [:]
    for message in messages where wanted.remove(message.id) != nil {
      found[message.id] = Quote(message)
    }
    guard !wanted.isEmpty, let first = messages.first else { return found }
    try await store.visit(shop, before: first.key, pages: 10) { message in
      if wanted.remove(message.id) != nil { found[message.id] = Quote(message) }
      return !wanted.isEmpty
    }
    return found
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

  private static func show(_ excerpt: Excerpt, _ call: Invocation) {
    let console = call.console
    let isJSON = call[Shared.json]
    let text = StreamText(
      style: console.style, showsIDs: call[StreamText.ids], quotes: excerpt.quotes)
    let put: (StreamUpdate) -> Void = { update in
      if isJSON { return update.write(to: JSONEvents(console)) }
      for line in text.lines(for: update) { console.line(line) }
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
        console.line(text.waiting(entry))
      }
    }
  }
}
