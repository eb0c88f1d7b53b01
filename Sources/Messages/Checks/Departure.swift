import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageStream

/// A checker that detects a stream that still has a deadline after it was closed.
///
/// A closed stream may wait only for a store that refused a change.
struct Departure: StreamChecker {
  private(set) var found = Findings()
  private var isAway = false
  private var isRefused = false
  private var isReported = false

  mutating func received(_ input: StreamModel.Input, isLate: Bool, _ facts: Facts) {
    switch input {
    case .open: isAway = false
    case .close:
      isAway = true
      isReported = false
    case .commitFailed: isRefused = true
    case .committed: isRefused = false
    case .realtime, .refresh, .reader, .loadOlder, .send, .edit, .delete, .retry, .discard,
      .link, .credentials, .user, .opened, .frame, .fetched, .fetchFailed, .posted, .edited,
      .deleted,
      .uploaded, .uploadRefused, .postFailed, .loaded,
      .loadFailed, .older, .olderFailed:
      return
    }
  }

  mutating func requested(_ effect: StreamModel.Effect, _ facts: Facts) {}

  mutating func handle(_ seen: Seen, _ facts: Facts) {
    guard case .launched = seen else { return }
    isAway = false
    isRefused = false
  }

  mutating func stepEnded(_ facts: Facts) {
    guard isAway, !isRefused, !isReported, facts.isAwake, let deadline = facts.deadline else {
      return
    }
    isReported = true
    let wait = facts.now.duration(to: deadline)
    found.add(.storm, at: facts.now, "was closed, and still has a deadline in \(wait)")
  }
}
