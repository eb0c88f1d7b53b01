import HoldfastCore
public import HoldfastHealthRelay
public import HoldfastLinkChecks

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
}
