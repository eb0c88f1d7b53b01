import LinkCore
import MessageStream

/// Credentials are refreshed once for each cause, one refresh at a time.
struct Refreshes {
  private(set) var found = Findings()
  /// When the refresh that runs began.
  private var running: Instant?
  /// What is told now refuses the credentials.
  private var isRefused = false
  /// The last refresh was for a refusal, and is not answered yet.
  private var isForRefusal = false
  /// Refreshes for a refusal that brought new credentials. One that brought none is made again.
  private var inRow = 0

  /// One for the socket, one for the requests beside it.
  private static let causes = 2

  init() {}
}

extension Refreshes: Watch {
  mutating func told(_ input: StreamModel.Input, isLate: Bool, _ facts: Facts) {
    isRefused = false
    switch input {
    case .credentials(let event):
      running = nil
      if case .available = event, isForRefusal { inRow += 1 }
      isForRefusal = false
    case .lost(_, let failure), .fetchFailed(_, let failure), .postFailed(_, let failure):
      isRefused = facts.settings.policy.verdict(on: failure) == .refresh
    case .opened, .fetched, .posted, .open, .close, .realtime, .reachability, .lifecycle:
      inRow = 0
    case .refresh, .reader, .user, .loadOlder, .send, .retry, .discard, .woke, .frame, .ping, .pong,
      .oversized,
      .loaded, .loadFailed, .committed, .commitFailed, .older, .olderFailed:
      return
    }
  }

  mutating func ticked(_ facts: Facts) { isRefused = false }

  mutating func asked(_ effect: StreamModel.Effect, _ facts: Facts) {
    // What comes after is of the user, who signs in.
    if case .update(.notice(.signIn)) = effect { inRow = 0 }
    guard case .refreshCredentials = effect else { return }
    let time = facts.settings.policy.gate.refreshTimeout
    if let running, running.duration(to: facts.now) < time {
      found.add(.storm, at: facts.now, "credentials were refreshed while a refresh runs")
    }
    running = facts.now
    isForRefusal = isRefused
    guard isRefused else { return }
    if inRow == Self.causes {
      found.add(.storm, at: facts.now, "refreshed \(inRow + 1) times in a row for refusals")
    }
  }

  mutating func met(_ happening: Happening, _ facts: Facts) {
    guard case .launched = happening else { return }
    running = nil
    isForRefusal = false
    inRow = 0
  }
}
