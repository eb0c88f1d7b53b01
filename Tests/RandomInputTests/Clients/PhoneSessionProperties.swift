import LinkCore
import LinkWire
@testable import Session

/// What a client of sessions was told and has said in one run.
struct SessionBooks {
  private var changes: [SessionCommitID: ClientSessionChange] = [:]
  private var lastCommit: UInt64 = 0
  /// The newest commit that is stored.
  private(set) var committed: UInt64 = 0
  private(set) var storedPrompts: Set<UUID128> = []
  /// The newest commit before each message was heard for the first time.
  private(set) var heard: [String: UInt64] = [:]
  private(set) var lastNews: UInt64 = 0

  /// The books after the input of a step and before its effects.
  func told(by step: MachineStep<SessionModel>) -> SessionBooks {
    var books = self
    switch step.input {
    case .restored(let snapshot, _, _): books.storedPrompts.formUnion(snapshot.prompts.map(\.id))
    case .committed(let id, _):
      guard let change = changes[id] else { break }
      books.committed = max(committed, id.number)
      books.storedPrompts.formUnion(change.prompts.map(\.id))
    case .frame(_, let message, _, _):
      for id in message.ids where heard[id] == nil { books.heard[id] = lastCommit }
    case .start, .stop, .prompt, .retry, .discard, .cancel, .follow, .shown, .link, .credentials,
      .probed, .opened, .malformed, .reading, .unsent, .commitFailed, nil:
      break
    }
    return books
  }

  mutating func note(_ step: MachineStep<SessionModel>) {
    self = told(by: step)
    for case .commit(let id, let change) in step.effects {
      changes[id] = change
      lastCommit = id.number
    }
    lastNews = step.news.last ?? lastNews
  }
}

extension SessionServerMessage {
  /// The ids that are to be acknowledged.
  fileprivate var ids: [String] {
    switch self {
    case .response(let response): response.id.map { [$0] } ?? []
    case .replay(let id, _, _): [id]
    case .hello, .connected, .authError, .error, .unknown, .pong, .ack, .responsePart,
      .turnComplete, .history, .historyBatch, .heartbeat, .draining, .sessionKilled:
      []
    }
  }
}

extension MachineStep<SessionModel> {
  /// The numbers of the news that are shown.
  fileprivate var news: [UInt64] {
    effects.compactMap { effect in
      switch effect {
      case .update(.message(_, _, let number)), .update(.prompt(_, let number?)): number
      case .open, .close, .connect, .send, .refreshCredentials, .probe, .commit, .update: nil
      }
    }
  }

  fileprivate var sent: [SessionClientMessage] {
    effects.compactMap { if case .send(_, let message) = $0 { message } else { nil } }
  }

  fileprivate var attempts: [AttemptID] {
    effects.compactMap { effect in
      switch effect {
      case .open(let attempt), .close(let attempt, _), .connect(let attempt, _, _),
        .send(let attempt, _):
        attempt
      case .refreshCredentials, .probe, .commit, .update: nil
      }
    }
  }

  /// The prompts that have ended by this step, or were forgotten on the user's word.
  fileprivate var endedPrompts: Set<UUID128> {
    var ended: Set<UUID128> = []
    for batch in [after.writer.waiting, after.writer.inFlight?.batch].compactMap(\.self) {
      ended.formUnion(batch.change.forgotten)
      for news in batch.change.news {
        switch news {
        case .ended(let ending), .answer(_, _, let ending): ended.insert(ending.key)
        case .message: continue
        }
      }
    }
    for case .update(.prompt(let state, _?)) in effects { ended.insert(state.key) }
    return ended
  }
}

// What a client of sessions promises of each step.
extension PhoneSessionInputs {
  static let properties: [MachineProperty<PhoneSessionInputs>] = [
    MachineProperty("a message is acknowledged only after it was stored") { generator, step in
      let books = generator.books.told(by: step)
      return step.sent.allSatisfy { message in
        guard case .messageAck(let id) = message else { return true }
        return books.heard[id].map { $0 < books.committed } ?? false
      }
    },
    MachineProperty("news are shown once, in the order of their numbers") { generator, step in
      let numbers = [generator.books.lastNews] + step.news
      return zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 }
    },
    MachineProperty("a prompt is sent only after the store has it") { generator, step in
      let books = generator.books.told(by: step)
      return step.sent.allSatisfy { message in
        guard case .prompt(let prompt) = message else { return true }
        guard let id = prompt.idempotencyKey.flatMap({ UUID128($0) }) else { return false }
        return books.storedPrompts.contains(id)
      }
    },
    MachineProperty("a prompt is kept until it ended or the user gave it up") { _, step in
      let after = Set(step.after.queue.items.map(\.id))
      return step.before.queue.items.map(\.id).filter { !after.contains($0) }
        .allSatisfy { step.endedPrompts.contains($0) }
    },
    MachineProperty("only the present attempt is used") { _, step in
      let present = [step.before.link.currentAttempt, step.after.link.currentAttempt]
      return step.attempts.allSatisfy { present.contains($0) }
    },
    MachineProperty("messages are sent only while connected") { _, step in
      step.sent.isEmpty || step.before.isConnected || step.after.isConnected
    },
  ]
}
