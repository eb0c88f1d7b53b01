import LinkCore
import LinkStorage
import LinkWire
import MessageStream

/// What a client of a plain server could know of its own posts when it sent one again.
///
/// Such a server knows no keys: a request that is still on its way when the client looks whether it
/// got through is accepted beside the next try. Only there may a message be accepted twice: the
/// server had it not yet when the look was asked for, and nothing of it had come to the client.
struct Looks {
  /// When each page was asked for, as a count of what happened; the newest pages only.
  private var asked: [(id: FetchID, at: Int)] = []
  /// When the newest page was asked for that was answered.
  private var looked: Int?
  private var steps = 0
  /// When the server accepted an own text first, or the client heard of it.
  private var known: [String: Int] = [:]
  /// When each entry was posted last that was not refused.
  private var open: [UUID128: Int] = [:]
  /// How often a text was sent again by one who could not know.
  private var blind: [String: Int] = [:]

  /// How many acceptances of a text are excused.
  func excused(_ text: String) -> Int { blind[text] ?? 0 }

  mutating func accepted(_ message: Message) {
    steps += 1
    if known[message.text] == nil { known[message.text] = steps }
  }

  mutating func told(_ input: StreamModel.Input) {
    switch input {
    case .frame(_, .message(let message)): known[message.text] = .min
    case .fetched(let id, _):
      guard let index = asked.firstIndex(where: { $0.id == id }) else { return }
      looked = asked.remove(at: index).at
    case .postFailed(let id, _, let failure):
      if !failure.mayHaveArrived { open[id] = nil }
    case .open, .close, .realtime, .refresh, .reader, .loadOlder, .send, .retry, .discard,
      .link, .credentials, .user, .opened, .frame, .fetchFailed, .posted, .loaded, .loadFailed,
      .committed, .commitFailed,
      .older, .olderFailed:
      return
    }
  }

  mutating func asked(_ effect: StreamModel.Effect, _ facts: Standing<StreamFeature>) {
    guard facts.own.server == .plain else { return }
    steps += 1
    switch effect {
    case .fetch(let id, .page(number: 1, _)), .fetch(let id, .since(_, page: 1, _)):
      asked.append((id, steps))
      if asked.count > 8 { asked.removeFirst() }
    case .post(let entry, _):
      if let before = open[entry.id], let looked, looked > before,
        known[entry.text].map({ $0 > looked }) ?? true
      {
        blind[entry.text, default: 0] += 1
      }
      open[entry.id] = steps
    case .open, .close, .ping, .refreshCredentials, .fetch, .load, .commit, .readOlder, .update:
      return
    }
  }

  /// A new run of the process begins with new numbers.
  mutating func launched() {
    asked = []
    looked = nil
  }
}

extension LinkFailure {
  /// Whether what was sent may be at the server all the same.
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
