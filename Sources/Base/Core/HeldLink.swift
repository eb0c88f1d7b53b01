/// The state machine of a link, which keeps it alive according to a policy.
///
/// A link makes all decisions and performs no I/O. Its inputs are events, its effects are
/// instructions, and `deadline` is the next time at which it must be called. While the link is
/// wanted, something is always outstanding (a deadline, an attempt, a poll, a queued connect), or
/// its status contains the reason why nothing is outstanding.
///
///             want                     gate open
///     idle ─────────▶ held ◀──────────────────────────── any wanted state
///      ▲               │ reachable, foreground    blocked
///      │ end           ▼
///      │           debouncing ▶ waiting ◀──────────────┐ schedule, windows, retry-after
///      │                           │                   │
///      │            refreshing ◀───┼── no credentials  │
///      │                 │         ▼                   │
///      │                 └───▶ preparing ──┐           │
///      │                           ▼       │ fails     │
///      │                        opening ───┼───────────┤
///      │                           ▼       │           │
///      │                     establishing ─┤           │
///      │                           ▼       │           │
///      ├──────────────────────── ready ────┘ lost      │
///      │                                               │
///      │    exhausted, refused         probe, back up  │
///      ├────────────────── resting ◀───────────────────┤
///      └─────────────────── failed ◀───────────────────┘ terminal answer
///
/// Every combination of a state and an input is handled explicitly in this file or in
/// `HeldLink+Tries.swift`. The last case of each switch lists the combinations that change nothing.
public struct HeldLink: Machine, Hashable {
  /// The policy that the link follows.
  public let policy: LinkPolicy
  var generator: RandomSource
  var state = State.idle(nil)
  var gate: Gate
  var retry: Retry
  var standby: Standby
  private(set) var lastAttempt: UInt64 = 0
  /// The status that was last reported to the user.
  public private(set) var status = LinkStatus(phase: .disconnected)

  /// Creates an idle link.
  ///
  /// - Parameter seed: The seed of the random source. The same seed and inputs produce the same
  ///   effects.
  public init(policy: LinkPolicy, seed: UInt64) {
    self.policy = policy
    generator = RandomSource(seed: seed)
    gate = Gate(policy.gate)
    retry = Retry(policy.retry)
    standby = Standby(policy)
  }

  public mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
    var step = Step(now: now)
    take(input, &step)
    finish(&step)
    return step.effects
  }

  public mutating func tick(at now: Instant) -> [Effect] {
    var step = Step(now: now)
    var rounds = 0
    while let due = deadline, due <= now {
      expire(&step)
      // Only a few waits can end at the same time, and each sets a later deadline. A deadline that
      // does not advance would cause an endless loop.
      rounds += 1
      precondition(rounds < 100, "a deadline comes again and again: \(state)")
    }
    finish(&step)
    return step.effects
  }

  public var deadline: Instant? {
    Instant.earlier(
      Instant.earlier(gate.leavesAt, credentialsDeadline),
      Instant.earlier(stateDeadline, standbyDeadline))
  }

  /// Completes a step: returns a due poll as an effect and updates the status.
  private mutating func finish(_ step: inout Step) {
    keepQueue(&step)
    if runsStandby, let poll = standby.takePoll(at: step.now) {
      step.effects.append(.poll(poll))
    }
    let current = observed
    if current != status {
      status = current
      step.effects.append(.status(current))
    }
  }

  /// The time of one call and the effects collected so far.
  struct Step {
    let now: Instant
    var effects: [Effect] = []
  }

  mutating func newAttempt() -> AttemptID {
    lastAttempt += 1
    return AttemptID(lastAttempt)
  }

  mutating func note(found attempt: AttemptID) { lastAttempt = attempt.number }
}

extension HeldLink {
  private mutating func take(_ input: Input, _ step: inout Step) {
    switch input {
    case .setIntent(let intent): setIntent(intent, &step)
    case .reachability(let reachability): change(to: reachability, &step)
    case .lifecycle(.background): goToBackground(&step)
    case .lifecycle(.foreground): comeToForeground(&step)
    case .flushed: flushed(&step)
    case .credentials(let event): credentials(event, &step)
    case .requested(let failure): requested(failure, &step)
    case .trigger(let trigger): pull(trigger, &step)
    case .polled(let id, let failure): polled(id, failure, &step)
    case .prepared(let attempt): prepared(attempt, &step)
    case .opened(let attempt): opened(attempt, &step)
    case .found(let attempt, let isEstablished):
      found(attempt, established: isEstablished, &step)
    case .established(let attempt): established(attempt, &step)
    case .heard(let attempt): noteActivity(attempt, &step) { $0.received(at: $1) }
    case .pong(let attempt, let id): noteActivity(attempt, &step) { $0.pong(id, at: $1) }
    case .validData(let attempt): validData(attempt, &step)
    case .draining(let attempt, let window): draining(attempt, within: window)
    case .lost(let attempt, let failure): lost(attempt, failure, closing: nil, &step)
    case .reject(let attempt, let failure): lost(attempt, failure, closing: .rejected, &step)
    }
  }

  /// Whether the user wants the live link or its standby.
  public var isWanted: Bool { gate.intent != .none }

  /// The attempt whose events are valid; `nil` if none is under way.
  public var currentAttempt: AttemptID? {
    switch state {
    case .preparing(let trying), .opening(let trying), .establishing(let trying): trying.attempt
    case .ready(let ready): ready.attempt
    case .idle, .held, .debouncing, .waiting, .refreshing, .resting, .failed: nil
    }
  }

  /// The attempt of the system's queued connect, whose events are also valid; `nil` if none is
  /// armed.
  public var queuedAttempt: AttemptID? {
    if case .queued(let attempt) = standby.state { attempt } else { nil }
  }

  /// The explanation of the time until the next attempt; `nil` if the link does not wait for one.
  public var wait: RetryWait? {
    if case .waiting(let waiting) = state { waiting.wait } else { nil }
  }

  /// The instant at which a refresh is due or times out; `nil` while the link is held in the
  /// background or not wanted.
  var credentialsDeadline: Instant? {
    switch state {
    case .idle, .failed: return nil
    case .held(let held) where held.blockedReason == .background: return nil
    case .held, .debouncing, .waiting, .refreshing, .preparing, .opening, .establishing, .ready,
      .resting:
      return gate.credentials.deadline
    }
  }

  var stateDeadline: Instant? {
    switch state {
    case .debouncing(let debouncing): debouncing.until
    case .waiting(let waiting): waiting.until
    case .preparing(let trying), .opening(let trying), .establishing(let trying): trying.until
    case .ready(let ready): min(ready.liveness.deadline, ready.stableAt ?? ready.liveness.deadline)
    case .idle, .held, .refreshing, .resting, .failed: nil
    }
  }

  /// Whether the standby may act. It pauses while the gate is closed.
  var runsStandby: Bool {
    switch state {
    case .debouncing, .waiting, .refreshing, .preparing, .opening, .establishing, .resting: true
    case .idle, .held, .ready, .failed: false
    }
  }

  var standbyDeadline: Instant? {
    guard runsStandby else { return nil }
    switch standby.state {
    case .polling(let polling):
      // Probes are pointless unless the live link is wanted and may be opened in the background.
      guard case .resting = state, gate.intent == .live, !isLeftForStandby else {
        return polling.nextPoll
      }
      return min(polling.nextProbe, polling.nextPoll)
    case .rearming(let at): return at
    case .off, .queued: return nil
    }
  }
}

extension HeldLink {
  /// The state of a link. `mayTry`, `proceed`, `rest` and `end` make the transitions.
  enum State: Sendable, Hashable {
    /// Not wanted, or ended by a rule. Exits: debouncing, preparing, opening, held, resting.
    case idle(LinkStatus.Reason?)
    /// Wanted, but the gate is closed. Exits: debouncing, preparing, opening, idle, failed.
    case held(Held)
    /// Waits for the network or the app to become stable. Exits: preparing, opening, held.
    case debouncing(Debouncing)
    /// Waits for the time of the next attempt. Exits: preparing, opening, held, debouncing, idle.
    case waiting(Waiting)
    /// Waits for credentials. Exits: preparing, opening, waiting, failed, held.
    case refreshing(Refreshing)
    /// The feature prepares the connection. Exits: opening, waiting, resting, failed.
    case preparing(Trying)
    /// The transport is being opened. Exits: establishing, ready, waiting, resting, refreshing,
    /// failed.
    case opening(Trying)
    /// The transport is open, and the milestone is pending. Exits: ready, waiting, resting,
    /// refreshing, failed.
    case establishing(Trying)
    /// Connected. Exits: waiting, debouncing, held, resting, refreshing, failed, idle.
    case ready(Ready)
    /// No attempts are made, and the standby is active. Exits: preparing, opening, establishing,
    /// held, failed, idle.
    case resting(LinkStatus.Reason)
    /// Ended until the user requests it again. Exits: preparing, opening, held, idle.
    case failed(LinkStatus.Reason)
  }

  struct Held: Sendable, Hashable {
    var blockedReason: BlockedReason
    var series: Series
  }

  struct Debouncing: Sendable, Hashable {
    var until: Instant
    var series: Series
  }

  struct Waiting: Sendable, Hashable {
    /// The wait, with its explanation.
    var wait: RetryWait
    var series: Series
    /// The failure that caused the wait.
    var failure: LinkFailure?
    /// Whether only the windows or the breaker delay the attempt.
    var isLimited: Bool

    var until: Instant { wait.until }
    var reason: LinkStatus.Reason? { isLimited ? .limited : failure.map { .failure($0) } }
  }

  struct Refreshing: Sendable, Hashable {
    var series: Series
    var failure: LinkFailure?
  }

  struct Trying: Sendable, Hashable {
    let attempt: AttemptID
    /// The instant at which the current step times out.
    var until: Instant
    /// The instant at which the whole attempt times out.
    var establishBy: Instant
    var series: Series
    /// The generation of the credentials that the attempt uses.
    let generation: UInt64
    /// The refusal of older credentials after which the attempt is made at once, for the status.
    var cause: LinkFailure?

    /// The same attempt with a restarted series, so that the waits start over if the attempt fails.
    var restarted: Trying {
      var trying = self
      trying.series = series.restarted
      return trying
    }
  }

  struct Ready: Sendable, Hashable {
    let attempt: AttemptID
    let generation: UInt64
    var liveness: Liveness
    /// The instant at which the link became ready.
    let since: Instant
    /// The instant at which the link counts as stable; `nil` once it does.
    var stableAt: Instant?
    /// The series that led to this link. It continues if the link is lost before it is stable.
    var series: Series
    /// The window over which the server wants all clients to reconnect.
    var drainWindow: Duration?

    init(_ trying: Trying, policy: LinkPolicy, at now: Instant) {
      attempt = trying.attempt
      generation = trying.generation
      liveness = Liveness(policy, at: now)
      since = now
      stableAt = now.advanced(by: policy.retry.stability.after)
      series = trying.series
    }
  }
}

extension HeldLink {
  /// An event that a link handles.
  public enum Input: Sendable, Equatable, Codable {
    /// The user wants the link, wants only its standby, or no longer wants it. Repeating an intent
    /// also ends a failure.
    case setIntent(ConnectionIntent)
    /// The device's connectivity changed.
    case reachability(Reachability)
    /// The app went to the foreground or to the background.
    case lifecycle(AppLifecycle)
    /// Credentials were stored, renewed, rejected by their issuer, or cleared.
    case credentials(CredentialsEvent)
    /// An event that is a reason to make an attempt now.
    case trigger(Trigger)
    /// The feature finished preparing the connection.
    case prepared(AttemptID)
    /// The transport is open.
    case opened(AttemptID)
    /// A transport that this link did not open was adopted under the identifier `nextAttempt`.
    /// `established` is whether it has reached the feature's milestone.
    case found(AttemptID, established: Bool)
    /// The feature's milestone was reached.
    case established(AttemptID)
    /// The link received a byte.
    case heard(AttemptID)
    /// The link received valid application data.
    case validData(AttemptID)
    /// The link received a pong.
    case pong(AttemptID, UInt64)
    /// The attempt failed or its link was lost. The transport is closed.
    case lost(AttemptID, LinkFailure)
    /// The feature rejects this link. The transport is still open.
    case reject(AttemptID, LinkFailure)
    /// The server announced that it will close all links within a time window.
    case draining(AttemptID, within: Duration)
    /// The work that had to be finished before leaving for the background is done.
    case flushed
    /// The result of a poll of the standby.
    case polled(UInt64, LinkFailure?)
    /// A request outside the link was accepted or rejected, which shows whether the credentials and
    /// the membership are valid.
    case requested(LinkFailure?)
  }

  /// A change of credentials.
  public enum CredentialsEvent: Sendable, Equatable, Codable {
    /// New credentials are available. `expiresIn` is `nil` if their lifetime is unknown.
    case available(expiresIn: Duration?)
    /// A refresh failed, but a later one may succeed. The detail says why it failed, if that is
    /// known.
    case refreshFailed(detail: String? = nil)
    /// The credentials cannot be refreshed: the user must sign in.
    case rejected
    /// The user signed out.
    case cleared
  }

  /// A reason to make an attempt at once.
  public enum Trigger: String, Sendable, Equatable, Codable, CaseIterable {
    /// The user pulled to refresh or pressed retry, which also restarts the waits.
    case userRefresh
    /// A message was sent outside the link, so the server is reachable.
    case messageSent
    /// The device woke from sleep, so an open link must be verified.
    case woke
  }
}

extension HeldLink {
  /// An instruction of a link. The caller carries out effects in order.
  public enum Effect: Sendable, Equatable, Codable {
    /// Prepare the connection, then report `.prepared`, or `.reject` with the failure.
    case prepare(AttemptID)
    /// Open the transport.
    case open(AttemptID)
    /// Close the transport or stop opening it. Later events of the attempt are ignored.
    case close(AttemptID, CloseReason)
    /// Send a ping.
    case ping(AttemptID, UInt64)
    /// Refresh the credentials.
    case refreshCredentials
    /// Poll the standby's source of data once.
    case poll(UInt64)
    /// Queue a connect with the OS, which opens the link whenever the peer appears. The OS first
    /// ignores the peer for `after`, so that a peer with no work left can sleep.
    case arm(AttemptID, after: Duration = .zero)
    /// Cancel the queued connect.
    case disarm(AttemptID)
    /// Report a changed status to the user.
    case status(LinkStatus)
  }

  /// The reason why a link closes its transport.
  public enum CloseReason: String, Sendable, Equatable, Codable {
    case leaving, background, networkChanged, timeout, silent, idle, rejected, superseded

    /// The code with which a WebSocket is closed for this reason (RFC 6455 section 7.4.1).
    public var closeCode: UInt16 {
      switch self {
      case .leaving, .idle, .superseded: 1000
      case .background, .networkChanged, .timeout, .silent: 1001
      case .rejected: 1002
      }
    }
  }
}

// The public status, derived from the state.
extension HeldLink {
  var observed: LinkStatus {
    var status = bareStatus
    if standby.isPolling, runsStandby { status.mode = .polling }
    return status
  }

  private var bareStatus: LinkStatus {
    switch state {
    case .idle(let reason): LinkStatus(phase: .disconnected, reason: reason)
    case .held(let held): LinkStatus(phase: .held, reason: .blocked(held.blockedReason))
    case .debouncing(let debouncing):
      trying(debouncing.series, retryAt: debouncing.until, reason: .debouncing)
    case .waiting(let waiting):
      trying(waiting.series, retryAt: waiting.until, reason: waiting.reason)
    case .refreshing(let refreshing):
      trying(refreshing.series, reason: refreshing.failure.map { .failure($0) })
    case .preparing(let trying), .opening(let trying), .establishing(let trying):
      self.trying(trying.series, reason: trying.cause.map { .failure($0) })
    case .ready(let ready):
      LinkStatus(phase: .connected, mode: .live, quality: ready.liveness.quality)
    case .resting(let reason): LinkStatus(phase: .standby, reason: reason)
    case .failed(let reason): LinkStatus(phase: .failed, reason: reason)
    }
  }

  private func trying(
    _ series: Series, retryAt: Instant? = nil, reason: LinkStatus.Reason? = nil
  ) -> LinkStatus {
    guard !series.isProbe else {
      return LinkStatus(phase: .standby, reason: standby.failure.map { .failure($0) } ?? reason)
    }
    return LinkStatus(
      phase: series.isNew ? .connecting : .reconnecting,
      attempt: (series.scheduleIndex ?? 0) + 1,
      maxAttempts: series.isNew ? nil : retry.limit(of: series), retryAt: retryAt, reason: reason)
  }
}

// The deadlines of waits, and the signs that a link is alive.
extension HeldLink {
  /// Handles the earliest of the deadlines that have passed.
  mutating func expire(_ step: inout Step) {
    let now = step.now
    if let at = gate.leavesAt, at <= now {
      leave(&step)
    } else if let at = credentialsDeadline, at <= now {
      expireCredentials(&step)
    } else if let at = stateDeadline, at <= now {
      expireState(&step)
    } else {
      expireStandby(&step)
    }
  }

  private mutating func expireState(_ step: inout Step) {
    switch state {
    case .debouncing(let debouncing): expedite(debouncing.series, after: nil, &step)
    case .waiting(let waiting):
      var series = waiting.series
      series.jitterWindow = nil
      expedite(series, after: waiting.failure, &step)
    case .preparing(let trying):
      lost(trying.attempt, .timeout(.response), closing: .timeout, &step)
    case .opening(let trying):
      lost(trying.attempt, .timeout(.connect), closing: .timeout, &step)
    case .establishing(let trying):
      lost(trying.attempt, .timeout(.establish), closing: .timeout, &step)
    case .ready(let ready): expireReady(ready, &step)
    case .idle, .held, .refreshing, .resting, .failed: return  // no deadline of their own
    }
  }

  private mutating func expireReady(_ before: Ready, _ step: inout Step) {
    var ready = before
    if let stableAt = ready.stableAt, stableAt <= step.now { becomeStable(&ready) }
    let due = ready.liveness.due(at: step.now)
    state = .ready(ready)
    switch due {
    case .ping(let id): step.effects.append(.ping(ready.attempt, id))
    case .dead(let phase): lost(ready.attempt, .timeout(phase), closing: .silent, &step)
    case .idle(.idle):
      closeCurrent(.idle, &step)
      dropStandby(&step)
      gate.intent = .none
      gate.leavesAt = nil
      state = .idle(.ended(.idle))
    case .idle(.standby):
      closeCurrent(.idle, &step)
      standby.noteDone()
      rest(nil, slow: false, &step)
      state = .resting(.ended(.idle))
    case nil: return
    }
  }

  /// Marks the link as stable, so that the next loss starts a new series.
  private mutating func becomeStable(_ ready: inout Ready) {
    ready.stableAt = nil
    standby.disarm()
    retry.noteStable()
  }

  private mutating func expireStandby(_ step: inout Step) {
    switch standby.state {
    case .polling:
      if let poll = standby.takePoll(at: step.now) {
        step.effects.append(.poll(poll))
      } else {
        probe(&step)
      }
    case .rearming: armQueue(&step)
    case .off, .queued: return
    }
  }

  /// Notes activity on the link.
  mutating func noteActivity(
    _ attempt: AttemptID, _ step: inout Step, _ note: (inout Liveness, Instant) -> Void
  ) {
    guard case .ready(var ready) = state, ready.attempt == attempt else { return }  // a late event
    note(&ready.liveness, step.now)
    state = .ready(ready)
  }

  mutating func validData(_ attempt: AttemptID, _ step: inout Step) {
    guard case .ready(var ready) = state, ready.attempt == attempt else { return }  // a late event
    ready.liveness.data(at: step.now)
    if policy.retry.stability.provenByData { becomeStable(&ready) }
    state = .ready(ready)
  }

  mutating func draining(_ attempt: AttemptID, within window: Duration) {
    guard case .ready(var ready) = state, ready.attempt == attempt else { return }  // a late event
    ready.drainWindow = min(max(window, .zero), policy.retry.maxRetryAfter)
    state = .ready(ready)
  }
}

// The invariants of a link's fields.
extension HeldLink {
  public func check(_ check: inout InvariantCheck) {
    checkIntent(&check)
    checkAttempts(&check)
    checkStandby(&check)
    check.require(
      !waits || deadline != nil, "link: every state that waits has a deadline or a queued connect")
    if check.isThorough {
      check.require(status == observed, "link: the user is shown the present state")
    }
    gate.check(&check)
    retry.check(&check)
    standby.check(&check)
  }

  /// Whether only time or a response of the peer can end the current state, and the type of the
  /// state does not already require a deadline.
  private var waits: Bool {
    switch state {
    case .idle, .failed, .held, .debouncing, .waiting, .preparing, .opening, .establishing, .ready:
      return false
    case .refreshing: return true
    case .resting:
      if case .queued = standby.state { return false }
      return true
    }
  }

  /// Checks the user's intent and the gate against the state.
  private func checkIntent(_ check: inout InvariantCheck) {
    check.require(
      isIdle == (gate.intent == .none), "link: it is idle exactly while it is not wanted")
    check.require(
      gate.leavesAt == nil || gate.intent != .none, "link: it leaves only what is wanted")
    switch state {
    case .held(let held):
      // If the policy lets only the user reconnect after the background, the link stays held in the
      // foreground.
      check.require(
        held.blockedReason == gate.blockedReason
          || (held.blockedReason == .background && policy.gate.foreground == .wait),
        "link: it is held for a reason that exists")
    case .debouncing, .waiting:
      check.require(gate.blockedReason == nil, "link: it waits to try only while the gate is open")
    case .preparing(let trying), .opening(let trying), .establishing(let trying):
      check.require(
        gate.blockedReason == nil || isEstablishing, "link: it tries only while the gate is open")
      check.require(
        trying.generation <= gate.credentials.generation,
        "link: an attempt uses credentials that exist")
    case .ready(let ready):
      check.require(
        ready.generation <= gate.credentials.generation,
        "link: an open link uses credentials that exist")
    case .refreshing:
      check.require(
        gate.credentials.isRefreshing, "link: it waits for credentials only during a refresh")
    case .idle, .resting, .failed: return
    }
  }

  /// Whether the link is establishing. This is possible while the gate is closed, since the
  /// system's queued connect opens when the peer appears.
  private var isEstablishing: Bool {
    switch state {
    case .establishing: true
    case .idle, .held, .debouncing, .waiting, .refreshing, .preparing, .opening, .ready, .resting,
      .failed:
      false
    }
  }

  private var isIdle: Bool {
    switch state {
    case .idle: true
    case .held, .debouncing, .waiting, .refreshing, .preparing, .opening, .establishing, .ready,
      .resting, .failed:
      false
    }
  }

  /// Checks the current attempt and its limits.
  private func checkAttempts(_ check: inout InvariantCheck) {
    if let current = currentAttempt {
      check.require(current.number <= lastAttempt, "link: the current attempt was numbered")
    }
    switch state {
    case .preparing(let trying):
      check.require(
        gate.intent == .live && !isLeftForStandby,
        "link: an attempt begins only while the live link is wanted")
      check.require(
        trying.series.prepares && policy.establish.prepare != nil,
        "link: it prepares only where the policy says so")
    case .opening(let trying):
      check.require(
        gate.intent == .live && !isLeftForStandby,
        "link: a transport opens only while the live link is wanted")
      check.require(
        trying.until <= trying.establishBy && !trying.series.prepares,
        "link: opening ends within the time of the attempt")
    case .establishing(let trying):
      check.require(
        trying.until == trying.establishBy, "link: establishing ends with the time of the attempt")
    case .ready(let ready): checkReady(ready, &check)
    case .idle, .held, .debouncing, .waiting, .refreshing, .resting, .failed: break
    }
    if let series {
      check.require(
        !series.isProbe || series.origin == .reconnect, "link: a probe is a reconnect")
    }
  }

  private func checkReady(_ ready: Ready, _ check: inout InvariantCheck) {
    check.require(
      ready.stableAt ?? ready.since >= ready.since, "link: it is stable after it was ready")
    check.require(
      ready.liveness.lastReceived >= ready.since, "link: nothing was received before it was ready")
    if let window = ready.drainWindow {
      check.require(
        window >= .zero && window <= policy.retry.maxRetryAfter,
        "link: a drain window is no longer than the longest retry-after")
    }
    ready.liveness.check(&check)
  }

  private var series: Series? {
    switch state {
    case .held(let held): held.series
    case .debouncing(let debouncing): debouncing.series
    case .waiting(let waiting): waiting.series
    case .refreshing(let refreshing): refreshing.series
    case .preparing(let trying), .opening(let trying), .establishing(let trying): trying.series
    case .ready(let ready): ready.series
    case .idle, .resting, .failed: nil
    }
  }

  /// Checks that the armed standby matches the state.
  private func checkStandby(_ check: inout InvariantCheck) {
    if case .queued(let queued) = standby.state {
      check.require(queued.number <= lastAttempt, "link: the queued attempt was numbered")
      check.require(queued != currentAttempt, "link: an attempt is in one place")
    }
    switch state {
    case .idle, .failed:
      check.require(!standby.isArmed, "link: an ended link has nothing armed")
    case .resting: check.require(standby.isArmed, "link: a resting link has its standby armed")
    case .ready(let ready):
      check.require(
        !standby.isArmed || (standby.isPolling && ready.stableAt != nil),
        "link: only an unproven link keeps polls")
    case .held:
      check.require(!isQueueArmed, "link: a link that is held has nothing queued")
    case .debouncing, .waiting, .refreshing, .preparing, .opening:
      check.require(
        isQueueArmed || !policy.standby.isQueue, "link: a queued connect is armed while it tries")
    case .establishing: return
    }
  }

  private var isQueueArmed: Bool {
    switch standby.state {
    case .queued, .rearming: true
    case .off, .polling: false
    }
  }
}
