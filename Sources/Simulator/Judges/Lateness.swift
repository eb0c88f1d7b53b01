import LinkCore
import MessageStream

/// Events of an older attempt change nothing.
struct Lateness {
  private(set) var found = Findings()
  private var isLate = false
  private static let name = "an event of an older attempt"
  /// How things stood before.
  private var phase = LinkStatus.Phase.disconnected
  private var deadline: Instant?

  init() {}
}

extension Lateness: Watch {
  mutating func told(_ input: StreamModel.Input, isLate: Bool, _ facts: Facts) {
    // What is due anyway may be done with the next best input.
    self.isLate = isLate && deadline.map { $0 > facts.now } ?? true
  }

  mutating func ticked(_ facts: Facts) { isLate = false }

  mutating func asked(_ effect: StreamModel.Effect, _ facts: Facts) {
    guard isLate else { return }
    switch effect {
    case .close, .update(.notice): return
    case .open, .ping, .refreshCredentials, .fetch, .post, .load, .commit, .readOlder, .update:
      found.add(.late, at: facts.now, "\(Self.name) led to \(effect.word)")
    }
  }

  mutating func met(_ happening: Happening, _ facts: Facts) { isLate = false }

  mutating func settled(_ facts: Facts) {
    if isLate, facts.status.phase != phase {
      found.add(.late, at: facts.now, "\(Self.name) made \(phase) \(facts.status.phase)")
    }
    isLate = false
    phase = facts.status.phase
    deadline = facts.deadline
  }
}

extension StreamModel.Effect {
  /// What is asked for, in one word.
  var word: String {
    switch self {
    case .open: "open"
    case .close: "close"
    case .ping: "ping"
    case .refreshCredentials: "refreshCredentials"
    case .fetch: "fetch"
    case .post: "post"
    case .load: "load"
    case .commit: "commit"
    case .readOlder: "readOlder"
    case .update: "update"
    }
  }
}
