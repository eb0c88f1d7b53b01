import LinkCore
import LinkStorage
import LinkWire

/// A prompt from its arrival until it is forgotten.
///
///     accepting ──► waiting ──► starting ──► running ──► finishing ──► ended
///         └────────────────────────────────────▲ │ ▲         (durable answer)
///                (its conversation is idle)      ▼ │
///                                            cancelling
struct SessionTurn: Sendable {
  enum Stage: Sendable, Equatable {
    /// The store is asked to remember it; `starts` if the same change marks it as started.
    case accepting(starts: Bool)
    /// It is remembered, and waits for its turn or for a free handler.
    case waiting
    /// The store is asked to mark it as started.
    case starting
    case running
    /// Its handler is told to end; then the prompt fails with `error`.
    case cancelling(error: String)
    /// The store is asked to remember its answer.
    case finishing(StoredSessionAnswer)
    case ended(StoredSessionAnswer)
  }

  let id: SessionPromptID
  /// The client that gets the answer: the last one that sent this prompt.
  var client: String
  let prompt: SessionPrompt
  /// The connection that sent it last in this run of the process.
  var asker: ConnectionID?
  let at: Timestamp
  var stage: Stage
  /// What its handler produced so far.
  var output = ""
  /// What it adds to its conversation; set with its answer.
  var entries: [SessionEntry] = []
  /// The client that sent it first, if another one sent it too while the store was asked for it.
  var sender: String?
  /// Whether its answer was removed from those that wait for the client, in this process.
  var isLost = false
  /// Who asked for its end by `kill_session`.
  var killers: [ConnectionID] = []

  var answer: StoredSessionAnswer? {
    switch stage {
    case .ended(let answer): answer
    case .accepting, .waiting, .starting, .running, .cancelling, .finishing: nil
    }
  }

  /// Whether its client has stored the answer.
  var isAcknowledged: Bool { answer?.isTaken == true && !isLost }

  /// Whether it takes one of the handlers, or is about to.
  var isUnderWay: Bool {
    switch stage {
    case .accepting(let starts): starts
    case .starting, .running, .cancelling: true
    case .waiting, .finishing, .ended: false
    }
  }

  /// Whether it has neither ended nor an answer.
  var mayBeCancelled: Bool {
    switch stage {
    case .accepting, .waiting, .starting, .running, .cancelling: true
    case .finishing, .ended: false
    }
  }

  /// As it is kept.
  var kept: StoredSessionPrompt {
    let stage: StoredSessionPrompt.Stage =
      switch stage {
      case .accepting(let starts): starts ? .started : .accepted
      case .waiting: .accepted
      case .starting, .running, .cancelling, .finishing: .started
      case .ended(let answer): .ended(answer)
      }
    return StoredSessionPrompt(id: id, client: client, prompt: prompt, at: at, stage: stage)
  }

  /// Bytes that it takes of the bounds.
  var size: Int {
    prompt.text.utf8.count + (prompt.systemPrompt?.utf8.count ?? 0) + (answer?.size ?? 0)
  }

  /// Whether another prompt asks for the same.
  func isSame(as other: SessionPrompt) -> Bool {
    prompt.text == other.text && prompt.conversation == other.conversation
      && prompt.workingDirectory == other.workingDirectory && prompt.provider == other.provider
      && prompt.systemPrompt == other.systemPrompt
  }
}

extension StoredSessionAnswer {
  /// The text of the result, whatever it is.
  var text: String {
    switch result {
    case .success(let text), .failure(let text): text
    }
  }

  /// Bytes that it takes of the bounds.
  var size: Int { text.utf8.count }
}

/// A client that was here, as long as it is remembered.
struct SessionClient: Sendable {
  var kept: StoredSessionClient
  /// Its sockets, the oldest first.
  var sockets: [ConnectionID] = []
  /// The prompts whose answers it did not acknowledge, in the order of the answers.
  var outbox: [SessionPromptID] = []
  /// Bytes of these answers.
  var outboxBytes = 0
  /// Its prompts that have not ended.
  var open = 0
  /// The newest loss that it was told of.
  var told: UInt64 = 0
}

/// The messages of one conversation, and its prompts that have not ended.
struct SessionTalk: Sendable {
  var signature = ""
  /// Without a hole; `place` is the sequence number.
  var entries: [SessionEntry] = []
  /// Whether the store has its signature.
  var isKept = false
  /// Messages that are durable before one in front of them; empty unless the store failed.
  var late: [UInt64: SessionEntry] = [:]
  /// The next sequence number, also ahead of the store.
  var next: UInt64 = 1
  /// The prompts that have not ended, in order.
  var line: [SessionPromptID] = []
  /// When it was last used.
  var usedAt = Timestamp(nanoseconds: 0)
  /// The sockets that subscribe to it.
  var readers: Set<ConnectionID> = []
  /// Whether its next prompt waits for a free handler.
  var isQueued = false

  /// The sequence number of the oldest message that is left; the next one if there is none.
  var first: UInt64 { entries.first?.place ?? end }
  /// The sequence number behind the newest message that can be sent.
  var end: UInt64 { entries.last?.place.map { $0 + 1 } ?? 1 }
}
