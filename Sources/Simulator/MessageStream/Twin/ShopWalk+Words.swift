import LinkCore
import LinkServerCore
import LinkWire

// What a server of streams is told and asked.
extension ShopWalk {
  // Numbers.

  /// A policy some of whose numbers are small, and the same numbers for its account.
  mutating func policy() -> (ShopServerPolicy, ShopHouse.Numbers) {
    var both = (policy: ShopServerPolicy(), numbers: ShopHouse.Numbers())
    if happens(3) { (both.policy.dialect, both.numbers.isPlain) = (.plain, true) }
    if happens(25) { (both.policy.offersStream, both.numbers.offersStream) = (false, false) }
    draw(&both, \.limits.maxFrameBytes, \.frameBytes, [240, 260, 300])
    draw(&both, \.arrearsLimit, \.arrears, [0, 1, 2, 5])
    draw(&both, \.maxArrearsBytes, \.arrearsBytes, [0, 500, 700])
    draw(&both, \.socketsPerUser, \.socketsOfUser, [0, 1, 2, 7])
    draw(&both, \.maxConnections, \.sockets, [0, 3, 6, 12])
    draw(&both, \.maxRequests, \.requests, [0, 2, 3, 5])
    draw(&both, \.maxPostsPerShop, \.postsOfShop, [0, 1, 2])
    draw(&both, \.maxCommitBytes, \.commitBytes, [0, 500, 530])
    draw(&both, \.maxIdleRooms, \.rooms, [0, 1, 2])
    draw(&both, \.postInterval, \.postInterval, [.zero, .milliseconds(10), .seconds(1)])
    draw(&both, \.postBurst, \.burst, [0, 1, 2, 3])
    draw(&both, \.maxWatchedUsers, \.users, [0, 1, 2])
    draw(&both, \.pingInterval, \.ping, [.zero, .milliseconds(20), .seconds(1)])
    draw(&both, \.pongWait, \.silence, [.zero, .milliseconds(15), .milliseconds(45)])
    draw(&both, \.closeWait, \.closing, [.zero, .milliseconds(5), .milliseconds(40)])
    draw(&both, \.drainGrace, \.drainGrace, [.zero, .milliseconds(10), .milliseconds(60)])
    draw(&both, \.drainLimit, \.drainLimit, [.zero, .milliseconds(30), .milliseconds(50)])
    draw(&both, \.socketRetry, \.socketRetry, [.zero, .seconds(9)])
    draw(&both, \.busyRetry, \.busyRetry, [.zero, .seconds(8)])
    draw(&both, \.clockLeeway, \.leeway, [.zero, .seconds(1)])
    return both
  }

  private mutating func draw<Value>(
    _ both: inout (policy: ShopServerPolicy, numbers: ShopHouse.Numbers),
    _ one: WritableKeyPath<ShopServerPolicy, Value>,
    _ other: WritableKeyPath<ShopHouse.Numbers, Value>, _ values: [Value]
  ) {
    guard happens(3) else { return }
    let value = self.one(values)
    both.policy[keyPath: one] = value
    both.numbers[keyPath: other] = value
  }

  // Callers.

  private mutating func credential() -> Credential {
    if happens(30) { return .missing }
    if happens(30) { return .invalid(reason: "odd") }
    let user = one(Self.users)
    let lives: [Duration] = [
      .milliseconds(10), .milliseconds(40), .seconds(1), .seconds(60), .seconds(3_600),
    ]
    let edges: [Duration] = [.nanoseconds(-1), .zero, .nanoseconds(1)]
    var claims = Claims(
      user: user, name: user.uppercased(), shops: happens(12) ? [] : Self.shops,
      expiresAt: wall.advanced(by: happens(12) ? one(edges) : one(lives)))
    if happens(6) {
      let begin = wall.advanced(by: house.numbers.leeway)
      claims.notBefore = begin.advanced(by: one(edges))
    }
    return .valid(claims)
  }

  mutating func arrive() {
    let shop = one(Self.shops)
    var after: Position?
    if !happens(3) {
      let head = stock.log(shop).head
      let back = UInt64(happens(3) ? number(99...101) : number(0...3))
      let offset = head.offset >= back ? head.offset - back : head.offset + back
      after = Position(epoch: happens(9) ? "old" : head.epoch, offset: offset)
    }
    give(.upgrade(ConnectionID(fresh()), shop, after: after, credential(), wall: wall))
  }

  // What they ask.

  mutating func request(_ call: Call? = nil) {
    let id = RequestID(fresh())
    open.append(id)
    give(.request(id, call ?? self.call(), credential(), wall: wall))
  }

  private mutating func call() -> Call {
    switch number(0...11) {
    case 0...6: .send(draft())
    case 7: .all(one(Self.shops))
    case 8, 9: .page(one(Self.shops), query())
    case 10: .streamHealth
    case _:
      .refused(
        ShopRefusal(
          route: one(ShopCallRoute.allCases), status: one([400, 404, 405, 426]), message: "no",
          allow: happens(2) ? "GET" : nil))
    }
  }

  /// The bytes of a frame besides the text, about.
  private static let frameBytes = 214

  private mutating func draft() -> Draft {
    let isSmall = house.numbers.frameBytes < 1_000
    let room = house.numbers.frameBytes - Self.frameBytes + number(-3...3)
    let isEdge = room > 0 && (isSmall ? happens(3) : happens(60))
    let text = String(of: "x", count: isEdge ? room : number(1...60))
    let parent = happens(6) ? UUID128(high: 0, low: UInt64(number(1...2))) : nil
    let known = happens(3) ? "again" : text
    return Draft(
      shop: one(Self.shops), text: known, parent: parent,
      key: happens(3) ? UUID128(high: 0, low: UInt64(number(1...4))) : nil)
  }

  private mutating func query() -> PageQuery {
    let log = stock.log(one(Self.shops))
    let (page, limit) = (number(1...3), number(1...4))
    let times = log.messages.suffix(3).map(\.createdAt) + [wall]
    let place = Position(epoch: log.epoch, offset: log.head.offset / 2)
    return one([
      .page(number: page, limit: limit), .since(one(times), page: page, limit: limit),
      .since(one(times), page: 1, limit: 3), .after(place, limit: limit),
      .before(place, limit: limit),
    ])
  }

  /// More posts of one user than may be made at once, or more bytes than share a commit.
  mutating func flood() {
    let isLong = happens(2)
    let text = String(of: "y", count: isLong ? 9_600 : 1)
    for _ in 0..<(isLong ? number(8...10) : number(40...43)) {
      request(.send(Draft(shop: Self.shops[0], text: text)))
    }
  }

  // What the store says.

  private static let failures: [StoreFailure] = [
    .full(detail: "a"), .locked(detail: "a"), .corrupt(detail: "a"),
    .fromTheFuture(found: 2, supported: 1), .denied(detail: "a"), .other(detail: "a"),
  ]

  mutating func answer() {
    guard !stock.orders.isEmpty else { return }
    let order = stock.next(happens(3) ? number(0...stock.orders.count - 1) : 0)
    if happens(14) { return give(.stored(order.token, .failed(one(Self.failures)))) }
    if happens(40) { return give(.stored(order.token, odd(order.shop))) }
    let answer = stock.carryOut(order.wish, order.shop)
    give(.stored(order.token, happens(7) ? bent(answer) : answer))
    if happens(30) { give(.stored(order.token, answer)) }
  }

  /// What was not asked for, seldom.
  private mutating func odd(_ shop: ShopID) -> ShopServer.StoreAnswer {
    switch number(0...2) {
    case 0: return .head(Position(epoch: "odd", offset: 3))
    case 1: return .page(Page(messages: [], hasNext: false), total: 0)
    case _:
      let message = Message(
        id: UUID128(high: 3, low: 3), shop: shop, user: "u", username: nil, text: "odd",
        createdAt: wall, position: Position(epoch: "odd", offset: 3))
      return .appended(message, isNew: true)
    }
  }

  /// An answer in which something is missing.
  private mutating func bent(_ answer: ShopServer.StoreAnswer) -> ShopServer.StoreAnswer {
    switch answer {
    case .head(let head, _): return .head(head)
    case .failed: return answer
    case .appended(var message, let isNew):
      if happens(2) { message.position = nil } else { message.position?.offset += 1 }
      return .appended(message, isNew: isNew)
    case .page(var page, let total):
      switch number(0...4) {
      case 0: page.recovered = false
      case 1: page.messages = Array(page.messages.dropFirst())
      case 2: page.messages = Array(page.messages.dropLast())
      case 3: page.messages.reverse()
      case _: for place in page.messages.indices { page.messages[place].position?.epoch = "odd" }
      }
      return .page(page, total: total)
    }
  }
}
