import LinkCore
import LinkWire
import MessageStream

/// No token in anything that the client asks to write or to show.
struct Secrecy {
  private(set) var found = Findings()

  init() {}
}

extension Secrecy: Watch {
  mutating func asked(_ effect: StreamModel.Effect, _ facts: Facts) {
    switch effect {
    case .update(.status(let status)):
      if let text = status.reason?.text { look(in: text, of: "a status", facts) }
    case .update(.notice(let notice)):
      if let text = notice.text { look(in: text, of: "a notice", facts) }
    case .update(.outbox(let entry)): look(at: entry, facts)
    case .post(let entry): look(at: entry, facts)
    case .commit(_, let change):
      for entry in change.outboxPut { look(at: entry, facts) }
      for message in change.messages { look(in: message.text, of: "a message", facts) }
    case .open, .close, .ping, .refreshCredentials, .fetch, .load, .readOlder, .update: return
    }
  }

  private mutating func look(at entry: OutboxEntry, _ facts: Facts) {
    look(in: entry.text, of: "the outbox", facts)
    if case .failed(let reason) = entry.state { look(in: reason, of: "the outbox", facts) }
  }

  private mutating func look(
    in text: String, of place: @autoclosure () -> String, _ facts: Facts
  ) {
    for secret in facts.secrets where text.holds(secret) {
      found.add(.leaked, at: facts.now, "a token stands in \(place())")
      return
    }
  }
}

extension String {
  /// Whether another text stands in it; an empty one does not.
  fileprivate func holds(_ other: String) -> Bool {
    guard let first = other.utf8.first, utf8.count >= other.utf8.count else { return false }
    var rest = utf8[...]
    while let index = rest.firstIndex(of: first), rest[index...].count >= other.utf8.count {
      if rest[index...].starts(with: other.utf8) { return true }
      rest = rest[utf8.index(after: index)...]
    }
    return false
  }
}

extension LinkStatus.Reason {
  fileprivate var text: String? {
    switch self {
    case .failure(let failure), .exhausted(let failure): failure.text
    case .obstacle, .signIn, .ended, .settling: nil
    }
  }
}

extension StreamNotice {
  fileprivate var text: String? {
    switch self {
    case .fetchFailed(let failure), .security(let failure): failure.text
    case .unknownType(let type): type
    case .malformed(let error): "\(error)"
    case .store(let failure): "\(failure)"
    case .rejected, .oversized, .storeRecovered, .draining, .newEpoch, .signIn, .forbidden: nil
    }
  }
}

extension LinkFailure {
  /// What it says for people.
  fileprivate var text: String? {
    switch self {
    case .unreachable(let detail), .dns(let detail), .tls(_, let detail), .closed(_, let detail),
      .http(_, _, let detail), .protocolError(let detail), .proxy(let detail), .local(let detail):
      detail
    case .refused, .timeout, .reset, .ended, .captivePortal: nil
    }
  }
}
