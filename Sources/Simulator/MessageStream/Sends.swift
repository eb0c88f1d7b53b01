import LinkCore
import LinkWire
import MessageStream

/// Finds a message that is sent while a try of one is under way.
///
/// A try is under way until it is answered, until twice the time of a fetch, or until the
/// connection is closed. Answers name the message and not the try: those to tries that were
/// given up come first, if they come at all: a try that saw one and no other has none to come.
struct Sends: StreamChecker {
  private(set) var found = Findings()
  private var current: (entry: UUID128, until: Instant, sawLate: Bool)?
  /// How many answers to tries that were given up may still come.
  private var overdue: [UUID128: Int] = [:]

  mutating func told(_ input: StreamModel.Input, isLate: Bool, _ facts: Facts) {
    expire(at: facts.now)
    switch input {
    case .posted(let id, _):
      overdue[id] = nil
      if current?.entry == id { current = nil }
    case .postFailed(let id, _):
      if let late = overdue[id], late > 0 {
        overdue[id] = late - 1
        if current?.entry == id { current?.sawLate = true }
      } else if current?.entry == id {
        current = nil
      }
    case .close, .discard: giveUp()
    case .open, .realtime, .refresh, .reader, .loadOlder, .send, .retry, .reachability,
      .lifecycle, .woke, .credentials, .user, .opened, .frame, .ping, .pong, .oversized, .lost,
      .fetched, .fetchFailed, .loaded, .loadFailed, .committed, .commitFailed, .older,
      .olderFailed:
      return
    }
  }

  mutating func asked(_ effect: StreamModel.Effect, _ facts: Facts) {
    expire(at: facts.now)
    switch effect {
    case .close: giveUp()
    case .update(.status(let status)) where status.state == .failed: giveUp()
    case .update(.outboxDone(let id, _)): if current?.entry == id { current = nil }
    case .post(let entry):
      if current != nil {
        found.add(
          .storm, at: facts.now, "\(entry.text) was sent while a try of a message is under way")
      }
      current = (entry.id, facts.now.advanced(by: facts.own.settings.fetchTimeout * 2), false)
    case .open, .ping, .refreshCredentials, .fetch, .load, .commit, .readOlder, .update: return
    }
  }

  mutating func met(_ seen: Seen, _ facts: Facts) {
    guard case .launched = seen else { return }
    current = nil
    overdue = [:]
  }

  private mutating func expire(at now: Instant) {
    if let current, current.until <= now { giveUp() }
  }

  private mutating func giveUp() {
    guard let current else { return }
    if !current.sawLate { overdue[current.entry, default: 0] += 1 }
    self.current = nil
  }
}
