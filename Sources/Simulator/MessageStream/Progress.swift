import LinkCore
import LinkStorage
import MessageStream

/// Finds a post that could have been sent and is left lying.
///
/// While the process is awake, the link is connected and no request fails, a stored post is tried
/// within 60 s: the longest wait between tries (30 s) behind a try that was not answered (20 s),
/// and 10 s for a look at a plain server. A server that asks to be left alone is, for as long. A
/// fetch that is not answered within its time has failed, although its failure may come later.
struct Progress: StreamChecker {
  private(set) var found = Findings()
  private var clock = Awake()
  /// The time awake when the post began to wait that lies first.
  private var since: Duration?
  /// Requests were refused for their credentials, and there are no new ones yet.
  private var isRefused = false
  /// Fetches that are not answered, and when each one has failed.
  private var open: [FetchID: Instant] = [:]

  /// How long a post may wait.
  static let bound = Duration.seconds(60)

  mutating func told(_ input: StreamModel.Input, isLate: Bool, _ facts: Facts) {
    clock.pass(facts)
    switch input {
    case .postFailed(_, _, let failure):
      let wish = facts.policy.retry.obeyed(failure.serverWish) ?? .zero
      since = max(since ?? .zero, clock.awake + wish)
      isRefused = isRefused || failure.failureClass == .unauthorized
    case .fetchFailed(let id, _):
      open[id] = nil
      since = nil
    case .fetched(let id, _):
      open[id] = nil
      // A post to a plain server may have waited for a look at its pages.
      if facts.own.server == .plain { since = nil }
    case .posted, .commitFailed, .reader: since = nil
    case .credentials(.available): isRefused = false
    case .open, .close, .realtime, .refresh, .loadOlder, .send, .retry, .discard, .link,
      .credentials, .user, .opened, .frame, .loaded, .loadFailed, .committed, .older, .olderFailed:
      return
    }
  }

  mutating func asked(_ effect: StreamModel.Effect, _ facts: Facts) {
    switch effect {
    case .post: since = nil
    case .fetch(let id, _): open[id] = facts.now.advanced(by: facts.own.settings.fetchTimeout)
    case .open, .close, .ping, .refreshCredentials, .load, .commit, .readOlder, .update: return
    }
  }

  mutating func met(_ seen: Seen, _ facts: Facts) {
    clock.pass(facts)
    guard case .launched = seen else { return }
    since = nil
    isRefused = false
    open = [:]
  }

  mutating func settled(_ facts: Facts) {
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
    guard clock.awake - start > Self.bound else { return }
    since = clock.awake
    found.add(.stuck, at: facts.now, "a message waits for \(Self.bound), and nothing is in its way")
  }
}

extension StoredTimeline {
  /// Whether an entry of the outbox waits for its turn or its next try.
  fileprivate var hasUnsent: Bool {
    outbox.contains { if case .queued = $0.state { true } else { false } }
  }
}
