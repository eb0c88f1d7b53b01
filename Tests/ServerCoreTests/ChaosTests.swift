import LinkCore
import LinkServerCore
import LinkWire
import Testing

/// Everything at once, in any order, also what should never come: nothing illegal is asked for.
struct ChaosTests {
  @Test(arguments: [UInt64](1...80))
  func `asks for nothing illegal, and ends when drained`(seed: UInt64) {
    var chaos = Chaos(seed: seed)
    for _ in 0..<600 { chaos.step() }
    chaos.drain()
    #expect(chaos.faults == [])
    #expect(chaos.finishes == 1)
    #expect(chaos.pending == 0)
  }

  @Test func `in some of these worlds sockets are sent first what they missed`() {
    var settled = 0
    for seed in UInt64(1)...10 {
      var chaos = Chaos(seed: seed)
      for _ in 0..<600 { chaos.step() }
      settled += chaos.settled
    }
    #expect(settled > 0)
  }

  @Test func `a model that is told of a close twice complains`() {
    var chaos = Chaos(seed: 1)
    for _ in 0..<600 { chaos.step() }
    chaos.judge([.close(ConnectionID(9_999), .expired)])
    #expect(chaos.faults.count == 1)
  }
}

/// The outside world as the effects describe it; knows what may be asked when.
private struct Chaos {
  enum Socket {
    case waiting, open, closing
  }

  private var server: ShopServer
  private var chance: Chance
  private var now = Instant.zero
  private var lastID: UInt64 = 0
  private var sockets: [ConnectionID: Socket] = [:]
  private var requests: Set<RequestID> = []
  private var questions: [(token: StoreToken, ask: StoreAsk)] = []
  private var logs: [ShopID: [Message]] = [:]
  /// How many sockets were sent first what they had missed.
  private(set) var settled = 0
  private(set) var finishes = 0
  private(set) var faults: [String] = []

  private static let shops = ["a", "b", "c"].map(Stage.id)

  init(seed: UInt64) {
    var policy = ShopServerPolicy()
    policy.maxConnections = 12
    policy.maxRequests = 6
    policy.maxPostsPerShop = 3
    policy.maxIdleRooms = 2
    policy.socketsPerUser = 2
    policy.postBurst = 3
    server = ShopServer(policy: policy, seed: seed, at: .zero)
    chance = Chance(seed: seed)
  }

  var pending: Int { requests.count + questions.count }

  mutating func step() {
    now = now.advanced(by: chance.duration(below: .seconds(2)))
    while let deadline = server.deadline, deadline <= now { judge(server.tick(at: deadline)) }
    lastID += 1
    switch Int.random(in: 0..<12, using: &chance) {
    case 0, 1: upgrade()
    case 2, 3: request()
    case 4: feed(.heard(anySocket()))
    case 5: feed(.overflowed(anySocket()))
    case 6: leave()
    case 7: abandon()
    case 8: feed(.removed(Membership(shop: anyShop(), user: anyUser())))
    case 9: feed(.removals([Membership(shop: anyShop(), user: anyUser())]))
    case 10: feed(.stored(StoreToken(lastID + 10_000), .head(Stage.position(1))))
    case _: storeAnswers()
    }
  }

  mutating func drain() {
    let start = now
    feed(.drain(within: .seconds(5)))
    while finishes == 0 {
      guard let deadline = server.deadline else { break }
      now = max(now, deadline)
      if chance.unit() < 0.5 { storeAnswers() }
      judge(server.tick(at: now))
    }
    if start.duration(to: now) > .seconds(10) { faults.append("the drain took too long") }
    questions = []
  }

  mutating func judge(_ effects: [ShopServer.Effect]) {
    for effect in effects {
      if !isLegal(effect) { faults.append("illegal \(effect)") }
    }
  }

  /// Whether the world can do this now; and does it.
  private mutating func isLegal(_ effect: ShopServer.Effect) -> Bool {
    switch effect {
    case .append(let appends):
      questions += appends.map { ($0.token, .append($0)) }
      return !appends.isEmpty
    case .page(let token, let shop, let query):
      questions.append((token, .page(shop, query)))
      return true
    case .head(let token, let shop):
      questions.append((token, .head(shop)))
      return true
    case .answer(let id, _):
      return requests.remove(id) != nil
    case .accept(let id, _, let after):
      if after != nil { settled += 1 }
      return sockets.updateValue(.open, forKey: id) == .waiting
    case .refuse(let id, _):
      return sockets.removeValue(forKey: id) == .waiting
    case .send(_, let listeners):
      return !listeners.isEmpty && listeners == listeners.sorted()
        && listeners.allSatisfy { sockets[$0] == .open }
    case .ping(let id):
      return sockets[id] == .open
    case .close(let id, _):
      return sockets.updateValue(.closing, forKey: id) == .open
    case .drop(let id):
      return sockets.removeValue(forKey: id) != nil
    case .finished:
      finishes += 1
      return sockets.isEmpty && requests.isEmpty
    }
  }

  private mutating func feed(_ input: ShopServer.Input) {
    judge(server.handle(input, at: now))
  }

  private mutating func upgrade() {
    sockets[ConnectionID(lastID)] = .waiting
    let shop = anyShop()
    let head = head(of: shop)
    let offset = UInt64.random(in: 0...head + 2, using: &chance)
    let after = offset > head + 1 ? nil : Stage.position(offset)
    feed(.upgrade(ConnectionID(lastID), shop, after: after, anyToken(), wall: Stage.dawn))
  }

  private mutating func request() {
    requests.insert(RequestID(lastID))
    let calls: [Call] = [
      .send(Stage.draft("x", in: anyShop())), .all(anyShop()), .streamHealth,
      .page(anyShop(), .since(Stage.dawn, page: 1, limit: 5)),
    ]
    let call = calls[Int.random(in: 0..<calls.count, using: &chance)]
    feed(.request(RequestID(lastID), call, anyToken(), wall: Stage.dawn))
  }

  /// A connection ends; one that is told to close answers, as long as the world is fair.
  private mutating func leave() {
    let id = anySocket()
    sockets[id] = nil
    feed(.gone(id, code: 1006))
  }

  private mutating func abandon() {
    guard let id = requests.min() else { return }
    requests.remove(id)
    feed(.abandoned(id))
  }

  private mutating func storeAnswers() {
    guard !questions.isEmpty else { return }
    let index = Int.random(in: 0..<questions.count, using: &chance)
    let (token, ask) = questions.remove(at: index)
    switch Int.random(in: 0..<6, using: &chance) {
    case 0: feed(.stored(token, .failed(.locked(detail: ""))))
    case 1: feed(.stored(token, .head(Stage.position(head(of: anyShop())))))
    case 2: feed(.stored(token, .page(Page(messages: [], hasNext: false), total: 0)))
    case _: feed(.stored(token, honest(ask)))
    }
  }

  private mutating func honest(_ ask: StoreAsk) -> ShopServer.StoreAnswer {
    switch ask {
    case .append(let append):
      var message = append.message
      // Mostly the next; sometimes one twice, or one left out.
      let step = chance.unit() < 0.9 ? 1 : 2 * UInt64.random(in: 0...1, using: &chance)
      message.position = Stage.position(head(of: message.shop) + step)
      logs[message.shop, default: []].append(message)
      return .appended(message, isNew: true)
    case .page(let shop, let query): return .page(page(query, of: shop), total: 0)
    case .head(let shop): return .head(Stage.position(head(of: shop)))
    }
  }

  /// Any other query than for arrears is answered as if nothing matched.
  private func page(_ query: PageQuery, of shop: ShopID) -> Page {
    guard case .after(let place, let limit) = query else {
      return Page(messages: [], hasNext: false)
    }
    let rest = logs[shop, default: []].filter { ($0.position?.offset ?? 0) > place.offset }
    return Page(
      messages: Array(rest.prefix(limit)), hasNext: rest.count > limit,
      head: Stage.position(head(of: shop)))
  }

  private func head(of shop: ShopID) -> UInt64 {
    logs[shop]?.last?.position?.offset ?? 0
  }

  private mutating func anySocket() -> ConnectionID {
    sockets.keys.sorted().randomElement(using: &chance) ?? ConnectionID(lastID)
  }

  private mutating func anyShop() -> ShopID {
    Self.shops[Int.random(in: 0..<3, using: &chance)]
  }

  private mutating func anyUser() -> String { "user\(Int.random(in: 0..<6, using: &chance))" }

  private mutating func anyToken() -> Credential {
    let ttl = Duration.seconds(Int64.random(in: -5..<200, using: &chance))
    return Stage.token(anyUser(), shops: Self.shops, ttl: ttl)
  }
}
