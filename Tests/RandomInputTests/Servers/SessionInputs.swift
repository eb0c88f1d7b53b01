import LinkCore
import LinkWire

@testable import LinkServerCore

/// Random inputs to a server of sessions over several processes, and what it promises.
struct SessionInputs: ServerInputs {
  /// A conversation on a socket.
  struct Subscription: Hashable {
    let socket: ConnectionID
    let conversation: String
  }

  var run: RandomRun<Restarting<SessionServer>>
  var notes = ServerNotes()
  let policy: SessionServerPolicy
  var drainLimit: Duration { policy.workable.drainLimit }

  var kept = SessionKept()
  var connections = Connections()
  var clients: [ConnectionID: String] = [:]
  /// Sockets of which it is to be told that they took all.
  var full: [ConnectionID] = []
  /// When each handler must have been cancelled; `nil` once it was.
  var handlers: [SessionPromptID: Instant?] = [:]
  /// The prompts that ran, by all that makes them the same.
  var ran: [String: SessionPromptID] = [:]
  var writes: [(token: StoreToken, changes: [SessionChange])] = []
  private var lastToken: UInt64 = 0
  /// The ids of answers that are durable, and those that were sent, the newest ones.
  private var answers: Set<String> = []
  var sent: [String] = []
  /// The message of each number of a client.
  private var numbers: [String: [UInt64: String]] = [:]
  /// How far sockets were sent conversations, and how many windows may begin anew.
  private var places: [Subscription: UInt64] = [:]
  private var windows: [Subscription: Int] = [:]
  var lastSocket: UInt64 = 0
  var lastKey = 0

  init(seed: UInt64) {
    var draw = PolicyDraw(chance: Chance(seed: seed))
    let policy = Self.policy(&draw)
    self.policy = policy
    let server = Restarting<SessionServer>(
      starts: { if case .restored = $0 { true } else { false } },
      fresh: { SessionServer(policy: policy, seed: seed &+ UInt64($0), at: $1) })
    run = RandomRun(server, seed: seed, chance: draw.chance)
  }

  private static func policy(_ draw: inout PolicyDraw) -> SessionServerPolicy {
    var policy = SessionServerPolicy()
    let counts: [(WritableKeyPath<SessionServerPolicy, Int>, [Int])] = [
      (\.maxSockets, [2, 4]), (\.socketsPerAddress, [1, 3]), (\.socketsPerClient, [0, 1, 2]),
      (\.maxPromptBytes, [6, 1_000]), (\.maxSystemPromptBytes, [1]),
      (\.promptsPerConversation, [1, 2, 3]), (\.maxPrompts, [2, 4]), (\.maxPromptsBytes, [30]),
      (\.maxRunning, [1, 2]), (\.promptBurst, [0, 2]), (\.maxResponseBytes, [50, 1_500]),
      (\.answersPerClient, [1, 2]), (\.answersBytesPerClient, [20, 2_000]),
      (\.maxEnded, [1, 2, 6]), (\.maxEndedBytes, [60, 3_000]), (\.maxClients, [1, 2]),
      (\.entriesPerConversation, [1, 3]), (\.maxHistoryBytes, [100, 300]),
      (\.maxConversations, [1, 2]), (\.windowEntries, [1, 3]), (\.maxSubscriptions, [1, 2]),
      (\.usualMessageBytes, [900, 2_000]), (\.maxMessageBytes, [900, 4_000]),
      (\.laneBytes, [0, 500, 3_000]), (\.maxParcels, [1, 3, 5]), (\.maxWrites, [1, 2, 4]),
    ]
    let times: [(WritableKeyPath<SessionServerPolicy, Duration>, [Int])] = [
      (\.connectWait, [2]), (\.heartbeat, [0, 3]), (\.pingInterval, [2]), (\.pongWait, [3, 7]),
      (\.closeWait, [0, 1]), (\.turnLimit, [2, 5]), (\.cancelWait, [0, 2]), (\.memory, [5, 40]),
      (\.storeRetry, [0, 1]), (\.ackDelay, [0, 3]), (\.drainGrace, [0, 2]),
      (\.drainLimit, [0, 1, 3]), (\.promptInterval, [1]),
    ]
    for (count, values) in counts { draw.set(&policy, count, values) }
    for (time, values) in times { draw.set(&policy, time, values.map { .seconds($0) }) }
    return policy
  }

  mutating func begin() { give(.restored(kept, wall: wall)) }

  mutating func act() {
    passTime([
      .milliseconds(3), .milliseconds(999), .seconds(2), .seconds(31), .seconds(301),
      .seconds(3_700),
    ])
    switch number(0...39) {
    case 0...2: arrive()
    case 3...11: write()
    case 12...16: work()
    case 17...19: if let id = full.first { give(.drained(id)) }
    case 20: leave()
    case 21: seldom()
    case 22...24: enter(nil)
    case _: speak()
    }
  }

  static func request(in effect: SessionServer.Effect) -> String? {
    switch effect {
    case .accept(let id), .refuse(let id, _): "an upgrade of \(id)"
    case .send, .noticeDrain, .ping, .close, .drop, .run, .cancel, .store, .finished: nil
    }
  }
}

// What is promised.
extension SessionInputs {
  mutating func note(_ step: MachineStep<Restarting<SessionServer>>) {
    if let input = step.input { note(input) }
    for effect in step.effects { note(effect) }
    if step.input == nil {
      require(
        handlers.values.allSatisfy { $0.map { $0 > now } ?? true },
        "a handler ends in time or is cancelled")
    }
    checkServer(step)
  }

  private mutating func note(_ input: SessionServer.Input) {
    switch input {
    case .restored(let kept, _): restart(over: kept)
    case .opened(let id, _, _): connections.ask(id)
    case .gone(let id, _):
      connections.end(id)
      full.removeAll { $0 == id }
    case .said(let id, .subscribe(let one), _, _):
      windows[place(id, one.conversation), default: 0] += 1
    case .said(let id, .subscribeBatch(let all), _, _):
      for one in all { windows[place(id, one.conversation), default: 0] += 1 }
    case .drained(let id): full.removeAll { $0 == id }
    case .ended(let id, _, _): handlers[id] = nil
    case .stored(let token, let failure, _):
      for write in writes where write.token == token && failure == nil { keep(write.changes) }
      writes.removeAll { $0.token == token }
    case .drain: notes.drain(at: now)
    case .heard, .said, .unreadable, .overflowed, .produced: return
    }
  }

  private func place(_ socket: ConnectionID, _ conversation: String) -> Subscription {
    Subscription(socket: socket, conversation: conversation)
  }

  private mutating func keep(_ changes: [SessionChange]) {
    for change in changes {
      kept.apply(change)
      if case .answered(_, let answer) = change { answers.insert(answer.message) }
    }
  }

  private mutating func restart(over kept: SessionKept) {
    notes.restart()
    self.kept = kept
    connections = Connections()
    (clients, full, handlers, writes, lastToken) = ([:], [], [:], [], 0)
    ran = ran.filter { kept.prompts[$0.value] != nil }
    numbers = numbers.filter { kept.clients[$0.key] != nil }
    answers = []
    for prompt in kept.prompts.values {
      if case .ended(let answer) = prompt.stage { answers.insert(answer.message) }
    }
  }

  private mutating func note(_ effect: SessionServer.Effect) {
    switch effect {
    case .accept(let id):
      require(connections.accept(id), "only an upgrade that waits is accepted")
    case .refuse(let id, _):
      require(connections.refuse(id), "only an upgrade that waits is refused")
    case .send(let id, let message):
      require(connections.isOpen(id), "only an open socket is sent messages")
      note(message, on: id)
    case .noticeDrain(let id):
      require(connections.isOpen(id) && !full.contains(id), "a drain is awaited once at a time")
      full.append(id)
    case .ping(let id): require(connections.isOpen(id), "only an open socket is pinged")
    case .close(let id, _):
      require(connections.close(id), "only an open socket is closed")
      full.removeAll { $0 == id }
    case .drop(let id): require(connections.cut(id), "only a socket is dropped")
    case .run(let id, let prompt): run(id, prompt)
    case .cancel(let id):
      require(handlers[id] != nil, "only a handler that runs is cancelled")
      handlers[id] = .some(nil)
    case .store(let token, let changes): store(token, changes)
    case .finished: require(notes.finish(), "a drain ends once")
    }
  }

  private mutating func run(_ id: SessionPromptID, _ prompt: SessionPrompt) {
    require(!ran.values.contains(id), "a prompt runs once")
    let name = prompt.idempotencyKey.map {
      "\($0)/\(prompt.text)/\(prompt.conversation)/\(prompt.systemPrompt ?? "")"
    }
    require(ran[name ?? ""] == nil, "a program runs once for a key")
    require(
      kept.prompts[id].map { $0.stage == .started } ?? false, "a start is durable before it")
    ran[name ?? "prompt \(id)"] = id
    handlers[id] = now.advanced(by: policy.workable.turnLimit)
  }

  private mutating func store(_ token: StoreToken, _ changes: [SessionChange]) {
    require(token.number == lastToken + 1, "each change has a number of its own")
    lastToken = token.number
    writes.append((token, changes))
    for change in changes {
      switch change {
      case .endPrompt(let id): ran = ran.filter { $0.value != id }
      case .endClient(let id): numbers[id] = nil
      case .client, .prompt, .started, .answered, .taken, .conversation, .entry, .prune,
        .endConversation:
        continue
      }
    }
  }

  private mutating func note(_ message: SessionServerMessage, on id: ConnectionID) {
    switch message {
    case .connected(let connected): clients[id] = connected.session
    case .ack("Prompt received", let key?):
      require(
        kept.prompts.values.contains { $0.prompt.idempotencyKey == key },
        "a prompt is acknowledged once it is durable")
    case .response(let response): answered(response.id, response.number, on: id)
    case .replay(let message, _, let number): answered(message, number, on: id)
    case .history(let history): note(history, on: id)
    case .historyBatch(let all): for history in all { note(history, on: id) }
    case .hello, .pong, .ack, .responsePart, .error, .authError, .turnComplete, .heartbeat,
      .draining, .sessionKilled, .unknown:
      return
    }
  }

  private mutating func answered(_ message: String?, _ number: UInt64?, on id: ConnectionID) {
    guard let message else { return run.fail("an answer has an id") }
    require(answers.contains(message), "an answer is sent once it is durable")
    sent = sent.suffix(11) + [message]
    guard let number, let client = clients[id] else { return }
    let known = numbers[client, default: [:]].updateValue(message, forKey: number)
    require(known ?? message == message, "a number names one message to a client")
  }

  private mutating func note(_ history: SessionHistory, on id: ConnectionID) {
    let all = history.entries.compactMap(\.place)
    require(
      all.count == history.entries.count && zip(all, all.dropFirst()).allSatisfy { $0 + 1 == $1 },
      "the messages of a window have no hole")
    let next: UInt64
    switch history.place {
    case .sequence(_, _, let place): next = place
    case .offset(let place, _, _): next = place
    }
    let subscription = place(id, history.conversation)
    let known = places.updateValue(next, forKey: subscription) ?? 0
    guard windows[subscription, default: 0] == 0 else {
      windows[subscription, default: 0] -= 1
      return
    }
    require(known <= next, "a conversation does not go back")
  }
}
