public import HoldfastCore
public import HoldfastHealthSync
public import HoldfastLinkChecks

extension SyncModel: CheckedModel {
  /// The status is always disconnected, because the model has no link.
  public var status: LinkStatus { LinkStatus(phase: .disconnected) }
  /// The value is always `nil`, because the model makes no connection attempts.
  public var currentAttempt: AttemptID? { nil }

  public static func event(of input: Input) -> LinkEvent? {
    if case .device(let change) = input { .device(change) } else { nil }
  }

  public static func role(of input: Input) -> InputRole {
    switch input {
    case .restored: .wanted
    case .stop: .left
    case .device(let change): LinkEvent.device(change).role
    case .again, .woken(_, _, reads: true): .trigger
    case .conditions: .changed
    case .fetched, .notFetched, .notWritten, .committed, .notCommitted, .uploaded, .split,
      .notSplit, .identified, .notIdentified, .epoch, .secret, .refreshed:
      .answered(isTrigger: false)
    case .ask, .fired, .woken: .other
    }
  }

  public static func role(of effect: Effect) -> EffectRole {
    switch effect {
    case .fetch, .upload, .split, .identify, .requestSecret, .refresh: .request
    case .commit: .store
    case .update(.notice): .notice
    case .observe, .delete, .giveBack, .update: .other
    }
  }
}
