import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageData
import HoldfastMessageStream

/// A checker that detects a post that could have been sent but was not.
///
/// While the process is awake, the link is connected and no request fails, a stored post must be
/// attempted within 60 s. This time consists of the longest wait between attempts (30 s) after an
/// unanswered attempt (20 s), and 10 s for a lookup at a plain server. The server's retry-after
/// extends it. An upload has no time-out of its own: one that is not answered ends with the network's
/// limit, which is up to 60 s. A fetch that is not answered within its time-out has failed, although the failure
/// may be reported later.
struct Progress: StreamChecker {
  private(set) var found = Findings()
  private var clock = Awake()
  /// The value of the awake-time counter when the first unsent post began to wait.
  private var since: Duration?
  /// Whether requests were refused because of their credentials, and no new credentials have
  /// arrived.
  private var isRefused = false
  /// The unanswered fetches, with the time at which each one fails.
  private var open: [FetchID: Instant] = [:]

  /// Whether an image is being uploaded.
  private var isUploading = false

  /// The maximum time for which a post may wait.
  static let bound = Duration.seconds(60)
  /// The same while its image is uploaded: the network's limit, and the longest wait.
  static let uploadBound = Duration.seconds(90)

  mutating func received(_ input: StreamModel.Input, isLate: Bool, _ facts: Facts) {
    clock.pass(facts)
    switch input {
    case .postFailed(_, _, let failure):
      let retryAfter = facts.policy.retry.honored(failure.retryAfter) ?? .zero
      since = max(since ?? .zero, clock.awake + retryAfter)
      isRefused = isRefused || failure.failureClass == .unauthorized
      isUploading = false
    case .fetchFailed(let id, _):
      open[id] = nil
      since = nil
    case .fetched(let id, _):
      open[id] = nil
      // With a plain server, the post may have waited for a lookup of its pages.
      if facts.own.server == .plain { since = nil }
    case .uploaded, .uploadRefused: (since, isUploading) = (nil, false)
    case .posted, .edited, .deleted, .commitFailed, .reader: since = nil
    case .credentials(.available): isRefused = false
    case .open, .close, .realtime, .refresh, .loadOlder, .send, .edit, .delete, .retry, .discard,
      .link,
      .credentials, .user, .opened, .frame, .loaded, .loadFailed, .committed, .older, .olderFailed:
      return
    }
  }

  mutating func requested(_ effect: StreamModel.Effect, _ facts: Facts) {
    switch effect {
    case .post, .upload:
      since = nil
      if case .upload = effect { isUploading = true }
    case .fetch(let id, _): open[id] = facts.now.advanced(by: facts.own.settings.fetchTimeout)
    case .open, .close, .ping, .refreshCredentials, .load, .commit, .readOlder, .update: return
    }
  }

  mutating func handle(_ seen: Seen, _ facts: Facts) {
    clock.pass(facts)
    guard case .launched = seen else { return }
    since = nil
    isRefused = false
    isUploading = false
    open = [:]
  }

  mutating func stepEnded(_ facts: Facts) {
    clock.pass(facts)
    let now = facts.now
    if open.values.contains(where: { $0 <= now }) {
      open = open.filter { $0.value > now }
      since = nil
    }
    guard facts.isAwake, facts.isWanted, facts.status.phase == .connected, !facts.storeFails,
      !isRefused, facts.own.disk.hasUnsent
    else {
      since = nil
      return
    }
    let start = since ?? clock.awake
    since = start
    let bound = isUploading ? Self.uploadBound : Self.bound
    guard clock.awake - start > bound else { return }
    since = clock.awake
    found.add(
      .stuck, at: facts.now, "a message has waited for \(bound) although nothing prevents it")
  }
}

extension StoredTimeline {
  /// Whether an entry of the outbox is waiting for its turn or its next attempt.
  fileprivate var hasUnsent: Bool {
    outbox.contains { if case .queued = $0.state { true } else { false } }
  }
}
