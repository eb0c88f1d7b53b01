@testable import HeldSocket
@testable import LinkCore

/// What became of the messages of a held socket, counted from its inputs and effects.
struct SocketBooks {
  private(set) var accepted = 0
  /// Reported as refused by the store, unproven or proven.
  private(set) var ended = 0
  private(set) var opened: Set<AttemptID> = []
  private(set) var over: Set<AttemptID> = []

  mutating func note(_ step: MachineStep<SocketModel>) {
    accepted += Self.accepted(in: step)
    ended += Self.ended(in: step)
    for effect in step.effects {
      switch effect {
      case .open(let attempt): opened.insert(attempt)
      case .close(let attempt, _): over.insert(attempt)
      case .greet, .resume, .send, .ping, .ask, .refreshCredentials, .store, .remove, .update:
        continue
      }
    }
    if case .link(.lost(let attempt, _))? = step.input, opened.contains(attempt) {
      over.insert(attempt)
    }
  }

  /// How many messages a step took in.
  static func accepted(in step: MachineStep<SocketModel>) -> Int {
    switch step.input {
    case .restored(let entries): entries.count
    case .send: step.effects.contains { $0.refuses } ? 0 : 1
    case .start, .stop, .link, .credentials, .socket, .stored, .storeFailed, nil: 0
    }
  }

  /// How many messages a step says to have ended, as far as it says so.
  static func ended(in step: MachineStep<SocketModel>) -> Int {
    var count = 0
    for effect in step.effects {
      switch effect {
      case .update(.notice(.unproven(let unproven, isRepeated: false))): count += unproven
      case .open, .close, .greet, .resume, .send, .ping, .ask, .refreshCredentials, .store,
        .remove, .update:
        continue
      }
    }
    return count + step.dropped.count + step.proven
  }
}

extension MachineStep<SocketModel> {
  /// The message that the store refused before it was sent.
  fileprivate var dropped: [UInt64] {
    guard case .storeFailed(let id, _)? = input, before.queue.unstored.contains(id) else {
      return []
    }
    return [id]
  }

  /// The attempts that began in this step and did not end in it.
  fileprivate var stillOpen: Set<AttemptID> {
    var open: Set<AttemptID> = []
    for effect in effects {
      switch effect {
      case .open(let attempt): open.insert(attempt)
      case .close(let attempt, _): open.remove(attempt)
      case .greet, .resume, .send, .ping, .ask, .refreshCredentials, .store, .remove, .update:
        continue
      }
    }
    return open
  }

  /// How many messages the pong to the newest ping proves.
  fileprivate var proven: Int {
    guard case .link(.pong(let attempt, let id))? = input, attempt == before.link.currentAttempt,
      let proof = before.queue.proof, proof.ping == id
    else { return 0 }
    return proof.count
  }
}

extension SocketModel.Effect {
  /// Whether it says that a message is not accepted.
  fileprivate var refuses: Bool {
    switch self {
    case .update(.notice(.refused)), .update(.notice(.notConnected)): true
    case .open, .close, .greet, .resume, .send, .ping, .ask, .refreshCredentials, .store,
      .remove, .update:
      false
    }
  }

  fileprivate var attempt: AttemptID? {
    switch self {
    case .open(let attempt), .close(let attempt, _), .greet(let attempt, _, _),
      .resume(let attempt, _), .send(let attempt, _), .ping(let attempt, _), .ask(let attempt):
      attempt
    case .refreshCredentials, .store, .remove, .update: nil
    }
  }
}

// What a held socket promises of each step.
extension SocketInputs {
  static let properties: [MachineProperty<SocketInputs>] = [
    MachineProperty("a message that was accepted waits, has arrived or is reported") {
      let accepted = $0.books.accepted + SocketBooks.accepted(in: $1)
      let ended = $0.books.ended + SocketBooks.ended(in: $1)
      return accepted == ended + $1.after.queue.entries.count
    },
    MachineProperty("a durable outbox sends only what is stored") { sendsStored($1) },
    MachineProperty("nothing is asked of a socket that ended") { generator, step in
      step.effects.allSatisfy {
        $0.attempt.map { !generator.books.over.contains($0) } ?? true
      }
    },
    MachineProperty("what is removed from the store has arrived") { removesProven($1) },
    MachineProperty("a stopped socket leaves no connection open") { _, step in
      !step.after.isStopped || step.stillOpen.isEmpty
    },
  ]

  private static func sendsStored(_ step: MachineStep<SocketModel>) -> Bool {
    let queue = step.after.queue
    return queue.entries.prefix(queue.handed).allSatisfy { !queue.unstored.contains($0.id) }
  }

  private static func removesProven(_ step: MachineStep<SocketModel>) -> Bool {
    var removed: [UInt64] = []
    for case .remove(let ids) in step.effects { removed += ids }
    return removed
      == (step.before.settings.outbox == .durable
        ? step.before.queue.entries.prefix(step.proven).map(\.id) : [])
  }
}
