import LinkCore
import LinkHealth
import LinkServerCore
import LinkWire

/// Everything around the relay, and what must be true of it.
struct RelayWorld {
  private struct Phone {
    var resume: String?
    var connection: ConnectionID?
    var pair: RelayPair?
    var asked: [(id: RelayRequestID, question: HealthQuestion)] = []
    var leased: [LeasedQuestion] = []
    var hasPush = false
  }

  /// What a call must bring, if it brings anything.
  private enum Wish {
    case login(phone: Int?)
    case question(text: String, HealthQuestion, token: String)
    case logout
  }

  private var server: RelayServer
  private var chance: Chance
  private var now = Instant.zero
  private var life = 0
  private var lastID: UInt64 = 0
  private var days = 0
  private var phones = [Phone](repeating: Phone(), count: 4)
  /// Whose each open socket is; `nil` once a close frame was sent on it.
  private var sockets: [ConnectionID: Int?] = [:]
  private var names: [PhoneID: Int] = [:]
  private var tokens: [(text: String, phone: Int)] = []
  private var wishes: [AskID: Wish] = [:]
  private var pulls: Set<RequestID> = []
  private var lost: [(question: HealthQuestion, token: String, text: String)] = []
  private var writes: [(token: StoreToken, changes: [RelayChange])] = []
  private var mints: [RelayServer.Mint] = []
  private(set) var kept = RelayKept()
  private(set) var answered = 0
  private(set) var resumed = 0
  private(set) var adopted = 0
  private(set) var refused: Set<String> = []
  private(set) var faults: [String] = []

  init(seed: UInt64) {
    chance = Chance(seed: seed)
    server = Self.server(life: 0)
  }

  private static func server(life: Int, at now: Instant = .zero) -> RelayServer {
    var policy = RelayServerPolicy()
    policy.callsPerPhone = 5
    policy.wrongPairs = 4
    policy.lockOut = .seconds(40)
    policy.tokensPerPhone = 3
    policy.grace = .seconds(60)
    return RelayServer(policy: policy, life: "l\(life)", at: now)
  }

  var open: Int { wishes.count + pulls.count }
  private var wall: Timestamp { RelayStage.dawn.advanced(by: Instant.zero.duration(to: now)) }

  mutating func step() {
    pass(chance.duration(below: .seconds(2)))
    lastID += 1
    switch Int.random(in: 0..<32, using: &chance) {
    case 0, 1: connect(anyPhone())
    case 2: leave()
    case 3, 4: login()
    case 5, 6, 7, 8, 9: ask()
    case 10: abandon()
    case 11...16: answer()
    case 17, 18: lease(anyPhone())
    case 19, 20, 21: post(anyPhone())
    case 22: register(anyPhone())
    case 23: logout()
    case 24: if chance.unit() < 0.4 { restart() }
    case _: work()
    }
  }

  /// Lets everything that is under way come to its end.
  mutating func settle() {
    for _ in 0..<80 {
      work()
      while !writes.isEmpty || !mints.isEmpty { work() }
      pass(.seconds(1))
    }
    while !writes.isEmpty { work() }
  }

  private mutating func pass(_ time: Duration) {
    let end = now.advanced(by: time)
    while let deadline = server.deadline, deadline <= end {
      now = max(now, deadline)
      feed(server.tick(at: now))
    }
    now = end
  }

  private mutating func take(_ input: RelayServer.Input) { feed(server.handle(input, at: now)) }

  private mutating func feed(_ effects: [RelayServer.Effect]) {
    for effect in effects { judge(effect) }
  }

  // MARK: What people and phones do

  private mutating func connect(_ index: Int) {
    let id = ConnectionID(lastID)
    let token = chance.unit() < 0.95 ? phones[index].resume : nil
    let isPlain = index == 3
    sockets[id] = index
    phones[index].asked = []
    phones[index].connection = id
    let arrival = RelayServer.Arrival(
      device: isPlain ? nil : RelayStage.device(UInt64(index)),
      resume: token.map(RelayStage.hash), address: "\(index)")
    take(.phoneOpened(id, arrival, wall: wall))
  }

  private mutating func leave() {
    guard let id = sockets.keys.sorted().randomElement(using: &chance) else { return }
    end(id)
  }

  private mutating func end(_ id: ConnectionID) {
    guard let owner = sockets.removeValue(forKey: id) else { return }
    if let owner, phones[owner].connection == id {
      phones[owner].connection = nil
      phones[owner].asked = []
    }
    take(.phoneGone(id, code: 1006, wall: wall))
  }

  private mutating func login() {
    let index = anyPhone()
    let pair = chance.unit() < 0.9 ? phones[index].pair : nil
    let given = pair ?? RelayPair(code: "999999", word: "anchor")
    wishes[AskID(lastID)] = .login(phone: pair == nil ? nil : index)
    take(
      .ask(
        AskID(lastID), .login(word: given.word, code: given.code), bearer: nil,
        from: "\(Int.random(in: 0..<3, using: &chance))", wall: wall))
  }

  private mutating func ask() {
    guard let token = tokens.suffix(8).randomElement(using: &chance) else { return }
    days += 1
    var question = RelayStage.question(days)
    var text = "\(token.phone)/\(days)"
    var bearer = token.text
    if chance.unit() < 0.8, let old = lost.popLast() {
      (question, bearer, text) = (old.question, old.token, old.text)
    }
    wishes[AskID(lastID)] = .question(text: text, question, token: bearer)
    let hash = RelayStage.hash(bearer)
    take(.ask(AskID(lastID), .question(question), bearer: hash, from: "x", wall: wall))
  }

  private mutating func logout() {
    guard let token = tokens.randomElement(using: &chance), chance.unit() < 0.3 else { return }
    wishes[AskID(lastID)] = .logout
    let hash = RelayStage.hash(token.text)
    take(.ask(AskID(lastID), .logout, bearer: hash, from: "x", wall: wall))
  }

  private mutating func abandon() {
    guard let id = wishes.keys.sorted().randomElement(using: &chance) else { return }
    wishes[id] = nil
    take(.abandoned(id))
  }

  /// A phone answers what it was asked on its socket, late and twice as well.
  private mutating func answer() {
    let busy = phones.indices.filter { !phones[$0].asked.isEmpty }
    guard let index = busy.randomElement(using: &chance),
      let connection = phones[index].connection,
      let next = phones[index].asked.randomElement(using: &chance)
    else { return }
    if chance.unit() < 0.8 { phones[index].asked.removeAll { $0.id == next.id } }
    take(.phoneSaid(connection, message(next.id, next.question, of: index)))
  }

  private func message(
    _ id: RelayRequestID, _ question: HealthQuestion, of index: Int
  ) -> PhoneMessage {
    .healthData(id, RelayStage.object("\(index)/\(Self.day(of: question))"))
  }

  private static func day(of question: HealthQuestion) -> Int {
    guard case .healthData(let query) = question, case .instant(let end, _) = query.end else {
      return 0
    }
    return Int(RelayStage.dawn.duration(to: end).components.seconds / 86_400)
  }

  private mutating func lease(_ index: Int) {
    pull(.lease(LeaseOrder(max: Int.random(in: 1...4, using: &chance))), of: index)
  }

  private mutating func post(_ index: Int) {
    guard let leased = phones[index].leased.randomElement(using: &chance) else { return }
    if chance.unit() < 0.7 { phones[index].leased.removeAll { $0.lease == leased.lease } }
    let message = message(leased.id, leased.question, of: index)
    pull(.result(LeasedResult(lease: leased.lease, message: message)), of: index)
  }

  private mutating func register(_ index: Int) {
    phones[index].hasPush = true
    pull(.push(.hook("\(index)")), of: index)
  }

  private mutating func pull(_ pull: RelayPull, of index: Int) {
    guard let token = phones[index].resume else { return }
    pulls.insert(RequestID(lastID))
    take(.pull(RequestID(lastID), pull, bearer: RelayStage.hash(token), wall: wall))
  }

  // MARK: What the process does

  /// Draws a secret, or lets the store answer.
  private mutating func work() {
    lastID += 1
    if !mints.isEmpty { return mint(mints.removeFirst()) }
    guard !writes.isEmpty else { return closeSome() }
    let (token, changes) = writes.removeFirst()
    if chance.unit() < 0.03 {
      return take(.stored(token, failure: .full(detail: "disk")))
    }
    for change in changes { apply(change) }
    take(.stored(token, failure: nil))
  }

  private mutating func closeSome() {
    for id in sockets.keys.sorted() where sockets[id] == .some(nil) { end(id) }
  }

  private mutating func mint(_ mint: RelayServer.Mint) {
    let secret = RelayStage.secret("secret-\(lastID)")
    let pair = RelayPair(using: &chance)
    switch mint {
    case .phone(let connection):
      let id = RelayStage.phone(lastID)
      if let index = sockets[connection].flatMap(\.self) {
        names[id] = index
      }
      take(.minted(.phone(connection, id, secret, pair)))
    case .pair(let id): take(.minted(.pair(id, pair)))
    case .access(let ask): take(.minted(.access(ask, secret)))
    }
  }

  private mutating func apply(_ change: RelayChange) {
    switch change {
    case .phone(let phone):
      kept.phones.removeAll { $0.id == phone.id }
      kept.phones.append(phone)
    case .endPhone(let id):
      kept.phones.removeAll { $0.id == id }
      kept.questions.removeAll { $0.phone == id }
    case .access(let access): kept.accesses.append(access)
    case .endAccess(let token): kept.accesses.removeAll { $0.token == token }
    case .question(let question):
      kept.questions.removeAll { $0.id == question.id }
      kept.questions.append(question)
    case .endQuestion(let id): kept.questions.removeAll { $0.id == id }
    }
  }

  /// The process dies: sockets and callers with it, and what the store was not yet told.
  private mutating func restart() {
    for case .question(let text, let question, let token) in wishes.sorted(by: { $0.key < $1.key })
      .map(\.value)
    { lost.append((question, token, text)) }
    (writes, mints) = ([], [])
    (wishes, sockets, pulls) = ([:], [:], [])
    for index in phones.indices {
      phones[index].connection = nil
      phones[index].asked = []
    }
    life += 1
    server = Self.server(life: life, at: now)
    take(.restored(kept, wall: wall))
  }

  private mutating func anyPhone() -> Int { Int.random(in: 0..<phones.count, using: &chance) }
}

extension RelayWorld {
  /// Whether the world can do this now; and does it.
  mutating func judge(_ effect: RelayServer.Effect) {
    switch effect {
    case .accept(let id): demand(sockets[id] != nil, "accepts \(id)")
    case .refuse(let id, _): demand(sockets.removeValue(forKey: id) != nil, "refuses \(id)")
    case .send(let id, let message): send(id, message)
    case .ping(let id): if sockets[id] != nil { take(.heard(id)) }
    case .close(let id, _):
      guard let owner = sockets[id] else { return demand(false, "closes \(id)") }
      demand(owner != nil, "closes \(id) twice")
      if let owner, phones[owner].connection == id { phones[owner].connection = nil }
      sockets[id] = .some(nil)
    case .drop(let id): end(id)
    case .answer(let id, let outcome): answer(id, outcome)
    case .respond(let id, let reply):
      demand(pulls.remove(id) != nil, "responds to \(id)")
      if case .leased(let questions) = reply { leased(questions) }
    case .mint(let mint): mints.append(mint)
    case .store(let token, let changes): writes.append((token, changes))
    case .push(let id, let address, _):
      let outcome: PushOutcome =
        chance.unit() < 0.7 ? .delivered : chance.unit() < 0.5 ? .gone : .failed(cause: "x")
      take(.pushed(id, to: address, outcome))
    case .finished: demand(false, "finishes")
    }
  }

  private mutating func demand(_ isTrue: Bool, _ what: String) {
    if !isTrue { faults.append("\(now.nanoseconds / 1_000_000_000) s: \(what)") }
  }

  private mutating func send(_ id: ConnectionID, _ message: BackendMessage) {
    guard let index = sockets[id].flatMap(\.self) else { return demand(false, "sends to \(id)") }
    // A phone that opened another socket does not hear what comes on its old one.
    guard phones[index].connection == id else { return }
    switch message {
    case .connectionCode(let code):
      if let token = code.resumeToken { phones[index].resume = token }
      if code.resumed { resumed += 1 }
      phones[index].pair = RelayPair(code: code.code, word: code.word)
    case .question(let request, let question):
      demand(phones[index].pair != nil, "asks before it greets")
      if !request.text.hasPrefix("l\(life)-") { adopted += 1 }
      phones[index].asked.append((request, question))
    case .cancel(let request):
      demand(index != 3, "sends a plain phone a cancel")
      phones[index].asked.removeAll { $0.id == request && chance.unit() < 0.5 }
    case .unknown: demand(false, "sends what nobody knows")
    }
  }

  private mutating func leased(_ questions: LeasedQuestions) {
    for question in questions.questions {
      if !question.id.text.hasPrefix("l\(life)-") { adopted += 1 }
      for index in phones.indices where phones[index].leased.contains(where: { $0 == question }) {
        phones[index].leased.removeAll { $0.lease == question.lease }
      }
      guard
        let wish = wishes.sorted(by: { $0.key < $1.key }).first(where: {
          if case .question(_, question.question, _) = $0.value { true } else { false }
        }), case .question(_, _, let token) = wish.value,
        let owner = tokens.first(where: { $0.text == token })?.phone
      else { return demand(false, "leases what nobody asks") }
      phones[owner].leased.append(question)
    }
  }

  private mutating func answer(_ id: AskID, _ outcome: RelayOutcome) {
    guard let wish = wishes.removeValue(forKey: id) else {
      return demand(false, "answers \(id), who does not ask")
    }
    switch (outcome, wish) {
    case (.loggedIn(let grant), .login(let phone?)):
      let user = UUID128(grant.user).flatMap { names[PhoneID($0)] }
      demand(user == phone, "pairs \(phone) with \(grant.user)")
      tokens.append((grant.accessToken, phone))
    case (.loggedOut, .logout): break
    case (.data(let object), .question(let text, _, _)):
      answered += 1
      demand(object == RelayStage.object(text), "answers \(text) with another's data")
    case (.refused(let refusal), _): refused.insert(refusal.word)
    case (.loggedIn, _), (.loggedOut, _), (.data, _): demand(false, "answers \(wish) so")
    }
  }
}
