import LinkCore
import LinkWire
import Session

// What of a session's steps is part of a run's digest, beside their roles. Sets have no order, and
// are left out.
extension SessionsFeature {
  public static func mix(_ fact: Fact, into digest: inout Digest) {
    switch fact {
    case .ran(let name):
      digest.mix(1)
      digest.mix(name)
    case .discarded(let phone, let key):
      digest.mix(5, UInt64(phone))
      digest.mix(key)
    case .dropped(let phone): digest.mix(2, UInt64(phone))
    case .broken(_, let detail): digest.mix(detail)
    case .counted(let phone, let days): digest.mix(4, UInt64(phone), UInt64(days.count))
    }
  }

  public static func mix(_ input: Input, into digest: inout Digest) {
    switch input {
    case .restored(let kept, _, let wall):
      digest.mix(1, UInt64(kept.prompts.count), UInt64(kept.conversations.count))
      digest.mix(wall)
    case .prompt(let text, let conversation, let wall):
      digest.mix(text.firstWord)
      digest.mix(conversation ?? "")
      digest.mix(wall)
    case .retry(let key), .discard(let key): digest.mix(key)
    case .cancel(let conversation), .follow(let conversation): digest.mix(conversation)
    case .shown(let through): digest.mix(2, through)
    case .frame(_, let message, let bytes, let wall):
      digest.mix(3, UInt64(bytes))
      digest.mix(wall)
      mix(message, into: &digest)
    case .committed(let id, let news):
      digest.mix(4, id.number, UInt64(news.count))
      if let last = news.last { digest.mix(last.number) }
    case .commitFailed(let id, _): digest.mix(5, id.number)
    case .malformed(_, let detail): digest.mix(detail)
    case .reading(_, let isPaused): digest.mix(isPaused)
    case .probed(let isPortal): digest.mix(isPortal)
    case .start, .stop, .link, .credentials, .opened, .unsent: return
    }
  }

  public static func mix(_ effect: Effect, into digest: inout Digest) {
    switch effect {
    case .close(_, let code): digest.mix(UInt64(code))
    case .connect(_, let connect, let challenge):
      digest.mix(1, connect.received ?? 0)
      digest.mix(challenge ?? "")
    case .send(_, let message): mix(message, into: &digest)
    case .commit(let id, let change):
      digest.mix(2, id.number, UInt64(change.news.count))
      digest.mix(UInt64(change.prompts.count), change.received ?? 0, change.shown ?? 0)
    case .update(let update): mix(update, into: &digest)
    case .probe(let time): digest.mix(time)
    case .open, .refreshCredentials: return
    }
  }

  private static func mix(_ message: SessionServerMessage, into digest: inout Digest) {
    switch message {
    case .hello(let hello): digest.mix(hello.challenge ?? "")
    case .ack(_, let key): digest.mix(key ?? "")
    case .response(let response):
      digest.mix(10, response.number ?? 0)
      digest.mix(response.id ?? "")
    case .responsePart(_, let key, let index, _):
      digest.mix(11, UInt64(index))
      digest.mix(key)
    case .error(let error): digest.mix(error.message)
    case .replay(let id, _, let number):
      digest.mix(12, number ?? 0)
      digest.mix(id)
    case .history(let window): mix(window, into: &digest)
    case .historyBatch(let windows): for window in windows { mix(window, into: &digest) }
    case .heartbeat(let time): if let time { digest.mix(time) }
    case .draining(_, let retryAfter, _): digest.mix(retryAfter)
    case .connected, .pong, .authError, .turnComplete, .sessionKilled, .unknown: return
    }
  }

  private static func mix(_ window: SessionHistory, into digest: inout Digest) {
    digest.mix(13, UInt64(window.entries.count))
    digest.mix(window.conversation)
    if let last = window.entries.last { digest.mix(last.id) }
  }

  private static func mix(_ message: SessionClientMessage, into digest: inout Digest) {
    switch message {
    case .messageAck(let id): digest.mix(id)
    case .prompt(let prompt):
      digest.mix(prompt.idempotencyKey ?? "")
      digest.mix(prompt.text.firstWord)
    case .subscribe(let one): digest.mix(one.conversation)
    case .subscribeBatch(let all): for one in all { digest.mix(one.conversation) }
    case .unsubscribe(let conversation), .killSession(let conversation): digest.mix(conversation)
    case .setMaxMessageSize(let kilobytes): digest.mix(20, UInt64(kilobytes))
    case .disconnect(let reason): digest.mix(reason)
    case .connect, .ping, .unknown: return
    }
  }

  private static func mix(_ update: SessionUpdate, into digest: inout Digest) {
    switch update {
    case .status(let status): digest.mix(30, UInt64(status.attempt))
    case .prompt(let prompt, let news):
      digest.mix(31, news ?? 0)
      digest.mix(prompt.key)
      digest.mix(prompt.state.rawValue)
    case .message(let entry, _, let news):
      digest.mix(32, news)
      digest.mix(entry.id)
    case .part(_, let key, let index, _):
      digest.mix(33, UInt64(index))
      digest.mix(key)
    case .gap(let conversation, let gap):
      digest.mix(conversation ?? "")
      digest.mix(gap.rawValue)
    case .quality(_, let roundTrip): digest.mix(34, UInt64(roundTrip == nil ? 1 : 2))
    case .pending(let prompts): digest.mix(35, UInt64(prompts.count))
    case .record(let record): digest.mix(36, record.attempt.number)
    case .notice: digest.mix(37)
    }
  }
}
