@testable import HoldfastCore

/// The promises of the design about one step of a link, checked from the outside where possible.
enum Promises {
  static func broken(
    from before: Explorer.Node, by event: Explorer.Event, to after: Explorer.Node,
    effects: [HeldLink.Effect]
  ) -> [String] {
    var found: [String] = []
    if let problem = outstanding(after) { found.append("2 outstanding: \(problem)") }
    if let problem = unnamed(after.link) { found.append("2 deadlines: \(problem)") }
    found += storm(before, event, after, effects).map { "3 storm: \($0)" }
    if let problem = falseConnected(after) { found.append("4 false connected: \(problem)") }
    var link = after.link
    found += link.brokenInvariants(.thorough).map { "invariant: \($0)" }
    if let problem = late(before, event, after, effects) { found.append("6 late: \(problem)") }
    return found.map { "\($0) [\(before.link.state) -- \(event) -> \(after.link.state)]" }
  }

  /// Checks promise 2: while a link is wanted, an event or a deadline is outstanding or the user
  /// sees a reason.
  private static func outstanding(_ node: Explorer.Node) -> String? {
    let link = node.link
    guard link.isWanted else {
      return link.deadline == nil || link.gate.credentials.deadline != nil
        ? nil : "unwanted, and still waiting for something"
    }
    switch link.status.phase {
    case .failed, .held:
      return link.status.reason == nil ? "stopped without a reason" : nil
    case .disconnected: return "wanted, and shown as disconnected"
    case .connecting, .connected, .reconnecting, .standby: break
    }
    if link.deadline != nil { return nil }
    if case .queued = link.standby.state { return nil }
    return "nothing is outstanding"
  }

  /// Checks that the earliest deadline by name is that by which the link runs.
  private static func unnamed(_ link: HeldLink) -> String? {
    let names = link.deadlines
    let never = Instant(nanoseconds: .max)
    let isSame = (names.first?.at ?? never) == (link.deadline ?? never)
    return isSame ? nil : "\(names) instead of \(String(describing: link.deadline))"
  }

  /// Checks promise 3: tries stay within every rate limit, a terminal response ends them, and each
  /// cause leads to at most one refresh.
  private static func storm(
    _ before: Explorer.Node, _ event: Explorer.Event, _ after: Explorer.Node,
    _ effects: [HeldLink.Effect]
  ) -> [String] {
    var found: [String] = []
    for window in after.link.policy.retry.windows {
      let recent = after.opens.filter { $0.duration(to: after.now) < window.per }
      if recent.count > window.attempts { found.append("\(recent.count) tries in \(window)") }
      let polls = after.polls.filter { $0.duration(to: after.now) < window.per }
      if polls.count > window.attempts { found.append("\(polls.count) polls in \(window)") }
    }
    if before.refreshedForRefusal, case .input(.lost) = event,
      effects.contains(.refreshCredentials)
    {
      found.append("refreshed twice for one cause")
    }
    if isTerminal(before.link), !endsTerminal(event) {
      let acts = effects.contains {
        switch $0 {
        case .open, .prepare, .arm, .poll: true
        case .close, .ping, .refreshCredentials, .disarm, .status: false
        }
      }
      if acts { found.append("went on after a terminal answer") }
    }
    return found
  }

  private static func isTerminal(_ link: HeldLink) -> Bool {
    switch link.state {
    case .failed(.failure), .failed(.signIn): true
    case .failed, .idle, .held, .debouncing, .waiting, .refreshing, .preparing, .opening,
      .establishing, .ready, .resting:
      false
    }
  }

  private static func endsTerminal(_ event: Explorer.Event) -> Bool {
    switch event {
    case .input(.setIntent), .input(.credentials(.available)): true
    case .input, .deadline: false
    }
  }

  /// Checks promise 4: a link is shown as connected only after its current attempt reached the
  /// milestone, and silence always has a time limit.
  private static func falseConnected(_ node: Explorer.Node) -> String? {
    guard node.link.status.phase == .connected else { return nil }
    guard let current = node.link.currentAttempt, node.proven == current else {
      return "shown before the milestone"
    }
    return node.link.deadline == nil ? "a half-open link would not be detected" : nil
  }

  /// Checks promise 6: an event of an attempt other than the current one has no effect.
  private static func late(
    _ before: Explorer.Node, _ event: Explorer.Event, _ after: Explorer.Node,
    _ effects: [HeldLink.Effect]
  ) -> String? {
    guard case .input(let input) = event, let attempt = attempt(of: input) else { return nil }
    if attempt == before.link.currentAttempt { return nil }
    if case .queued(attempt) = before.link.standby.state { return nil }
    return after.link == before.link && effects.isEmpty ? nil : "a late event had an effect"
  }

  private static func attempt(of input: HeldLink.Input) -> AttemptID? {
    switch input {
    case .prepared(let attempt), .opened(let attempt), .established(let attempt),
      .heard(let attempt), .validData(let attempt), .pong(let attempt, _),
      .lost(let attempt, _), .reject(let attempt, _), .draining(let attempt, _):
      attempt
    // An adopted transport has its own attempt identifier.
    case .found, .setIntent, .reachability, .lifecycle, .credentials, .trigger, .flushed, .polled,
      .requested:
      nil
    }
  }
}
