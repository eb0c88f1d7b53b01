public import LinkRuntime
public import LinkWire

/// A message log in memory, which fails when a test tells it to.
public actor MemoryMessageLog: MessageLog {
  private struct Use: Hashable {
    let user: String
    let shop: ShopID
    let key: UUID128
  }

  private let epoch: String
  private var logs: [ShopID: [Message]] = [:]
  private var uses: [Use: Message] = [:]
  private var faults = Faults()

  /// - Parameter epoch: Names this log in positions, as `Position.epoch` asks for.
  public init(epoch: String = "memory") {
    self.epoch = epoch
  }

  /// Makes the next `count` calls throw `failure` and do nothing else.
  public func failNext(_ count: Int = 1, with failure: StoreFailure) {
    faults.plan(count, failure)
  }

  public func append(_ entries: [LogEntry]) -> [Result<Appended, StoreFailure>] {
    do {
      try faults.check()
    } catch {
      return entries.map { _ in .failure(error) }
    }
    return entries.map(append)
  }

  private func append(_ entry: LogEntry) -> Result<Appended, StoreFailure> {
    let (message, key) = (entry.message, entry.key)
    let use = key.map { Use(user: message.user, shop: message.shop, key: $0) }
    if let use, let stored = uses[use] {
      return .success(Appended(message: stored, isNew: false))
    }
    var log = logs[message.shop] ?? []
    guard !log.contains(where: { $0.id == message.id }) else {
      return .failure(.other(detail: "The log holds a message \(message.id) already."))
    }
    var stored = message
    stored.position = Position(epoch: epoch, offset: UInt64(log.count + 1))
    log.append(stored)
    logs[message.shop] = log
    if let use { uses[use] = stored }
    return .success(Appended(message: stored, isNew: true))
  }

  public func page(_ query: PageQuery, of shop: ShopID) throws(StoreFailure) -> Page {
    try faults.check()
    let log = logs[shop] ?? []
    let found = selected(query, from: log)
    let head = position(UInt64(log.count))
    switch query {
    case .page(let number, let limit), .since(_, let number, let limit):
      let limit = max(limit, 0)
      let (skipped, overflow) = (max(number, 1) - 1).multipliedReportingOverflow(by: limit)
      guard !overflow else { return Page(messages: [], hasNext: false, head: head) }
      let rest = (found ?? []).dropFirst(skipped)
      return Page(messages: Array(rest.prefix(limit)), hasNext: rest.count > limit, head: head)
    case .after(_, let limit), .before(_, let limit):
      let limit = max(limit, 0)
      guard let found else {
        return Page(
          messages: Array(log.suffix(limit)), hasNext: false, head: head, recovered: false)
      }
      return Page(messages: Array(found.prefix(limit)), hasNext: found.count > limit, head: head)
    }
  }

  public func count(_ query: PageQuery, of shop: ShopID) throws(StoreFailure) -> UInt64 {
    try faults.check()
    let log = logs[shop] ?? []
    return UInt64((selected(query, from: log) ?? log).count)
  }

  public func head(of shop: ShopID) throws(StoreFailure) -> Position {
    try faults.check()
    return position(UInt64(logs[shop]?.count ?? 0))
  }

  public func close() {
    faults.isClosed = true
  }

  /// Everything a query ranges over, in its order; `nil` when its position means nothing here.
  private func selected(_ query: PageQuery, from log: [Message]) -> [Message]? {
    switch query {
    case .page: return log.reversed()
    case .since(let time, _, _):
      return log.filter { $0.createdAt > time }.sorted { $0.key < $1.key }
    case .after(let position, _):
      guard knows(position, log) else { return nil }
      return Array(log.dropFirst(Int(position.offset)))
    case .before(let position, _):
      guard knows(position, log) else { return nil }
      return log.prefix(max(Int(position.offset), 1) - 1).reversed()
    }
  }

  private func knows(_ position: Position, _ log: [Message]) -> Bool {
    position.epoch == epoch && position.offset <= UInt64(log.count)
  }

  private func position(_ offset: UInt64) -> Position { Position(epoch: epoch, offset: offset) }
}
