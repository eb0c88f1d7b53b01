import HoldfastCore
import HoldfastMessageData

/// A server as a value. It contains the accepted messages and the way in which they are served.
struct Shop {
  /// The contract that a server implements.
  enum Kind: String, CaseIterable {
    /// A server with positions, heads and idempotency keys.
    case ours
    /// A server that implements only the requirements of seed 001: times, page numbers, and newest
    /// messages first.
    case plain
  }

  let kind: Kind
  let id: ShopID
  var epoch = "e1"
  /// All accepted messages, in the order in which they were accepted.
  var log: [ShopMessage] = []
  /// The same messages in timeline order.
  var ordered: [ShopMessage] = []
  private var keys: [UUID128: ShopMessage] = [:]
  /// The number of accepted edits and deletions of the phone's user.
  var changes = 0
  /// The keys of accepted edits.
  var editKeys: Set<UUID128> = []
  private var lastNumber: UInt64 = 0
  var offset: UInt64 = 0
  /// Whether the server sends edits and deletions as events.
  var hasEvents = false
  /// The deleted messages, in the order of their deletions.
  var tombstones: [ShopDeletion] = []
  /// The maximum number of changes that an answer has beside the newest page.
  var mostChanges = 1_000

  /// The maximum size of the backlog that the server sends on a new socket; nil if it sends no
  /// backlog.
  var backlog: Int? = 100

  // MARK: Faults that a test can set
  var ignoresSince = false
  var ignoresPage = false
  /// Whether a plain server sorts its pages by time stamp instead of by arrival.
  var sortsByStamp = true
  /// Whether the server refuses connections.
  var isDown = false
  /// The failure that answers every request. `upgradeStatus` is the failure that answers every
  /// upgrade.
  var restStatus: LinkFailure?
  var upgradeStatus: LinkFailure?

  init(_ kind: Kind, id: ShopID) {
    self.kind = kind
    self.id = id
  }

  var head: ShopPosition? {
    kind == .ours ? ShopPosition(epoch: epoch, offset: offset) : nil
  }

  /// Accepts a message. If the key was used before, returns the message of its first use.
  mutating func accept(
    _ text: String, from user: String, at time: Timestamp, key: UUID128? = nil
  ) -> (message: ShopMessage, isNew: Bool) {
    if kind == .ours, let key, let known = keys[key] { return (known, false) }
    lastNumber += 1
    offset += 1
    // The ids are in random order, as from a server that draws random ids.
    var mixer = RandomSource(seed: lastNumber)
    let message = ShopMessage(
      id: UUID128(high: mixer.next(), low: lastNumber), shop: id, user: user, username: nil,
      text: text, createdAt: time, position: head)
    log.append(message)
    let index = ordered.lastIndex { $0.key < message.key }.map { $0 + 1 } ?? 0
    ordered.insert(message, at: index)
    if let key { keys[key] = message }
    return (message, true)
  }

  /// Begins the log anew in another epoch, with only the last `count` messages.
  mutating func beginAnew(keeping count: Int = 0) {
    epoch = "e\(lastNumber + 2)"
    let retained = log.suffix(count)
    log = []
    offset = 0
    for var message in retained {
      offset += 1
      message.position = kind == .plain ? nil : ShopPosition(epoch: epoch, offset: offset)
      log.append(message)
    }
    ordered = log.sorted { $0.key < $1.key }
  }

  /// The number of requests of a short catch-up: one by position, or one by time and one for the
  /// newest page.
  var requestsOfCatchUp: Int { kind == .ours ? 1 : 2 }

  /// The number of requests after a reconnect that missed a few messages. It is 0 if the socket
  /// delivers them.
  var requestsOfReconnect: Int { kind == .ours && backlog != nil ? 0 : requestsOfCatchUp }

  func page(_ query: PageQuery) -> Page {
    switch (kind, query) {
    case (_, .page(let number, let limit)):
      let all = kind == .ours || !sortsByStamp ? log : ordered
      return page(of: all.reversed(), number, limit)
    case (.ours, .since(let time, let number, let limit)):
      return page(of: ordered.filter { $0.createdAt > time }, number, limit)
    case (.plain, .since(let time, let number, let limit)):
      let all = (sortsByStamp ? ordered : log).filter { ignoresSince || $0.createdAt > time }
      return page(of: all.reversed(), number, limit)
    case (.ours, .after(let position, let limit)): return after(position, limit)
    case (.ours, .before(let position, let limit)): return before(position, limit)
    case (.ours, .changes(let position, let limit)):
      return hasEvents ? changes(after: position, limit) : after(position, limit)
    case (_, .newest(let position, let limit)):
      return hasEvents
        ? newest(knowing: position, limit) : page(.page(number: 1, limit: limit))
    case (.plain, .after), (.plain, .before), (.plain, .changes), (_, .beforeID), (_, .afterID):
      return page(of: ordered.reversed(), 1, 20)
    }
  }

  func page(of all: [ShopMessage], _ number: Int, _ limit: Int) -> Page {
    let start = (ignoresPage ? 0 : number - 1) * limit
    let messages = all.dropFirst(start).prefix(limit)
    return Page(
      messages: Array(messages), hasNext: all.count > start + messages.count, head: head)
  }

  private func after(_ position: ShopPosition, _ limit: Int) -> Page {
    guard position.epoch == epoch, position.offset <= offset else { return unrecovered(limit) }
    let rest = log.drop { ($0.position?.offset ?? 0) <= position.offset }
    let messages = Array(rest.prefix(limit))
    return Page(messages: messages, hasNext: rest.count > messages.count, head: head)
  }

  /// Returns the backlog to send first on a new socket; nil if the backlog cannot contain all
  /// missed messages.
  func missed(after position: ShopPosition) -> [ShopMessage]? {
    guard kind == .ours, let backlog, position.epoch == epoch, position.offset < offset,
      offset - position.offset <= UInt64(backlog)
    else { return nil }
    return after(position, backlog).messages
  }

  private func before(_ position: ShopPosition, _ limit: Int) -> Page {
    guard position.epoch == epoch, position.offset > 0 else { return unrecovered(limit) }
    let older = log.prefix { ($0.position?.offset ?? 0) < position.offset }
    let messages = older.reversed().prefix(limit)
    return Page(messages: Array(messages), hasNext: older.count > messages.count, head: head)
  }

  func unrecovered(_ limit: Int) -> Page {
    Page(
      messages: Array(log.suffix(limit)), hasNext: false, head: head,
      recovered: false)
  }
}
