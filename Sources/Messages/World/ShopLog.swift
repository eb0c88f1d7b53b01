import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageChecks
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastWorldKernel

/// The durable log of a simulated shop. It also simulates plain and failing servers.
struct ShopLog {
  let kind: ServerKind
  let pages: PageOrder
  /// Whether the server answers `since` with the whole log.
  let ignoresSince: Bool
  /// The maximum number of messages in a page; 0 for no limit.
  let pageCap: Int
  private var log = StoredLog(epoch: "epoch-1")
  /// The images, which the log's changes claim and delete.
  private(set) var images = StoredImages()
  /// Whether the images of deleted messages are kept, which is a defect.
  private let keepsImages: Bool
  private var epochs = 1
  /// The lowest offset from which the server can provide missed messages.
  private var forgotten: UInt64 = 0
  /// The offset of the oldest event that is kept. A log that goes back keeps it.
  private var removed: UInt64 = 0
  /// The requests that made the events of the current epoch, in order, each with the images that
  /// were unclaimed before it. They are needed if the log is restored to an earlier state.
  private var requests: [Request] = []

  private struct Request {
    var request: LogRequest
    var unclaimed: [StoredImage] = []
  }

  init(
    _ kind: ServerKind, pages: PageOrder = .stamp, ignoresSince: Bool = false, pageCap: Int = 0,
    keepsImages: Bool = false
  ) {
    self.keepsImages = keepsImages
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

  /// Processes a request, and makes its event durable.
  mutating func append(_ request: LogRequest) -> Result<LogOutcome, StoreFailure> {
    let result = log.append(request)
    if case .success(let outcome) = result, outcome.event != nil {
      requests.append(Request(request: request, unclaimed: images.unclaimed))
      follow(outcome)
    }
    return result
  }

  /// Adds a message that is not in the log, and returns it with its position.
  mutating func append(_ message: ShopMessage) -> ShopMessage {
    guard
      case .success(.posted(let stored, _)) = append(.post(LogEntry(message: message, key: nil)))
    else { return message }
    return stored
  }

  /// Returns the shop of a message that the log has, deleted or not.
  func shop(of id: MessageID, _ shop: ShopID) -> ShopID? { log.has(id) ? shop : nil }

  private mutating func follow(_ outcome: LogOutcome) {
    if keepsImages, case .deleted = outcome { return }
    images.follow(outcome)
  }

  /// Adds an image. Returns false if its user already has `most` unclaimed images.
  mutating func addImage(_ image: StoredImage, atMost most: Int) -> Bool {
    images.add(image, atMost: most)
  }

  mutating func deleteImage(_ id: MessageID) { images.delete(id) }

  mutating func deleteUnclaimedImages(before time: Timestamp) {
    images.deleteUnclaimed(before: time)
  }

  /// Begins another epoch, and keeps only the newest messages and their images.
  mutating func beginAnew(keeping count: Int) {
    epochs += 1
    var keys: [MessageID: UUID128] = [:]
    for step in requests {
      if case .post(let entry) = step.request { keys[entry.message.id] = entry.key }
    }
    log.begin(epoch: "epoch-\(epochs)", keeping: count)
    requests = log.messages.map {
      Request(request: .post(LogEntry(message: $0, key: keys[$0.id])))
    }
    let kept = Set(log.messages.map(\.id))
    for image in images.all where image.message.map({ !kept.contains($0) }) ?? false {
      images.delete(image.id)
    }
    (forgotten, removed) = (0, 0)
  }

  /// Removes the newest events, and continues under the same epoch. Of the images, those remain
  /// that the log already had, and that no event claimed later.
  mutating func putBack(by count: Int) {
    requests.removeLast(min(max(0, count), requests.count))
    let kept = requests
    log = StoredLog(epoch: log.epoch)
    (images, requests) = (StoredImages(), [])
    for step in kept {
      for image in step.unclaimed { _ = images.add(image, atMost: .max) }
      _ = append(step.request)
    }
    forgotten = min(forgotten, head.offset)
    remove(before: removed, at: Timestamp(nanoseconds: 0))
  }

  /// Removes the messages whose newest events are not among the newest `count`. The keys of the last
  /// ten minutes are remembered.
  mutating func remove(keeping count: Int, at now: Timestamp) {
    guard kind == .positions else { return }
    removed = max(removed, head.offset - min(head.offset, UInt64(max(0, count))) + 1)
    remove(before: removed, at: now)
  }

  private mutating func remove(before first: UInt64, at now: Timestamp) {
    guard first > 0, let shop = messages.first?.shop else { return }
    let gone = log.remove(
      LogCut(
        shop: shop, first: first, now: now, keysSince: now.advanced(by: .seconds(-600))))
    for id in gone { images.followRemoval(of: id) }
  }

  /// The position of the oldest event that is kept; `nil` if none was removed.
  var oldest: ShopPosition? { log.page(.page(number: 1, limit: 0)).oldest }

  /// Returns whether no page has messages of a gap, since the server has removed events of it.
  ///
  /// - Parameter position: The position of the last message before the gap, if it is known.
  func hasRemoved(_ gap: ShopGap, after position: ShopPosition?) -> Bool {
    guard oldest != nil else { return false }
    let kept = log.page(.page(number: 1, limit: .max))
    guard position.map({ $0.epoch != epoch || kept.hasRemoved(after: $0) }) ?? true else {
      return false
    }
    return !kept.messages.contains { gap.spans($0.key) }
  }

  /// Makes only the newest `count` offsets available to clients that missed events.
  mutating func trim(keeping count: Int) {
    forgotten = max(forgotten, head.offset - min(head.offset, UInt64(max(0, count))))
  }

  func page(_ query: PageQuery) -> ShopServer.StoreAnswer {
    var query = pageCap > 0 ? query.capped(at: pageCap) : query
    if let answer = forgottenAnswer(to: query) { return answer }
    if ignoresSince, case .since(_, let page, let limit) = query {
      query = .since(Timestamp(nanoseconds: 0), page: page, limit: limit)
    }
    let byTime = kind == .plain && pages == .stamp
    return .page(log.page(query, byTime: byTime), total: log.count(query))
  }

  /// Returns the answer to a query for the events after an offset that is not available any more;
  /// `nil` for other queries.
  private func forgottenAnswer(to query: PageQuery) -> ShopServer.StoreAnswer? {
    switch query {
    case .after(let position, let limit), .changes(let position, let limit):
      guard position.offset < forgotten else { return nil }
      return .page(log.unrecovered(limit: limit), total: UInt64(messages.count))
    case .newest(let position, let limit):
      guard position.offset < forgotten else { return nil }
      var page = log.page(.page(number: 1, limit: limit))
      page.recovered = false
      return .page(page, total: UInt64(messages.count))
    case .page, .since, .before, .beforeID, .afterID: return nil
    }
  }
}

extension StoredImages {
  fileprivate var unclaimed: [StoredImage] { all.filter { $0.message == nil } }
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
