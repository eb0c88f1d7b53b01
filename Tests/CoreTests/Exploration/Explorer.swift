@testable import HoldfastCore

/// An explorer that visits every reachable state of a policy, breadth first, and checks the
/// promises on each edge.
struct Explorer {
  /// A state of the exploration and the history that the promises depend on.
  struct Node {
    var link: HeldLink
    var now = Instant.zero
    /// The times at which transports were opened, recorded without using the link.
    var opens: [Instant] = []
    /// The times at which polls were sent.
    var polls: [Instant] = []
    /// The attempt that reached the milestone of the policy.
    var proven: AttemptID?
    /// Whether a refusal caused a credential refresh, and only steps of the resulting attempt have
    /// followed.
    var refreshedForRefusal = false

    private var budget: Int {
      link.policy.retry.windows.filter { $0.attempts <= 3 }.map { window in
        let used = opens.filter { $0.duration(to: now) < window.per }.count
        return max(0, min(3, used - (window.attempts - 3)))
      }.max() ?? 0
    }

    var shape: Shape {
      Shape(
        link: LinkShape(link, at: now), budget: budget,
        isProven: proven != nil && proven == link.currentAttempt)
    }
  }

  struct Shape: Hashable {
    var link: LinkShape
    /// The extent to which the rate limits are exhausted, from 0 (far from exhausted) to 3
    /// (exhausted).
    var budget: Int
    var isProven: Bool
  }

  enum Event: Equatable {
    case input(HeldLink.Input)
    case deadline
  }

  /// A function that advances a link. Some tests pass a faulty function.
  typealias Move = @Sendable (inout HeldLink, Event, Instant) -> [HeldLink.Effect]

  static let honest: Move = { link, event, now in
    switch event {
    case .input(let input): link.handle(input, at: now)
    case .deadline: link.tick(at: now)
    }
  }

  let policy: LinkPolicy
  var move: Move = Self.honest
  private(set) var states = 0
  private(set) var edges = 0
  private(set) var violations: [String] = []

  init(_ policy: LinkPolicy, move: @escaping Move = Self.honest) {
    self.policy = policy
    self.move = move
  }

  /// Explores until no new state is found, or until the first violation if `stopAtFirst` is true.
  ///
  /// An exploration takes seconds. It yields regularly, because tests that run concurrently may
  /// have to serve requests.
  mutating func run(stopAtFirst: Bool = false) async {
    var seen: Set<Shape> = []
    var link = HeldLink(policy: policy, seed: 1)
    _ = link.handle(.reachability(.reachable(path: PathID("a"))), at: .zero)
    var queue = [Node(link: link)]
    seen.insert(queue[0].shape)
    var next = 0
    while next < queue.count {
      let node = queue[next]
      next += 1
      states += 1
      if states.isMultiple(of: 50) { await Task.yield() }
      for event in events(from: node) {
        edges += 1
        let (after, effects) = follow(event, from: node)
        violations += Promises.broken(from: node, by: event, to: after, effects: effects)
        if stopAtFirst, !violations.isEmpty { return }
        // An event that changed nothing leads to no new state.
        if after.link == node.link, after.proven == node.proven { continue }
        if seen.insert(after.shape).inserted { queue.append(after) }
      }
    }
  }

  private func follow(_ event: Event, from node: Node) -> (Node, [HeldLink.Effect]) {
    var after = node
    if case .deadline = event { after.now = max(node.now, node.link.deadline ?? node.now) }
    let effects = move(&after.link, event, after.now)
    for case .open(let attempt) in effects {
      after.opens = after.opens.suffix(50) + [after.now]
      if after.proven != attempt { after.proven = nil }
    }
    for case .poll in effects { after.polls = after.polls.suffix(50) + [after.now] }
    note(event, effects, from: node, in: &after)
    return (after, effects)
  }

  private func note(
    _ event: Event, _ effects: [HeldLink.Effect], from node: Node, in after: inout Node
  ) {
    switch event {
    case .input(.opened(let attempt)) where policy.establish.milestone == .opened:
      if node.link.currentAttempt == attempt { after.proven = attempt }
    case .input(.established(let attempt)):
      if node.link.currentAttempt == attempt { after.proven = attempt }
    case .input(.found(let attempt, let isEstablished)):
      let isProven = isEstablished || policy.establish.milestone == .opened
      if isProven, after.link.currentAttempt == attempt { after.proven = attempt }
    case .input, .deadline: break
    }
    switch event {
    case .input(.lost(_, let failure)) where policy.action(on: failure) == .refresh:
      if effects.contains(.refreshCredentials) { after.refreshedForRefusal = true }
    case .input(.opened), .input(.established), .input(.prepared), .input(.heard),
      .input(.credentials(.available)):
      break
    case .input(.lost), .input(.reject), .input(.setIntent), .input(.reachability),
      .input(.lifecycle), .input(.credentials), .input(.trigger), .input(.validData),
      .input(.pong), .input(.draining), .input(.flushed), .input(.polled), .input(.requested),
      .input(.found), .deadline:
      after.refreshedForRefusal = false
    }
  }

  /// Returns every event that can occur in a state, and late events. Late events must have no
  /// effect.
  private func events(from node: Node) -> [Event] {
    var inputs: [HeldLink.Input] = [
      .setIntent(.live), .setIntent(.none), .setIntent(.standbyOnly), .lifecycle(.background),
      .lifecycle(.foreground), .reachability(.unreachable), .reachability(.captivePortal),
      .reachability(.reachable(path: PathID("a"))), .reachability(.reachable(path: PathID("b"))),
      .credentials(.available(expiresIn: .seconds(3600))), .credentials(.refreshFailed()),
      .credentials(.rejected), .credentials(.cleared), .trigger(.userRefresh),
      .trigger(.messageSent), .trigger(.woke), .flushed, .requested(nil),
      .requested(Self.unauthorized), .requested(Self.forbidden),
    ]
    // The system hands over a transport only if the policy uses a queued connect.
    if case .queuedConnect = policy.standby {
      inputs += [
        .found(node.link.nextAttempt, established: true),
        .found(node.link.nextAttempt, established: false),
      ]
    }
    let poll = node.link.standby.pollID
    inputs += [.polled(poll, nil), .polled(poll, .refused), .polled(poll, Self.unauthorized)]
    // This attempt is over or has not begun: it is the first of a long run, or a future one.
    var attempts = [AttemptID(node.link.lastAttempt > 2 ? 1 : node.link.lastAttempt + 1)]
    if let current = node.link.currentAttempt { attempts.append(current) }
    if case .queued(let queued) = node.link.standby.state { attempts.append(queued) }
    for attempt in attempts {
      inputs += [
        .prepared(attempt), .opened(attempt), .established(attempt), .heard(attempt),
        .validData(attempt), .pong(attempt, 1), .draining(attempt, within: .seconds(10)),
        .reject(attempt, .protocolError(detail: "")),
      ]
      inputs += Self.failures.map { .lost(attempt, $0) }
    }
    return inputs.map { .input($0) } + (node.link.deadline == nil ? [] : [.deadline])
  }

  private static let unauthorized = LinkFailure.http(status: 401, retryAfter: nil, detail: "")
  private static let forbidden = LinkFailure.http(status: 403, retryAfter: nil, detail: "")

  /// A failure for each action that a policy can take.
  private static let failures: [LinkFailure] = [
    .reset, .refused, .timeout(.connect), .tls(.expired, detail: ""), unauthorized, forbidden,
    .http(status: 503, retryAfter: .seconds(7), detail: ""), .closed(code: 1012, reason: ""),
  ]
}
