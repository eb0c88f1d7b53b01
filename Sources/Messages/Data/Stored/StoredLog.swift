public import HoldfastCore

/// The log of one shop, as a value.
///
/// The log is one of events: posts, edits and deletions, each with the next offset. It keeps each
/// message in its last version. Of a deleted message, only the ID, the positions and the idempotency
/// key remain.
///
/// A post costs a few hash lookups, and moves the indices of messages with later timestamps. A page
/// costs a binary search and a copy of its messages.
public struct StoredLog: Sendable, Hashable {
  private struct Use: Hashable {
    var user: String
    var key: UUID128
  }

  /// An event that is not a post.
  private struct Change: Hashable {
    var offset: UInt64
    var index: Int
  }

  /// The epoch of all positions.
  public private(set) var epoch: String
  /// The messages, ordered by the offsets of their posts. A deleted message is empty.
  private var posts: [ShopMessage] = []
  /// The offsets of `posts`.
  private var offsets: [UInt64] = []
  /// The deleted messages by their indices.
  private var deleted: [Int: ShopDeletion] = [:]
  /// The newest edit or deletion of each message that has one, ordered by offset.
  private var changes: [Change] = []
  /// The number of events.
  private var count: UInt64 = 0
  /// The indices of the messages, ordered by creation time and ID.
  private var byTime: [Int] = []
  private var indices: [MessageID: Int] = [:]
  private var uses: [Use: Int] = [:]
  /// The edits with a key: the index of the message and the offset of its version after the edit.
  private var edits: [Use: Change] = [:]
  /// The keys of the posts of deleted messages.
  private var deletedKeys: Set<UUID128> = []
  /// The keys of the posts of removed messages, with the times since which they are remembered.
  private var spent: [UUID128: Timestamp] = [:]
  /// The offset of the oldest event that is kept. Messages posted before it are on no page, and are
  /// kept only because they were edited or deleted later.
  private var oldest: UInt64 = 1

  /// Creates an empty log.
  public init(epoch: String) {
    self.epoch = epoch
  }

  /// The newest position. Its offset is 0 while the log is empty.
  public var head: ShopPosition { position(count) }

  /// The messages that were not deleted, ordered by offset.
  public var messages: [ShopMessage] {
    deleted.isEmpty
      ? posts : posts.indices.filter { deleted[$0] == nil }.map { shown(posts[$0]) }
  }

  /// Processes a request.
  ///
  /// The result is the failure `.other` if a post has the ID of another message of the log.
  public mutating func append(_ request: LogRequest) -> Result<LogOutcome, StoreFailure> {
    switch request {
    case .post(let entry): post(entry)
    case .edit(let edit): .success(self.edit(edit))
    case .delete(let deletion): .success(delete(deletion))
    }
  }

  /// Stores a message at the next offset, or returns the message that was stored with the same key.
  public mutating func append(_ entry: LogEntry) -> Result<Appended, StoreFailure> {
    post(entry).appended
  }

  private mutating func post(_ entry: LogEntry) -> Result<LogOutcome, StoreFailure> {
    let use = entry.key.map { Use(user: entry.message.user, key: $0) }
    if let use, let known = uses[use], let message = message(known) {
      return .success(.posted(shown(message), isNew: false))
    }
    if let use, edits[use] != nil { return .success(.refused(.keyUsedForAnother)) }
    if let key = entry.key, isKeyOfDeleted(key) { return .success(.refused(.deleted)) }
    guard indices[entry.message.id] == nil else { return .failure(.known(entry.message.id)) }
    if let use { uses[use] = posts.count }
    return .success(.posted(shown(insert(entry.message)), isNew: true))
  }

  private mutating func edit(_ edit: LogEdit) -> LogOutcome {
    guard let index = indices[edit.id] else { return .refused(.unknown) }
    guard let message = message(index) else { return .refused(.deleted) }
    guard message.user == edit.by.user else { return .refused(.notTheAuthor) }
    let use = edit.key.map { Use(user: edit.by.user, key: $0) }
    if let use, let earlier = edits[use] {
      let isNewest = message.version?.offset == earlier.offset
      guard earlier.index == index, !isNewest || message.text == edit.text else {
        return .refused(.keyUsedForAnother)
      }
      return .edited(shown(message), isNew: false)
    }
    if let use, uses[use] != nil || isKeyOfDeleted(use.key) {
      return .refused(.keyUsedForAnother)
    }
    guard !message.isTooOld(for: edit) else { return .refused(.tooLate) }
    let isNew = message.text != edit.text
    if isNew {
      change(index)
      posts[index] = message.edited(to: edit.text, at: edit.at, changed: head)
    }
    let version = posts[index].version?.offset ?? 0
    if let use { edits[use] = Change(offset: version, index: index) }
    return .edited(shown(posts[index]), isNew: isNew)
  }

  private mutating func delete(_ request: LogDeletion) -> LogOutcome {
    guard let index = indices[request.id] else { return .refused(.unknown) }
    if let deletion = deleted[index] { return .deleted(deletion, isNew: false) }
    let message = posts[index]
    guard request.by.isAdmin || message.user == request.by.user else {
      return .refused(.notTheAuthor)
    }
    byTime.removeAll { $0 == index }
    change(index)
    let deletion = ShopDeletion(
      id: message.id, shop: message.shop, position: position(offsets[index]), changed: head)
    deleted[index] = deletion
    posts[index] = ShopMessage(
      id: message.id, shop: message.shop, user: "", username: nil, text: "",
      createdAt: Timestamp(nanoseconds: 0))
    deletedKeys.formUnion(uses.filter { $0.value == index }.map(\.key.key))
    uses = uses.filter { $0.value != index }
    edits = edits.filter { $0.value.index != index }
    return .deleted(deletion, isNew: true)
  }

  private func isKeyOfDeleted(_ key: UUID128) -> Bool {
    deletedKeys.contains(key) || spent[key] != nil
  }

  /// Takes the next offset for a change of a message.
  private mutating func change(_ index: Int) {
    count += 1
    changes.removeAll { $0.index == index }
    changes.append(Change(offset: count, index: index))
  }

  /// Starts another epoch with the newest `count` messages and their keys. Each message has its last
  /// version, and no later event.
  public mutating func begin(epoch: String, keeping count: Int) {
    let retained = live(posts.indices).suffix(max(0, count))
    let old = self
    self = StoredLog(epoch: epoch)
    (deletedKeys, spent) = (old.deletedKeys, old.spent)
    var moved: [Int: Int] = [:]
    for index in retained {
      moved[index] = posts.count
      _ = insert(old.posts[index])
    }
    uses = old.uses.compactMapValues { moved[$0] }
  }

  /// Returns the page that a query selects.
  ///
  /// - Parameter byTime: Whether numbered pages are ordered by creation time, as on a basic server,
  ///   instead of by offset.
  public func page(_ query: PageQuery, byTime: Bool = false) -> Page {
    switch query {
    case .page(let number, let limit):
      let all = byTime ? self.byTime.filter(isKept) : live(offsets.indices)
      return page(all.reversed(), number, limit)
    case .since(let time, let number, let limit):
      return page(later(than: time), number, limit)
    case .after(let position, let limit):
      guard let index = index(after: position) else { return unrecovered(limit: limit) }
      return page(live(index..<posts.count), 1, limit)
    case .before(let position, let limit):
      guard let index = index(before: position) else { return unrecovered(limit: limit) }
      return page(live(0..<index).reversed(), 1, limit)
    case .beforeID(let id, let limit):
      guard let index = indices[id] else { return unknownMessage }
      return page(live(0..<index).reversed(), 1, limit).continued
    case .afterID(let id, let limit):
      guard let index = indices[id] else { return unknownMessage }
      return page(live(index + 1..<posts.count), 1, limit).continued
    case .changes(let position, let limit):
      guard let index = index(after: position) else { return unrecovered(limit: limit) }
      var page = Page.changes(
        events(after: position, from: index), after: position, limit: limit, head: head)
      page.oldest = oldestPosition
      return page
    case .newest(let position, let limit):
      var page = page(live(offsets.indices).reversed(), 1, limit)
      page.recovered = index(after: position) != nil
      if page.recovered {
        // A client may have stored later messages, too, which arrived after a gap.
        let later = self.later(than: position).filter {
          offsets[$0.index] <= position.offset || deleted[$0.index] != nil
        }
        page.addChanges(later.map(event), after: position)
      }
      return page
    }
  }

  /// Returns the newest messages, as the page for a position that the log does not have.
  public func unrecovered(limit: Int) -> Page {
    let newest = live(offsets.indices).suffix(max(0, limit))
    return Page(
      messages: newest.map { shown(posts[$0]) }, hasNext: false, head: head, recovered: false,
      oldest: oldestPosition)
  }

  /// Returns the number of messages on all pages of a query, and for `changes` also of deletions.
  public func count(_ query: PageQuery) -> UInt64 {
    let all = live(offsets.indices).count
    let count =
      switch query {
      case .page, .newest: all
      case .since(let time, _, _): later(than: time).count
      case .after(let position, _):
        index(after: position).map { live($0..<posts.count).count } ?? all
      case .before(let position, _): index(before: position).map { live(0..<$0).count } ?? all
      case .beforeID(let id, _): indices[id].map { live(0..<$0).count } ?? 0
      case .afterID(let id, _): indices[id].map { live($0 + 1..<posts.count).count } ?? 0
      case .changes(let position, _):
        index(after: position).map { events(after: position, from: $0).count } ?? all
      }
    return UInt64(count)
  }

  /// Whether the log has a message with this ID, deleted or not.
  package func has(_ id: MessageID) -> Bool { indices[id] != nil }

  // MARK: - Parts of pages

  private func position(_ offset: UInt64) -> ShopPosition {
    ShopPosition(epoch: epoch, offset: offset)
  }

  private var unknownMessage: Page {
    Page(messages: [], hasNext: false, head: head, recovered: false, oldest: oldestPosition)
  }

  /// The position of the oldest event that is kept; `nil` if none was removed.
  private var oldestPosition: ShopPosition? { oldest > 1 ? position(oldest) : nil }

  /// Returns the index of the first post after a position, or `nil` if this log did not assign the
  /// position, or has removed events after it.
  private func index(after position: ShopPosition) -> Int? {
    guard position.epoch == epoch, position.offset <= count, position.offset >= oldest - 1 else {
      return nil
    }
    return offsets.end { $0 <= position.offset }
  }

  /// Returns the number of posts before a position, or `nil` if this log did not assign it.
  private func index(before position: ShopPosition) -> Int? {
    guard position.epoch == epoch, position.offset <= count else { return nil }
    return offsets.end { $0 < position.offset }
  }

  /// Returns a message unless it was deleted.
  private func message(_ index: Int) -> ShopMessage? {
    deleted.isEmpty || deleted[index] == nil ? posts[index] : nil
  }

  /// Returns those indices whose messages were not deleted, and are not kept for a later edit alone.
  private func live(_ range: Range<Int>) -> [Int] {
    deleted.isEmpty && oldest == 1
      ? Array(range) : range.filter { deleted[$0] == nil && isKept($0) }
  }

  private func isKept(_ index: Int) -> Bool { offsets[index] >= oldest }

  private func later(than time: Timestamp) -> [Int] {
    byTime[byTime.end { posts[$0].createdAt <= time }...].filter(isKept)
  }

  private func later(than position: ShopPosition) -> ArraySlice<Change> {
    changes[changes.end { $0.offset <= position.offset }...]
  }

  /// Returns the newest event of each message whose newest event follows a position, in order.
  private func events(after position: ShopPosition, from index: Int) -> [ShopEvent] {
    let unchanged = live(index..<posts.count).filter { posts[$0].changed == nil }
    let all = unchanged.map { .posted(shown(posts[$0])) } + later(than: position).map(event)
    return all.sorted { $0.position?.offset ?? 0 < $1.position?.offset ?? 0 }
  }

  private func event(_ change: Change) -> ShopEvent {
    deleted[change.index].map { .deleted($0) } ?? .edited(shown(posts[change.index]))
  }

  /// Returns a message in its present form: without its parent if that was deleted.
  private func shown(_ message: ShopMessage) -> ShopMessage {
    guard !deleted.isEmpty, let parent = message.parent, let index = indices[parent],
      deleted[index] != nil
    else { return message }
    var orphan = message
    orphan.parent = nil
    return orphan
  }

  /// Returns page `number`, counted from 1, of all messages that a query selects.
  private func page(_ all: [Int], _ number: Int, _ limit: Int) -> Page {
    let limit = max(0, limit)
    let (skipped, overflow) = (max(number, 1) - 1).multipliedReportingOverflow(by: limit)
    let rest = all.dropFirst(overflow ? all.count : skipped)
    return Page(
      messages: rest.prefix(limit).map { shown(posts[$0]) },
      hasNext: rest.count > limit, head: head, oldest: oldestPosition)
  }

  private mutating func insert(_ message: ShopMessage) -> ShopMessage {
    let index = posts.count
    count += 1
    var stored = message
    (stored.position, stored.changed) = (head, nil)
    indices[stored.id] = index
    let key = stored.key
    if let last = byTime.last, key < posts[last].key {
      byTime.insert(index, at: byTime.end { posts[$0].key < key })
    } else {
      byTime.append(index)
    }
    posts.append(stored)
    offsets.append(count)
    return stored
  }
}

// The removal of the beginning.
extension StoredLog {
  /// Returns the extent of the log, which is that of a shop.
  package func extent(of shop: ShopID) -> LogExtent {
    LogExtent(shop: shop, oldest: oldest, newestPost: offsets.last ?? 0, head: count)
  }

  /// Returns up to `limit` marks of messages whose newest events follow an offset, in their order.
  package func marks(after version: UInt64, limit: Int) -> [LogMark] {
    let marks = posts.indices.map { mark(of: $0) }.filter { $0.version > version }
    return Array(marks.sorted { $0.version < $1.version }.prefix(max(0, limit)))
  }

  private func mark(of index: Int) -> LogMark {
    let (message, deletion) = (posts[index], deleted[index])
    let changed = deletion?.changed ?? message.changed
    let parts = [message.text, message.user, message.username ?? ""]
    return LogMark(
      version: changed?.offset ?? offsets[index],
      time: deletion == nil ? message.updatedAt ?? message.createdAt : nil,
      bytes: LogMark.overhead + UInt64(parts.reduce(0) { $0 + $1.utf8.count }),
      isChanged: changed != nil)
  }

  /// Removes the messages whose newest events lie before an offset, but never the newest post.
  ///
  /// - Returns: The IDs of the removed messages.
  package mutating func remove(_ cut: LogCut) -> [MessageID] {
    let first = min(cut.first, offsets.last ?? 0)
    guard first > oldest else { return [] }
    let versions = posts.indices.map { mark(of: $0).version }
    let kept = posts.indices.filter { versions[$0] >= first }
    let moved = Dictionary(uniqueKeysWithValues: kept.enumerated().map { ($1, $0) })
    for (use, index) in uses where moved[index] == nil && posts[index].createdAt >= cut.keysSince {
      spent[use.key] = posts[index].createdAt
    }
    let gone = indices.filter { moved[$0.value] == nil }
    let deletions = deleted
    posts = kept.map { posts[$0] }
    offsets = kept.map { offsets[$0] }
    deleted = [:]
    for (index, deletion) in deletions { if let new = moved[index] { deleted[new] = deletion } }
    changes = changes.compactMap { change in
      moved[change.index].map { Change(offset: change.offset, index: $0) }
    }
    byTime = byTime.compactMap { moved[$0] }
    indices = indices.compactMapValues { moved[$0] }
    uses = uses.compactMapValues { moved[$0] }
    edits = edits.compactMapValues { edit in
      moved[edit.index].map { Change(offset: edit.offset, index: $0) }
    }
    oldest = first
    return gone.map(\.key)
  }

  /// Forgets the keys of removed posts that are older than a time.
  package mutating func forgetKeys(before time: Timestamp) {
    spent = spent.filter { $0.value >= time }
  }
}

extension Page {
  /// Returns a page by message id with the cursor by which it continues.
  package var continued: Page {
    var page = self
    page.nextCursor = hasNext ? messages.last?.id : nil
    return page
  }
}

/// The logs of all shops of a backend, as a value.
public struct StoredLogs: Sendable, Hashable {
  private let epoch: String
  private var logs: [ShopID: StoredLog] = [:]
  var images = StoredImages()

  /// Creates empty logs whose positions have this epoch.
  public init(epoch: String) {
    self.epoch = epoch
  }

  /// Returns the log of a shop.
  public subscript(shop: ShopID) -> StoredLog { logs[shop] ?? StoredLog(epoch: epoch) }

  /// Processes a request for its shop.
  public mutating func append(_ request: LogRequest) -> Result<LogOutcome, StoreFailure> {
    let result = logs[request.shop, default: StoredLog(epoch: epoch)].append(request)
    if case .success(let outcome) = result { images.follow(outcome) }
    return result
  }

  /// Returns the messages of an author that were not deleted, in no order.
  public func messages(by user: String) -> [ShopMessage] {
    logs.values.flatMap { $0.messages.filter { $0.user == user } }
  }

  /// Returns the extents of the logs of up to `limit` shops, in the order of their names.
  public func extents(after shop: ShopID?, limit: Int) -> [LogExtent] {
    let shops = logs.keys.filter { name in shop.map { name > $0 } ?? true }.sorted()
    return shops.prefix(max(0, limit)).compactMap { logs[$0]?.extent(of: $0) }
  }

  /// Removes the beginning of the log of a shop. Returns the number of removed messages.
  public mutating func remove(_ cut: LogCut) -> Int {
    guard var log = logs[cut.shop] else { return 0 }
    let gone = log.remove(cut)
    logs[cut.shop] = log
    for id in gone { images.followRemoval(of: id) }
    return gone.count
  }

  /// Forgets the keys of removed posts that are older than a time.
  public mutating func forgetKeys(before time: Timestamp) {
    for shop in logs.keys { logs[shop]?.forgetKeys(before: time) }
  }

  /// Returns a shop that has a message with this ID, deleted or not; `nil` if there is none.
  public func shop(of id: MessageID) -> ShopID? {
    logs.filter { $0.value.has(id) }.keys.min()
  }
}

extension LogRequest {
  /// The shop whose log processes the request.
  public var shop: ShopID {
    switch self {
    case .post(let entry): entry.message.shop
    case .edit(let edit): edit.shop
    case .delete(let deletion): deletion.shop
    }
  }
}

extension StoreFailure {
  /// Returns the failure for a message whose ID is already in the log.
  package static func known(_ id: MessageID) -> StoreFailure {
    .other(detail: "The log holds a message \(id) already.")
  }
}
