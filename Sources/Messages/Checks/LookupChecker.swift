import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageData
import HoldfastMessageStream

/// A tracker of the information that the client of a plain server could have about a post when it
/// repeated the post.
///
/// A plain server has no idempotency keys. If a request is still in transit when the client looks
/// for its message, the server accepts both the request and the next attempt. A message may be
/// accepted twice only in this case: when the lookup was requested, the server did not have the
/// message, and the client had not received it.
struct LookupChecker {
  /// The steps at which pages were requested. Only the most recent requests are kept.
  private var asked: [(id: FetchID, at: Int)] = []
  /// The step at which the most recently answered page was requested.
  private var looked: Int?
  private var steps = 0
  /// For each of the user's texts, the step at which the server first accepted it or the client
  /// first received it.
  private var known: [String: Int] = [:]
  /// For each entry, the step of its last post that was not refused.
  private var open: [UUID128: Int] = [:]
  /// For each text, the number of times that it was resent before the client could know that it had
  /// arrived.
  private var blind: [String: Int] = [:]

  /// Returns the number of additional acceptances of a text that are permitted.
  func excused(_ text: String) -> Int { blind[text] ?? 0 }

  mutating func accepted(_ message: ShopMessage) {
    steps += 1
    if known[message.words] == nil { known[message.words] = steps }
  }

  mutating func received(_ input: StreamModel.Input) {
    switch input {
    case .frame(_, .message(let message)): known[message.words] = .min
    case .fetched(let id, _):
      guard let index = asked.firstIndex(where: { $0.id == id }) else { return }
      looked = asked.remove(at: index).at
    case .postFailed(let id, _, let failure):
      if !failure.mayHaveArrived { open[id] = nil }
    case .open, .close, .realtime, .refresh, .reader, .loadOlder, .send, .edit, .delete, .retry,
      .discard, .link, .credentials, .user, .opened, .frame, .fetchFailed, .posted, .edited,
      .deleted,
      .uploaded, .uploadRefused, .loaded, .loadFailed,
      .committed, .commitFailed,
      .older, .olderFailed:
      return
    }
  }

  mutating func requested(_ effect: StreamModel.Effect, _ facts: PhoneState<StreamFeature>) {
    guard facts.own.server == .plain else { return }
    steps += 1
    switch effect {
    case .fetch(let id, .page(number: 1, _)), .fetch(let id, .since(_, page: 1, _)):
      asked.append((id, steps))
      if asked.count > 8 { asked.removeFirst() }
    case .post(let entry, _):
      guard entry.action == .post else { return }
      if let before = open[entry.id], let looked, looked > before,
        known[entry.text].map({ $0 > looked }) ?? true
      {
        blind[entry.text, default: 0] += 1
      }
      open[entry.id] = steps
    case .open, .close, .ping, .refreshCredentials, .fetch, .upload, .load, .commit, .readOlder,
      .update:
      return
    }
  }

  /// Discards the pages that the ended process requested.
  mutating func launched() {
    asked = []
    looked = nil
  }
}

extension LinkFailure {
  /// Whether the request may have reached the server despite the failure.
  fileprivate var mayHaveArrived: Bool {
    switch failureClass {
    case .timeout, .silent, .reset, .ended, .serverError, .protocolError: true
    case .unreachable, .dns, .refused, .proxy, .captivePortal, .local, .tls, .unavailable,
      .tooManyRequests, .unauthorized, .forbidden, .badRequest, .notFound, .otherStatus,
      .closedNormally, .closedRestart, .closedPolicy, .closedUnauthorized, .closedForbidden,
      .closedReplaced, .closedOther:
      false
    }
  }
}
