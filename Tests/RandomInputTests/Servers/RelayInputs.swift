import HoldfastCore
import HoldfastHealth
import HoldfastJSON
import HoldfastRelayData
import HoldfastRelayServer

@testable import HoldfastServerParts

/// Random inputs for a relay that runs in several processes in turn, and the promises of the relay.
struct RelayInputs: ServerInputs {
  var run: RandomRun<RelayServer>
  var notes = ServerNotes()
  let policy: RelayServerPolicy
  var drainLimit: Duration { policy.workable.drainLimit }

  var stored = StoredRelay()
  /// The calls that have no outcome yet, with their deadlines.
  var asks: [RequestID: (ask: RelayCall, bearer: TokenHash?, until: Instant)] = [:]
  /// The pulls that have no reply yet, with their callers.
  var pulls: [RequestID: TokenHash?] = [:]
  var tokenRequests: [RelayServer.TokenRequest] = []
  var writes: [(token: StoreToken, changes: [RelayChange])] = []
  var pushes: [(phone: PhoneID, address: PushAddress)] = []
  /// The hashes of the generated secrets.
  var secrets: [String: TokenHash] = [:]
  /// The newest pairs that phones display. `tokens` are the newest tokens of assistants.
  var pairs: [RelayPair] = []
  var tokens: [TokenHash] = []
  /// The tokens with which phones can resume.
  var resumes: [(device: UUID128, token: TokenHash)] = []
  /// The questions that phones received. `leased` are the questions that phones leased.
  var given: [(line: ConnectionID, id: RelayRequestID, question: HealthQuestion)] = []
  var leased: [(token: TokenHash, question: LeasedQuestion)] = []
  /// The questions for which synced samples are being read.
  var reading: [RelayRequestID] = []

  init(seed: UInt64) {
    var draw = PolicyDraw(generator: RandomSource(seed: seed))
    let policy = Self.policy(&draw)
    self.policy = policy
    run = RandomRun(
      RelayServer(policy: policy, life: "r", at: .zero), seed: seed, generator: draw.generator)
  }

  private static func policy(_ draw: inout PolicyDraw) -> RelayServerPolicy {
    var policy = RelayServerPolicy()
    let counts: [(WritableKeyPath<RelayServerPolicy, Int>, [Int])] = [
      (\.wrongPairs, [0, 2, 3]), (\.floodWrongPairs, [1]), (\.wrongPairsOfNetwork, [2, 4]),
      (\.wrongBurst, [1, 3]), (\.maxWatchedAddresses, [0, 2]), (\.maxLeased, [0, 1, 2]),
      (\.pushBurst, [0, 1, 2]), (\.maxSockets, [1, 2, 4]), (\.socketsPerAddress, [1, 2]),
      (\.maxPhones, [1, 2, 3]), (\.tokensPerPhone, [0, 1, 2]), (\.callsPerPhone, [1, 2, 3]),
      (\.maxCalls, [1, 2, 4]), (\.maxWrites, [1, 3, 6]), (\.maxEnded, [0, 1, 2]),
      (\.maxAnswerBytes, [16, 40, 300]), (\.maxGatheredBytes, [20, 60]),
    ]
    let times: [(WritableKeyPath<RelayServerPolicy, Duration>, [Int])] = [
      (\.pairLife, [5, 20]), (\.tokenLife, [9, 40]), (\.tokenMemory, [5, 30]),
      (\.grantLife, [9, 90]), (\.grantWait, [0, 9]),
      (\.grace, [0, 4, 20]), (\.wrongWindow, [2, 20]), (\.lockOut, [3, 9]),
      (\.wrongInterval, [0, 2]), (\.callLimit, [3, 9]), (\.returnWait, [1, 4]), (\.lease, [2, 5]),
      (\.pushGap, [1, 4]), (\.pushInterval, [1, 5]), (\.pingInterval, [3, 9]),
      (\.pongWait, [4, 12]), (\.closeWait, [0, 2]), (\.drainGrace, [0, 2]),
      (\.drainLimit, [0, 1, 4]), (\.storeRetry, [1, 3]), (\.syncedWait, [0, 1, 5]),
    ]
    draw.set(&policy, counts)
    draw.set(&policy, seconds: times)
    return policy
  }

  mutating func begin() {
    give(.restored(stored, wall: wall))
    connectAll()
  }

  mutating func act() {
    passTime([.milliseconds(500), .seconds(2), .seconds(5), .seconds(20), .seconds(61)])
    switch number(0...22) {
    case 22: answerSynced()
    case 0...1: arrive()
    case 2...3: logIn()
    case 4...7: ask()
    case 8...11: speak()
    case 12...15: pull()
    case 16: leave()
    case 17: ring()
    case 18: connectAll()
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
    case .finished: "the end of a drain"
    case .readSynced(let id, _, _): "synced samples for \(id)"
    case .send, .ping, .close, .drop, .drawToken, .store, .push: nil
    }
  }
}

// MARK: Promises
extension RelayInputs {
  mutating func note(_ step: MachineStep<RelayServer>) {
    if let input = step.input { note(input) }
    for effect in step.effects { note(effect, after: step.input) }
    if step.input == nil {
      require(asks.values.allSatisfy { $0.until > now }, "a call has its outcome by its deadline")
    }
    checkDrain(step)
  }

  private mutating func note(_ input: RelayServer.Input) {
    switch input {
    case .restored(let stored, _): self.stored = stored
    case .phoneOpened(let id, _, _): notes.asked.insert(id)
    case .phoneGone(let id, _, _): notes.end(id)
    case .call(let id, let ask, let bearer, _, _):
      let until = now.advanced(by: policy.workable.callLimit)
      asks[id] = (ask, bearer, until)
    case .abandoned(let id): asks[id] = nil
    case .pull(let id, _, let bearer, _): pulls[id] = .some(bearer)
    case .stored(let token, let failure):
      for write in writes where write.token == token && failure == nil {
        for change in write.changes { stored.apply(change) }
      }
      writes.removeAll { $0.token == token }
    case .tokenDrawn(.phone(_, _, let secret, _)), .tokenDrawn(.access(_, let secret)):
      secrets[secret.text] = secret.hash
    case .drain: noteDrain()
    case .synced(let name, _): reading.removeAll { $0 == name }
    case .received, .phoneSaid, .phoneUnreadable, .overflowed, .tokenDrawn, .pushed, .erased:
      return
    }
  }

  mutating func noteRestart() {
    notes.restart()
    (asks, pulls, tokenRequests, writes, pushes) = ([:], [:], [], [], [])
    (given, leased, pairs, reading) = ([], [], [], [])
  }

  private mutating func note(_ effect: RelayServer.Effect, after input: RelayServer.Input?) {
    switch effect {
    case .accept(let id): check(.accept, of: id)
    case .refuse(let id, _): check(.refuse, of: id)
    case .send(let id, let message):
      check(.send, of: id)
      note(message, on: id)
    case .ping(let id): check(.ping, of: id)
    case .close(let id, _): check(.close, of: id)
    case .drop(let id): check(.drop, of: id)
    case .answer(let id, let outcome): note(outcome, of: id)
    case .respond(let id, let reply): note(reply, to: id, after: input)
    case .drawToken(let drawToken): tokenRequests.append(drawToken)
    case .store(let token, let changes): writes.append((token, changes))
    case .push(let phone, let address, _): pushes = pushes.suffix(5) + [(phone, address)]
    case .readSynced(let name, _, let user):
      require(user.name == "ann", "only the samples of the phone's user are read")
      reading = reading.suffix(5) + [name]
    case .finished:
      require(asks.isEmpty && pulls.isEmpty, "each call is answered before a drain ends")
    }
  }

  private mutating func note(_ message: BackendMessage, on id: ConnectionID) {
    switch message {
    case .connectionCode(let code):
      pairs = pairs.suffix(3) + [RelayPair(code: code.code, word: code.word)]
      guard let text = code.resumeToken else { return }
      let stored = self.stored.phones.first { $0.resume == secrets[text] }
      require(stored != nil, "a phone receives its token once it is durable")
      if let stored { resumes = resumes.suffix(4) + [(stored.device, stored.resume)] }
    case .question(let name, let question): given = given.suffix(5) + [(id, name, question)]
    case .cancel(let name): if !oneIn(3) { given.removeAll { $0.id == name } }
    case .unknown: return
    }
  }

  private mutating func note(_ outcome: RelayOutcome, of id: RequestID) {
    guard let ask = asks.removeValue(forKey: id) else {
      return run.fail("only a call that waits has an outcome")
    }
    switch outcome {
    case .loggedIn(let grant):
      guard let token = secrets[grant.accessToken],
        stored.accesses.contains(where: { $0.token == token })
      else { return run.fail("an assistant receives its token once it is durable") }
      tokens = tokens.suffix(4) + [token]
    case .renewed(let generation):
      require(
        stored.accesses.contains { $0.token == ask.bearer && $0.generation == generation },
        "a renewal is confirmed once stored")
    case .loggedOut:
      require(
        !stored.accesses.contains { $0.token == ask.bearer }, "a logout is confirmed once stored")
    case .data: require(ask.bearer != nil, "a call without a token is refused")
    case .refused: if oneIn(4) { tokens.removeAll { $0 == ask.bearer } }
    }
  }

  private mutating func note(
    _ reply: RelayReply, to id: RequestID, after input: RelayServer.Input?
  ) {
    guard let bearer = pulls.removeValue(forKey: id) else {
      return run.fail("only a pull that waits is answered")
    }
    switch reply {
    case .leased(let found):
      if let bearer { leased = leased.suffix(4) + found.questions.map { (bearer, $0) } }
    case .registered, .synced:
      guard case .stored(_, nil) = input else {
        return run.fail("an address and a user are confirmed once they are durable")
      }
    case .refused(.notSignedIn): resumes.removeAll { $0.token == bearer }
    case .taken, .assistants, .refused: return
    }
  }
}
