import LinkCore
import LinkHealth
import LinkServerCore
import LinkWire

/// A server of assistants beside its second account, to which anything is said and done.
struct MCPServerWalk: TwinWalk {
  /// A call that the relay has.
  private struct Asked {
    var ask: AskID
    var wants: RelayAsk
  }

  var chance: Chance
  var server: MCPServer
  var house: MCPHouse
  private var now = Instant.zero
  var stray: String?
  /// Whether the intervals are the shortest.
  private let isHasty: Bool
  /// Whether it goes away soon.
  private let isLeaving: Bool

  private(set) var sessions: [String] = []
  /// Those of them that take batches.
  private(set) var batching: [String] = []
  private var asked: [Asked] = []
  /// Requests whose answer is not complete.
  private var open: [RequestID] = []
  private var lastRequest: UInt64 = 0

  init(_ chance: Chance) {
    var chance = chance
    func number<Value>(_ values: [Value]) -> Value {
      values[Int(chance.next() % UInt64(values.count))]
    }
    var numbers = MCPHouse.Numbers()
    let isUsual = numbers.policy == MCPPolicy()
    isHasty = number([0, 1, 2, 3, 4, 5, 6]) == 0
    isLeaving = number([0, 1, 2, 3]) == 0
    if number([0, 1, 2, 3]) > 0 {
      (numbers.rooms, numbers.calls) = (number([0, 1, 2, 3, 3]), number([0, 1, 2, 4, 1_024]))
      numbers.callsOfRoom = number([0, 1, 2, 16])
      (numbers.busy, numbers.call) = (number([.seconds(2), .seconds(3)]), .milliseconds(7_900))
      numbers.idle = number([.seconds(3), .seconds(8), .seconds(40)])
      (numbers.progress, numbers.comment) = (.seconds(1), number([.seconds(2), .seconds(3)]))
      let exact = MCPHouse.bytesOfLogout
      numbers.eventBytes = number([0, exact - 1, exact, exact, 300, 500, 900, 2_000])
      numbers.batchBytes = number([0, 250, 400, 600, 900, 2_000])
      numbers.isLocal = number([true, true, false])
      numbers.isNamed = number([false, false, true])
      (numbers.hasOwnName, numbers.letsPageIn) = (number([true, false]), number([true, false]))
    }
    if isHasty {
      (numbers.idle, numbers.progress) = (number([.zero, .milliseconds(2)]), .zero)
      numbers.comment = number([.zero, .seconds(-1), .milliseconds(1)])
    }
    self.chance = chance
    server = MCPServer(policy: numbers.policy, at: .zero)
    house = MCPHouse(numbers.sound, at: .zero)
    if MCPReply(204).isPreflight { stray = "each answer is one to a question before a request" }
    if !isUsual { stray = "the usual numbers of the assistants' server are others" }
  }

  /// Takes so many steps; returns the first difference.
  mutating func walk(_ steps: Int) -> String? {
    for _ in 0..<steps where stray == nil { happen() }
    comparePage()
    return stray
  }

  // Steps.

  mutating func give(_ input: MCPServer.Input?) {
    guard stray == nil else { return }
    let effects = input.map { server.handle($0, at: now) } ?? server.tick(at: now)
    stray = house.stray(of: server, after: input, effects, at: now)
    if let broken = server.brokenInvariants(.thorough).first { stray = stray ?? broken }
    for effect in effects { perform(effect) }
  }

  private mutating func perform(_ effect: MCPServer.Effect) {
    switch effect {
    case .answer(let id, let reply):
      open.removeAll { $0 == id }
      if let session = reply.session { enter(session.text, reply.body) }
    case .begin(let id, let session, _):
      if !open.contains(id) { open.append(id) }
      if let session { enter(session.text, []) }
    case .watch(let id): open.append(id)
    case .end(let id): open.removeAll { $0 == id }
    case .ask(let ask, let wants, _, _):
      asked.append(Asked(ask: ask, wants: wants))
    case .abandon(let ask): if !happens(9) { asked.removeAll { $0.ask == ask } }
    case .write: return
    }
  }

  private mutating func enter(_ name: String, _ body: [UInt8]) {
    sessions = sessions.suffix(4) + [name]
    let isOld = String(decoding: body, as: UTF8.self).contains("\"2025-03-26\"")
    if isOld { batching = batching.suffix(2) + [name] }
  }

  private mutating func happen() {
    pass()
    switch number(0...39) {
    case 0...9: settle()
    case 10: askSignedIn()
    case 11, 14: leave()
    case 12: if let call = ending() { send(call) }
    case 13: if isLeaving || happens(6) { give(.drain) } else { comparePage() }
    case 15...18: send(plain())
    case 19, 20: send(stream())
    case 21: send(odd())
    case 22...25: send(stateless())
    case 26...28: send(greeting())
    case 29...31: send(batch())
    case _: send(message())
    }
  }

  private mutating func pass() {
    let waits: [Duration] =
      isHasty
      ? [.zero, .zero, .milliseconds(1), .microseconds(1_999)]
      : [
        .zero, .zero, .zero, .milliseconds(1), .milliseconds(999), .seconds(1), .seconds(1),
        .seconds(2), .seconds(happens(8) ? 41 : 3),
      ]
    let until = now.advanced(by: one(waits))
    while let due = server.deadline, due <= until, stray == nil, !happens(30) {
      now = max(now, due)
      give(nil)
    }
    if happens(40) { give(nil) }
    now = max(now, until)
  }

  /// A request comes.
  private mutating func send(_ call: MCPCall) {
    lastRequest += 1
    let bytes = (0..<16).map { _ in UInt8(truncatingIfNeeded: chance.next()) }
    let fresh = MCPSessionID(random: bytes)
    compareName(fresh.text, of: bytes)
    give(.request(RequestID(lastRequest), call, fresh: fresh))
  }

  mutating func compareName(_ found: String, of bytes: [UInt8]) {
    let digits = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    compare("the name of a session", found, digits)
  }

  /// A client leaves; seldom one that there is not.
  private mutating func leave() {
    let id = open.isEmpty || happens(12) ? RequestID(77_777) : one(open)
    open.removeAll { $0 == id }
    give(.abandoned(id))
  }

  /// The relay says what became of a call; seldom of one without a waiting caller.
  private mutating func settle() {
    if asked.isEmpty { return send(message()) }
    let place = number(0...asked.count - 1)
    let ask = happens(30) ? AskID(55_555) : asked[place].ask
    let outcome = outcome(of: asked[place].wants)
    if !happens(20) { asked.remove(at: place) }
    let token = happens(6) ? nil : hash()
    let skews: [Duration] = [
      .seconds(-31), .seconds(-30), .zero, .seconds(29), .seconds(30), .seconds(31), .seconds(32),
      .seconds(34),
    ]
    let wall = Timestamp(nanoseconds: Self.answered).advanced(by: one(skews))
    give(.outcome(ask, outcome, token: token, wall: wall))
  }

  /// A client that is signed in asks, in its session or its conversation.
  private mutating func askSignedIn() {
    let (rooms, talks) = (house.rooms.filter { $0.bearer != nil }, house.talks)
    let talk = talks.first { $0.bearer != nil } ?? talks.last
    if let talk, rooms.isEmpty || happens(2) { return send(plain(talk.name)) }
    if rooms.isEmpty { settle() } else { send(signedIn(one(rooms).name)) }
  }

  /// The end of a call that waits in a session, or of such a session.
  private mutating func ending() -> MCPCall? {
    let calls = house.jobs.compactMap(\.shape.envelope).filter { $0.room != nil }
    guard !calls.isEmpty else { return nil }
    let call = one(calls)
    return ending(of: call.id.mcpTree.json, in: call.room)
  }

  private mutating func comparePage() {
    var page = MetricsPage()
    server.report(to: &page)
    if let other = house.difference(from: page.text) { stray = stray ?? other }
  }
}
