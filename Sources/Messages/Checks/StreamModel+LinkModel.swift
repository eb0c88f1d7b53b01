import HoldfastCore
public import HoldfastLinkChecks
public import HoldfastMessageStream

extension StreamModel {
  /// The model's memory use.
  public var memoryUse: MemoryUse {
    MemoryUse(
      shown: timeline.messages.count, unsent: outbox.entries.count, unstored: unstoredCount,
      ahead: aheadCount)
  }
}

extension StreamModel: LinkModel {
  public static func role(of input: Input) -> InputRole {
    switch input {
    case .open: .wanted
    case .close: .left
    case .realtime: .changed
    case .refresh, .reader: .trigger
    case .link(let event, _): event.role
    case .credentials(let event): .credentials(event)
    case .opened(let attempt, _, _, _): .opened(attempt)
    case .frame(let attempt, .message), .frame(let attempt, .edited),
      .frame(let attempt, .deleted):
      .data(attempt)
    case .frame(let attempt, .draining(let window)): .draining(attempt, within: window)
    case .frame(let attempt, .unknown), .frame(let attempt, .malformed): .received(attempt)
    case .fetched: .answered(isTrigger: false)
    // An accepted post shows that the server is reachable.
    case .posted, .edited, .deleted: .answered(isTrigger: true)
    case .uploaded: .answered(isTrigger: false)
    case .fetchFailed(_, let failure), .postFailed(_, _, let failure): .refused(failure)
    case .loadOlder, .send, .edit, .delete, .retry, .discard, .user, .uploadRefused, .loaded,
      .loadFailed, .committed,
      .commitFailed, .older, .olderFailed:
      .other
    }
  }

  public static func role(of effect: Effect) -> EffectRole {
    switch effect {
    case .open(let attempt, _): .open(attempt)
    case .close(let attempt, let reason): .close(attempt, reason)
    case .ping(let attempt, _): .ping(attempt)
    case .refreshCredentials: .refreshCredentials
    case .fetch, .post, .upload: .request
    case .load, .commit, .readOlder: .store
    case .update(.notice(.signIn)): .signIn
    case .update(.notice): .notice
    case .update: .other
    }
  }
}
