import LinkCore
import LinkHealth
import LinkJSON
import LinkWire

@testable import LinkServerCore

/// Random inputs to a relay over several processes, and what it promises.
struct RelayInputs: ServerInputs {
  /// What an ask waits for, and for how long at most.
  struct Ask {
    let ask: RelayAsk
    let bearer: TokenHash?
    let until: Instant
    /// Why it may not be answered with data; `nil` if it may.
    let fault: String?
    /// Whether its token is one that the relay must know.
    let isKnown: Bool
  }

  var run: RandomRun<Restarting<RelayServer>>
  var notes = ServerNotes()
  let policy: RelayServerPolicy
  var drainLimit: Duration { policy.workable.drainLimit }

  var kept = RelayKept()
  var connections = Connections()
  var devices: [ConnectionID: UUID128] = [:]
  var asks: [AskID: Ask] = [:]
  var pulls: [RequestID: (pull: RelayPull, bearer: TokenHash?)] = [:]
  var mints: [RelayServer.Mint] = []
  var writes: [(token: StoreToken, changes: [RelayChange])] = []
  var pushes: [(phone: PhoneID, address: PushAddress)] = []
  private var lastToken: UInt64 = 0

  /// The hashes of the secrets that were drawn.
  var secrets: [String: TokenHash] = [:]
  /// The pairs that phones show, as logins are compared, and until when.
  var shown: [String: Instant] = [:]
  var pairs: [RelayPair] = []
  /// Tokens of assistants: when they expire at the earliest, in this process.
  var tokens: [TokenHash] = []
  var expiry: [TokenHash: Instant] = [:]
  /// Tokens that were logged out, and those that the relay has asked the store to end.
  var revoked: Set<TokenHash> = []
  var ended: Set<TokenHash> = []
  /// What phones were told to come back with.
  var resumes: [(device: UUID128, token: TokenHash)] = []
  /// Questions that phones were sent, and leases: until when, and those whose answer was taken.
  var given: [(line: ConnectionID, id: RelayRequestID, question: HealthQuestion)] = []
  var leased: [(token: TokenHash, question: LeasedQuestion)] = []
  var leases: [String: Instant] = [:]
  var taken: Set<String> = []
  /// Questions of which a phone said something on its socket.
  private var said: Set<RelayRequestID> = []
  var skew = Duration.zero
  var last: UInt64 = 0

  init(seed: UInt64) {
    var draw = PolicyDraw(chance: Chance(seed: seed))
    let policy = Self.policy(&draw)
    self.policy = policy
    let relay = Restarting<RelayServer>(
      starts: { if case .restored = $0 { true } else { false } },
      fresh: { RelayServer(policy: policy, life: "r\($0)", at: $1) })
    run = RandomRun(relay, seed: seed, chance: draw.chance)
  }

  private static func policy(_ draw: inout PolicyDraw) -> RelayServerPolicy {
    var policy = RelayServerPolicy()
    let counts: [(WritableKeyPath<RelayServerPolicy, Int>, [Int])] = [
      (\.wrongPairs, [0, 2, 3]), (\.floodWrongPairs, [1]), (\.wrongPairsOfNetwork, [2, 4]),
      (\.wrongBurst, [1, 3]), (\.maxWatchedAddresses, [0, 2]), (\.maxLeased, [0, 1, 2]),
      (\.pushBurst, [0, 1, 2]), (\.maxSockets, [1, 2, 4]), (\.socketsPerAddress, [1, 2]),
      (\.maxPhones, [1, 2, 3]), (\.tokensPerPhone, [0, 1, 2]), (\.callsPerPhone, [1, 2, 3]),
      (\.maxCalls, [1, 2, 4]), (\.maxWrites, [1, 3, 6]), (\.maxSettled, [0, 1, 2]),
      (\.maxAnswerBytes, [16, 40, 300]), (\.maxGatheredBytes, [20, 60]),
    ]
    let times: [(WritableKeyPath<RelayServerPolicy, Duration>, [Int])] = [
      (\.pairLife, [5, 20]), (\.tokenLife, [9, 40]), (\.tokenMemory, [5, 30]),
      (\.grace, [0, 4, 20]), (\.wrongWindow, [2, 20]), (\.lockOut, [3, 9]),
      (\.wrongInterval, [0, 2]), (\.callLimit, [3, 9]), (\.returnWait, [1, 4]), (\.lease, [2, 5]),
      (\.pushGap, [1, 4]), (\.pushInterval, [1, 5]), (\.pingInterval, [3, 9]),
      (\.pongWait, [4, 12]), (\.closeWait, [0, 2]), (\.drainGrace, [0, 2]),
      (\.drainLimit, [0, 1, 4]), (\.storeRetry, [1, 3]),
    ]
    for (count, values) in counts { draw.set(&policy, count, values) }
    for (time, values) in times { draw.set(&policy, time, values.map { .seconds($0) }) }
    return policy
  }

  mutating func begin() {
    give(.restored(kept, wall: wall))
    settleIn()
  }

  mutating func act() {
    passTime([
      .milliseconds(500), .seconds(1), .seconds(2), .seconds(5), .seconds(20), .seconds(61),
    ])
    switch number(0...21) {
    case 0...1: arrive()
    case 2...3: logIn()
    case 4...7: ask()
    case 8...11: speak()
    case 12...15: pull()
    case 16: leave()
    case 17: ring()
    case 18: settleIn()
    case _: seldom()
    }
    for _ in 0..<3 {
      if !oneIn(4) { draw() }
      if !oneIn(4) { write() }
    }
  }

  static func request(in effect: RelayServer.Effect) -> String? {
    switch effect {
    case .accept(let id), .refuse(let id, _): "an upgrade of \(id)"
    case .answer(let id, _): "an answer to \(id)"
    case .respond(let id, _): "a reply to \(id)"
    case .send, .ping, .close, .drop, .mint, .store, .push, .finished: nil
    }
  }
}

// What is promised.
extension RelayInputs {
  mutating func note(_ step: MachineStep<Restarting<RelayServer>>) {
    let isLate = step.before.deadline.map { $0 <= now } ?? false
    if let input = step.input { note(input, isLate: isLate) }
    for effect in step.effects { note(effect, after: step.input) }
    if step.input == nil {
      require(asks.values.allSatisfy { $0.until > now }, "a call has its outcome by its deadline")
    }
    checkServer(step)
  }

  /// - Parameter isLate: Whether a deadline had come, which the relay was not told.
  private mutating func note(_ input: RelayServer.Input, isLate: Bool) {
    switch input {
    case .restored(let kept, _): restart(over: kept)
    case .phoneOpened(let id, let arrival, _):
      connections.ask(id)
      devices[id] = arrival.device
    case .phoneGone(let id, _, _): connections.end(id)
    case .ask(let id, let ask, let bearer, _, _): asks[id] = noted(ask, bearer, isLate)
    case .abandoned(let id): asks[id] = nil
    case .pull(let id, let pull, let bearer, _): pulls[id] = (pull, bearer)
    case .stored(let token, let failure):
      for write in writes where write.token == token && failure == nil {
        for change in write.changes { kept.apply(change) }
      }
      writes.removeAll { $0.token == token }
    case .minted(.phone(_, _, let secret, _)), .minted(.access(_, let secret)):
      secrets[secret.text] = secret.hash
    case .drain: notes.drain(at: now)
    case .phoneSaid(_, let message): if let id = message.id { said.insert(id) }
    case .heard, .phoneUnreadable, .overflowed, .minted, .pushed: return
    }
  }

  private mutating func restart(over kept: RelayKept) {
    require(
      revoked.isDisjoint(with: kept.accesses.map(\.token)), "a token that was logged out is gone")
    notes.restart()
    self.kept = kept
    connections = Connections()
    (asks, pulls, mints, writes, pushes) = ([:], [:], [], [], [])
    (given, leased, leases, taken, lastToken) = ([], [], [:], [], 0)
    (shown, pairs, expiry) = ([:], [], [:])
  }

  private func noted(_ ask: RelayAsk, _ bearer: TokenHash?, _ isLate: Bool) -> Ask {
    var fault: String?
    var isKnown = false
    switch ask {
    case .login(let word, let code, _):
      if !isLate, (shown[Self.pairText(word, code)] ?? now) <= now {
        fault = "a pair works once and as long as it is shown"
      }
    case .question, .logout:
      guard let bearer else {
        fault = "a call without a token is refused"
        break
      }
      if revoked.contains(bearer) { fault = "a token that was logged out is worth nothing" }
      if let end = expiry[bearer], end <= now { fault = "no token outlives its time" }
      isKnown = kept.accesses.contains { $0.token == bearer } && !ended.contains(bearer)
    }
    return Ask(
      ask: ask, bearer: bearer, until: now.advanced(by: policy.workable.callLimit), fault: fault,
      isKnown: isKnown)
  }

  /// A pair without what does not count.
  static func pairText(_ word: String, _ code: String) -> String {
    let isTooLong = word.utf8.count > 64 || code.utf8.count > 64
    let text = "\(word.lowercased())/\(code.lowercased())".filter { $0 != " " && $0 != "-" }
    return isTooLong ? "none" : text
  }

  private mutating func note(_ effect: RelayServer.Effect, after input: RelayServer.Input?) {
    switch effect {
    case .accept(let id):
      require(connections.accept(id), "only an upgrade that waits is accepted")
    case .refuse(let id, _):
      require(connections.refuse(id), "only an upgrade that waits is refused")
    case .send(let id, let message):
      require(connections.isOpen(id), "only an open socket is sent messages")
      note(message, on: id)
    case .ping(let id): require(connections.isOpen(id), "only an open socket is pinged")
    case .close(let id, _): require(connections.close(id), "only an open socket is closed")
    case .drop(let id): require(connections.cut(id), "only a socket is dropped")
    case .answer(let id, let outcome): note(outcome, of: id, after: input)
    case .respond(let id, let reply): note(reply, to: id, after: input)
    case .mint(let mint): mints.append(mint)
    case .store(let token, let changes):
      require(token.number == lastToken + 1, "each change has a number of its own")
      lastToken = token.number
      writes.append((token, changes))
      for case .endAccess(let token) in changes { ended.insert(token) }
    case .push(let phone, let address, _): pushes = pushes.suffix(5) + [(phone, address)]
    case .finished:
      require(notes.finish(), "a drain ends once")
      require(asks.isEmpty && pulls.isEmpty, "each call is answered before a drain ends")
    }
  }

  private mutating func note(_ message: BackendMessage, on id: ConnectionID) {
    switch message {
    case .connectionCode(let code):
      let life = min(code.expiresIn ?? policy.workable.pairLife, policy.workable.pairLife)
      shown[Self.pairText(code.word, code.code)] = now.advanced(by: life)
      pairs = pairs.suffix(3) + [RelayPair(code: code.code, word: code.word)]
      guard let text = code.resumeToken else { return }
      let kept = self.kept.phones.first { $0.resume == secrets[text] }
      require(kept != nil, "a phone is told its token once that is durable")
      if let kept { resumes = resumes.suffix(4) + [(kept.device, kept.resume)] }
    case .question(let name, let question): given = given.suffix(5) + [(id, name, question)]
    case .cancel(let name): if !oneIn(3) { given.removeAll { $0.id == name } }
    case .unknown: return
    }
  }

  private mutating func note(
    _ outcome: RelayOutcome, of id: AskID, after input: RelayServer.Input?
  ) {
    guard let ask = asks.removeValue(forKey: id) else {
      return run.fail("only a call that waits has an outcome")
    }
    switch outcome {
    case .loggedIn(let grant):
      require(ask.fault == nil, ask.fault ?? "")
      if case .login(let word, let code, _) = ask.ask {
        let end = shown.removeValue(forKey: Self.pairText(word, code))
        require(end != nil, "a pair works once and as long as it is shown")
      }
      guard let token = secrets[grant.accessToken],
        kept.accesses.contains(where: { $0.token == token })
      else { return run.fail("an assistant is told its token once that is durable") }
      tokens = tokens.suffix(4) + [token]
      expiry[token] = now.advanced(by: policy.workable.tokenLife)
    case .loggedOut:
      guard let bearer = ask.bearer else { return run.fail("a logout is of a token") }
      require(
        !kept.accesses.contains { $0.token == bearer }, "a logout is told once it is durable")
      revoked.insert(bearer)
    case .data: require(ask.fault == nil, ask.fault ?? "")
    case .refused(.notSignedIn): require(!ask.isKnown, "a token that is kept is known")
    case .refused(let refusal):
      guard Self.isOver(refusal), !oneIn(4) else { return }
      tokens.removeAll { $0 == ask.bearer }
    }
  }

  /// Whether a token is worth nothing any more.
  private static func isOver(_ refusal: RelayRefusal) -> Bool {
    [.tokenExpired, .signedOut(.byUser), .phoneReplaced].contains(refusal)
      || refusal.word == "signed_out"
  }

  private mutating func note(
    _ reply: RelayReply, to id: RequestID, after input: RelayServer.Input?
  ) {
    guard let (pull, bearer) = pulls.removeValue(forKey: id) else {
      return run.fail("only a pull that waits is answered")
    }
    switch (reply, pull) {
    case (.leased(let found), .lease(let order)):
      require(
        found.questions.count <= min(order.max, policy.workable.maxLeased),
        "a pull leases no more than was asked for")
      let until = now.advanced(by: policy.workable.lease)
      for question in found.questions { leases[question.lease] = until }
      if let bearer { leased = leased.suffix(4) + found.questions.map { (bearer, $0) } }
    case (.taken, .result(let result)):
      let name = "\(result.lease) \(result.message.id?.text ?? "")"
      require(
        taken.contains(name) || result.message.id.map(said.contains) ?? false
          || (leases[result.lease] ?? now) > now, "no lease outlives its time")
      taken.insert(name)
    case (.registered, .push):
      guard case .stored(_, nil) = input else {
        return run.fail("an address is confirmed once it is durable")
      }
    case (.assistants(let all), .assistants):
      require(
        all.assistants.count <= policy.workable.tokensPerPhone, "a phone's tokens are bounded")
    case (.refused(.notSignedIn), _): resumes.removeAll { $0.token == bearer }
    case (.refused, _): return
    case (.leased, _), (.taken, _), (.registered, _), (.assistants, _):
      run.fail("a reply is of the kind that was asked for")
    }
  }
}
