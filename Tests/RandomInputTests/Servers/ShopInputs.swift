import HoldfastCore
import HoldfastIdentity
import HoldfastMessageData

@testable import HoldfastMessageServer
@testable import HoldfastServerParts

/// Random inputs for a server of message streams, and the promises of the server.
struct ShopInputs: ServerInputs {
  var run: RandomRun<ShopServer>
  var notes = ServerNotes()
  private let policy: ShopServerPolicy
  var drainLimit: Duration { policy.workable.drainLimit }

  private var store: ShopStore
  /// The newest position that each socket received, and from which on it receives every event.
  private var sent: [ConnectionID: Sent] = [:]
  private var requests: [RequestID] = []
  /// For each shop, the appends that the store has not answered.
  private var appends: [ShopID: Set<StoreToken>] = [:]
  /// The messages that the store has reported as durable.
  private var durable: Set<MessageID> = []

  private struct Sent {
    var last: ShopPosition
    /// The head in the answer to the upgrade. Up to there, offsets have gaps.
    var head: ShopPosition
    var events: Bool
  }

  private static let shops = ["a", "b", "c"].compactMap { ShopID($0) }
  private static let users = ["u", "v", "w"]

  init(seed: UInt64) {
    var draw = PolicyDraw(generator: RandomSource(seed: seed))
    policy = Self.policy(&draw)
    store = ShopStore(isPlain: policy.dialect == .plain)
    run = RandomRun(
      ShopServer(policy: policy, seed: seed, at: .zero), seed: seed, generator: draw.generator)
  }

  private static func policy(_ draw: inout PolicyDraw) -> ShopServerPolicy {
    var policy = ShopServerPolicy()
    if draw.oneIn(3) { policy.dialect = .plain }
    if draw.oneIn(25) { policy.offersStream = false }
    if draw.oneIn(3) { policy.sharesLog = true }
    let counts: [(WritableKeyPath<ShopServerPolicy, Int>, [Int])] = [
      (\.limits.maxFrameBytes, [240, 260, 300]), (\.backlogLimit, [0, 1, 2, 5]),
      (\.maxBacklogBytes, [0, 500, 700]), (\.socketsPerUser, [0, 1, 2, 7]),
      (\.maxConnections, [0, 3, 6, 12]), (\.maxRequests, [0, 2, 3, 5]),
      (\.maxPostsPerShop, [0, 1, 2]), (\.maxCommitBytes, [0, 500, 530]),
      (\.maxIdleRooms, [0, 1, 2]), (\.postBurst, [0, 1, 2, 3]), (\.maxWatchedUsers, [0, 1, 2]),
    ]
    let times: [(WritableKeyPath<ShopServerPolicy, Duration>, [Int])] = [
      (\.postInterval, [0, 10, 1_000]), (\.pingInterval, [0, 20, 1_000]),
      (\.pongWait, [0, 15, 45]), (\.closeWait, [0, 5, 40]), (\.drainGrace, [0, 10, 60]),
      (\.drainLimit, [0, 30, 50]), (\.clockLeeway, [0, 1_000]), (\.forgetDelay, [0, 20, 500]),
      (\.headCheck, [0, 20, 5_000]), (\.headCheckAlone, [0, 10, 1_000]),
      (\.cutOffGrace, [0, 10, 30_000]),
    ]
    draw.set(&policy, counts)
    draw.set(&policy, milliseconds: times)
    return policy
  }

  mutating func begin() {
    for shop in Self.shops {
      for _ in 0..<(oneIn(16) ? 101 : number(0...3)) { store.write(shop, at: wall) }
    }
  }

  mutating func act() {
    passTime([.milliseconds(1), .milliseconds(15), .milliseconds(50), .seconds(6), .seconds(61)])
    switch number(0...29) {
    case 0...6: request()
    case 7...11: arrive()
    case 12...21: answer()
    case 22...23: leave()
    case 24...25: give(.received(anySocket()))
    case 26...27: seldom()
    case _: for _ in 0..<number(2...5) { oneIn(2) ? arrive() : request() }
    }
  }

  static func request(in effect: ShopServer.Effect) -> String? {
    switch effect {
    case .append(let all): all.map { "\($0.token)" }.joined(separator: " ")
    case .page(let token, _, _), .tail(let token, _, _), .head(let token, _),
      .heads(let token, _), .shop(let token, _), .forget(let token, _):
      "\(token)"
    case .answer(let id, _): "an answer to \(id)"
    case .accept(let id, _, _, _), .refuse(let id, _): "an upgrade of \(id)"
    case .finished: "the end of a drain"
    case .send, .ping, .close, .drop, .tell: nil
    }
  }
}

// MARK: Inputs
extension ShopInputs {
  private mutating func credential() -> Credential {
    if oneIn(30) { return .missing }
    if oneIn(30) { return .invalid(reason: "odd") }
    let lives: [Duration] = [.zero, .milliseconds(10), .milliseconds(40), .seconds(3_600)]
    let user = one(Self.users)
    var claims = Claims(
      user: user, name: user.uppercased(), shops: oneIn(12) ? [] : Self.shops,
      expiresAt: wall.advanced(by: one(lives)))
    if oneIn(4) { claims.admin = Self.shops }
    if oneIn(6) { claims.notBefore = wall.advanced(by: .seconds(number(-1...1))) }
    return .valid(claims)
  }

  private mutating func arrive() {
    let shop = one(Self.shops)
    var after: ShopPosition?
    if !oneIn(3) {
      let head = store.log(shop).head
      let back = UInt64(oneIn(9) ? 100 : number(0...3))
      let offset = head.offset >= back ? head.offset - back : head.offset + back
      after = ShopPosition(epoch: oneIn(9) ? "old" : head.epoch, offset: offset)
    }
    give(
      .upgrade(
        ConnectionID(notes.fresh()), shop, after: after, events: !oneIn(3), credential(),
        wall: wall))
  }

  private mutating func request() {
    give(.request(RequestID(notes.fresh()), call(), credential(), wall: wall))
  }

  private mutating func call() -> Call {
    let shop = one(Self.shops)
    switch number(0...15) {
    case 0...6: return .send(draft(shop))
    case 7: return .all(shop)
    case 8, 9: return .page(shop, query(shop), events: oneIn(2))
    case 10: return .streamHealth
    case 11...14: return change(shop)
    case _:
      let refusal = ShopRefusal(
        route: one(ShopCallRoute.allCases), status: one([400, 404, 405, 426]), message: "no",
        allow: maybe("GET"))
      return .refused(refusal)
    }
  }

  private mutating func change(_ shop: ShopID) -> Call {
    let newest = store.log(shop).messages.suffix(4).map(\.id)
    let id = oneIn(8) ? UUID128(high: 9, low: 9) : one(newest + [UUID128(high: 9, low: 9)])
    if oneIn(2) { return .delete(id) }
    let text = String(repeating: "y", count: oneIn(9) ? 9_600 : number(1...60))
    let key = oneIn(3) ? UUID128(high: 0, low: UInt64(number(1...4))) : nil
    return .edit(Revision(id: id, text: text, key: key))
  }

  private mutating func draft(_ shop: ShopID) -> Draft {
    let text = String(repeating: "x", count: oneIn(9) ? 9_600 : number(1...60))
    return Draft(
      shop: shop,
      content: MessageContent(
        oneIn(3) ? "again" : text,
        parent: oneIn(6) ? UUID128(high: 0, low: UInt64(number(1...2))) : nil),
      key: oneIn(3) ? UUID128(high: 0, low: UInt64(number(1...4))) : nil)
  }

  private mutating func query(_ shop: ShopID) -> PageQuery {
    let log = store.log(shop)
    let (page, limit) = (number(1...3), number(1...4))
    let position = ShopPosition(epoch: log.epoch, offset: log.head.offset / 2)
    let time = one(log.messages.suffix(3).map(\.createdAt) + [wall])
    return one([
      .page(number: page, limit: limit), .since(time, page: page, limit: limit),
      .after(position, limit: limit), .before(position, limit: limit),
      .changes(after: position, limit: limit), .newest(knowing: position, limit: limit),
      .beforeID(UUID128(high: 7, low: 1), limit: limit),
      .afterID(UUID128(high: 7, low: 1), limit: limit),
    ])
  }

  /// Answers a request to the store, sometimes with a failure or a wrong answer.
  private mutating func answer() {
    guard !store.open.isEmpty else { return }
    let asked = store.take(oneIn(3) ? number(0...store.open.count - 1) : 0)
    if oneIn(14) { return give(.stored(asked.token, .failed(storeFailure()))) }
    if oneIn(40) { return give(.stored(asked.token, .head(ShopPosition(epoch: "odd", offset: 3)))) }
    let answer = store.carryOut(asked)
    give(.stored(asked.token, oneIn(7) ? bent(answer) : answer))
    if oneIn(30) { give(.stored(asked.token, answer)) }
  }

  /// Returns an answer that is incomplete or wrong.
  private mutating func bent(_ answer: ShopServer.StoreAnswer) -> ShopServer.StoreAnswer {
    switch answer {
    case .head(let head, _): return .head(head)
    case .heads(let heads): return .heads(Array(heads.dropLast()))
    case .failed, .forgotten: return answer
    case .shop: return .shop(oneIn(2) ? nil : one(Self.shops))
    case .appended(let outcome): return .appended(bent(outcome))
    case .page(var page, let total):
      if oneIn(2) { page.recovered = false } else { page.messages.reverse() }
      return .page(page, total: total)
    }
  }

  private mutating func bent(_ outcome: LogOutcome) -> LogOutcome {
    switch outcome {
    case .posted(var message, let isNew):
      if oneIn(2) { message.position = nil } else { message.position?.offset += 1 }
      return .posted(message, isNew: isNew)
    case .edited(var message, let isNew):
      message.changed?.offset += 1
      return .edited(message, isNew: isNew)
    case .deleted(var deletion, let isNew):
      deletion.changed.offset += 1
      return .deleted(deletion, isNew: isNew)
    case .refused: return .refused(one(LogRefusal.allCases))
    }
  }

  private mutating func leave() {
    let id = oneIn(3) ? anySocket() : notes.ending.first ?? anySocket()
    give(.gone(id, code: one([1000, 1001, 1005, 1006, 4403])))
  }

  /// Returns a position of a shop, which may be behind its head.
  private mutating func position(_ shop: ShopID) -> ShopPosition {
    var position = store.log(shop).head
    position.offset += UInt64(oneIn(9) ? 2 : 0)
    if oneIn(9) { position.epoch = "old" }
    return position
  }

  private mutating func seldom() {
    let member = Membership(shop: one(Self.shops), user: one(Self.users))
    switch number(0...12) {
    case 10, 11: give(.nodes(.told(member.shop, position(member.shop))))
    case 12: give(.nodes(one([.connected, .interrupted, .admitted, .admitted, .cutOff])))
    case 0, 1: give(.overflowed(anySocket()))
    case 2: give(.removed(member))
    case 3, 4: give(.removals(oneIn(3) ? [member] : []))
    case 5: if let id = requests.randomElement(using: &generator) { give(.abandoned(id)) }
    case 6: store.write(member.shop, at: wall)
    case 7: if oneIn(3) { store.begin(member.shop, keeping: number(0...3)) }
    case 8: give(.stored(StoreToken(999_999), .failed(.locked(detail: "late"))))
    case _:
      for _ in 0..<number(0...2) { arrive() }
      if oneIn(4) { give(.drain(within: one([.seconds(3), .milliseconds(1_500)]))) }
    }
  }
}

// MARK: Promises
extension ShopInputs {
  mutating func note(_ step: MachineStep<ShopServer>) {
    if let input = step.input { note(input) }
    for effect in step.effects { note(effect) }
    checkDrain(step)
  }

  private mutating func note(_ input: ShopServer.Input) {
    switch input {
    case .request(let id, _, _, _): requests.append(id)
    case .abandoned(let id): requests.removeAll { $0 == id }
    case .upgrade(let id, _, _, _, _, _): notes.asked.insert(id)
    case .gone(let id, _): notes.end(id)
    case .stored(let token, let answer):
      guard let shop = appends.first(where: { $0.value.contains(token) })?.key else { return }
      appends[shop]?.remove(token)
      if case .appended(.posted(let message, true)) = answer { durable.insert(message.id) }
    case .drain: noteDrain()
    case .received, .overflowed, .removed, .removals, .nodes: return
    }
  }

  private mutating func note(_ effect: ShopServer.Effect) {
    switch effect {
    case .append(let all): append(all)
    case .tell: return
    case .page(let token, let shop, let query), .tail(let token, let shop, let query):
      store.ask(token, shop, .page(query), atOnce: oneIn(2))
    case .head(let token, let shop): store.ask(token, shop, .head, atOnce: false)
    case .heads(let token, let shops):
      store.ask(token, Self.shops[0], .heads(shops), atOnce: false)
    case .shop(let token, let id): store.ask(token, Self.shops[0], .shop(id), atOnce: oneIn(2))
    case .forget(let token, _): store.ask(token, Self.shops[0], .forget, atOnce: oneIn(2))
    case .answer(let id, let answer):
      require(requests.contains(id), "only a request that waits is answered")
      requests.removeAll { $0 == id }
      guard answer.status == 201, case .message(let message, _) = answer.body else { return }
      require(durable.contains(message.id), "a post is answered once it is durable")
    case .accept(let id, let head, let after, let events):
      check(.accept, of: id)
      sent[id] = head.map { Sent(last: after ?? $0, head: $0, events: events) }
    case .refuse(let id, _): check(.refuse, of: id)
    case .send(let frame, let all): for id in all { send(frame, to: id) }
    case .ping(let id): check(.ping, of: id)
    case .close(let id, _): check(.close, of: id)
    case .drop(let id):
      check(.drop, of: id)
      notes.end(id)
    case .finished:
      require(
        requests.isEmpty && notes.asked.isEmpty && notes.open.isEmpty,
        "each request is answered before a drain ends")
    }
  }

  private mutating func append(_ all: [ShopServer.Append]) {
    guard let shop = all.first?.change.shop else { return }
    require(appends[shop]?.isEmpty ?? true, "a shop's posts wait for those before them")
    for append in all {
      appends[shop, default: []].insert(append.token)
      store.ask(append.token, shop, .append(append.change), atOnce: oneIn(2))
    }
  }

  private mutating func send(_ frame: Frame, to id: ConnectionID) {
    check(.send, of: id)
    guard policy.dialect == .positions, let (position, isPost) = frame.event else { return }
    guard let socket = sent[id] else { return run.fail("a socket receives its head first") }
    require(isPost || socket.events, "only a socket that asks for events is sent them")
    let isNext =
      position.epoch == socket.last.epoch && position.offset > socket.last.offset
      && (!socket.events || policy.sharesLog
        || position.offset <= max(socket.last.offset + 1, socket.head.offset))
    require(isNext, "a socket is sent each event once and in order")
    sent[id]?.last = position
  }
}

extension Frame {
  /// The position of the event that the frame reports, and whether it is a message as every socket
  /// receives it; `nil` for a notice.
  fileprivate var event: (ShopPosition, isPost: Bool)? {
    switch self {
    case .message(let message): message.position.map { ($0, true) }
    case .edited(let message): message.changed.map { ($0, false) }
    case .deleted(let deletion): (deletion.changed, false)
    case .draining: nil
    }
  }
}
