import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageData
import HoldfastMessageStream

/// A checker that detects a message that is sent while an attempt to send a message is in progress.
///
/// An attempt is in progress until it is answered, until twice the fetch time-out has passed, or
/// until the connection is closed.
struct Sends: StreamChecker {
  private(set) var found = Findings()
  private var current: (entry: UUID128, number: TryID, until: Instant)?

  mutating func received(_ input: StreamModel.Input, isLate: Bool, _ facts: Facts) {
    expire(at: facts.now)
    switch input {
    case .posted(let id, _), .edited(let id, _), .deleted(let id, _), .uploaded(let id, _, _):
      if current?.entry == id { current = nil }
    case .postFailed(_, let number, _), .uploadRefused(_, let number, _):
      if current?.number == number { current = nil }
    case .close, .discard: current = nil
    case .open, .realtime, .refresh, .reader, .loadOlder, .send, .edit, .delete, .retry, .link,
      .credentials, .user, .opened, .frame, .fetched, .fetchFailed, .loaded, .loadFailed,
      .committed, .commitFailed, .older,
      .olderFailed:
      return
    }
  }

  mutating func requested(_ effect: StreamModel.Effect, _ facts: Facts) {
    expire(at: facts.now)
    switch effect {
    case .close: current = nil
    case .update(.status(let status)) where status.state == .polling: current = nil
    case .update(.outboxDone(let id, _)): if current?.entry == id { current = nil }
    case .post(let entry, let number), .upload(let entry, let number):
      if current != nil {
        found.add(
          .storm, at: facts.now, "\(entry.text) was sent while an attempt to send was under way")
      }
      current = (entry.id, number, facts.now.advanced(by: facts.own.settings.fetchTimeout * 2))
    case .open, .ping, .refreshCredentials, .fetch, .load, .commit, .readOlder, .update: return
    }
  }

  mutating func handle(_ seen: Seen, _ facts: Facts) {
    if case .launched = seen { current = nil }
  }

  private mutating func expire(at now: Instant) {
    if let current, current.until <= now { self.current = nil }
  }
}
