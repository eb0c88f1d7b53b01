import HoldfastCore
import HoldfastSessionData

@testable import HoldfastServerParts
@testable import HoldfastSessionServer

/// Random inputs for a server of sessions that runs in several processes in turn, and its promises.
struct SessionInputs: ServerInputs {
  var run: RandomRun<SessionServer>
  var notes = ServerNotes()
  let policy: SessionServerPolicy
  var drainLimit: Duration { policy.workable.drainLimit }

  var stored = StoredSessions()
  /// The sockets that have unsent bytes. The server is notified when these have been sent.
  var full: [ConnectionID] = []
  var handlers: Set<SessionPromptID> = []
  /// The prompts that ran, by the fields that identify equal prompts.
  var ran: [String: SessionPromptID] = [:]
  var writes: [(token: StoreToken, changes: [SessionChange])] = []
  /// The identifiers of the durable answers. `sent` are the newest ones that were sent.
  private var answers: Set<String> = []
  var sent: [String] = []
  var lastKey = 0

  init(seed: UInt64) {
    var draw = PolicyDraw(generator: RandomSource(seed: seed))
    let policy = Self.policy(&draw)
    self.policy = policy
    run = RandomRun(
      SessionServer(policy: policy, seed: seed, at: .zero), seed: seed, generator: draw.generator)
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
      (\.clientsPerUser, [0, 1, 2]),
      (\.entriesPerConversation, [1, 3]), (\.maxHistoryBytes, [100, 300]),
      (\.maxConversations, [1, 2]), (\.windowEntries, [1, 3]), (\.maxSubscriptions, [1, 2]),
      (\.usualMessageBytes, [900, 2_000]), (\.maxMessageBytes, [900, 4_000]),
      (\.queueBytes, [0, 500, 3_000]), (\.maxQueued, [1, 3, 5]), (\.maxWrites, [1, 2, 4]),
    ]
    let times: [(WritableKeyPath<SessionServerPolicy, Duration>, [Int])] = [
      (\.connectWait, [2]), (\.heartbeat, [0, 3]), (\.pingInterval, [2]), (\.pongWait, [3, 7]),
      (\.closeWait, [0, 1]), (\.turnLimit, [2, 5]), (\.cancelWait, [0, 2]), (\.memory, [5, 40]),
      (\.storeRetry, [0, 1]), (\.ackDelay, [0, 3]), (\.drainGrace, [0, 2]),
      (\.drainLimit, [0, 1, 3]), (\.promptInterval, [1]),
    ]
    draw.set(&policy, counts)
    draw.set(&policy, seconds: times)
    return policy
  }

  mutating func begin() { give(.restored(stored, wall: wall)) }

  mutating func act() {
    passTime([.milliseconds(999), .seconds(2), .seconds(31), .seconds(301), .seconds(3_700)])
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
    case .finished: "the end of a drain"
    case .send, .noticeDrain, .ping, .close, .drop, .run, .cancel, .store: nil
    }
  }
}

// MARK: Promises
extension SessionInputs {
  mutating func note(_ step: MachineStep<SessionServer>) {
    if let input = step.input { note(input) }
    for effect in step.effects { note(effect) }
    checkDrain(step)
  }

  private mutating func note(_ input: SessionServer.Input) {
    switch input {
    case .restored(let stored, _): restore(stored)
    case .opened(let id, _, _): notes.asked.insert(id)
    case .gone(let id, _):
      notes.end(id)
      full.removeAll { $0 == id }
    case .drained(let id): full.removeAll { $0 == id }
    case .ended(let id, _, _): handlers.remove(id)
    case .stored(let token, let failure, _):
      for write in writes where write.token == token && failure == nil { store(write.changes) }
      writes.removeAll { $0.token == token }
    case .drain: noteDrain()
    case .received, .said, .unreadable, .overflowed, .produced, .erased: return
    }
  }

  private mutating func store(_ changes: [SessionChange]) {
    for change in changes {
      stored.apply(change)
      if case .answered(_, let answer) = change { answers.insert(answer.message) }
    }
  }

  mutating func noteRestart() {
    notes.restart()
    (full, handlers, writes) = ([], [], [])
  }

  private mutating func restore(_ stored: StoredSessions) {
    self.stored = stored
    ran = ran.filter { stored.prompts[$0.value] != nil }
    answers = []
    for prompt in stored.prompts.values {
      if case .ended(let answer) = prompt.stage { answers.insert(answer.message) }
    }
  }

  private mutating func note(_ effect: SessionServer.Effect) {
    switch effect {
    case .accept(let id): check(.accept, of: id)
    case .refuse(let id, _): check(.refuse, of: id)
    case .send(let id, let message):
      check(.send, of: id)
      note(message)
    case .noticeDrain(let id):
      require(!full.contains(id), "a drain is awaited once at a time")
      check(.send, of: id)
      full.append(id)
    case .ping(let id): check(.ping, of: id)
    case .close(let id, _):
      check(.close, of: id)
      full.removeAll { $0 == id }
    case .drop(let id): check(.drop, of: id)
    case .run(let id, let prompt): run(id, prompt)
    case .cancel(let id): require(handlers.contains(id), "only a handler that runs is cancelled")
    case .store(let token, let changes):
      writes.append((token, changes))
      for case .endPrompt(let id) in changes { ran = ran.filter { $0.value != id } }
    case .finished: return
    }
  }

  private mutating func run(_ id: SessionPromptID, _ prompt: SessionPrompt) {
    let key = prompt.idempotencyKey.map {
      "\($0)/\(prompt.text)/\(prompt.conversation)/\(prompt.systemPrompt ?? "")"
    }
    let name = key ?? "prompt \(id)"
    require(ran[name] == nil, "a program runs once for a prompt")
    require(
      stored.prompts[id].map { $0.stage == .started } ?? false,
      "a start is durable before its prompt runs")
    ran[name] = id
    handlers.insert(id)
  }

  private mutating func note(_ message: SessionServerMessage) {
    switch message {
    case .ack("Prompt received", let key?):
      require(
        stored.prompts.values.contains { $0.prompt.idempotencyKey == key },
        "a prompt is acknowledged once it is durable")
    case .response(let response): answered(response.id)
    case .replay(let id, _, _): answered(id)
    case .hello, .connected, .pong, .ack, .responsePart, .error, .authError, .turnComplete,
      .history, .historyBatch, .heartbeat, .draining, .sessionKilled, .unknown:
      return
    }
  }

  private mutating func answered(_ message: String?) {
    guard let message else { return run.fail("an answer has an id") }
    require(answers.contains(message), "an answer is sent once it is durable")
    sent = sent.suffix(11) + [message]
  }
}
