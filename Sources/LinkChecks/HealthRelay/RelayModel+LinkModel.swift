public import HoldfastHealthRelay
public import HoldfastCore

extension RelayModel: LinkModel {
  public static func role(of input: Input) -> InputRole {
    switch input {
    case .start, .link(.device(.again)): .wanted
    case .stop: .left
    case .link(let event): event.role
    case .opened(let attempt): .opened(attempt)
    case .message(let attempt, _): .data(attempt)
    case .unsent(let attempt): .lost(attempt, .local(detail: "unsent"))
    case .prepared: .answered(isTrigger: false)
    // The event belongs to an attempt that is no longer current, and completes the stop.
    case .closed, .resume: .other
    }
  }

  public static func role(of effect: Effect) -> EffectRole {
    switch effect {
    case .open(let attempt, _): .open(attempt)
    case .close(let attempt, let reason): .close(attempt, reason)
    case .ping(let attempt, _): .ping(attempt)
    case .read: .store
    case .update(.problem): .notice
    case .send, .discard, .fail, .refuse, .notify, .unnotify, .update: .other
    }
  }

  public static func renamed(_ input: Input, to attempt: AttemptID) -> Input {
    switch input {
    case .opened: .opened(attempt)
    case .message(_, let message): .message(attempt, message)
    case .link(let event): .link(event.moved(to: attempt))
    case .unsent: .unsent(attempt)
    case .start, .stop, .resume, .closed, .prepared: input
    }
  }
}

extension LinkPolicy {
  /// The policy for an app without a service. Its link ends immediately when the app enters the
  /// background.
  var withoutService: LinkPolicy {
    var gate = gate
    gate.background = .leave(after: .zero, then: .idle)
    var liveness = liveness
    liveness.idle = nil
    do {
      return try LinkPolicy(
        name: name, retry: retry, gate: gate, liveness: liveness, establish: establish,
        standby: standby, actions: actions)
    } catch {
      return self  // The result would be invalid.
    }
  }
}
