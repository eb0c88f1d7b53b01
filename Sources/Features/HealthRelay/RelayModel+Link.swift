import LinkCore
import LinkWire

// The link and the user: what its effects mean for a relay.
extension RelayModel {
  /// Translates what the link asks for.
  mutating func follow(_ effects: [HeldLink.Effect], _ step: inout Step) {
    for effect in effects {
      switch effect {
      case .prepare(let attempt): drive(.prepared(attempt), &step)
      case .open(let attempt): step.effects.append(.open(attempt, resume: resume))
      case .close(let attempt, let reason):
        step.effects.append(.close(attempt, code: reason.closeCode))
      case .ping(let attempt, let id): step.effects.append(.ping(attempt, id))
      case .status(let status): followed(status, &step)
      // No preset of a relay has credentials or a standby.
      case .refreshCredentials, .poll, .arm, .disarm: continue
      }
    }
  }

  private mutating func followed(_ status: LinkStatus, _ step: inout Step) {
    switch status.phase {
    case .connected: return
    case .connecting, .reconnecting, .held: line.interrupt()
    case .disconnected: end(&step)
    case .standby, .failed:
      end(&step)
      if let failure = status.failure { tell(.connection(failure), &step) }
    }
  }

  /// The session is over, and nobody waits for an answer any more.
  private mutating func end(_ step: inout Step) {
    welcome = nil
    drop(&step) { _ in true }
    line.forgetAnswered()
  }

  mutating func start(_ step: inout Step) {
    if lifecycle == .background, case .leave = settings.policy.gate.background {
      tell(.inBackground, &step)
      return
    }
    phase = .on
    lastMessage = step.now
    drive(.want(.live), &step)
    // Who presses again does not wait for the next try.
    if link.status.retryAt != nil { drive(.trigger(.userRefresh), &step) }
  }

  /// The user's own end is the end of the pairing: the next start is a stranger's.
  mutating func stop(_ step: inout Step) {
    resume = nil
    guard phase == .on else { return }
    let attempt = link.currentAttempt
    drive(.want(.none), &step)
    phase =
      attempt.map { .stopping($0, until: step.now.advanced(by: RelaySettings.stopTimeout)) }
      ?? .off
  }

  mutating func closed(_ attempt: AttemptID) {
    guard case .stopping(attempt, _) = phase else { return }  // late
    phase = .off
  }

  var stopDeadline: Instant? {
    guard case .stopping(_, let until) = phase else { return nil }
    return until
  }

  /// The link's own idle rule watches what is connected; without a way out this one does.
  var quietDeadline: Instant? {
    guard phase == .on, link.status.phase == .held, let idle = settings.policy.liveness.idle
    else { return nil }
    return lastMessage.advanced(by: idle.after)
  }

  mutating func endQuiet(_ step: inout Step) {
    drive(.want(.none), &step)
    phase = .quiet
  }

  /// What the user sees.
  var observed: RelayStatus {
    switch phase {
    case .stopping: RelayStatus(.stopping)
    case .quiet: RelayStatus(.idle, reason: .ended(.idle))
    case .off, .on: RelayStatus(link.status, hasRun: welcome != nil)
    }
  }

  /// A notification stands as long as the service works; what it says changes with the state.
  func notify(_ before: RelayStatus, _ step: inout Step) {
    guard settings.hasNotification else { return }
    if status.isWorking {
      if before.state != status.state || before.attempt != status.attempt {
        step.effects.append(.notify(status))
      }
    } else if before.isWorking {
      step.effects.append(.unnotify)
    }
  }
}

extension RelayStatus {
  /// Whether the service is up.
  fileprivate var isWorking: Bool {
    switch state {
    case .starting, .running, .reconnecting: true
    case .idle, .error, .stopping: false
    }
  }
}

extension LinkStatus {
  /// What the trying ended with.
  fileprivate var failure: LinkFailure? {
    switch reason {
    case .failure(let failure), .exhausted(let failure): failure
    case .obstacle, .signIn, .ended, .settling, .limited, nil: nil
    }
  }
}
