public import HoldfastCore
public import HoldfastWire

/// A message to append to a log.
public struct LogEntry: Sendable, Hashable {
  /// The message, to which the log assigns a position.
  public var message: ShopMessage
  /// The idempotency key, which identifies repetitions of the same post. Without a key, each append
  /// adds a message.
  public var key: UUID128?

  public init(message: ShopMessage, key: UUID128?) {
    self.message = message
    self.key = key
  }
}

/// The result of an append.
public struct Appended: Sendable, Hashable {
  /// The message in its stored form, with its position.
  public var message: ShopMessage
  /// Whether the message was added. False if the idempotency key was already known.
  public var isNew: Bool

  public init(message: ShopMessage, isNew: Bool) {
    self.message = message
    self.isNew = isNew
  }
}

/// The log of one shop, as a value.
///
/// An append costs a few hash lookups, and moves the indices of messages with later timestamps. A
/// page costs a binary search and a copy of its messages.
public struct StoredLog: Sendable, Hashable {
  private struct Use: Hashable {
    var user: String
    var key: UUID128
  }

  /// The epoch of all positions.
  public private(set) var epoch: String
  /// The messages, ordered by offset. Offsets count from 1.
  public private(set) var messages: [ShopMessage] = []
  /// The indices of `messages`, ordered by creation time and ID.
  private var byTime: [Int] = []
  private var indices: [MessageID: Int] = [:]
  private var uses: [Use: Int] = [:]

  /// Creates an empty log.
  public init(epoch: String) {
    self.epoch = epoch
  }

  /// The newest position. Its offset is 0 while the log is empty.
  public var head: ShopPosition { ShopPosition(epoch: epoch, offset: UInt64(messages.count)) }

  /// Stores a message at the next offset, or returns the message that was stored with the same key.
  ///
  /// The result is the failure `.other` if the log has another message with this ID.
  public mutating func append(_ entry: LogEntry) -> Result<Appended, StoreFailure> {
    let use = entry.key.map { Use(user: entry.message.user, key: $0) }
    if let use, let known = uses[use] {
      return .success(Appended(message: messages[known], isNew: false))
    }
    guard indices[entry.message.id] == nil else { return .failure(.known(entry.message.id)) }
    if let use { uses[use] = messages.count }
    return .success(Appended(message: insert(entry.message), isNew: true))
  }

  /// Starts another epoch with the newest `count` messages and their keys.
  public mutating func begin(epoch: String, keeping count: Int) {
    let retained = messages.suffix(max(0, count))
    let removed = messages.count - retained.count
    let uses = uses.filter { $0.value >= removed }.mapValues { $0 - removed }
    self = StoredLog(epoch: epoch)
    for message in retained { _ = insert(message) }
    self.uses = uses
  }

  /// Returns the page that a query selects.
  ///
  /// - Parameter byTime: Whether numbered pages are ordered by creation time, as on a basic server,
  ///   instead of by offset.
  public func page(_ query: PageQuery, byTime: Bool = false) -> Page {
    switch query {
    case .page(let number, let limit) where byTime:
      page(self.byTime.reversed(), number, limit)
    case .page(let number, let limit): page(messages.indices.reversed(), number, limit)
    case .since(let time, let number, let limit): page(later(than: time), number, limit)
    case .after(let position, let limit):
      if let offset = offset(of: position) {
        page(offset..<messages.count, 1, limit)
      } else {
        unrecovered(limit: limit)
      }
    case .before(let position, let limit):
      if let offset = offset(of: position) {
        page((0..<max(offset, 1) - 1).reversed(), 1, limit)
      } else {
        unrecovered(limit: limit)
      }
    }
  }

  /// Returns the newest messages, as the page for a position that the log does not have.
  public func unrecovered(limit: Int) -> Page {
    Page(
      messages: Array(messages.suffix(max(0, limit))), hasNext: false, head: head,
      recovered: false)
  }

  /// Returns the number of messages on all pages of a query.
  public func count(_ query: PageQuery) -> UInt64 {
    let count =
      switch query {
      case .page: messages.count
      case .since(let time, _, _): later(than: time).count
      case .after(let position, _): messages.count - (offset(of: position) ?? 0)
      case .before(let position, _):
        offset(of: position).map { max($0, 1) - 1 } ?? messages.count
      }
    return UInt64(count)
  }

  /// Returns the offset of a position that this log assigned; `nil` for any other position.
  private func offset(of position: ShopPosition) -> Int? {
    guard position.epoch == epoch, position.offset <= UInt64(messages.count) else { return nil }
    return Int(position.offset)
  }

  private func later(than time: Timestamp) -> ArraySlice<Int> {
    byTime[byTime.end { messages[$0].createdAt <= time }...]
  }

  /// Returns page `number`, counted from 1, of all messages that a query selects.
  private func page(
    _ all: some RandomAccessCollection<Int>, _ number: Int, _ limit: Int
  ) -> Page {
    let limit = max(0, limit)
    let (skipped, overflow) = (max(number, 1) - 1).multipliedReportingOverflow(by: limit)
    let rest = all.dropFirst(overflow ? all.count : skipped)
    return Page(
      messages: rest.prefix(limit).map { messages[$0] }, hasNext: rest.count > limit, head: head)
  }

  private mutating func insert(_ message: ShopMessage) -> ShopMessage {
    let index = messages.count
    var stored = message
    stored.position = ShopPosition(epoch: epoch, offset: UInt64(index) + 1)
    indices[stored.id] = index
    let key = stored.key
    if let last = byTime.last, key < messages[last].key {
      byTime.insert(index, at: byTime.end { messages[$0].key < key })
    } else {
      byTime.append(index)
    }
    messages.append(stored)
    return stored
  }
}

/// The logs of all shops of a backend, as a value.
public struct StoredLogs: Sendable, Hashable {
  private let epoch: String
  private var logs: [ShopID: StoredLog] = [:]

  /// Creates empty logs whose positions have this epoch.
  public init(epoch: String) {
    self.epoch = epoch
  }

  /// Returns the log of a shop.
  public subscript(shop: ShopID) -> StoredLog { logs[shop] ?? StoredLog(epoch: epoch) }

  /// Appends a message to the log of its shop.
  public mutating func append(_ entry: LogEntry) -> Result<Appended, StoreFailure> {
    logs[entry.message.shop, default: StoredLog(epoch: epoch)].append(entry)
  }
}

extension StoreFailure {
  /// Returns the failure for a message whose ID is already in the log.
  package static func known(_ id: MessageID) -> StoreFailure {
    .other(detail: "The log holds a message \(id) already.")
  }
}
