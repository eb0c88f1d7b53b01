/// The complete behavior of a link as plain data, validated on creation.
///
/// Start with a preset and change values with `setting(_:)`. An invalid combination throws one
/// `PolicyError` that lists every problem.
public struct LinkPolicy: Sendable, Hashable {
  private let parts: Shared<Parts>

  private struct Parts: Sendable, Hashable {
    let name: String
    let retry: RetryPolicy
    let gate: GatePolicy
    let liveness: LivenessPolicy
    let establish: EstablishPolicy
    let standby: StandbyPolicy
    let actions: [FailureClass: FailureAction]
    let holdsLink: Bool
  }

  /// The name in tables. Presets are named after their feature.
  public var name: String { parts.value.name }
  /// The schedules and limits of attempts.
  public var retry: RetryPolicy { parts.value.retry }
  /// The conditions under which attempts are allowed.
  public var gate: GatePolicy { parts.value.gate }
  /// The rules that decide whether a link is alive, and the consequences if it is not.
  public var liveness: LivenessPolicy { parts.value.liveness }
  /// The milestone that counts as connected, and its time-outs.
  public var establish: EstablishPolicy { parts.value.establish }
  /// The standby between attempts.
  public var standby: StandbyPolicy { parts.value.standby }
  /// The failure action for each class of failures.
  public var actions: [FailureClass: FailureAction] { parts.value.actions }

  /// Whether this is the policy of a link.
  ///
  /// Work without a link, such as uploads, uses only `retry`. Its other values cannot be shown or
  /// changed.
  public var holdsLink: Bool { parts.value.holdsLink }

  /// Creates a policy after validating all parts together.
  ///
  /// - Parameters:
  ///   - actions: The failure actions that differ from `.retry`.
  ///   - holdsLink: False for work without a link, which uses only `retry`.
  /// - Throws: `PolicyError` with every problem found.
  public init(
    name: String, retry: RetryPolicy, gate: GatePolicy, liveness: LivenessPolicy,
    establish: EstablishPolicy, standby: StandbyPolicy, actions: [FailureClass: FailureAction],
    holdsLink: Bool = true
  ) throws(PolicyError) {
    var whole: [FailureClass: FailureAction] = [:]
    for row in FailureClass.allCases {
      whole[row] = actions[row] ?? .retry
    }
    parts = Shared(
      Parts(
        name: name, retry: retry, gate: gate, liveness: liveness, establish: establish,
        standby: standby, actions: whole, holdsLink: holdsLink))
    let problems = self.problems
    guard problems.isEmpty else { throw PolicyError(problems: problems) }
  }

  /// Returns the failure action of this policy for `failure`.
  public func action(on failure: LinkFailure) -> FailureAction {
    let action = actions[failure.failureClass] ?? .retry
    // A server that sends a retry-after still offers the link.
    return action == .standbySlow && failure.retryAfter != nil ? .retryJittered : action
  }
}

/// A reference to a value, so that copies of a large value are cheap.
final class Shared<Value: Sendable & Hashable>: Sendable, Hashable {
  let value: Value

  init(_ value: Value) {
    self.value = value
  }

  static func == (left: Shared, right: Shared) -> Bool {
    left === right || left.value == right.value
  }

  func hash(into hasher: inout Hasher) {
    value.hash(into: &hasher)
  }
}

/// An error with every problem of an invalid policy, in the order of the policy's keys.
public struct PolicyError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The problems, with one sentence for each. The list is never empty.
  public let problems: [String]

  public init(problems: [String]) {
    self.problems = problems
  }

  public var description: String {
    "invalid policy:" + problems.map { "\n  - \($0)" }.joined()
  }
}

extension LinkPolicy {
  /// The problems found when the parts are validated together; empty for a valid policy.
  var problems: [String] {
    var found = Problems()
    found.check(schedule: retry.first, "retry.first")
    found.check(schedule: retry.reconnect, "retry.reconnect")
    checkRetry(&found)
    checkGate(&found)
    checkLiveness(&found)
    checkEstablish(&found)
    checkStandby(&found)
    return found.list
  }

  private func checkRetry(_ found: inout Problems) {
    found.require(!retry.windows.isEmpty, "retry.windows must hold at least one window")
    for window in retry.windows {
      found.require(window.attempts >= 1, "retry.windows must allow at least 1 attempt")
      found.require(
        window.attempts <= 1000, "retry.windows must not remember more than 1000 attempts")
      found.require(window.per > .zero, "retry.windows must last longer than 0s")
    }
    found.require(
      retry.windows.isEmpty || retry.windows.contains { $0.per >= Floor.pace * $0.attempts },
      "retry.windows must hold one that allows at most 2 attempts a second")
    if let breaker = retry.breaker {
      found.require(breaker.failures >= 1, "retry.breaker must count at least 1 failure")
      found.require(breaker.failures <= 1000, "retry.breaker must not count over 1000 failures")
      found.require(
        breaker.within > .zero && breaker.pause > .zero, "retry.breaker must last longer than 0s")
    }
    found.require(retry.stability.after > .zero, "retry.stability must be longer than 0s")
    found.require(retry.serverJitter > .zero, "retry.serverJitter must be longer than 0s")
    found.require(
      retry.maxRetryAfter >= retry.serverJitter,
      "retry.maxRetryAfter must be at least retry.serverJitter")
  }

  private func checkGate(_ found: inout Problems) {
    found.require(gate.refreshLead >= .zero, "gate.refreshLead must not be negative")
    found.require(gate.refreshTimeout, atLeast: Floor.period, "gate.refreshTimeout")
    found.require(gate.debounce >= .zero, "gate.debounce must not be negative")
    if case .leave(let after, let then) = gate.background {
      found.require(after >= .zero, "gate.background must not leave after a negative time")
      found.require(
        then != .standby || standby != .none, "gate.background=standby needs a standby")
    }
    if case .connect(let after) = gate.foreground {
      found.require(after >= .zero, "gate.foreground must not be negative")
    }
    if let portal = gate.portal {
      found.require(portal.probe ?? Floor.wait, atLeast: Floor.wait, "gate.portalProbe")
      found.require(portal.wait, atLeast: Floor.period, "gate.portalWait")
    }
  }

  private func checkLiveness(_ found: inout Problems) {
    if let silence = liveness.silence {
      found.require(silence, atLeast: Floor.period, "liveness.silence")
      if let ping = liveness.ping {
        found.require(ping < silence, "liveness.ping must be shorter than liveness.silence")
      }
    }
    if let ping = liveness.ping {
      found.require(ping, atLeast: Floor.period, "liveness.ping")
    }
    found.require(
      liveness.silence != nil || liveness.ping != nil || standby != .none || liveness.idle != nil,
      "liveness needs silence, ping or idle: a half-open link would never be found")
    found.require(liveness.pongTimeout, atLeast: Floor.wait, "liveness.pongTimeout")
    found.require(
      (1...100).contains(liveness.pongRoundTrips), "liveness.pongRoundTrips must be 1 to 100")
    found.require((1...10).contains(liveness.pongTries), "liveness.pongTries must be 1 to 10")
    if let idle = liveness.idle {
      found.require(idle.after, atLeast: Floor.period, "liveness.idle")
      found.require(
        idle.then != .standby || standby != .none, "liveness.idle=standby needs a standby")
    }
  }

  private func checkEstablish(_ found: inout Problems) {
    found.require(establish.openTimeout, atLeast: Floor.wait, "establish.openTimeout")
    found.require(
      establish.timeout >= establish.openTimeout,
      "establish.timeout must be at least establish.openTimeout")
    if let prepare = establish.prepare {
      found.require(prepare, atLeast: Floor.wait, "establish.prepare")
    }
  }

  private func checkStandby(_ found: inout Problems) {
    switch standby {
    case .none:
      let needing = actions.keys.sorted().filter {
        actions[$0] == .standby || actions[$0] == .standbySlow
      }
      for row in needing {
        found.require(false, "failure.\(row.rawValue) needs a standby, and there is none")
      }
    case .poll(let poll):
      found.require(poll.interval, atLeast: Floor.period, "standby.interval")
      found.require((0...0.5).contains(poll.jitter), "standby.jitter must be 0 to 0.5")
      found.require(poll.probe, atLeast: Floor.period, "standby.probe")
      found.require(
        poll.slowProbe >= poll.probe, "standby.slowProbe must be at least standby.probe")
    case .queuedConnect(let queue):
      found.require(queue.rearm, atLeast: Floor.period, "standby.rearm")
      found.require(queue.fastFailure, atLeast: Floor.wait, "standby.fastFailure")
      found.require(
        queue.floor >= queue.rearm && queue.floor > queue.fastFailure,
        "standby.floor must be at least standby.rearm and longer than standby.fastFailure")
      found.require(
        queue.background >= queue.rearm && queue.background > queue.fastFailure,
        "standby.background must be at least standby.rearm and longer than standby.fastFailure")
      found.require(queue.rest >= .zero, "standby.rest must not be negative")
    }
  }
}

/// The lower limits of a policy's values. Below them, a mistake in one value could cause a retry
/// storm.
///
/// They are far below the values of the presets, and low enough for fast tests.
private enum Floor {
  /// The shortest wait before an attempt, and the shortest time-out.
  static let wait = Duration.milliseconds(100)
  /// The shortest period of repeated actions.
  static let period = Duration.seconds(1)
  /// The shortest mean wait between attempts that the windows must enforce.
  static let pace = Duration.milliseconds(500)
}

/// A list of problems without duplicates.
private struct Problems {
  var list: [String] = []

  mutating func require(_ condition: Bool, _ problem: String) {
    if !condition, !list.contains(problem) { list.append(problem) }
  }

  mutating func require(_ duration: Duration, atLeast floor: Duration, _ key: String) {
    require(duration >= floor, "\(key) must be at least \(floor.text)")
  }

  mutating func check(schedule: Schedule, _ key: String) {
    switch schedule {
    case .list(let waits):
      require(
        waits.first.map { $0 == .zero || $0 >= Floor.wait } ?? true,
        "\(key): its first wait must be 0s or at least \(Floor.wait.text)")
      require(
        waits.dropFirst().allSatisfy { $0 >= Floor.wait },
        "\(key): waits behind the first must be at least \(Floor.wait.text)")
      require(waits.count <= 1000, "\(key) must not hold over 1000 waits")
    case .exponential(let first, let factor, let cap, let jitter, let floor, let attempts):
      require(
        max(first * (1 - jitter), floor) >= Floor.wait,
        "\(key): the shortest wait must be at least \(Floor.wait.text)")
      require(
        jitter == 0 || first * (1 + jitter) > floor, "\(key): its floor leaves no room for jitter")
      require(factor >= 1, "\(key): factor must be at least 1")
      require(cap >= first, "\(key): cap must be at least first")
      require((0...1).contains(jitter), "\(key): jitter must be 0 to 1")
      require(floor >= .zero && floor <= cap, "\(key): floor must be 0s to cap")
      require(attempts.map { $0 >= 1 } ?? true, "\(key): attempts must be at least 1")
    }
  }
}

/// The milestone of an attempt and its time-outs.
public struct EstablishPolicy: Sendable, Hashable {
  /// The milestone that makes an attempt successful.
  public var milestone: Milestone
  /// The time-out for opening the transport.
  public var openTimeout: Duration
  /// The time-out from the start of the attempt to the milestone. It is at least `openTimeout`.
  public var timeout: Duration
  /// The time-out of the feature's preparation before a first or foreground connect; `nil` for no
  /// preparation.
  public var prepare: Duration?

  /// The milestone that counts as connected.
  public enum Milestone: String, Sendable, Hashable, CaseIterable {
    /// The transport is open.
    case opened
    /// The feature reports the milestone, such as a code, a welcome or a discovered peripheral.
    case confirmed
  }

  public init(
    milestone: Milestone, openTimeout: Duration, timeout: Duration, prepare: Duration? = nil
  ) {
    self.milestone = milestone
    self.openTimeout = openTimeout
    self.timeout = timeout
    self.prepare = prepare
  }
}
