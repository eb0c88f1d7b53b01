import LinkCore
import LinkServerCore
import LinkWire
import Session

/// A server beside its second account, to which anything is said and done.
struct SessionServerWalk: TwinWalk {
  var chance: Chance
  private let policy: SessionServerPolicy
  private let numbers: SessionHouse.Numbers
  var server: SessionServer
  private var house: SessionHouse
  var kept = SessionKept()
  private var cellar = SessionCellar()
  private var now = Instant.zero
  var stray: String?

  private var sockets: [ConnectionID] = []
  /// Sockets that are told to end.
  private var ending: [ConnectionID] = []
  /// Sockets of which it is to be told that they took all.
  private var full: [ConnectionID] = []
  private var handlers: [SessionPromptID] = []
  private var writes: [(token: StoreToken, changes: [SessionChange])] = []
  /// Ids of answers that were sent, the newest ones.
  private var messages: [String] = []
  private var lastSocket: UInt64 = 0
  private var lastKey = 0

  private static let clients = ["p", "q", "r"]
  private static let talks = ["a", "b", "c"]

  init(_ chance: Chance) {
    var chance = chance
    var numbers = SessionsFeature.Numbers()
    numbers.kept = [2, 3, 5, 1_000][Int(chance.next() % 4)]
    (numbers.tight, numbers.strict) = (Int(chance.next() % 2), Int(chance.next() % 2))
    var (policy, house) = (SessionServerPolicy(numbers), SessionHouse.Numbers(numbers))
    if chance.next() % 2 == 0 {
      policy.shrink()
      house.shrink()
    }
    (self.chance, self.policy, self.numbers) = (chance, policy, house)
    server = SessionServer(policy: policy, seed: 0, at: .zero)
    self.house = SessionHouse(house, seed: 0, at: .zero)
  }

  /// Takes so many steps; returns the first difference.
  mutating func walk(_ steps: Int) -> String? {
    boot()
    for _ in 0..<steps where stray == nil { happen() }
    compareCounts()
    return stray
  }

  private var wall: Timestamp {
    Timestamp(nanoseconds: 1_768_000_000_000_000_000 + now.nanoseconds)
  }

  /// One of the open sockets; seldom one that there never was.
  private mutating func socket() -> ConnectionID {
    sockets.isEmpty || happens(60) ? ConnectionID(9_999) : one(sockets)
  }

  // Steps.

  /// Starts a process over what is durable.
  private mutating func boot() {
    let seed = chance.next()
    server = SessionServer(policy: policy, seed: seed, at: now)
    house = SessionHouse(numbers, seed: seed, at: now)
    (sockets, ending, full, handlers, writes) = ([], [], [], [], [])
    give(.restored(kept, wall: wall))
  }

  mutating func give(_ input: SessionServer.Input?) {
    guard stray == nil else { return }
    let effects = input.map { server.handle($0, at: now) } ?? server.tick(at: now)
    stray = house.stray(of: server, after: input, effects, at: now)
    for effect in effects { perform(effect) }
  }

  private mutating func perform(_ effect: SessionServer.Effect) {
    switch effect {
    case .accept(let id): sockets.append(id)
    case .close(let id, _), .drop(let id): ending.append(id)
    case .noticeDrain(let id): full.append(id)
    case .run(let id, _): handlers.append(id)
    case .store(let token, let changes): writes.append((token, changes))
    case .send(_, .response(let response)): noteAnswer(response.id)
    case .send(_, .replay(let id, _, _)): noteAnswer(id)
    case .send, .refuse, .ping, .cancel, .finished: return
    }
  }

  private mutating func noteAnswer(_ id: String?) {
    if let id { messages = messages.suffix(11) + [id] }
  }

  private mutating func happen() {
    pass()
    switch number(0...39) {
    case 0...2: arrive()
    case 3...9: write()
    case 10...14: work()
    case 15...18: if !full.isEmpty { give(.drained(full.removeFirst())) }
    case 19: leave()
    case 20: seldom()
    case 21...25: enter()
    case _: speak()
    }
  }

  private mutating func pass() {
    let waits: [Duration] = [
      .zero, .zero, .zero, .milliseconds(3), .milliseconds(300), .milliseconds(999), .seconds(2),
    ]
    let longer: [Duration] = [.seconds(31), .seconds(95), .seconds(301), .seconds(3_700)]
    let until = now.advanced(by: happens(60) ? one(longer) : one(waits))
    while let due = server.deadline, due <= until, stray == nil, !happens(40) {
      now = max(now, due)
      give(nil)
    }
    now = max(now, until)
  }

  private mutating func arrive() {
    lastSocket += 1
    let arrival = SessionServer.Arrival(
      address: one(["x", "x", "y"]), challenge: "c\(lastSocket)")
    give(.opened(ConnectionID(lastSocket), arrival, wall: wall))
    if !happens(6) { enter(ConnectionID(lastSocket)) }
  }

  /// The store answers: one change after the other.
  private mutating func write() {
    guard !writes.isEmpty else { return }
    let (token, changes) = writes.removeFirst()
    if happens(12) {
      return give(.stored(token, failure: .full(detail: "no space"), wall: wall))
    }
    keep(changes)
    give(.stored(token, failure: nil, wall: wall))
  }

  mutating func keep(_ changes: [SessionChange]) {
    for change in changes {
      kept.apply(change)
      if let other = cellar.stray(change, kept) { stray = stray ?? other }
    }
  }

  /// A handler writes, or ends.
  private mutating func work() {
    guard !handlers.isEmpty else { return }
    let id = one(handlers)
    let sizes = [3, 40, 700, 1_299, 1_300, 3_999, 4_000, 4_001, 30_000, 110_000]
    let text = happens(4) ? String(of: "y", count: one(sizes)) : "re \(number(0...9))"
    if happens(2) { return give(.produced(id, text)) }
    handlers.removeAll { $0 == id }
    let result: SessionResponse.Result =
      happens(5) ? .failure(error: "it failed") : .success(text: happens(9) ? "re\n" : text)
    give(.ended(id, result, wall: wall))
  }

  private mutating func leave() {
    let id = ending.isEmpty ? socket() : ending.removeFirst()
    sockets.removeAll { $0 == id }
    full.removeAll { $0 == id }
    give(.gone(id, wall: wall))
  }

  private mutating func seldom() {
    switch number(0...9) {
    case 0: give(.overflowed(socket()))
    case 1: give(.unreadable(socket(), detail: "odd", field: one([nil, "text", "last_seq"])))
    case 2: give(.heard(socket()))
    case 3: if happens(4) { give(.drain(within: .seconds(3))) }
    case 4: give(.drained(socket()))
    case 5: give(.stored(StoreToken(777_777), failure: nil, wall: wall))
    case 6: give(.ended(SessionPromptID(777_777), .success(text: "late"), wall: wall))
    case 7: compareCounts()
    case _: if happens(8) || server.isFinished { restart() }
    }
  }

  /// The process ends and begins; of what was on its way to the store, the first part arrived.
  private mutating func restart() {
    compareCounts()
    for write in writes.prefix(number(0...writes.count)) { keep(write.changes) }
    boot()
  }

  mutating func compareCounts() {
    var page = MetricsPage()
    server.report(to: &page)
    let (found, must) = (SessionHouse.numbers(on: page.text), house.page)
    for name in Set(found.keys).union(must.keys).sorted() where found[name] != must[name] {
      stray = stray ?? "\(name) is \(found[name] ?? 0), not \(must[name] ?? 0)"
    }
  }

  // What clients say.

  private mutating func enter(_ id: ConnectionID? = nil) {
    let all = SessionFeature.allCases
    var connect = SessionConnect(
      session: one(Self.clients), features: Set(happens(3) ? [] : happens(2) ? all : [one(all)]),
      received: happens(2) ? nil : UInt64(number(0...12)))
    if happens(9) { connect.version = one([nil, "0.3.9", "0.4.0", "0.4.9", "odd", "1.0.0"]) }
    if happens(4) { connect.recentSessionsLimit = number(0...9) }
    let skews: [Duration] = [.zero, .seconds(30), .seconds(31), .seconds(-30), .seconds(-31)]
    if !happens(9) { connect.timestamp = wall.advanced(by: one(skews)) }
    let proofs: [SessionServer.Proof] = [.key, .key, .key, .challenge]
    say(.connect(connect), to: id, proof: happens(20) ? .none : one(proofs))
  }

  private mutating func say(
    _ message: SessionClientMessage, to id: ConnectionID? = nil,
    proof: SessionServer.Proof = .none
  ) {
    let id = id ?? socket()
    if !happens(9) { give(.heard(id)) }
    give(.said(id, message, proof: proof, wall: wall))
  }

  private mutating func speak() {
    let talk = one(Self.talks)
    switch number(0...14) {
    case 0...5: say(.prompt(prompt(talk)))
    case 6...8: say(.messageAck(messages.isEmpty || happens(9) ? "none" : one(messages)))
    case 9: say(.subscribe(subscription(talk)))
    case 10: say(.subscribeBatch(Self.talks.prefix(number(1...3)).map { subscription($0) }))
    case 11: say(.setMaxMessageSize(kilobytes: one([1, 2, 3, 64, 16_384])))
    case 12: say(happens(2) ? .killSession(conversation: talk) : .unsubscribe(conversation: talk))
    case 13: say(.ping)
    case _: say(happens(4) ? .disconnect(reason: "done") : .unknown(type: "news"))
    }
  }

  private mutating func prompt(_ talk: String) -> SessionPrompt {
    let sizes = [99_999, 100_000, 100_001, 524_288, 524_289]
    let text = happens(30) ? String(of: "x", count: one(sizes)) : "ask \(number(0...9))"
    if !happens(4) { lastKey += 1 }
    var prompt = SessionPrompt(
      text: text, conversation: talk, isNew: happens(3),
      idempotencyKey: happens(9) ? nil : "k\(max(0, lastKey - (happens(9) ? number(0...5) : 0)))")
    prompt.number = happens(3) ? nil : UInt64(max(1, lastKey))
    if happens(9) { prompt.systemPrompt = String(of: "s", count: one([1, 1_000, 1_001, 131_049])) }
    return prompt
  }

  private mutating func subscription(_ talk: String) -> SessionSubscription {
    let place = UInt64(number(0...7))
    let signature = happens(2) ? kept.conversations[talk]?.signature : one([nil, "other"])
    return SessionSubscription(
      conversation: talk,
      cursor: happens(3) ? .sequence(place) : .offset(place, signature: signature))
  }
}

extension SessionServerPolicy {
  /// Memory for little.
  fileprivate mutating func shrink() {
    (maxParcels, maxWrites, maxClients, maxConversations) = (5, 4, 2, 2)
    (maxHistoryBytes, answersBytesPerClient) = (300, 2_000)
    (maxEnded, maxEndedBytes) = (6, 3_000)
  }
}

extension SessionHouse.Numbers {
  fileprivate mutating func shrink() {
    (parcels, writes, clients, talks) = (5, 4, 2, 2)
    (historyBytes, answersBytes) = (300, 2_000)
    (over, overBytes) = (6, 3_000)
  }
}
