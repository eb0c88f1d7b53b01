import LinkCore
import MessageStream

/// What the client holds in memory stays within its bounds.
struct Bounds {
  private(set) var found = Findings()
  /// Each bound is told of once in a run of the process.
  private var told: [String] = []

  init() {}
}

extension Bounds: Watch {
  mutating func met(_ happening: Happening, _ facts: Facts) {
    if case .launched = happening { told = [] }
  }

  mutating func settled(_ facts: Facts) {
    guard facts.isAwake else { return }
    let backlog = facts.backlog
    let settings = facts.settings
    if backlog.shown > settings.memory { tell("shown", backlog.shown, settings.memory, facts) }
    if backlog.unsent > settings.outboxLimit {
      tell("unsent", backlog.unsent, settings.outboxLimit, facts)
    }
    if backlog.unstored > settings.mostUnstored {
      tell("unstored", backlog.unstored, settings.mostUnstored, facts)
    }
    if backlog.ahead > StreamSettings.offsetsAhead {
      tell("ahead", backlog.ahead, StreamSettings.offsetsAhead, facts)
    }
  }

  private mutating func tell(_ what: String, _ count: Int, _ bound: Int, _ facts: Facts) {
    guard !told.contains(what) else { return }
    told.append(what)
    found.add(.unbounded, at: facts.now, "\(what): \(count), and the bound is \(bound)")
  }
}

extension StreamSettings {
  /// One batch is with the store and one waits behind it; a page that begins below the bound is
  /// taken whole.
  var mostUnstored: Int { 2 * (Self.unstored + max(catchUpPage, historyPage)) }
}
