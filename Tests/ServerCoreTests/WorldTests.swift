import Foundation
import HoldfastCore
import HoldfastServerCore
import HoldfastWire
import Testing

/// Tests of the server with a store that answers after random delays, and with clients that connect
/// and disconnect.
struct WorldTests {
  @Test(arguments: [UInt64](1...60))
  func `sends every socket exactly the messages after its start position`(seed: UInt64) {
    var world = World(seed: seed)
    for _ in 0..<400 { world.step() }
    world.finish()
    #expect(world.faults == [])
    #expect(world.delivered > 0)
    #expect(world.recovered > 0)
    #expect(world.longest > 1)
  }

  @Test func `the check detects a socket that misses one message`() {
    var world = World(seed: 1)
    for _ in 0..<400 { world.step() }
    world.finish()
    world.loseOne()
    world.check()
    #expect(world.faults.count == 1)
  }

  @Test(arguments: [UInt64](1...10))
  func `the same inputs produce the same effects, also when read from a journal`(
    seed: UInt64
  ) throws {
    var world = World(seed: seed)
    for _ in 0..<200 { world.step() }
    var again = ShopServer(policy: world.policy, seed: seed, at: .zero)
    let journal = try JSONDecoder().decode(
      [World.Entry].self, from: JSONEncoder().encode(world.journal))
    for entry in journal {
      #expect(again.handle(entry.input, at: entry.at) == entry.effects)
    }
  }
}

/// A world of random posts, upgrades, lost sockets and slow store answers.
///
/// It records the messages that are sent to every socket.
private struct World {
  struct Entry: Codable {
    var input: ShopServer.Input
    var at: Instant
    var effects: [ShopServer.Effect]
  }

  struct Socket {
    var shop: ShopID
    /// The offset after which every message must be sent.
    var start: UInt64
    var received: [UInt64] = []
    var isOpen = true
  }

  /// A store operation that has not been answered.
  enum Ask {
    /// An append that has been stored or has failed, but whose answer has not been delivered.
    case append(ShopID, ShopServer.StoreAnswer)
    /// A page query that was sent when `known` messages were durable.
    case page(ShopID, PageQuery, known: Int)
    case head(ShopID)
  }

  let policy = ShopServerPolicy()
  private var server: ShopServer
  private var generator: RandomSource
  private var now = Instant.zero
  private var lastID: UInt64 = 0
  private var logs: [ShopID: [ShopMessage]] = [:]
  private var waiting: [(token: StoreToken, ask: Ask)] = []
  private var upgrades: [ConnectionID: (shop: ShopID, after: ShopPosition?)] = [:]
  private var sockets: [ConnectionID: Socket] = [:]
  private var posted: Set<RequestID> = []
  private(set) var journal: [Entry] = []
  private(set) var faults: [String] = []
  /// The number of sockets that received a backlog first.
  private(set) var recovered = 0

  private static let shops = ["a", "b"].map(Stage.id)

  init(seed: UInt64) {
    server = ShopServer(policy: policy, seed: seed, at: .zero)
    generator = RandomSource(seed: seed)
  }

  /// Whether the current store answer is a backlog that was read successfully.
  private var isRead = false

  /// The largest number of messages that the store received at once.
  private(set) var longest = 0

  var delivered: Int { sockets.values.reduce(0) { $0 + $1.received.count } }

  mutating func step() {
    now = now.advanced(by: generator.duration(below: .milliseconds(20)))
    let shop = Self.shops[Int.random(in: 0..<2, using: &generator)]
    let user = "user\(Int.random(in: 0..<20, using: &generator))"
    let token = Stage.token(user, shops: Self.shops)
    lastID += 1
    switch Int.random(in: 0..<10, using: &generator) {
    case 0, 1:
      let after = Int.random(in: -3...logs[shop, default: []].count, using: &generator)
      let position = after < 0 ? nil : Stage.position(UInt64(after))
      upgrades[ConnectionID(lastID)] = (shop, position)
      feed(.upgrade(ConnectionID(lastID), shop, after: position, token, wall: Stage.dawn))
    case 2, 3, 4:
      let key = UUID128(high: 0, low: UInt64.random(in: 0..<30, using: &generator))
      posted.insert(RequestID(lastID))
      let draft = Stage.draft("\(lastID)", in: shop, key: key)
      feed(.request(RequestID(lastID), .send(draft), token, wall: Stage.dawn))
    case 5:
      let open = sockets.filter { $0.value.isOpen }.keys.sorted()
      guard let victim = open.randomElement(using: &generator) else { return }
      sockets[victim]?.isOpen = false
      feed(.gone(victim, code: 1006))
    case _:
      storeAnswers()
    }
  }

  mutating func finish() {
    while !waiting.isEmpty { storeAnswers() }
    check()
  }

  mutating func loseOne() {
    guard let id = sockets.filter({ $0.value.isOpen && !$0.value.received.isEmpty }).keys.min()
    else { return }
    sockets[id]?.received.removeFirst()
  }

  mutating func check() {
    for (id, socket) in sockets.sorted(by: { $0.key < $1.key }) {
      let end = UInt64(logs[socket.shop, default: []].count)
      let last = socket.isOpen ? end : socket.start + UInt64(socket.received.count)
      if socket.received != Array(socket.start..<last).map({ $0 + 1 }) {
        faults.append("\(id) from \(socket.start) got \(socket.received)")
      }
    }
    if !posted.isEmpty { faults.append("\(posted.count) posts without an answer") }
  }

  private mutating func feed(_ input: ShopServer.Input) {
    let effects = server.handle(input, at: now)
    journal.append(Entry(input: input, at: now, effects: effects))
    for effect in effects { carryOut(effect) }
  }

  private mutating func carryOut(_ effect: ShopServer.Effect) {
    switch effect {
    case .append(let appends):
      for shop in Set(appends.map(\.message.shop)) where firstAppend(of: shop) != nil {
        faults.append("two lists of \(shop) at once")
      }
      longest = max(longest, appends.count)
      for append in appends {
        let answer = self.append(append.message, key: append.key)
        waiting.append((append.token, .append(append.message.shop, answer)))
      }
    case .page(let token, let shop, let query):
      waiting.append((token, .page(shop, query, known: logs[shop, default: []].count)))
    case .head(let token, let shop):
      waiting.append((token, .head(shop)))
    case .answer(let id, _):
      if posted.remove(id) == nil { faults.append("\(id) answered twice") }
    case .accept(let id, let head, let after):
      guard let asked = upgrades.removeValue(forKey: id), let head,
        after == nil || after == asked.after
      else {
        faults.append("\(id) accepted without asking")
        return
      }
      if after != nil { recovered += 1 }
      if isRead, after == nil { faults.append("\(id) was not sent what the store had read for it") }
      sockets[id] = Socket(shop: asked.shop, start: (after ?? head).offset)
    case .refuse(let id, _):
      upgrades[id] = nil
    case .send(.message(let message), let listeners):
      for id in listeners { sockets[id]?.received.append(message.position?.offset ?? 0) }
    case .send(.draining, _), .ping, .close, .drop, .finished:
      faults.append("unexpected \(effect)")
    }
  }

  /// Answers one randomly chosen store operation. Appends of a shop are answered in order.
  ///
  /// A page shows the messages that were durable at some moment since it was requested.
  private mutating func storeAnswers() {
    guard !waiting.isEmpty else { return }
    let picked = Int.random(in: 0..<waiting.count, using: &generator)
    switch waiting[picked].ask {
    case .head(let shop):
      let token = waiting.remove(at: picked).token
      feed(.stored(token, .head(Stage.position(UInt64(logs[shop, default: []].count)))))
    case .append(let shop, _):
      let first = waiting.remove(at: firstAppend(of: shop) ?? picked)
      guard case .append(_, let answer) = first.ask else { return }
      feed(.stored(first.token, answer))
    case .page(let shop, .after(let position, let limit), let known):
      let token = waiting.remove(at: picked).token
      let log = logs[shop, default: []]
      let end = Int.random(in: known...log.count, using: &generator)
      let rest = log.prefix(end).dropFirst(Int(position.offset))
      let head = Stage.position(UInt64(end))
      let page = Page(
        messages: Array(rest.prefix(limit)), hasNext: rest.count > limit, head: head)
      let isLost = Int.random(in: 0..<10, using: &generator) == 0
      isRead = !isLost
      feed(.stored(token, isLost ? .failed(.locked(detail: "")) : .page(page, total: 0)))
      isRead = false
    case .page: faults.append("another page was asked for")
    }
  }

  private func firstAppend(of shop: ShopID) -> Int? {
    waiting.firstIndex { waited in
      if case .append(shop, _) = waited.ask { true } else { false }
    }
  }

  private var keys: [String: ShopMessage] = [:]

  private mutating func append(_ message: ShopMessage, key: UUID128?) -> ShopServer.StoreAnswer {
    if Int.random(in: 0..<10, using: &generator) == 0 { return .failed(.locked(detail: "")) }
    let name = "\(message.shop)/\(message.user)/\(key?.description ?? message.id.description)"
    if let known = keys[name] { return .appended(known, isNew: false) }
    var stored = message
    stored.position = Stage.position(UInt64(logs[message.shop, default: []].count) + 1)
    logs[message.shop, default: []].append(stored)
    keys[name] = stored
    return .appended(stored, isNew: true)
  }
}
