import LinkCore
import LinkWire

@testable import LinkServerCore

/// Random inputs to a server of message streams, and what it promises.
struct ShopInputs: ServerInputs {
  /// A socket or an upgrade.
  struct Socket {
    let membership: Membership
    /// When its token ends.
    let expiresAt: Instant
    /// The newest position that it was sent or told.
    var sent: Position?
  }

  var run: RandomRun<ShopServer>
  var notes = ServerNotes()
  private let policy: ShopServerPolicy
  var drainLimit: Duration { policy.workable.drainLimit }

  private var store: ShopStore
  private var connections = Connections()
  private var sockets: [ConnectionID: Socket] = [:]
  private var requests: [RequestID] = []
  /// The appends of each shop that the store has not answered.
  private var appends: [ShopID: Set<StoreToken>] = [:]
  /// The messages that the store said are durable.
  private var durable: Set<MessageID> = []
  private var removed: Set<Membership> = []
  /// How far the wall clock is off.
  private var drift = Duration.zero
  private var last: UInt64 = 0

  private static let shops = ["a", "b", "c"].compactMap { ShopID($0) }
  private static let users = ["u", "v", "w"]

  init(seed: UInt64) {
    var draw = PolicyDraw(chance: Chance(seed: seed))
    policy = Self.policy(&draw)
    store = ShopStore(isPlain: policy.dialect == .plain)
    run = RandomRun(
      ShopServer(policy: policy, seed: seed, at: .zero), seed: seed, chance: draw.chance)
  }

  private static func policy(_ draw: inout PolicyDraw) -> ShopServerPolicy {
    var policy = ShopServerPolicy()
    if draw.oneIn(3) { policy.dialect = .plain }
    if draw.oneIn(25) { policy.offersStream = false }
    draw.set(&policy, \.limits.maxFrameBytes, [240, 260, 300])
    let counts: [(WritableKeyPath<ShopServerPolicy, Int>, [Int])] = [
      (\.arrearsLimit, [0, 1, 2, 5]), (\.maxArrearsBytes, [0, 500, 700]),
      (\.socketsPerUser, [0, 1, 2, 7]), (\.maxConnections, [0, 3, 6, 12]),
      (\.maxRequests, [0, 2, 3, 5]), (\.maxPostsPerShop, [0, 1, 2]),
      (\.maxCommitBytes, [0, 500, 530]), (\.maxIdleRooms, [0, 1, 2]),
      (\.postBurst, [0, 1, 2, 3]), (\.maxWatchedUsers, [0, 1, 2]),
    ]
    let times: [(WritableKeyPath<ShopServerPolicy, Duration>, [Int])] = [
      (\.postInterval, [0, 10, 1_000]), (\.pingInterval, [0, 20, 1_000]),
      (\.pongWait, [0, 15, 45]), (\.closeWait, [0, 5, 40]), (\.drainGrace, [0, 10, 60]),
      (\.drainLimit, [0, 30, 50]), (\.clockLeeway, [0, 1_000]),
    ]
    for (count, values) in counts { draw.set(&policy, count, values) }
    for (time, values) in times { draw.set(&policy, time, values.map { .milliseconds($0) }) }
    return policy
  }

  mutating func begin() {
    for shop in Self.shops {
      let count = oneIn(16) ? number(99...103) : number(0...3)
      for _ in 0..<count { store.write(shop, at: wall) }
    }
  }

  mutating func act() {
    passTime([.milliseconds(1), .milliseconds(15), .milliseconds(50), .seconds(6), .seconds(61)])
    switch number(0...29) {
    case 0...6: request()
    case 7...11: arrive()
    case 12...21: answer()
    case 22...23: leave()
    case 24...25: if let id = connections.open.randomElement(using: &chance) { give(.heard(id)) }
    case 26...27: seldom()
    case _: burst()
    }
  }

  static func request(in effect: ShopServer.Effect) -> String? {
    switch effect {
    case .append(let all): all.map { "\($0.token)" }.joined(separator: " ")
    case .page(let token, _, _), .head(let token, _): "\(token)"
    case .answer(let id, _): "an answer to \(id)"
    case .accept(let id, _, _), .refuse(let id, _): "an upgrade of \(id)"
    case .send, .ping, .close, .drop, .finished: nil
    }
  }
}

// What is given.
extension ShopInputs {
  private var wall: Timestamp {
    Timestamp(nanoseconds: Self.wallAtZero + 123 + now.nanoseconds).advanced(by: drift)
  }

  private mutating func fresh() -> UInt64 {
    last += 1
    return last
  }

  private mutating func credential() -> Credential {
    if oneIn(30) { return .missing }
    if oneIn(30) { return .invalid(reason: "odd") }
    let lives: [Duration] = [.milliseconds(10), .milliseconds(40), .seconds(1), .seconds(3_600)]
    let edges: [Duration] = [.nanoseconds(-1), .zero, .nanoseconds(1)]
    let user = one(Self.users)
    var claims = Claims(
      user: user, name: user.uppercased(), shops: oneIn(12) ? [] : Self.shops,
      expiresAt: wall.advanced(by: oneIn(12) ? one(edges) : one(lives)))
    if oneIn(6) { claims.notBefore = wall.advanced(by: policy.clockLeeway + one(edges)) }
    return .valid(claims)
  }

  private mutating func arrive() {
    let shop = one(Self.shops)
    var after: Position?
    if !oneIn(3) {
      let head = store.log(shop).head
      let back = UInt64(oneIn(3) ? number(99...101) : number(0...3))
      let offset = head.offset >= back ? head.offset - back : head.offset + back
      after = Position(epoch: oneIn(9) ? "old" : head.epoch, offset: offset)
    }
    give(.upgrade(ConnectionID(fresh()), shop, after: after, credential(), wall: wall))
  }

  private mutating func request(_ call: Call? = nil) {
    give(.request(RequestID(fresh()), call ?? self.call(), credential(), wall: wall))
  }

  private mutating func call() -> Call {
    let shop = one(Self.shops)
    switch number(0...11) {
    case 0...6: return .send(draft(shop))
    case 7: return .all(shop)
    case 8, 9: return .page(shop, query(shop))
    case 10: return .streamHealth
    case _:
      let refusal = ShopRefusal(
        route: one(ShopCallRoute.allCases), status: one([400, 404, 405, 426]), message: "no",
        allow: maybe("GET"))
      return .refused(refusal)
    }
  }

  private mutating func draft(_ shop: ShopID) -> Draft {
    // Of about 214 bytes of a frame besides its text, so that some just fit.
    let room = min(policy.limits.maxFrameBytes, 400) - 214 + number(-3...3)
    let text = String(repeating: "x", count: room > 0 && oneIn(3) ? room : number(1...60))
    return Draft(
      shop: shop, text: oneIn(3) ? "again" : text,
      parent: oneIn(6) ? UUID128(high: 0, low: UInt64(number(1...2))) : nil,
      key: oneIn(3) ? UUID128(high: 0, low: UInt64(number(1...4))) : nil)
  }

  private mutating func query(_ shop: ShopID) -> PageQuery {
    let log = store.log(shop)
    let (page, limit) = (number(1...3), number(1...4))
    let place = Position(epoch: log.epoch, offset: log.head.offset / 2)
    let time = one(log.messages.suffix(3).map(\.createdAt) + [wall])
    return one([
      .page(number: page, limit: limit), .since(time, page: page, limit: limit),
      .after(place, limit: limit), .before(place, limit: limit),
    ])
  }

  /// The store answers, and not always well.
  private mutating func answer() {
    guard !store.open.isEmpty else { return }
    let asked = store.take(oneIn(3) ? number(0...store.open.count - 1) : 0)
    if oneIn(14) { return give(.stored(asked.token, .failed(one(Self.storeFailures)))) }
    if oneIn(40) { return give(.stored(asked.token, .head(Position(epoch: "odd", offset: 3)))) }
    let answer = store.carryOut(asked)
    give(.stored(asked.token, oneIn(7) ? bent(answer) : answer))
    if oneIn(30) { give(.stored(asked.token, answer)) }
  }

  /// An answer in which something is missing.
  private mutating func bent(_ answer: ShopServer.StoreAnswer) -> ShopServer.StoreAnswer {
    switch answer {
    case .head(let head, _): return .head(head)
    case .failed: return answer
    case .appended(var message, let isNew):
      if oneIn(2) { message.position = nil } else { message.position?.offset += 1 }
      return .appended(message, isNew: isNew)
    case .page(var page, let total):
      switch number(0...3) {
      case 0: page.recovered = false
      case 1: page.messages = Array(page.messages.dropFirst())
      case 2: page.messages.reverse()
      case _: for place in page.messages.indices { page.messages[place].position?.epoch = "odd" }
      }
      return .page(page, total: total)
    }
  }

  private mutating func leave() {
    let id = oneIn(3) ? connections.open.randomElement(using: &chance) : connections.ending.first
    give(.gone(id ?? ConnectionID(9_999), code: one([1000, 1001, 1005, 1006, 1016, 999, 4403])))
  }

  /// Lets the same thing happen several times.
  private mutating func burst() {
    let count = number(2...5)
    switch number(0...9) {
    case 0...3: for _ in 0..<count { arrive() }
    case 4...8: for _ in 0..<count { request() }
    case _:
      guard oneIn(4) else { return }
      let isLong = oneIn(2)
      let text = String(repeating: "y", count: isLong ? 9_600 : 1)
      for _ in 0..<(isLong ? 9 : 42) { request(.send(Draft(shop: Self.shops[0], text: text))) }
    }
  }

  private mutating func seldom() {
    let member = Membership(shop: one(Self.shops), user: one(Self.users))
    let open = connections.open.randomElement(using: &chance) ?? ConnectionID(9_999)
    switch number(0...10) {
    case 0, 1: give(.overflowed(open))
    case 2: give(.removed(member))
    case 3, 4: give(.removals(oneIn(3) ? [member] : []))
    case 5: if let id = requests.randomElement(using: &chance) { give(.abandoned(id)) }
    case 6: drift = one([.zero, .seconds(-3), .milliseconds(2), .seconds(40), .nanoseconds(877)])
    case 7: store.write(member.shop, at: wall.advanced(by: .milliseconds(number(-9...9))))
    case 8: if oneIn(3) { store.begin(member.shop, keeping: number(0...3)) }
    case 9: give(.stored(StoreToken(999_999), .failed(.locked(detail: "late"))))
    case _:
      for _ in 0..<number(0...2) { arrive() }
      if oneIn(4) { give(.drain(within: one([.seconds(3), .milliseconds(1_500)]))) }
    }
  }
}

// What is promised.
extension ShopInputs {
  mutating func note(_ step: MachineStep<ShopServer>) {
    if let input = step.input { note(input) }
    for effect in step.effects { note(effect) }
    checkSockets(isTick: step.input == nil)
    checkServer(step)
  }

  private mutating func note(_ input: ShopServer.Input) {
    switch input {
    case .request(let id, _, _, _): requests.append(id)
    case .abandoned(let id): requests.removeAll { $0 == id }
    case .upgrade(let id, let shop, _, let credential, let wall):
      connections.ask(id)
      guard case .valid(let claims) = credential else { return }
      sockets[id] = Socket(
        membership: Membership(shop: shop, user: claims.user),
        expiresAt: now.advanced(by: wall.duration(to: claims.expiresAt)))
    case .gone(let id, _): connections.end(id)
    case .stored(let token, let answer):
      guard let shop = appends.first(where: { $0.value.contains(token) })?.key else { return }
      appends[shop]?.remove(token)
      if case .appended(let message, true) = answer { durable.insert(message.id) }
    case .removed(let membership): removed.insert(membership)
    case .removals(let all): removed = Set(all)
    case .drain: notes.drain(at: now)
    case .heard, .overflowed: return
    }
  }

  private mutating func note(_ effect: ShopServer.Effect) {
    switch effect {
    case .append(let all): append(all)
    case .page(let token, let shop, let query):
      store.ask(token, shop, .page(query), atOnce: oneIn(2))
    case .head(let token, let shop): store.ask(token, shop, .head, atOnce: false)
    case .answer(let id, let answer):
      require(requests.contains(id), "only a request that waits is answered")
      requests.removeAll { $0 == id }
      guard answer.status == 201, case .message(let message, _) = answer.body else { return }
      require(durable.contains(message.id), "a post is answered once it is durable")
    case .accept(let id, let head, let after):
      require(connections.accept(id), "only an upgrade that waits is accepted")
      sockets[id]?.sent = after ?? head
    case .refuse(let id, _):
      require(connections.refuse(id), "only an upgrade that waits is refused")
    case .send(let frame, let all): for id in all { send(frame, to: id) }
    case .ping(let id): require(connections.isOpen(id), "only an open socket is pinged")
    case .close(let id, _): require(connections.close(id), "only an open socket is closed")
    case .drop(let id):
      require(connections.drop(id) || connections.asked.contains(id), "a socket is dropped once")
      connections.end(id)
    case .finished:
      require(notes.finish(), "a drain ends once")
      require(
        requests.isEmpty && connections.isEmpty, "each request is answered before a drain ends")
    }
  }

  private mutating func append(_ all: [ShopServer.Append]) {
    guard let shop = all.first?.message.shop else { return }
    require(appends[shop]?.isEmpty ?? true, "a shop's posts wait for those before them")
    for append in all {
      appends[shop, default: []].insert(append.token)
      let entry = LogEntry(message: append.message, key: append.key)
      store.ask(append.token, shop, .append(entry), atOnce: oneIn(2))
    }
  }

  private mutating func send(_ frame: Frame, to id: ConnectionID) {
    require(connections.isOpen(id), "only an open socket is sent frames")
    guard case .message(let message) = frame, policy.dialect == .positions else { return }
    guard let sent = sockets[id]?.sent else { return run.fail("a socket is told its head") }
    let next = Position(epoch: sent.epoch, offset: sent.offset + 1)
    require(message.position == next, "a socket is sent each message once and in order")
    sockets[id]?.sent = message.position
  }

  private mutating func checkSockets(isTick: Bool) {
    let open = connections.open.compactMap { sockets[$0] }
    require(
      !isTick || open.allSatisfy { $0.expiresAt > now }, "no socket outlives its token")
    require(
      open.allSatisfy { !removed.contains($0.membership) }, "no socket outlives its membership")
    let live = open + connections.asked.compactMap { sockets[$0] }
    let counts = Dictionary(grouping: live, by: \.membership.user).values.map(\.count)
    require(
      counts.allSatisfy { $0 <= policy.workable.socketsPerUser },
      "the sockets of a user are bounded")
  }
}
