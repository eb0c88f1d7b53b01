import LinkCore
import LinkServerCore
import LinkWire

/// The durable log of one shop as a value; it answers as the backend's store does.
struct ShopLog {
  private struct Use: Hashable {
    var user: String
    var key: UUID128
  }

  let kind: ServerKind
  let pages: PageOrder
  private(set) var epoch = "epoch-1"
  /// In order of their offsets, which count from 1.
  private(set) var messages: [Message] = []
  /// The same in timeline order: what a plain server's pages go by.
  private var byTime: [Message] = []
  private var uses: [Use: Message] = [:]
  private var epochs = 1
  /// Nobody can ask for what comes after an offset below this.
  private var forgotten: UInt64 = 0

  init(_ kind: ServerKind, pages: PageOrder = .stamp) {
    self.kind = kind
    self.pages = pages
  }

  var head: Position { Position(epoch: epoch, offset: UInt64(messages.count)) }

  /// What a server with positions stamps nothing before; a plain one that starts anew forgets it.
  var newest: Timestamp? { kind == .plain ? nil : messages.last?.createdAt }

  /// Makes a message durable and gives it its position, unless its key was used before.
  mutating func append(_ message: Message, key: UUID128?) -> (message: Message, isNew: Bool) {
    let use = key.map { Use(user: message.user, key: $0) }
    if let use, let known = uses[use] { return (known, false) }
    var stored = message
    stored.position = Position(epoch: epoch, offset: UInt64(messages.count) + 1)
    insert(stored)
    if let use { uses[use] = stored }
    return (stored, true)
  }

  /// Begins another epoch with the newest messages; the rest is gone.
  mutating func beginAnew(keeping count: Int) {
    epochs += 1
    epoch = "epoch-\(epochs)"
    let kept = messages.suffix(max(0, count))
    (messages, byTime, forgotten) = ([], [], 0)
    var stays: [MessageID: Message] = [:]
    for message in kept {
      var moved = message
      moved.position = Position(epoch: epoch, offset: UInt64(messages.count) + 1)
      insert(moved)
      stays[moved.id] = moved
    }
    // A key is kept with its message, in one row of the store.
    uses = uses.compactMapValues { stays[$0.id] }
  }

  /// From now on only the newest `count` offsets can be gone on from.
  mutating func trim(keeping count: Int) {
    forgotten = max(forgotten, UInt64(max(0, messages.count - max(0, count))))
  }

  func page(_ query: PageQuery) -> ShopServer.StoreAnswer {
    switch query {
    case .page(let number, let limit):
      let all = kind == .plain && pages == .stamp ? byTime : messages
      let skipped = (number - 1) * limit
      let rest = all.dropLast(min(skipped, all.count))
      let page = Page(
        messages: rest.suffix(limit).reversed(), hasNext: rest.count > limit, head: head)
      return .page(page, total: UInt64(all.count))
    case .since(let time, let number, let limit):
      let newer = byTime.drop { $0.createdAt <= time }
      let rest = newer.dropFirst((number - 1) * limit)
      let page = Page(
        messages: Array(rest.prefix(limit)), hasNext: rest.count > limit, head: head)
      return .page(page, total: UInt64(newer.count))
    case .after(let position, let limit):
      guard knows(position), position.offset >= forgotten else { return newest(limit) }
      return part(messages.dropFirst(Int(position.offset)), limit)
    case .before(let position, let limit):
      guard knows(position) else { return newest(limit) }
      return part(messages.prefix(Int(max(position.offset, 1)) - 1).reversed(), limit)
    }
  }

  private func part(_ rest: some Collection<Message>, _ limit: Int) -> ShopServer.StoreAnswer {
    let page = Page(messages: Array(rest.prefix(limit)), hasNext: rest.count > limit, head: head)
    return .page(page, total: UInt64(rest.count))
  }

  private func newest(_ limit: Int) -> ShopServer.StoreAnswer {
    let page = Page(
      messages: Array(messages.suffix(limit)), hasNext: false, head: head, recovered: false)
    return .page(page, total: UInt64(messages.count))
  }

  private func knows(_ position: Position) -> Bool {
    position.epoch == epoch && position.offset <= UInt64(messages.count)
  }

  private mutating func insert(_ message: Message) {
    messages.append(message)
    let key = message.key
    var place = byTime.count
    while place > 0, key < byTime[place - 1].key { place -= 1 }
    byTime.insert(message, at: place)
  }
}
