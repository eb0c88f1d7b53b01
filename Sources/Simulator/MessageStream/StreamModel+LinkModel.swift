public import LinkCore
public import MessageStream

extension StreamModel: StreamClient {
  /// How much it holds in memory.
  public var backlog: Backlog {
    Backlog(
      shown: timeline.messages.count, unsent: outbox.entries.count, unstored: unstoredCount,
      ahead: aheadCount)
  }
}

extension StreamModel: LinkModel {
  public static func role(of input: Input) -> InputRole {
    switch input {
    case .open: .wanted
    case .close: .left
    case .realtime, .reachability: .changed
    case .lifecycle(let lifecycle, _): .lifecycle(lifecycle)
    case .refresh, .reader, .woke: .trigger
    case .credentials(let event): .credentials(event)
    case .opened(let attempt, _, _): .opened(attempt)
    case .frame(let attempt, .message): .data(attempt)
    case .frame(let attempt, .draining(let window)): .draining(attempt, within: window)
    case .frame(let attempt, .unknown), .frame(let attempt, .malformed), .ping(let attempt),
      .pong(let attempt, _), .oversized(let attempt, _):
      .heard(attempt)
    case .lost(let attempt, let failure): .lost(attempt, failure)
    case .fetched: .answered(isTrigger: false)
    // The server is there.
    case .posted: .answered(isTrigger: true)
    case .fetchFailed(_, let failure), .postFailed(_, _, let failure): .refused(failure)
    case .loadOlder, .send, .retry, .discard, .user, .loaded, .loadFailed, .committed,
      .commitFailed, .older, .olderFailed:
      .other
    }
  }

  public static func role(of effect: Effect) -> EffectRole {
    switch effect {
    case .open(let attempt, _): .open(attempt)
    case .close(let attempt, _): .close(attempt)
    case .ping(let attempt, _): .ping(attempt)
    case .refreshCredentials: .refreshCredentials
    case .fetch, .post: .request
    case .load, .commit, .readOlder: .store
    case .update(.notice(.signIn)): .signIn
    case .update(.notice): .notice
    case .update: .other
    }
  }

  public static func renamed(_ input: Input, to attempt: AttemptID) -> Input {
    switch input {
    case .opened(_, let head, let after): .opened(attempt, head: head, after: after)
    case .frame(_, let frame): .frame(attempt, frame)
    case .ping: .ping(attempt)
    case .pong(_, let id): .pong(attempt, id)
    case .oversized(_, let bytes): .oversized(attempt, bytes: bytes)
    case .lost(_, let failure): .lost(attempt, failure)
    case .open, .close, .realtime, .refresh, .reader, .user, .loadOlder, .send, .retry, .discard,
      .reachability, .lifecycle, .woke, .credentials, .fetched, .fetchFailed, .posted,
      .postFailed, .loaded, .loadFailed, .committed, .commitFailed, .older, .olderFailed:
      input
    }
  }
}
