public import HoldfastCore
import HoldfastLinkChecks
public import HoldfastMessageChecks
public import HoldfastMessageStream
public import HoldfastWorldKernel

extension StreamModel: StreamClient {}

extension StreamModel: SimulatedModel {
  public static func renamed(_ input: Input, to attempt: AttemptID) -> Input {
    switch input {
    case .opened(_, let head, let after, let events):
      .opened(attempt, head: head, after: after, events: events)
    case .frame(_, let frame): .frame(attempt, frame)
    case .link(let event, let wall): .link(event.moved(to: attempt), at: wall)
    case .open, .close, .realtime, .refresh, .reader, .user, .loadOlder, .send, .edit, .delete,
      .retry,
      .discard, .credentials, .fetched, .fetchFailed, .posted, .edited, .deleted,
      .uploaded, .uploadRefused, .postFailed, .loaded, .loadFailed, .committed, .commitFailed,
      .older, .olderFailed:
      input
    }
  }
}
