@testable import LinkCore

// What a link promises of each step.
extension LinkInputs {
  static let properties: [MachineProperty<LinkInputs>] = [
    MachineProperty("a link that is wanted waits for something or says why not") {
      isOutstanding($1.after)
    },
    MachineProperty("connections stay inside every window of the policy") {
      $0.fits($0.opens, $1) { if case .open = $0 { true } else { false } }
    },
    MachineProperty("polls stay inside every window of the policy") {
      $0.fits($0.polls, $1) { if case .poll = $0 { true } else { false } }
    },
    MachineProperty("an event of an attempt that does not count changes nothing") {
      !isLate($1) || ($1.after == $1.before && $1.effects.isEmpty)
    },
    MachineProperty("nothing is asked of an attempt that ended") { $0.leavesEnded($1) },
    MachineProperty("only a wish or credentials go on after a terminal answer") {
      !isTerminal($1.before) || mayResume($1.input) || $1.effects.allSatisfy { !$0.isTry }
    },
    MachineProperty("each change of status is told, and nothing else") { tellsStatus($1) },
    MachineProperty("connected means a current attempt and a limit for silence") {
      $1.after.status.phase != .connected
        || ($1.after.currentAttempt != nil && $1.after.deadline != nil)
    },
  ]

  private static func isOutstanding(_ link: HeldLink) -> Bool {
    guard link.isWanted else { return link.currentAttempt == nil && link.queuedAttempt == nil }
    switch link.status.phase {
    case .failed, .held: return link.status.reason != nil
    case .disconnected: return false
    case .connecting, .connected, .reconnecting, .standby:
      return link.deadline != nil || link.queuedAttempt != nil
    }
  }

  /// Whether a step and what came before it keep to the windows.
  private func fits(
    _ earlier: [Instant], _ step: MachineStep<HeldLink>, _ counts: (HeldLink.Effect) -> Bool
  ) -> Bool {
    let new = step.effects.count(where: counts)
    guard new > 0 else { return true }
    return machine.policy.retry.windows.allSatisfy { window in
      earlier.count { $0.duration(to: step.now) < window.per } + new <= window.attempts
    }
  }

  private static func isLate(_ step: MachineStep<HeldLink>) -> Bool {
    guard let attempt = step.input?.attempt else { return false }
    // What is overdue may follow from any input.
    if let due = step.before.deadline, due <= step.now { return false }
    return attempt != step.before.currentAttempt && attempt != step.before.queuedAttempt
  }

  private func leavesEnded(_ step: MachineStep<HeldLink>) -> Bool {
    var over = ended.union(step.endedByInput)
    for effect in step.effects {
      guard let attempt = effect.attempt else { continue }
      if over.contains(attempt) { return false }
      switch effect {
      case .close, .disarm: over.insert(attempt)
      case .prepare, .open, .ping, .refreshCredentials, .poll, .arm, .status: continue
      }
    }
    return true
  }

  private static func isTerminal(_ link: HeldLink) -> Bool {
    switch link.state {
    case .failed(.failure), .failed(.signIn): true
    case .failed, .idle, .held, .settling, .waiting, .refreshing, .preparing, .opening,
      .establishing, .ready, .resting:
      false
    }
  }

  private static func mayResume(_ input: HeldLink.Input?) -> Bool {
    switch input {
    case .want, .credentials(.available): true
    case .reachability, .lifecycle, .credentials, .trigger, .prepared, .opened, .found,
      .established, .heard, .validData, .pong, .lost, .reject, .draining, .flushed, .polled,
      .requested, nil:
      false
    }
  }

  private static func tellsStatus(_ step: MachineStep<HeldLink>) -> Bool {
    let told = step.effects.compactMap { if case .status(let status) = $0 { status } else { nil } }
    return told == (step.before.status == step.after.status ? [] : [step.after.status])
  }
}

extension MachineStep<HeldLink> {
  /// The attempt whose transport is gone.
  fileprivate var lost: AttemptID? {
    if case .lost(let attempt, _)? = input { attempt } else { nil }
  }

  /// The attempts that an input ends; a name that never counted may be given to one later.
  var endedByInput: Set<AttemptID> {
    guard let lost, lost == before.currentAttempt || lost == before.queuedAttempt else { return [] }
    return [lost]
  }
}

extension HeldLink.Input {
  /// The attempt that it tells of; `nil` for one that is found under a name of its own.
  fileprivate var attempt: AttemptID? {
    switch self {
    case .prepared(let attempt), .opened(let attempt), .established(let attempt),
      .heard(let attempt), .validData(let attempt), .pong(let attempt, _), .lost(let attempt, _),
      .reject(let attempt, _), .draining(let attempt, _):
      attempt
    case .found, .want, .reachability, .lifecycle, .credentials, .trigger, .flushed, .polled,
      .requested:
      nil
    }
  }
}

extension HeldLink.Effect {
  fileprivate var attempt: AttemptID? {
    switch self {
    case .prepare(let attempt), .open(let attempt), .close(let attempt, _),
      .ping(let attempt, _), .arm(let attempt), .disarm(let attempt):
      attempt
    case .refreshCredentials, .poll, .status: nil
    }
  }

  /// Whether it has the server asked for anything.
  fileprivate var isTry: Bool {
    switch self {
    case .open, .prepare, .arm, .poll: true
    case .close, .ping, .refreshCredentials, .disarm, .status: false
    }
  }
}
