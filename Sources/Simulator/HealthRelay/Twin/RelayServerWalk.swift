import LinkCore
import LinkHealth
import LinkJSON
import LinkServerCore
import LinkWire

/// A server of the relay beside its second account, to which anything is said and done.
struct RelayServerWalk: TwinWalk {
  /// What there is most of in a walk.
  enum Mood: CaseIterable {
    case everything, guesses, pulls, pushes, answers, restarts
  }

  var chance: Chance
  let mood: Mood
  /// How seldom what is asked for waits.
  private let haste: UInt64
  private(set) var policy: RelayServerPolicy
  var server: RelayServer
  var house: RelayHouse
  private var kept = RelayKept()
  var now = Instant.zero
  private var skew = Duration.zero
  private var run = 0
  var stray: String?

  var sockets: [ConnectionID] = []
  /// Sockets that are told to end.
  private var ending: [ConnectionID] = []
  private var pinged: [ConnectionID] = []
  private var mints: [RelayServer.Mint] = []
  private var writes: [(token: StoreToken, changes: [RelayChange])] = []
  var pushes: [(phone: PhoneID, address: PushAddress)] = []
  var pairs: [RelayPair] = []
  private var devices: [ConnectionID: UUID128] = [:]
  private var secrets: [String: TokenHash] = [:]
  /// What phones were told to come back with.
  var resumes: [(device: UUID128, token: TokenHash)] = []
  /// Tokens of assistants.
  var tokens: [TokenHash] = []
  /// The token of the last question.
  var bearer: TokenHash?
  var asks: [AskID] = []
  /// Questions that phones were sent, or leased with a token.
  var given: [(line: ConnectionID, id: RelayRequestID, question: HealthQuestion)] = []
  var leased: [(token: TokenHash, question: LeasedQuestion)] = []
  /// What is left of an answer in parts.
  var parts: [RelayRequestID: [HealthPart]] = [:]
  /// The token of the last pull, and what it was answered.
  var puller: TokenHash?
  private var reply: (to: RequestID, RelayReply)?
  private var last: UInt64 = 0

  init(_ chance: Chance) {
    self.chance = chance
    mood = Mood.allCases[Int(self.chance.next() % UInt64(Mood.allCases.count))]
    haste = self.chance.next() % 3 == 0 ? 2 : 6
    policy = RelayHouse.drawn(&self.chance)
    server = RelayServer(policy: policy, life: "a", at: .zero)
    house = RelayHouse(policy, life: "a", at: .zero)
  }

  /// Takes so many steps; returns the first difference.
  mutating func walk(_ steps: Int) -> String? {
    stray = stray ?? RelayHouse.strayOfNumbers()
    boot()
    for _ in 0..<steps where stray == nil { happen() }
    return stray ?? house.strayOfPages(server)
  }

  var wall: Timestamp {
    Timestamp(nanoseconds: 1_768_000_000_000_000_000 + now.nanoseconds).advanced(by: skew)
  }

  /// A number that was not given before.
  mutating func fresh() -> UInt64 {
    last += 1
    return last
  }

  /// One of the sockets; seldom one that there never was.
  mutating func socket() -> ConnectionID {
    sockets.isEmpty || happens(60) ? ConnectionID(9_999) : one(sockets)
  }

  /// What was leased by a pull.
  func lastReply(to request: RequestID) -> [LeasedQuestion]? {
    guard let reply, reply.to == request, case .leased(let leased) = reply.1 else { return nil }
    return leased.questions
  }

  // Steps.

  /// Starts a process over what is durable.
  private mutating func boot() {
    run += 1
    if run > 1, happens(3) { policy = RelayHouse.drawn(&chance) }
    // Of one that is too long the first 32 characters count, which no other run has.
    let life = "r\(run)" + (happens(9) ? "-" + String(repeating: "r", count: 40) : "")
    server = RelayServer(policy: policy, life: life, at: now)
    house = RelayHouse(policy, life: life, at: now)
    (sockets, ending, mints, writes, pushes, pairs) = ([], [], [], [], [], [])
    (asks, given, leased, parts, devices) = ([], [], [], [:], [:])
    give(.restored(kept, wall: wall))
    if run > 1, !resumes.isEmpty, happens(2) { listAssistants() }
    if let question = kept.questions.first, happens(2) { askAgain(question) }
    if run == 1 || happens(3) { settleIn() }
  }

  /// Lets phones come and assistants log in.
  private mutating func settleIn() {
    for _ in 0..<number(1...2) {
      arrive()
      catchUp()
      for _ in 0..<(mood == .restarts ? number(1...3) : 1) {
        if let pair = pairs.last, !happens(9) { logIn(by: pair) } else { logIn() }
        catchUp()
      }
      guard mood == .pulls || mood == .pushes else { continue }
      register()
      catchUp()
      if let id = sockets.last, !happens(6) { leave(id) }
    }
  }

  private mutating func catchUp() {
    for _ in 0..<2 {
      draw()
      write()
    }
  }

  mutating func give(_ input: RelayServer.Input?) {
    guard stray == nil else { return }
    let effects = input.map { server.handle($0, at: now) } ?? server.tick(at: now)
    stray = house.stray(of: server, after: input, effects, at: now)
    for effect in effects { perform(effect) }
  }

  private mutating func perform(_ effect: RelayServer.Effect) {
    switch effect {
    case .accept(let id): sockets.append(id)
    case .close(let id, _), .drop(let id): ending.append(id)
    case .mint(let mint): mints.append(mint)
    case .store(let token, let changes): writes.append((token, changes))
    case .push(let phone, let address, _): pushes.append((phone, address))
    case .answer(let ask, let outcome):
      asks.removeAll { $0 == ask }
      stray = stray ?? RelayHouseWords.stray(of: outcome)
      if Self.isOver(outcome), !happens(4) { tokens.removeAll { $0 == bearer } }
      if case .loggedIn(let grant) = outcome, let token = secrets[grant.accessToken] {
        tokens = tokens.suffix(4) + [token]
      }
    case .respond(let request, let reply):
      self.reply = (request, reply)
      if reply == .refused(.notSignedIn), !happens(4) { resumes.removeAll { $0.token == puller } }
      stray = stray ?? RelayHouseWords.stray(of: reply)
    case .send(let id, let message): receive(message, on: id)
    case .ping(let id): pinged.append(id)
    case .refuse, .finished: return
    }
  }

  /// Whether a token is worth nothing any more.
  private static func isOver(_ outcome: RelayOutcome) -> Bool {
    switch outcome {
    case .loggedOut, .refused(.notSignedIn), .refused(.tokenExpired), .refused(.signedOut),
      .refused(.phoneReplaced), .refused(.phoneAway(_, .pairAgain)):
      true
    case .loggedIn, .data, .refused: false
    }
  }

  private mutating func receive(_ message: BackendMessage, on id: ConnectionID) {
    switch message {
    case .connectionCode(let code):
      pairs = pairs.suffix(3) + [RelayPair(code: code.code, word: code.word)]
      guard let device = devices[id], let token = code.resumeToken.flatMap({ secrets[$0] }) else {
        return
      }
      resumes = resumes.suffix(4) + [(device, token)]
    case .question(let name, let question): given = given.suffix(5) + [(id, name, question)]
    case .cancel(let name): if !happens(3) { given.removeAll { $0.id == name } }
    case .unknown: return
    }
  }

  private mutating func happen() {
    pass()
    if happens(2) { act(mood) } else { act(.everything) }
    for _ in 0..<3 {
      if !happens(haste) { draw() }
      if !happens(haste) { write() }
    }
  }

  private mutating func act(_ mood: Mood) {
    let isAway = mood == .pulls || mood == .pushes
    if isAway, tokens.isEmpty, happens(3) { return settleIn() }
    if sockets.count < 2, !isAway, happens(3) { return arrive() }
    if tokens.isEmpty, happens(2) { return logIn() }
    switch mood {
    case .guesses: return logIn()
    case .pulls:
      if let id = sockets.last, happens(8) { return leave(id) }
      return happens(3) ? ask() : pushes.isEmpty || !happens(3) ? pull() : ring()
    case .pushes:
      if let id = sockets.last, happens(3) { return leave(id) }
      if happens(9) { return happens(2) ? register() : pull() }
      return happens(2) ? ask() : ring()
    case .answers: return happens(2) ? ask() : speak()
    case .restarts:
      if happens(15) { return restart() }
      if happens(60) { return stop() }
      return happens(6) ? leave() : happens(2) ? pull() : ask()
    case .everything: break
    }
    switch number(0...19) {
    case 0...1: arrive()
    case 2...3: logIn()
    case 4...7: ask()
    case 8...11: speak()
    case 12...14: pull()
    case 15: leave()
    case 16: ring()
    case _: seldom()
    }
  }

  private mutating func pass() {
    let waits: [Duration] = [
      .zero, .zero, .zero, .zero, .milliseconds(500), .seconds(1), .seconds(1), .seconds(2),
    ]
    let longer: [Duration] = [.seconds(4), .seconds(5), .seconds(20), .seconds(61), .seconds(700)]
    let until = now.advanced(by: happens(50) ? one(longer) : one(waits))
    while let due = server.deadline, due <= until, stray == nil, !happens(40) {
      now = max(now, due)
      // Something is said at the same moment.
      if happens(12) { return }
      give(nil)
      while let id = pinged.popLast() { if !happens(9) { give(.heard(id)) } }
    }
    now = max(now, until)
    if happens(50) { give(nil) }
  }

  private mutating func arrive() {
    let id = ConnectionID(fresh())
    let device =
      happens(mood == .answers ? 2 : 6)
      ? nil : UUID128(high: 0xD, low: UInt64(number(1...(mood == .everything ? 3 : 1))))
    var arrival = RelayServer.Arrival(device: device, address: one(Self.addresses))
    if !happens(4), let known = resumes.last(where: { $0.device == device }) {
      arrival.resume = known.token
    }
    if happens(9), !resumes.isEmpty { arrival.resume = one(resumes).token }
    devices[id] = device
    give(.phoneOpened(id, arrival, wall: wall))
  }

  /// A secure generator draws what is wanted.
  private mutating func draw() {
    guard !mints.isEmpty else { return }
    let mint = mints.removeFirst()
    let pair = happens(9) && !pairs.isEmpty ? one(pairs) : newPair()
    switch mint {
    case .phone(let id):
      if happens(15) { mints.append(mint) }
      let phone = PhoneID(UUID128(high: chance.next(), low: fresh()))
      give(.minted(.phone(id, phone, secret(), pair)))
    case .pair(let id): give(.minted(.pair(id, pair)))
    case .access(let ask): give(.minted(.access(ask, secret())))
    }
  }

  private mutating func newPair() -> RelayPair {
    let code = String(String(1_000_000 + fresh()).dropFirst())
    return RelayPair(code: code, word: one(["ab-cd", "abcdefgh-ijklmnop"]))
  }

  private mutating func secret() -> RelaySecret {
    let text = "t\(fresh())"
    let hash = hash()
    secrets[text] = hash
    return RelaySecret(text: text, hash: hash)
  }

  private mutating func hash() -> TokenHash {
    var bytes = [UInt8](repeating: 0, count: 32)
    for place in 0..<8 { bytes[place] = UInt8(truncatingIfNeeded: chance.next() >> 40) }
    guard let hash = TokenHash(bytes) else { return hash() }
    return hash
  }

  /// The store answers: one change after the other.
  private mutating func write() {
    guard !writes.isEmpty else { return }
    let (token, changes) = writes.removeFirst()
    let failures: [StoreFailure] = [
      .full(detail: "a"), .locked(detail: "a"), .corrupt(detail: "a"), .denied(detail: "a"),
      .fromTheFuture(found: 2, supported: 1), .other(detail: "a"),
    ]
    if happens(12) { return give(.stored(token, failure: one(failures))) }
    for change in changes { kept.apply(change) }
    give(.stored(token, failure: nil))
  }

  private mutating func leave() {
    let id = ending.isEmpty || happens(4) ? socket() : ending.removeFirst()
    leave(id)
  }

  private mutating func leave(_ id: ConnectionID) {
    sockets.removeAll { $0 == id }
    ending.removeAll { $0 == id }
    give(.phoneGone(id, code: one([1000, 1006, 1009]), wall: wall))
  }

  private mutating func seldom() {
    switch number(0...9) {
    case 0: give(.overflowed(socket()))
    case 1: give(.heard(socket()))
    case 2: if happens(4) { give(.drain(within: one([.zero, .seconds(3), .milliseconds(2_500)]))) }
    case 3: give(.stored(StoreToken(777_777), failure: nil))
    case 4: give(.abandoned(asks.isEmpty || happens(9) ? AskID(777_777) : one(asks)))
    case 5: skew += one([.seconds(-1), .seconds(1), .seconds(-30), .seconds(9)])
    case 6: stray = stray ?? house.strayOfPages(server)
    case 7: give(.phoneUnreadable(socket(), RelayWireError(.missing(field: "type"))))
    case _: if happens(12) || server.isFinished { restart() }
    }
  }

  /// The process ends and begins; of what was on its way to the store, the first part arrived.
  private mutating func restart() {
    stray = stray ?? house.strayOfPages(server)
    for write in writes.prefix(number(0...writes.count)) {
      for change in write.changes { kept.apply(change) }
    }
    if happens(6), !kept.phones.isEmpty { kept.phones.removeFirst() }
    if happens(6), !kept.accesses.isEmpty { kept.accesses.removeFirst() }
    if let due = server.deadline, due > now, now.duration(to: due) < .seconds(20), happens(3) {
      now = due
    }
    if happens(4) {
      for place in kept.accesses.indices { kept.accesses[place].since = nil }
    }
    boot()
  }

  /// The process is to end while much is on its way.
  private mutating func stop() {
    logIn()
    draw()
    register()
    logIn()
    give(.drain(within: .seconds(1)))
    for _ in 0..<number(1...8) { pass() }
    restart()
  }
}
