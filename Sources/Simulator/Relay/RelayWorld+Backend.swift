import HealthRelay
import LinkCore
import LinkServerCore
import LinkWire

// The backend's process, its store, and what it draws and sends.
extension RelayWorld {
  struct Backend {
    let policy: RelayServerPolicy
    var server: RelayServer
    var isRunning = false
    /// Counts its processes: what was under way for an earlier one is nobody's.
    var generation = 0
    /// What is durable.
    var kept = RelayKept()
    /// Changes that are being written, in order.
    var writing: [[RelayChange]] = []
    var delay: Duration
    /// When the last of these is written: one after the other.
    var storeFree = Instant.zero
    /// Who waits, by what they asked.
    var asks: [AskID: Int] = [:]
    /// Why it is away: planned things under way.
    var downs: [Int] = []

    init(policy: RelayServerPolicy, delay: Duration) {
      self.policy = policy
      self.delay = delay
      server = RelayServer(policy: policy, life: "a", at: .zero)
    }
  }

  mutating func startBackend() {
    guard !backend.isRunning, backend.downs.isEmpty else { return }
    backend.isRunning = true
    backend.generation += 1
    backend.server = RelayServer(policy: backend.policy, life: "life\(backend.generation)", at: now)
    say("the backend starts", 10)
    feed(.restored(seam.restored(backend.kept), wall: wall))
  }

  /// Its process ends: what was being written is durable up to some change, and everybody who
  /// waited hears that the connection broke.
  mutating func stopBackend() {
    guard backend.isRunning else { return }
    backend.isRunning = false
    say("the backend ends", 11)
    let written = Int.random(in: 0...backend.writing.count, using: &chance)
    for changes in backend.writing.prefix(written) { keep(changes) }
    backend.writing = []
    backend.storeFree = now
    judge.cut()
    for (ask, asker) in backend.asks.sorted(by: { $0.key < $1.key }) where askers[asker].open == ask
    {
      askers[asker].open = nil
      add(.signsIn(asker: asker), after: .seconds(5))
    }
    backend.asks = [:]
    for line in lines where line.backendHolds {
      if let index = index(line.number) { lines[index].backendHolds = false }
      deliver(.failed(.reset), over: line.number)
    }
    lines.removeAll { !$0.phoneHolds && !$0.backendHolds }
  }

  mutating func feed(_ input: RelayServer.Input) {
    guard backend.isRunning else { return }
    for real in seam.toBackend(input) { perform(backend.server.handle(real, at: now)) }
  }

  mutating func perform(_ effects: [RelayServer.Effect]) {
    for effect in effects {
      for real in seam.fromBackend(effect) { perform(real) }
    }
  }

  private mutating func perform(_ effect: RelayServer.Effect) {
    switch effect {
    case .accept(let id): deliver(.opened, over: id.number)
    case .refuse(let id, let answer): refuse(id.number, answer)
    case .send(let id, let message): send(message, over: id.number)
    case .ping(let id): deliver(.ping, over: id.number)
    case .close(let id, let closure):
      deliver(.failed(.closed(code: closure.code, reason: closure.reason)), over: id.number)
      if let index = index(id.number), lines[index].deadSince == nil {
        add(.hungUp(id.number, code: closure.code), after: packet + packet)
      }
    case .drop(let id):
      deliver(.failed(.reset), over: id.number)
      add(.hungUp(id.number, code: 1006), after: .zero)
    case .answer(let ask, let outcome): tell(ask, outcome)
    case .respond(let request, let reply): add(.replies(request, reply), after: packet)
    case .mint(let mint): draw(mint)
    case .store(let token, let changes):
      backend.writing.append(changes)
      backend.storeFree = max(backend.storeFree, now).advanced(by: backend.delay)
      queue.add(
        .stored(generation: backend.generation, token, changes), at: backend.storeFree)
    case .push(let id, let address, _): push(id, address)
    case .finished: stopBackend()
    }
  }

  private mutating func refuse(_ number: UInt64, _ answer: HTTPRefusal) {
    if let index = index(number) { lines[index].backendHolds = false }
    let failure = LinkFailure.http(
      status: answer.status, retryAfter: answer.retryAfter, detail: "refused")
    deliver(.failed(failure), over: number)
  }

  private mutating func send(_ message: BackendMessage, over number: UInt64) {
    if case .connectionCode(let code) = message, let index = index(number) {
      lines[index].isGreeted = true
      if !code.resumed { phones[lines[index].phone].isStranger = false }
    }
    deliver(.message(message), over: number)
  }

  private mutating func draw(_ mint: RelayServer.Mint) {
    lastSecret += 1
    let secret = RelaySecret(text: "\(lastSecret)", hash: .of(lastSecret))
    let pair = LinkServerCore.RelayPair(using: &chance)
    if case .phone(let id) = mint, let index = index(id.number),
      phones[lines[index].phone].isStranger
    {
      judge.unpaired(lines[index].phone, at: now)
    }
    let minted: RelayServer.Minted =
      switch mint {
      case .phone(let id):
        .phone(id, PhoneID(UUID128(high: 0xF, low: UInt64(lastSecret))), secret, pair)
      case .pair(let id): .pair(id, pair)
      case .access(let ask): .access(ask, secret)
      }
    add(.minted(generation: backend.generation, minted), after: .zero)
  }

  private mutating func push(_ id: PhoneID, _ address: PushAddress) {
    guard case .hook(let word) = address, let phone = Int(word) else { return }
    counts.pushes += 1
    if chance.next() % 8 > 0 {
      add(
        .pushArrives(phone: phone), after: .milliseconds(200) + chance.duration(below: .seconds(5)))
    }
    add(
      .pushed(generation: backend.generation, id, to: address, .delivered), after: packet + packet)
  }

  /// Answers from outside the rules: the store's, the generator's and the push service's.
  mutating func takeOutside(_ event: Event) {
    switch event {
    case .stored(let generation, let token, let changes):
      guard generation == backend.generation, backend.isRunning else { return }
      backend.writing.removeFirst()
      keep(changes)
      feed(.stored(token, failure: nil))
    case .minted(let generation, let minted):
      if generation == backend.generation { feed(.minted(minted)) }
    case .pushed(let generation, let phone, let address, let outcome):
      if generation == backend.generation { feed(.pushed(phone, to: address, outcome)) }
    case _: return
    }
  }

  /// Makes changes durable.
  private mutating func keep(_ changes: [RelayChange]) {
    for change in changes { backend.kept.take(change) }
  }
}

extension RelayKept {
  /// What a store does with a change.
  fileprivate mutating func take(_ change: RelayChange) {
    switch change {
    case .phone(let phone):
      phones.removeAll { $0.id == phone.id }
      phones.append(phone)
    case .endPhone(let id):
      phones.removeAll { $0.id == id }
      questions.removeAll { $0.phone == id }
    case .access(let access):
      accesses.removeAll { $0.token == access.token }
      accesses.append(access)
    case .endAccess(let token): accesses.removeAll { $0.token == token }
    case .question(let question):
      if let index = questions.firstIndex(where: { $0.id == question.id }) {
        questions[index] = question
      } else {
        questions.append(question)
      }
    case .endQuestion(let id): questions.removeAll { $0.id == id }
    }
  }
}
