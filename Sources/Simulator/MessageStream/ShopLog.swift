import LinkCore
import LinkServerCore
import LinkWire

/// The durable log of a simulated shop, with what only plain servers and failing ones do.
struct ShopLog {
  let kind: ServerKind
  let pages: PageOrder
  /// Whether `since` is answered with everything.
  let ignoresSince: Bool
  private var kept = KeptLog(epoch: "epoch-1")
  private var epochs = 1
  /// The server cannot recover a client whose offset is below this.
  private var forgotten: UInt64 = 0

  init(_ kind: ServerKind, pages: PageOrder = .stamp, ignoresSince: Bool = false) {
    self.kind = kind
    self.pages = pages
    self.ignoresSince = ignoresSince
  }

  var epoch: String { kept.epoch }

  /// The messages by offset.
  var messages: [Message] { kept.messages }

  var head: Position { kept.head }

  /// The time before which a server with positions stamps nothing; a plain one that starts anew
  /// forgets it.
  var newest: Timestamp? { kind == .plain ? nil : messages.last?.createdAt }

  /// Makes a message durable and gives it its position, unless its key or its id is known.
  mutating func append(_ message: Message, key: UUID128?) -> (message: Message, isNew: Bool) {
    switch kept.append(LogEntry(message: message, key: key)) {
    case .success(let appended): (appended.message, appended.isNew)
    case .failure: (message, false)
    }
  }

  /// Begins another epoch with the newest messages; the rest is gone.
  mutating func beginAnew(keeping count: Int) {
    epochs += 1
    kept.begin(epoch: "epoch-\(epochs)", keeping: count)
    forgotten = 0
  }

  /// Makes only the newest `count` offsets recoverable.
  mutating func trim(keeping count: Int) {
    forgotten = max(forgotten, UInt64(max(0, messages.count - max(0, count))))
  }

  func page(_ query: PageQuery) -> ShopServer.StoreAnswer {
    if case .after(let position, let limit) = query, position.offset < forgotten {
      return .page(kept.unrecovered(limit: limit), total: UInt64(messages.count))
    }
    var query = query
    if ignoresSince, case .since(_, let page, let limit) = query {
      query = .since(Timestamp(nanoseconds: 0), page: page, limit: limit)
    }
    let byTime = kind == .plain && pages == .stamp
    return .page(kept.page(query, byTime: byTime), total: kept.count(query))
  }
}
