import LinkCore
import LinkWire

/// What a phone and a server keep of shops, beside plain lists of the same.
struct StreamKeptWalk: TwinWalk {
  var chance: Chance
  var stray: String?
  var shelf = KeptTimelines()
  private var logs = KeptLogs(epoch: "e")
  private var log = KeptLog(epoch: "e")
  var roll = StreamKeptRoll("e")
  private var rolls: [StreamKeptRoll]
  var books: [StreamKeptBook]
  let shops: [ShopID]

  init(_ chance: Chance) {
    self.chance = chance
    shops = ["b", "a"].compactMap { ShopID($0) }
    books = shops.map { _ in StreamKeptBook() }
    rolls = shops.map { _ in StreamKeptRoll("e") }
  }

  /// Takes so many steps; returns the first difference.
  mutating func walk(_ steps: Int) -> String? {
    for _ in 0..<steps where stray == nil {
      switch number(0...5) {
      case 0, 1: change()
      case 2: consume()
      case 3: look()
      case 4: write()
      case _: read()
      }
    }
    return stray
  }

  // Things.

  private mutating func id() -> UUID128 { UUID128(high: UInt64(number(0...1)), low: two()) }
  private mutating func two() -> UInt64 { UInt64(number(0...6)) }
  private mutating func time() -> Timestamp { Timestamp(nanoseconds: Int64(number(0...5))) }
  private mutating func place() -> Position {
    Position(epoch: one(["e", "e", "f"]), offset: UInt64(number(0...9)))
  }
  private mutating func bound() -> Int { one([-1, 0, 1, 2, 3, 5, 99]) }

  private mutating func message(_ shop: ShopID) -> Message {
    Message(
      id: id(), shop: shop, user: one(["u", "v"]), username: nil, text: "\(number(0...99))",
      createdAt: time(), updatedAt: happens(2) ? time() : nil, isEdited: happens(2),
      position: happens(3) ? nil : place())
  }

  private mutating func entry(_ shop: ShopID) -> OutboxEntry {
    OutboxEntry(
      id: UUID128(high: 7, low: two()), shop: shop, text: "\(number(0...9))", createdAt: time())
  }

  // A phone.

  private mutating func draft(_ place: Int) -> TimelineChange {
    var change = TimelineChange()
    for _ in 0..<number(0...4) { change.messages.append(message(shops[place])) }
    if happens(4) { change.cursor = Cursor(position: happens(2) ? self.place() : nil) }
    if happens(4) {
      change.gaps = happens(2) ? [] : [Gap(after: nil, before: message(shops[place]).key)]
    }
    if happens(3) { change.outboxPut = [entry(shops[place]), entry(shops[place])] }
    if happens(4) { change.outboxRemove = [entry(shops[place]).id, entry(shops[place]).id] }
    return change
  }

  private mutating func change() {
    let place = number(0...1)
    var change = draft(place)
    let other = shops[1 - place]
    let isForeign = happens(9)
    if isForeign, happens(2) {
      change.messages.append(message(other))
    } else if isForeign {
      change.outboxPut.append(entry(other))
    }
    let must: Result<TimelineCommit, StoreFailure> =
      isForeign
      ? .failure(
        .other(
          detail: "A change for the shop \(shops[place]) holds something of another shop."))
      : .success(books[place].commit(change))
    let shop = shops[place]
    let found = answer { [shop] (shelf) throws(StoreFailure) in
      try shelf.commit(change, to: shop)
    }
    compare("what a commit of \(change) did", found, must)
    compare(
      "what is kept", shelf.shops,
      [shops[1], shops[0]].filter { shop in
        zip(shops, books).contains { $0 == shop && !$1.isEmpty }
      })
  }

  private mutating func answer<Value>(
    _ body: (inout KeptTimelines) throws(StoreFailure) -> Value
  ) -> Result<Value, StoreFailure> {
    do throws(StoreFailure) { return .success(try body(&shelf)) } catch { return .failure(error) }
  }

  private mutating func consume() {
    let place = number(0...1)
    let shop = shops[place]
    guard let name = ConsumerName(one(["x", "y", "z"])) else { return }
    let number = UInt64(number(0...9))
    switch self.number(0...4) {
    case 0, 1:
      let start: ConsumerStart = one([
        .all, .newest(bound()), .since(time()), .after(self.place()), .usual,
      ])
      let must = books[place].add(name, start)
      let found = failure { [shop] (shelf) throws(StoreFailure) in
        try shelf.change(shop) { (kept) throws(StoreFailure) in
          try kept.addConsumer(name, from: start)
        }
      }
      compare("the answer to a consumer \(start)", found, must)
    case 2, 3:
      let must = books[place].acknowledge(name, number)
      let found = failure { [shop] (shelf) throws(StoreFailure) in
        try shelf.change(shop) { (kept) throws(StoreFailure) in
          try kept.acknowledge(name, through: number)
        }
      }
      compare("the answer to \(name) for \(number)", found, must)
    case _:
      let must = books[place].remove(name)
      let found = answer { [shop] (shelf) throws(StoreFailure) in
        try shelf.change(shop) { (kept) throws(StoreFailure) in kept.removeConsumer(name) }
      }
      compare("whether \(name) is gone", found, .success(must))
    }
    compareConsumers(place, name)
  }

  mutating func compareConsumers(_ place: Int, _ name: ConsumerName) {
    let shop = shops[place]
    compare("the consumers", shelf[shop].consumers, books[place].states)
    compare(
      "what waits", shelf[shop].consumers.map(\.waiting),
      books[place].states.map { $0.last - $0.acknowledged })
    let (after, limit) = (UInt64(number(0...9)), bound())
    compare(
      "what \(name) gets", shelf[shop].deliveries(to: name, after: after, limit: limit),
      books[place].deliveries(name, after: after, limit))
  }

  private mutating func failure(
    _ body: (inout KeptTimelines) throws(StoreFailure) -> Void
  ) -> StoreFailure? {
    if case .failure(let failure) = answer(body) { failure } else { nil }
  }

  private mutating func look() {
    let place = number(0...1)
    let limit = bound()
    compareShop(place, limit, before: TimelineKey(createdAt: time(), id: id()))
  }

  mutating func compareShop(_ place: Int, _ limit: Int, before key: TimelineKey) {
    let (kept, book) = (shelf[shops[place]], books[place])
    compare("whether a shop is empty", kept.isEmpty, book.isEmpty)
    compare("all keys", kept.ordered, book.messages.map(\.key))
    compare("how many messages there are", kept.messages.count, book.messages.count)
    compare("what \(limit) of a shop load", kept.load(limit: limit), book.load(limit))
    compare(
      "what \(limit) before \(key) are", kept.older(than: key, limit: limit),
      book.older(key, limit))
  }

  // A server.

  private mutating func write() {
    let place = number(0...1)
    let entry = LogEntry(
      message: message(shops[place]), key: happens(3) ? nil : UUID128(high: 0, low: two()))
    if happens(3) {
      compare("the answer of all logs", logs.append(entry), rolls[place].append(entry))
      compare("a log", logs[shops[place]].messages, rolls[place].messages)
    } else if happens(9) {
      let (epoch, count) = (one(["e", "f"]), bound())
      log.begin(epoch: epoch, keeping: count)
      roll.begin(epoch, keeping: count)
    } else {
      compare("the answer to \(entry)", log.append(entry), roll.append(entry))
    }
    compareLog()
  }

  mutating func compareLog() {
    compare("the log", log.messages, roll.messages)
    compare("the epoch", log.epoch, roll.epoch)
    compare("the head", log.head, roll.head)
  }

  private mutating func read() {
    let (number, limit) = (one([Int.min, -1, 0, 1, 1, 2, 2, 3, 4, 1 << 40, .max]), bound())
    let query: PageQuery = one([
      .page(number: number, limit: limit), .since(time(), page: number, limit: limit),
      .after(place(), limit: limit), .before(place(), limit: limit),
    ])
    comparePage(query, byTime: happens(2))
    compare("the newest", log.unrecovered(limit: limit), roll.newest(limit))
  }

  mutating func comparePage(_ query: PageQuery, byTime: Bool) {
    compare("page \(query)", log.page(query, byTime: byTime), roll.page(query, byTime: byTime))
    compare("what \(query) counts", log.count(query), roll.count(query))
  }
}
