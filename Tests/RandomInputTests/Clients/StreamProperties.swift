@testable import LinkCore
import LinkWire
@testable import MessageStream

/// What a stream was told and has said in one run, from its inputs and effects alone.
struct StreamBooks {
  private var changes: [CommitID: TimelineChange] = [:]
  /// What the store has said to keep.
  private(set) var stored: Set<MessageID> = []
  private(set) var storedEntries: Set<UUID128> = []
  private(set) var shown: Set<MessageID> = []
  /// Entries that the user was told of, without those that are over.
  private(set) var waiting: Set<UUID128> = []

  /// The books after the input of a step and before its effects.
  func told(by step: MachineStep<StreamModel>) -> StreamBooks {
    var books = self
    switch step.input {
    case .loaded(let snapshot): books.keep(snapshot.messages, snapshot.outbox)
    case .older(let messages): books.keep(messages, [])
    case .committed(let id, _):
      if let change = changes[id] { books.keep(change.messages, change.outboxPut) }
    case .open, .close, .realtime, .refresh, .reader, .loadOlder, .send, .retry, .discard,
      .reachability, .lifecycle, .woke, .credentials, .user, .opened, .frame, .ping, .pong,
      .oversized, .lost, .fetched, .fetchFailed, .posted, .postFailed, .loadFailed,
      .commitFailed, .olderFailed, nil:
      break
    }
    return books
  }

  private mutating func keep(_ messages: [Message], _ entries: [OutboxEntry]) {
    stored.formUnion(messages.map(\.id))
    storedEntries.formUnion(entries.map(\.id))
  }

  mutating func note(_ step: MachineStep<StreamModel>) {
    self = told(by: step)
    shown.formUnion(step.shown.map(\.id))
    for effect in step.effects {
      switch effect {
      case .commit(let id, let change): changes[id] = change
      case .update(.outbox(let entry)):
        if step.after.outbox.entries.contains(where: { $0.id == entry.id }) {
          waiting.insert(entry.id)
        }
      case .update(.outboxDone(let id, _)): waiting.remove(id)
      case .open, .close, .ping, .refreshCredentials, .fetch, .post, .load, .readOlder, .update:
        continue
      }
    }
  }
}

extension MachineStep<StreamModel> {
  /// The messages that are shown for the first time.
  fileprivate var shown: [Message] {
    effects.flatMap { effect -> [Message] in
      if case .update(.messages(let messages, _)) = effect { messages } else { [] }
    }
  }

  fileprivate var endedEntries: [UUID128] {
    effects.compactMap { effect in
      if case .update(.outboxDone(let id, _)) = effect { id } else { nil }
    }
  }

  fileprivate var posted: [OutboxEntry] {
    effects.compactMap { effect in
      if case .post(let entry, _) = effect { entry } else { nil }
    }
  }

  fileprivate var attempts: [AttemptID] {
    effects.compactMap { effect in
      switch effect {
      case .open(let attempt, _), .close(let attempt, _), .ping(let attempt, _): attempt
      case .refreshCredentials, .fetch, .post, .load, .commit, .readOlder, .update: nil
      }
    }
  }
}

// What a stream promises of each step.
extension StreamInputs {
  static let properties: [MachineProperty<StreamInputs>] = [
    MachineProperty("each message is shown once") { generator, step in
      let ids = step.shown.map(\.id)
      return Set(ids).count == ids.count && generator.books.shown.isDisjoint(with: ids)
    },
    MachineProperty("a message is shown only after the store has it") { generator, step in
      generator.books.told(by: step).stored.isSuperset(of: step.shown.map(\.id))
    },
    MachineProperty("what is shown together is in the order of the timeline") { _, step in
      step.effects.allSatisfy { effect in
        guard case .update(.messages(let messages, _)) = effect else { return true }
        return zip(messages, messages.dropFirst()).allSatisfy { $0.key < $1.key }
      }
    },
    MachineProperty("an entry is posted only after the store has it") { generator, step in
      generator.books.told(by: step).storedEntries.isSuperset(of: step.posted.map(\.id))
    },
    MachineProperty("an entry waits until it went out or was discarded") { generator, step in
      generator.books.waiting.subtracting(step.endedEntries)
        .isSubset(of: step.after.outbox.entries.map(\.id))
    },
    MachineProperty("an entry ends once") { generator, step in
      let ended = step.endedEntries
      return Set(ended).count == ended.count
    },
    MachineProperty("only the present attempt is used, or one that began in the step") { _, step in
      step.attempts.allSatisfy {
        $0 == step.before.link.currentAttempt || $0.number > step.before.link.lastAttempt
      }
    },
  ]
}
