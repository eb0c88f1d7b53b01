import Foundation
import HoldfastCore
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastServerFixtures
import HoldfastServerParts
import Testing

/// Tests of the server with a store that answers after random delays, and with clients that connect
/// and disconnect.
struct WorldTests {
  @Test(arguments: [UInt64](1...60))
  func `sends every socket exactly the events after its start position`(seed: UInt64) {
    var world = World(seed: seed)
    for _ in 0..<500 { world.step() }
    world.finish()
    #expect(world.faults == [])
    #expect(world.delivered > 0)
    #expect(world.recovered > 0)
    #expect(world.longest > 1)
    #expect(world.changes > 0)
  }

  @Test(arguments: [UInt64](1...40))
  func `nodes that share a log send every socket all events, though reports are lost`(
    seed: UInt64
  ) {
    var world = World(seed: seed, nodes: 3)
    for _ in 0..<800 { world.step() }
    world.finish()
    #expect(world.faults == [])
    #expect(world.delivered > 0)
    #expect(world.recovered > 0)
    #expect(world.changes > 0)
    #expect(world.tails > 0)
  }

  @Test func `the check detects a socket that misses one event`() {
    var world = World(seed: 1)
    for _ in 0..<500 { world.step() }
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
    for entry in journal where entry.node == 0 {
      #expect(again.handle(entry.input, at: entry.at) == entry.effects)
    }
  }
}

/// A world of random posts, edits, deletions, upgrades, lost sockets and slow store answers.
///
/// It records the frames that are sent to every socket.
private struct World {
  struct Entry: Codable {
    var node: Int
    var input: ShopServer.Input
    var at: Instant
    var effects: [ShopServer.Effect]
  }

  struct Upgrade {
    var shop: ShopID
    var after: ShopPosition?
    var events: Bool
  }

  /// A store operation that has not been answered.
  enum Ask {
    /// A change that has been stored, refused or has failed, but whose answer has not been
    /// delivered.
    case append(ShopID, ShopServer.StoreAnswer)
    /// A page query, with the page if it was read at once.
    case page(ShopID, PageQuery, Page?)
    case head(ShopID)
    case heads([ShopID])
    case shop(MessageID)
    case forget
  }

  /// A report that a node has not received yet.
  struct Report {
    var node: Int
    var news: NodeNews
  }

  let policy: ShopServerPolicy
  private var servers: [ShopServer]
  private var reports: [Report] = []
  private var generator: RandomSource
  private var now = Instant.zero
  private var lastID: UInt64 = 0
  private var logs = StoredLogs(epoch: "e")
  private var waiting: [(node: Int, token: StoreToken, ask: Ask)] = []
  private var upgrades: [ConnectionID: Upgrade] = [:]
  private var homes: [ConnectionID: Int] = [:]
  private var sockets: [ConnectionID: WorldSocket] = [:]
  private var requested: Set<RequestID> = []
  private(set) var journal: [Entry] = []
  private(set) var faults: [String] = []
  /// The number of sockets that received a backlog first.
  private(set) var recovered = 0
  /// The number of edits and deletions.
  private(set) var changes = 0
  /// The number of reads of what other nodes have stored.
  private(set) var tails = 0

  private static let shops = ["a", "b"].map(Stage.id)

  init(seed: UInt64, nodes: Int = 1) {
    var policy = ShopServerPolicy()
    policy.sharesLog = nodes > 1
    self.policy = policy
    servers = (0..<UInt64(nodes)).map { ShopServer(policy: policy, seed: seed + $0, at: .zero) }
    generator = RandomSource(seed: seed)
  }

  /// Whether the current store answer is a backlog that was read successfully.
  private var isRead = false

  /// The largest number of changes that the store received at once.
  private(set) var longest = 0

  var delivered: Int { sockets.values.reduce(0) { $0 + $1.frames.count } }

  mutating func step() {
    now = now.advanced(by: generator.duration(below: .milliseconds(20)))
    let shop = Self.shops[Int.random(in: 0..<2, using: &generator)]
    let user = "user\(Int.random(in: 0..<20, using: &generator))"
    lastID += 1
    if servers.count > 1 { passTime() }
    switch Int.random(in: 0..<14, using: &generator) {
    case 0, 1:
      upgrade(to: shop, as: user)
    case 2, 3, 4:
      let key = UUID128(high: 0, low: UInt64.random(in: 0..<30, using: &generator))
      request(.send(Stage.draft("\(lastID)", in: shop, key: key)), as: user)
    case 5, 6:
      guard let message = logs[shop].messages.randomElement(using: &generator) else { return }
      let isDeletion = Int.random(in: 0..<3, using: &generator) == 0
      let edit = Revision(id: message.id, text: "\(lastID)")
      request(isDeletion ? .delete(message.id) : .edit(edit), as: message.user)
    case 7:
      let open = sockets.filter { $0.value.isOpen }.keys.sorted()
      guard let victim = open.randomElement(using: &generator) else { return }
      sockets[victim]?.isOpen = false
      feed(.gone(victim, code: 1006), at: homes[victim] ?? 0)
    case _:
      storeAnswers()
    }
  }

  /// Delivers reports, loses some, and calls the nodes.
  private mutating func passTime() {
    while let index = reports.indices.randomElement(using: &generator),
      Int.random(in: 0..<2, using: &generator) == 0
    {
      let report = reports[index]
      if Int.random(in: 0..<5, using: &generator) > 0 { reports.remove(at: index) }
      feed(report.news, at: report.node)
    }
    if Int.random(in: 0..<100, using: &generator) == 0 {
      let isConnected = Bool.random(using: &generator)
      feed(isConnected ? .connected : .interrupted, at: anyNode())
    }
    tick()
  }

  private mutating func feed(_ news: NodeNews, at node: Int) { feed(.nodes(news), at: node) }

  private mutating func tick() {
    for node in servers.indices {
      guard let deadline = servers[node].deadline, deadline <= now else { continue }
      let effects = servers[node].tick(at: now)
      for effect in effects { carryOut(effect, at: node) }
    }
  }

  private mutating func anyNode() -> Int { Int.random(in: 0..<servers.count, using: &generator) }

  private mutating func upgrade(to shop: ShopID, as user: String) {
    let after = Int.random(in: -3...Int(logs[shop].head.offset), using: &generator)
    let position = after < 0 ? nil : Stage.position(UInt64(after))
    let events = Bool.random(using: &generator)
    upgrades[ConnectionID(lastID)] = Upgrade(shop: shop, after: position, events: events)
    let token = Stage.token(user, shops: Self.shops)
    let node = anyNode()
    homes[ConnectionID(lastID)] = node
    feed(
      .upgrade(
        ConnectionID(lastID), shop, after: position, events: events, token, wall: Stage.dawn),
      at: node)
  }

  private mutating func request(_ call: Call, as user: String) {
    requested.insert(RequestID(lastID))
    let token = Stage.token(user, shops: Self.shops)
    feed(.request(RequestID(lastID), call, token, wall: Stage.dawn), at: anyNode())
  }

  mutating func finish() {
    while !waiting.isEmpty { storeAnswers() }
    // The reports that were not delivered are lost. The heads are compared at least twice, since
    // the store may fail.
    reports = []
    for _ in 0..<(servers.count > 1 ? 5 : 0) {
      now = now.advanced(by: .seconds(6))
      tick()
      while !waiting.isEmpty { storeAnswers() }
    }
    check()
  }

  mutating func loseOne() {
    let whole = sockets.filter { $0.value.isOpen && $0.value.events && !$0.value.frames.isEmpty }
    guard let id = whole.keys.min() else { return }
    sockets[id]?.frames.removeLast()
  }

  mutating func check() {
    for (id, socket) in sockets.sorted(by: { $0.key < $1.key }) {
      if let fault = socket.fault(logs[socket.shop], isDense: servers.count == 1) {
        faults.append("\(id): \(fault)")
      }
    }
    if !requested.isEmpty { faults.append("\(requested.count) requests without an answer") }
  }

  private mutating func feed(_ input: ShopServer.Input, at node: Int) {
    let effects = servers[node].handle(input, at: now)
    if journal.count % 16 == 0 { faults += servers[node].brokenInvariants(.thorough) }
    journal.append(Entry(node: node, input: input, at: now, effects: effects))
    for effect in effects { carryOut(effect, at: node) }
  }

  private mutating func tell(_ shop: ShopID, _ position: ShopPosition, by sender: Int) {
    for node in servers.indices where node != sender {
      if Int.random(in: 0..<4, using: &generator) > 0 {
        reports.append(Report(node: node, news: .told(shop, position)))
      }
    }
  }

  private mutating func carryOut(_ effect: ShopServer.Effect, at node: Int) {
    switch effect {
    case .append(let appends): append(appends, at: node)
    case .tell(let shop, let position): tell(shop, position, by: node)
    case .heads(let token, let shops): waiting.append((node, token, .heads(shops)))
    case .tail(let token, let shop, let query):
      tails += 1
      let page = Bool.random(using: &generator) ? logs[shop].page(query) : nil
      waiting.append((node, token, .page(shop, query, page)))
    case .forget(let token, _) where servers.count > 1: waiting.append((node, token, .forget))
    case .page(let token, let shop, let query):
      let page = Bool.random(using: &generator) ? logs[shop].page(query) : nil
      waiting.append((node, token, .page(shop, query, page)))
    case .head(let token, let shop): waiting.append((node, token, .head(shop)))
    case .shop(let token, let id): waiting.append((node, token, .shop(id)))
    case .answer(let id, _):
      if requested.remove(id) == nil { faults.append("\(id) answered twice") }
    case .accept(let id, let head, let after, let events):
      accept(id, head: head, after: after, events: events)
    case .refuse(let id, _):
      upgrades[id] = nil
    case .send(let frame, let listeners):
      for id in listeners { sockets[id]?.frames.append(frame) }
    case .forget, .ping, .close, .drop, .finished:
      faults.append("unexpected \(effect)")
    }
  }

  private mutating func accept(
    _ id: ConnectionID, head: ShopPosition?, after: ShopPosition?, events: Bool
  ) {
    guard let asked = upgrades.removeValue(forKey: id), let head, events == asked.events,
      after == nil || after == asked.after
    else {
      faults.append("\(id) accepted without asking")
      return
    }
    if after != nil { recovered += 1 }
    if servers.count == 1, isRead, after == nil, events {
      faults.append("\(id) was not sent what the store had read for it")
    }
    sockets[id] = WorldSocket(
      shop: asked.shop, start: (after ?? head).offset, head: head.offset, events: events)
  }

  private mutating func append(_ appends: [ShopServer.Append], at node: Int) {
    for shop in Set(appends.map(\.change.shop)) where firstAppend(of: shop, at: node) != nil {
      faults.append("two lists of \(shop) at once")
    }
    longest = max(longest, appends.count)
    for append in appends {
      let answer = self.append(append.change)
      waiting.append((node, append.token, .append(append.change.shop, answer)))
    }
  }

  private mutating func append(_ change: LogRequest) -> ShopServer.StoreAnswer {
    if Int.random(in: 0..<10, using: &generator) == 0 { return .failed(.locked(detail: "")) }
    switch logs.append(change) {
    case .success(let outcome):
      if case .edited(_, isNew: true) = outcome { changes += 1 }
      if case .deleted(_, isNew: true) = outcome { changes += 1 }
      return .appended(outcome)
    case .failure(let failure): return .failed(failure)
    }
  }

  /// Answers one randomly chosen store operation. Appends of a shop are answered in order.
  ///
  /// A page shows the messages that were durable at some moment since it was requested.
  private mutating func storeAnswers() {
    guard !waiting.isEmpty else { return }
    let picked = Int.random(in: 0..<waiting.count, using: &generator)
    let node = waiting[picked].node
    switch waiting[picked].ask {
    case .head(let shop):
      feed(.stored(waiting.remove(at: picked).token, .head(logs[shop].head)), at: node)
    case .heads(let shops):
      let heads = shops.map { logs[$0].head }
      feed(.stored(waiting.remove(at: picked).token, .heads(heads)), at: node)
    case .shop(let id):
      feed(.stored(waiting.remove(at: picked).token, .shop(logs.shop(of: id))), at: node)
    case .forget: feed(.stored(waiting.remove(at: picked).token, .forgotten), at: node)
    case .append(let shop, _):
      let first = waiting.remove(at: firstAppend(of: shop, at: node) ?? picked)
      guard case .append(_, let answer) = first.ask else { return }
      feed(.stored(first.token, answer), at: node)
    case .page(let shop, let query, let page):
      let token = waiting.remove(at: picked).token
      let isLost = Int.random(in: 0..<10, using: &generator) == 0
      isRead = !isLost
      let read = page ?? logs[shop].page(query)
      feed(
        .stored(token, isLost ? .failed(.locked(detail: "")) : .page(read, total: 0)), at: node)
      isRead = false
    }
  }

  private func firstAppend(of shop: ShopID, at node: Int) -> Int? {
    waiting.firstIndex { waited in
      if case .append(shop, _) = waited.ask { waited.node == node } else { false }
    }
  }
}

/// The frames that were sent to one socket.
private struct WorldSocket {
  var shop: ShopID
  /// The offset after which everything must be sent.
  var start: UInt64
  /// The head in the answer to the upgrade.
  var head: UInt64
  var events: Bool
  var frames: [Frame] = []
  var isOpen = true

  /// Returns what is wrong with the frames; `nil` if they are right.
  ///
  /// - Parameter isDense: Whether each event was sent. What other nodes have stored is read later, and
  ///   only the newest event of a message is then known.
  func fault(_ log: StoredLog, isDense: Bool) -> String? {
    let offsets = frames.map(\.offset)
    guard zip([start] + offsets, offsets).allSatisfy(<) else { return "disorder \(offsets)" }
    guard events else { return plainFault(log) }
    return (isDense ? densityFault(offsets, log) : nil) ?? versionFault(log)
  }

  private func densityFault(_ offsets: [UInt64], _ log: StoredLog) -> String? {
    let live = offsets.filter { $0 > head }
    let end = isOpen ? log.head.offset : head + UInt64(live.count)
    guard live == Array(head..<end).map({ $0 + 1 }) else { return "a gap in \(live)" }
    return start == head || offsets.contains(head) ? nil : "no frame of the head"
  }

  private func versionFault(_ log: StoredLog) -> String? {
    guard isOpen else { return nil }
    var kept: [MessageID: ShopMessage] = [:]
    for frame in frames { frame.apply(to: &kept) }
    let newer = log.messages.filter { ($0.version?.offset ?? 0) > start }
    let expected = Dictionary(uniqueKeysWithValues: newer.map { ($0.id, $0) })
    return kept == expected ? nil : "kept \(kept.count) of \(expected.count)"
  }

  private func plainFault(_ log: StoredLog) -> String? {
    let ids = Set(
      frames.compactMap { if case .message(let message) = $0 { message.id } else { nil } })
    guard ids.count == frames.count else { return "more than messages" }
    guard isOpen else { return nil }
    let missing = log.messages.filter {
      ($0.position?.offset ?? 0) > start && !ids.contains($0.id)
    }
    return missing.isEmpty ? nil : "\(missing.count) messages are missing"
  }
}

extension Frame {
  /// The offset of the event.
  fileprivate var offset: UInt64 {
    switch self {
    case .message(let message): message.position?.offset ?? 0
    case .edited(let message): message.changed?.offset ?? 0
    case .deleted(let deletion): deletion.changed.offset
    case .draining: 0
    }
  }

  /// Changes the messages of a client that receives the frame.
  fileprivate func apply(to kept: inout [MessageID: ShopMessage]) {
    switch self {
    case .message(let message), .edited(let message): kept[message.id] = message
    case .deleted(let deletion): kept[deletion.id] = nil
    case .draining: break
    }
  }
}
