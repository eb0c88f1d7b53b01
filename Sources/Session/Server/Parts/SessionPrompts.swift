import HoldfastCore
import HoldfastSessionData

/// The prompts of a session server: all open prompts, and the ended prompts that are still stored.
struct SessionPrompts: Sendable {
  private var turns: [SessionPromptID: SessionTurn] = [:]
  /// The prompts with each idempotency key. Each client has at most one prompt with a key.
  private var byKey: [String: [SessionPromptID]] = [:]
  /// The prompts that have ended, by the ids of their answers.
  private var byMessage: [String: SessionPromptID] = [:]
  /// The ended prompts, in the order in which they ended.
  private(set) var ended: [SessionPromptID] = []
  /// The number of prompts that have not ended.
  private(set) var openCount = 0
  /// The total size of the open prompts, in bytes.
  private(set) var openBytes = 0
  /// The total size of the ended prompts, in bytes.
  private(set) var endedBytes = 0
  /// The number of handlers that run or are about to start.
  private(set) var running = 0
  private var lastNumber: UInt64 = 0

  subscript(_ id: SessionPromptID) -> SessionTurn? { turns[id] }

  /// The ids of all prompts, sorted.
  var ids: [SessionPromptID] { turns.keys.sorted() }

  /// Returns all prompts with a key.
  func all(withKey key: String?) -> [SessionTurn] {
    (key.flatMap { byKey[$0] } ?? []).compactMap { turns[$0] }
  }

  /// Returns the prompt whose answer has the given id.
  func turn(answeredBy message: String) -> SessionTurn? {
    byMessage[message].flatMap { turns[$0] }
  }

  /// Returns the prompts of a client whose handlers are running, in order.
  func underWay(of client: String) -> [SessionPromptID] {
    turns.values.filter { $0.client == client && $0.stage == .running }.map(\.id).sorted()
  }

  /// Returns the id of the next prompt.
  mutating func nextID() -> SessionPromptID {
    lastNumber += 1
    return SessionPromptID(lastNumber)
  }

  /// Sets the last number that an earlier run used.
  mutating func restore(lastNumber: UInt64) { self.lastNumber = lastNumber }

  /// Adds a prompt, open or ended.
  mutating func add(_ turn: SessionTurn) {
    turns[turn.id] = turn
    if let key = turn.prompt.idempotencyKey { byKey[key, default: []].append(turn.id) }
    guard let answer = turn.answer else {
      openCount += 1
      openBytes += turn.size
      running += turn.isUnderWay ? 1 : 0
      return
    }
    noteEnd(turn, answer)
  }

  private mutating func noteEnd(_ turn: SessionTurn, _ answer: StoredSessionAnswer) {
    byMessage[answer.message] = turn.id
    ended.append(turn.id)
    endedBytes += turn.size
  }

  private mutating func noteOpenGone(_ turn: SessionTurn) {
    openCount -= 1
    openBytes -= turn.size
    running -= turn.isUnderWay ? 1 : 0
  }

  /// Changes a prompt in place. The stage must not be changed.
  mutating func change(_ id: SessionPromptID, _ body: (inout SessionTurn) -> Void) {
    guard let index = turns.index(forKey: id) else { return }
    body(&turns.values[index])
  }

  /// Moves an open prompt to another stage before `ended`.
  mutating func move(_ id: SessionPromptID, to stage: SessionTurn.Stage) {
    guard let index = turns.index(forKey: id) else { return }
    running -= turns.values[index].isUnderWay ? 1 : 0
    turns.values[index].stage = stage
    running += turns.values[index].isUnderWay ? 1 : 0
  }

  /// Ends a prompt whose answer is durable.
  mutating func end(_ id: SessionPromptID, _ answer: StoredSessionAnswer) {
    guard var turn = turns[id] else { return }
    noteOpenGone(turn)
    turn.stage = .ended(answer)
    turns[id] = turn
    noteEnd(turn, answer)
  }

  /// Records that the client has the answer to a prompt, or that the answer is lost.
  mutating func take(_ id: SessionPromptID, isLost: Bool) {
    change(id) { turn in
      guard var answer = turn.answer else { return }
      answer.isTaken = true
      turn.stage = .ended(answer)
      if isLost { turn.isLost = true }
    }
  }

  /// Removes a prompt, its key and its answer.
  mutating func remove(_ id: SessionPromptID) {
    guard let turn = turns.removeValue(forKey: id) else { return }
    if let answer = turn.answer {
      byMessage[answer.message] = nil
      ended.removeAll { $0 == id }
      endedBytes -= turn.size
    } else {
      noteOpenGone(turn)
    }
    guard let key = turn.prompt.idempotencyKey else { return }
    byKey[key]?.removeAll { $0 == id }
    if byKey[key]?.isEmpty == true { byKey[key] = nil }
  }

  /// Returns the prompt to remove if the ended prompts exceed a bound, or `nil` otherwise.
  ///
  /// Acknowledged prompts are removed first, because clients do not send them again. Within each
  /// group, the prompt that ended first is removed first.
  func excess(beyond count: Int, bytes: Int) -> SessionPromptID? {
    guard ended.count > count || endedBytes > bytes else { return nil }
    return ended.first { turns[$0]?.isAcknowledged == true } ?? ended.first
  }
}

extension SessionPrompts: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    check.require(
      turns.count == openCount + ended.count && byMessage.count == ended.count,
      "session prompts: a prompt is open or has ended")
    guard check.isThorough else { return }
    let open = turns.values.filter { $0.answer == nil }
    check.require(
      openBytes == open.reduce(0) { $0 + $1.size },
      "session prompts: the bytes are those of open prompts")
    check.require(
      endedBytes == ended.reduce(0) { $0 + (turns[$1]?.size ?? 0) },
      "session prompts: the bytes are those of ended prompts")
    check.require(
      running == open.count { $0.isUnderWay },
      "session prompts: a handler is counted while it is under way")
    check.require(
      byKey.allSatisfy { key, ids in
        !ids.isEmpty && ids.allSatisfy { turns[$0]?.prompt.idempotencyKey == key }
      }, "session prompts: a key leads to its prompts")
    check.require(
      byMessage.allSatisfy { turns[$1]?.answer?.message == $0 },
      "session prompts: a message leads to its prompt")
  }
}

/// A prompt, from its arrival until its removal.
///
///     accepting ──► waiting ──► starting ──► running ──► finishing ──► ended
///         └────────────────────────────────────▲ │ ▲         (durable answer)
///                (its conversation is idle)      ▼ │
///                                            cancelling
struct SessionTurn: Sendable {
  enum Stage: Sendable, Equatable {
    /// The prompt is being stored. `starts` is true if the same change marks it as started.
    case accepting(starts: Bool)
    /// The prompt is stored. It waits for earlier prompts or for a free handler.
    case waiting
    /// The start mark is being stored.
    case starting
    case running
    /// The handler is being cancelled. The prompt then fails with `error`.
    case cancelling(error: String)
    /// The answer is being stored.
    case finishing(StoredSessionAnswer)
    case ended(StoredSessionAnswer)
  }

  let id: SessionPromptID
  /// The client that receives the answer. It is the most recent sender of the prompt.
  var client: String
  let prompt: SessionPrompt
  /// The connection that sent the prompt most recently in this run of the process.
  var caller: ConnectionID?
  let at: Timestamp
  fileprivate(set) var stage: Stage
  /// The output of the handler so far.
  var output = ""
  /// The messages that the prompt adds to its conversation. They are set together with its answer.
  var entries: [SessionEntry] = []
  /// The first sender, if another client also sent the prompt while it was being stored.
  var sender: String?
  /// Whether the answer was removed in this process without an acknowledgement.
  var isLost = false
  /// The connections that requested the end of the prompt with `kill_session`.
  var killers: [ConnectionID] = []

  var answer: StoredSessionAnswer? {
    switch stage {
    case .ended(let answer): answer
    case .accepting, .waiting, .starting, .running, .cancelling, .finishing: nil
    }
  }

  /// A Boolean value that indicates whether the client has acknowledged the answer.
  var isAcknowledged: Bool { answer?.isTaken == true && !isLost }

  /// A Boolean value that indicates whether the prompt occupies a handler or is about to.
  var isUnderWay: Bool {
    switch stage {
    case .accepting(let starts): starts
    case .starting, .running, .cancelling: true
    case .waiting, .finishing, .ended: false
    }
  }

  /// A Boolean value that indicates whether the prompt has no answer yet.
  var mayBeCancelled: Bool {
    switch stage {
    case .accepting, .waiting, .starting, .running, .cancelling: true
    case .finishing, .ended: false
    }
  }

  /// The stored form of the prompt.
  var stored: StoredSessionPrompt {
    let stage: StoredSessionPrompt.Stage =
      switch stage {
      case .accepting(let starts): starts ? .started : .accepted
      case .waiting: .accepted
      case .starting, .running, .cancelling, .finishing: .started
      case .ended(let answer): .ended(answer)
      }
    return StoredSessionPrompt(id: id, client: client, prompt: prompt, at: at, stage: stage)
  }

  /// The size of the prompt that counts against the bounds, in bytes.
  var size: Int {
    prompt.text.utf8.count + (prompt.systemPrompt?.utf8.count ?? 0) + (answer?.size ?? 0)
  }

  /// Returns an answer as a response. Only the prompt's own client receives the number of the
  /// answer.
  func response(
    _ answer: StoredSessionAnswer, _ result: SessionResponse.Result, to peer: SessionSocket.Peer,
    parts: Int? = nil
  ) -> SessionServerMessage {
    .response(
      SessionResponse(
        id: answer.message, number: client == peer.client ? answer.number : nil,
        conversation: prompt.conversation, idempotencyKey: prompt.idempotencyKey, result: result,
        parts: parts))
  }

  /// Returns whether the prompt has the same content as another one.
  func isSame(as other: SessionPrompt) -> Bool {
    prompt.text == other.text && prompt.conversation == other.conversation
      && prompt.workingDirectory == other.workingDirectory && prompt.provider == other.provider
      && prompt.systemPrompt == other.systemPrompt
  }
}

extension StoredSessionAnswer {
  /// The text of the result, whether success or failure.
  var text: String {
    switch result {
    case .success(let text), .failure(let text): text
    }
  }

  /// The size of the answer that counts against the bounds, in bytes.
  var size: Int { text.utf8.count }
}

extension StoredSessionPrompt {
  var isOver: Bool { endedAt != Timestamp(nanoseconds: .max) }

  /// The time at which the prompt ended, or the latest timestamp if it has not ended.
  var endedAt: Timestamp {
    switch stage {
    case .ended(let answer): answer.at
    case .accepted, .started: Timestamp(nanoseconds: .max)
    }
  }
}
