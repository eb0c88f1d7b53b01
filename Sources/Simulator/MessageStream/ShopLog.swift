import HoldfastCore
import HoldfastServerCore
import HoldfastStorage
import HoldfastWire

/// The durable log of a simulated shop. It also simulates plain and failing servers.
struct ShopLog {
  let kind: ServerKind
  let pages: PageOrder
  /// Whether the server answers `since` with the whole log.
  let ignoresSince: Bool
  /// The maximum number of messages in a page; 0 for no limit.
  let pageCap: Int
  private var log = StoredLog(epoch: "epoch-1")
  private var epochs = 1
  /// The lowest offset from which the server can provide missed messages.
  private var forgotten: UInt64 = 0
  /// The edited messages, in their current form.
  private var edits: [MessageID: ShopMessage] = [:]
  /// The keys of posts. They are needed if the log is restored to an earlier state.
  private var keys: [MessageID: UUID128] = [:]

  init(
    _ kind: ServerKind, pages: PageOrder = .stamp, ignoresSince: Bool = false, pageCap: Int = 0
  ) {
    self.pageCap = kind == .positions ? pageCap : 0
    self.kind = kind
    self.pages = pages
    self.ignoresSince = ignoresSince
  }

  var epoch: String { log.epoch }

  /// The messages, in the order of their offsets.
  var messages: [ShopMessage] { log.messages }

  var head: ShopPosition { log.head }

  /// The stamp that new messages of a server with positions must not precede.
  ///
  /// It is `nil` for a plain server, which does not keep it across a restart.
  var newest: Timestamp? { kind == .plain ? nil : messages.last?.createdAt }

  /// Makes a message durable and assigns its position, unless its key or its ID is already known.
  mutating func append(_ message: ShopMessage, key: UUID128?) -> (message: ShopMessage, isNew: Bool)
  {
    switch log.append(LogEntry(message: message, key: key)) {
    case .success(let appended):
      if let key { keys[appended.message.id] = key }
      return (appended.message, appended.isNew)
    case .failure: return (message, false)
    }
  }

  /// Begins another epoch, and keeps only the newest messages.
  mutating func beginAnew(keeping count: Int) {
    epochs += 1
    log.begin(epoch: "epoch-\(epochs)", keeping: count)
    forgotten = 0
  }

  /// Removes the newest messages, and continues under the same epoch.
  mutating func putBack(by count: Int) {
    let left = log.messages.dropLast(max(0, count))
    log = StoredLog(epoch: log.epoch)
    for message in left { _ = append(message, key: keys[message.id]) }
    forgotten = min(forgotten, UInt64(left.count))
  }

  /// Edits the text of a message. Returns `nil` if the clock's time is not later than the last
  /// change.
  mutating func edit(_ message: ShopMessage, at time: Timestamp) -> ShopMessage? {
    var edited = edits[message.id] ?? message
    guard time > edited.updatedAt ?? edited.createdAt else { return nil }
    (edited.text, edited.updatedAt, edited.isEdited) = (message.text + " (edited)", time, true)
    edited.position = message.position
    edits[message.id] = edited
    return edited
  }

  /// Makes only the newest `count` offsets available to clients that missed messages.
  mutating func trim(keeping count: Int) {
    forgotten = max(forgotten, UInt64(max(0, messages.count - max(0, count))))
  }

  func page(_ query: PageQuery) -> ShopServer.StoreAnswer {
    var query = pageCap > 0 ? query.capped(at: pageCap) : query
    if case .after(let position, let limit) = query, position.offset < forgotten {
      return answer(log.unrecovered(limit: limit), total: UInt64(messages.count))
    }
    if ignoresSince, case .since(_, let page, let limit) = query {
      query = .since(Timestamp(nanoseconds: 0), page: page, limit: limit)
    }
    let byTime = kind == .plain && pages == .stamp
    return answer(log.page(query, byTime: byTime), total: log.count(query))
  }

  private func answer(_ page: Page, total: UInt64) -> ShopServer.StoreAnswer {
    guard !edits.isEmpty else { return .page(page, total: total) }
    var page = page
    page.messages = page.messages.map { message in
      guard var edited = edits[message.id] else { return message }
      edited.position = message.position
      return edited
    }
    return .page(page, total: total)
  }
}

extension PageQuery {
  /// Returns the same query for at most `limit` messages.
  fileprivate func capped(at limit: Int) -> PageQuery {
    switch self {
    case .page(let number, let asked): .page(number: number, limit: min(asked, limit))
    case .since(let time, let page, let asked): .since(time, page: page, limit: min(asked, limit))
    case .after(let position, let asked): .after(position, limit: min(asked, limit))
    case .before(let position, let asked): .before(position, limit: min(asked, limit))
    case .changes(let position, let asked): .changes(after: position, limit: min(asked, limit))
    case .newest(let position, let asked): .newest(knowing: position, limit: min(asked, limit))
    case .beforeID(let id, let asked): .beforeID(id, limit: min(asked, limit))
    case .afterID(let id, let asked): .afterID(id, limit: min(asked, limit))
    }
  }
}
