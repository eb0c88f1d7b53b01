import LinkCore
import LinkWire
import MessageStream

// The tape of a run, beside the roles of inputs and effects: enough of each value to tell runs
// apart.
extension StreamFeature {
  public static func mix(_ fact: Fact, into digest: inout Digest) {
    switch fact {
    case .stored(let change, let commit):
      digest.mix(1, UInt64(change.outboxPut.count), change.cursor?.position?.offset ?? 0)
      for id in commit.inserted + commit.edited { digest.mix(id) }
    case .accepted(let message, let isNew):
      digest.mix(2, isNew ? 1 : 2)
      digest.mix(message.id)
    case .beganAnew(_, let kept): digest.mix(3, UInt64(kept.count))
    case .stated(let attempt, let head): digest.mix(15, attempt.number, head?.offset ?? 0)
    case .admitted(let attempt, _): digest.mix(14, attempt.number)
    }
  }

  public static func mix(_ input: Input, into digest: inout Digest) {
    switch input {
    case .open(let wall), .lifecycle(_, let wall), .woke(let wall): digest.mix(wall)
    case .realtime(let isOn): digest.mix(isOn)
    case .reader(let isBehind): digest.mix(isBehind)
    case .send(let text, _, _), .user(let text): digest.mix(text)
    case .retry(let id), .discard(let id), .postFailed(let id, _, _): digest.mix(id)
    case .opened(_, let head, let after): digest.mix(4, head?.offset ?? 0, after?.offset ?? 0)
    case .frame(_, .message(let message)), .posted(_, let message): digest.mix(message.id)
    case .pong(_, let id): digest.mix(id)
    case .oversized(_, let bytes): digest.mix(bytes)
    case .fetched(let id, let page):
      digest.mix(5, id.number, UInt64(page.messages.count))
      if let last = page.messages.last { digest.mix(last.id) }
    case .fetchFailed(let id, _): digest.mix(6, id.number)
    case .loaded(let kept): digest.mix(7, UInt64(kept.messages.count))
    case .committed(let id, let commit): digest.mix(8, id.number, UInt64(commit.inserted.count))
    case .commitFailed(let id, _): digest.mix(9, id.number)
    case .older(let messages): digest.mix(10, UInt64(messages.count))
    case .loadOlder: digest.mix(11)
    case .loadFailed: digest.mix(12)
    case .olderFailed: digest.mix(13)
    case .close, .refresh, .reachability, .credentials, .frame, .ping, .lost: return
    }
  }

  public static func mix(_ effect: Effect, into digest: inout Digest) {
    switch effect {
    case .open(_, let after): digest.mix(after?.offset ?? 0)
    case .close(_, let code): digest.mix(UInt64(code))
    case .ping(_, let id): digest.mix(id)
    case .refreshCredentials: return
    case .fetch(let id, _): digest.mix(1, id.number)
    case .post(let entry, _): digest.mix(entry.id)
    case .load(let limit): digest.mix(2, UInt64(limit))
    case .commit(let id, let change): digest.mix(3, id.number, UInt64(change.messages.count))
    case .readOlder(_, let limit): digest.mix(4, UInt64(limit))
    case .update(.messages(let messages, _)):
      for message in messages { digest.mix(message.id) }
    case .update(.status(let status)): digest.mix(5, UInt64(status.attempt))
    case .update: digest.mix(6)
    }
  }
}
