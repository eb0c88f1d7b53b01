import Testing

@testable import HoldfastCore

/// The test harness of the scenarios: a link, its clock, and a log of its effects.
struct LinkHarness {
  var link: HeldLink
  var now = Instant.zero
  /// The times at which transports were opened, in seconds.
  var opens: [Double] = []
  var polls: [Double] = []
  var log: [HeldLink.Effect] = []
  /// The behavior of the peer while time passes.
  var peer = Peer.answers

  enum Peer {
    /// The peer sends pongs immediately, and answers polls with no new data.
    case answers
    case isSilent
  }

  init(_ policy: LinkPolicy, seed: UInt64 = 7) {
    link = HeldLink(policy: policy, seed: seed)
  }

  /// Returns a harness whose link is wanted and has a network and credentials.
  static func wanted(_ policy: LinkPolicy, seed: UInt64 = 7) -> LinkHarness {
    var harness = LinkHarness(policy, seed: seed)
    harness.give(.reachability(.reachable(path: PathID("wlan0"))))
    if policy.gate.needsCredentials { harness.give(.credentials(.available(expiresIn: nil))) }
    harness.give(.setIntent(.live))
    return harness
  }

  /// Returns a harness whose link is connected and stable.
  static func connected(_ policy: LinkPolicy, seed: UInt64 = 7) -> LinkHarness {
    var harness = wanted(policy, seed: seed)
    harness.connect()
    harness.give(.validData(harness.attempt))
    harness.pass(policy.retry.stability.after)
    harness.give(.heard(harness.attempt))
    harness.opens = []
    harness.log = []
    return harness
  }

  var attempt: AttemptID { link.currentAttempt ?? AttemptID(0) }
  var seconds: Double { Double(now.nanoseconds) / 1e9 }

  @discardableResult
  mutating func give(_ input: HeldLink.Input) -> [HeldLink.Effect] {
    note(link.handle(input, at: now))
  }

  /// Advances the clock by `duration` and calls the link at each of its deadlines.
  mutating func pass(_ duration: Duration) {
    let end = now.advanced(by: duration)
    while let deadline = link.deadline, deadline <= end {
      now = max(now, deadline)
      letPeerAnswer(note(link.tick(at: now)))
    }
    now = end
  }

  private mutating func letPeerAnswer(_ effects: [HeldLink.Effect]) {
    guard case .answers = peer else { return }
    for effect in effects {
      if case .ping(let attempt, let id) = effect { give(.pong(attempt, id)) }
      if case .poll(let id) = effect { give(.polled(id, nil)) }
    }
  }

  /// Advances the clock to the link's next deadline.
  mutating func next() {
    guard let deadline = link.deadline else { return }
    now = max(now, deadline)
    note(link.tick(at: now))
  }

  /// Completes every step of the current attempt until the link is connected.
  mutating func connect() {
    give(.prepared(attempt))
    give(.opened(attempt))
    give(.established(attempt))
  }

  /// Lets every try fail immediately with `failure` until the link stops trying or `limit` is
  /// reached.
  mutating func failAll(_ failure: LinkFailure, until limit: Duration = .seconds(3600)) {
    let end = now.advanced(by: limit)
    while true {
      if link.currentAttempt != nil {
        give(.prepared(attempt))
        give(.lost(attempt, failure))
      } else if let deadline = link.deadline, deadline <= end, isTrying {
        next()
      } else {
        return
      }
    }
  }

  private var isTrying: Bool {
    link.status.phase == .connecting || link.status.phase == .reconnecting
  }

  @discardableResult
  private mutating func note(_ effects: [HeldLink.Effect]) -> [HeldLink.Effect] {
    #expect(link.brokenInvariants(.thorough) == [])
    for effect in effects {
      if case .open = effect { opens.append(seconds) }
      if case .poll = effect { polls.append(seconds) }
    }
    log += effects
    return effects
  }
}
