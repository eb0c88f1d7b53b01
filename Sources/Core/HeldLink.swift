/// A link that is kept alive by a policy.
///
/// It decides everything and does nothing: inputs say what happened, effects say what to do, and
/// `deadline` is the one instant to be woken at. While it is wanted something is always
/// outstanding (a deadline, an attempt, a poll, a queued connect), or its status says why not.
///
///             want                     gate open
///     idle ─────────▶ held ◀──────────────────────────── any wanted state
///      ▲               │ reachable, foreground    obstacle
///      │ end           ▼
///      │           settling ──▶ waiting ◀──────────────┐ schedule, windows, wish
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
/// Every (state, input) pair is written in the `Link+*` files; pairs that change nothing are named
/// in the last arm of their switch.
public struct HeldLink: Machine, Hashable {
  /// The numbers that it goes by.
  public let policy: LinkPolicy
  var chance: Chance
  var state = State.idle(nil)
  var gate: Gate
  var retry: Retry
  var standby: Standby
  private(set) var lastAttempt: UInt64 = 0
  /// What the user was shown last.
  public private(set) var status = LinkStatus(phase: .disconnected)

  /// - Parameter seed: the start of its chance; the same seed and inputs make the same effects.
  public init(policy: LinkPolicy, seed: UInt64) {
    self.policy = policy
    chance = Chance(seed: seed)
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
      // Few waits can end together, and what follows each ends later: one that does not move on
      // would spin here for ever.
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

  /// Polls that fell due go out, and the status follows the state, after every step.
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

  /// One call: its time, and what it asks for so far.
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
    case .want(let wish): want(wish, &step)
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
    case .heard(let attempt): hear(attempt, &step) { $0.heard(at: $1) }
    case .pong(let attempt, let id): hear(attempt, &step) { $0.pong(id, at: $1) }
    case .validData(let attempt): validData(attempt, &step)
    case .draining(let attempt, let window): draining(attempt, within: window)
    case .lost(let attempt, let failure): lost(attempt, failure, closing: nil, &step)
    case .reject(let attempt, let failure): lost(attempt, failure, closing: .rejected, &step)
    }
  }

  /// Whether the link is wanted in any form.
  public var isWanted: Bool { gate.wish != .none }

  /// The attempt whose events count; `nil` when none is under way.
  public var currentAttempt: AttemptID? {
    switch state {
    case .preparing(let trying), .opening(let trying), .establishing(let trying): trying.attempt
    case .ready(let ready): ready.attempt
    case .idle, .held, .settling, .waiting, .refreshing, .resting, .failed: nil
    }
  }

  /// The system's queued connect while one is armed; its events count as well.
  public var queuedAttempt: AttemptID? {
    if case .queued(let attempt) = standby.state { attempt } else { nil }
  }

  /// Credentials are kept fresh only while the link is wanted and a person looks.
  var credentialsDeadline: Instant? {
    switch state {
    case .idle, .failed: return nil
    case .held(let held) where held.obstacle == .background: return nil
    case .held, .settling, .waiting, .refreshing, .preparing, .opening, .establishing, .ready,
      .resting:
      return gate.credentials.deadline
    }
  }

  var stateDeadline: Instant? {
    switch state {
    case .settling(let settling): settling.until
    case .waiting(let waiting): waiting.until
    case .preparing(let trying), .opening(let trying), .establishing(let trying): trying.until
    case .ready(let ready): min(ready.liveness.deadline, ready.stableAt ?? ready.liveness.deadline)
    case .idle, .held, .refreshing, .resting, .failed: nil
    }
  }

  /// Whether what standby has armed may act: it pauses while the gate is closed.
  var runsStandby: Bool {
    switch state {
    case .settling, .waiting, .refreshing, .preparing, .opening, .establishing, .resting: true
    case .idle, .held, .ready, .failed: false
    }
  }

  var standbyDeadline: Instant? {
    guard runsStandby else { return nil }
    switch standby.state {
    case .polling(let polling):
      // In background with only the standby left, a probe would come to nothing again and again.
      guard case .resting = state, gate.wish == .live, !isLeftForStandby else {
        return polling.nextPoll
      }
      return min(polling.nextProbe, polling.nextPoll)
    case .rearming(let at): return at
    case .off, .queued: return nil
    }
  }
}

extension HeldLink {
  /// Where a link stands. `mayTry`, `proceed`, `rest` and `end` are the ways between them.
  enum State: Sendable, Hashable {
    /// Not wanted, or ended by a rule. Exits: settling, preparing, opening, held, resting.
    case idle(LinkStatus.Reason?)
    /// Wanted, but the gate is closed. Exits: settling, preparing, opening, idle, failed.
    case held(Held)
    /// Waits for the network to settle or the app to come up. Exits: preparing, opening, held.
    case settling(Settling)
    /// Waits for the time of the next try. Exits: preparing, opening, held, settling, idle.
    case waiting(Waiting)
    /// Waits for credentials. Exits: preparing, opening, waiting, failed, held.
    case refreshing(Refreshing)
    /// The feature does what comes before a connect. Exits: opening, waiting, resting, failed.
    case preparing(Trying)
    /// The transport opens. Exits: establishing, ready, waiting, resting, refreshing, failed.
    case opening(Trying)
    /// Open, but the milestone is not reached. Exits: ready, waiting, resting, refreshing, failed.
    case establishing(Trying)
    /// Connected. Exits: waiting, settling, held, resting, refreshing, failed, idle.
    case ready(Ready)
    /// Not tried; the standby works. Exits: preparing, opening, establishing, held, failed, idle.
    case resting(LinkStatus.Reason)
    /// Ended until the user wants it again. Exits: preparing, opening, held, idle.
    case failed(LinkStatus.Reason)
  }

  struct Held: Sendable, Hashable {
    var obstacle: Obstacle
    var series: Series
  }

  struct Settling: Sendable, Hashable {
    var until: Instant
    var series: Series
  }

  struct Waiting: Sendable, Hashable {
    var until: Instant
    var series: Series
    /// What the wait follows.
    var failure: LinkFailure?
    /// Whether the try is put off only by the windows or the breaker.
    var isLimited: Bool

    var reason: LinkStatus.Reason? { isLimited ? .limited : failure.map { .failure($0) } }
  }

  struct Refreshing: Sendable, Hashable {
    var series: Series
    var failure: LinkFailure?
  }

  struct Trying: Sendable, Hashable {
    let attempt: AttemptID
    /// When the present step has taken too long.
    var until: Instant
    /// When the whole attempt has taken too long.
    var establishBy: Instant
    var series: Series
    /// Which credentials it uses.
    let generation: UInt64

    /// The same attempt; if it fails, the waits begin anew.
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
    /// When it became ready.
    let since: Instant
    /// When it counts as recovered; `nil` once it does.
    var stableAt: Instant?
    /// The series that it ended; goes on when it is lost before it is stable.
    var series: Series
    /// The window that the server announced for everyone's return.
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
  /// Everything that can happen to a link.
  public enum Input: Sendable, Equatable, Codable {
    /// The user wants it, wants only its standby, or wants it no more. Wanting it again ends a
    /// failure.
    case want(Wish)
    /// The device's way out changed.
    case reachability(Reachability)
    /// The app went to the front or to the background.
    case lifecycle(Lifecycle)
    /// Credentials were stored, renewed, refused by their issuer, or cleared.
    case credentials(CredentialsEvent)
    /// Something that is a reason to try now.
    case trigger(Trigger)
    /// The feature did what comes before a connect.
    case prepared(AttemptID)
    /// The transport is open.
    case opened(AttemptID)
    /// A transport exists that this link did not open, named by `nextAttempt`; whether it has
    /// reached the feature's milestone.
    case found(AttemptID, established: Bool)
    /// The feature's own milestone was reached.
    case established(AttemptID)
    /// Any byte came in.
    case heard(AttemptID)
    /// Valid application data came in.
    case validData(AttemptID)
    /// A pong came in.
    case pong(AttemptID, UInt64)
    /// The attempt failed or its link was lost; the transport is gone.
    case lost(AttemptID, LinkFailure)
    /// The feature will not go on with this link; the transport is still there.
    case reject(AttemptID, LinkFailure)
    /// The server said that it will close all links, spread over a window.
    case draining(AttemptID, within: Duration)
    /// What had to be done before leaving for the background is done.
    case flushed
    /// The answer to a poll of the standby.
    case polled(UInt64, LinkFailure?)
    /// A request beside the link was accepted or refused; tells about credentials and membership.
    case requested(LinkFailure?)
  }

  /// What became of credentials.
  public enum CredentialsEvent: Sendable, Equatable, Codable {
    /// There are new ones; `expiresIn` is `nil` when that is not known.
    case available(expiresIn: Duration?)
    /// A refresh did not work out this time.
    case refreshFailed
    /// They cannot be refreshed: the user must sign in.
    case rejected
    /// The user signed out.
    case cleared
  }

  /// Reasons to try at once.
  public enum Trigger: String, Sendable, Equatable, Codable, CaseIterable {
    /// The user pulled to refresh or pressed retry: the waits begin anew, too.
    case userRefresh
    /// A message went out beside the link, so the server is there.
    case messageSent
    /// The device woke from sleep: whatever was open is suspect.
    case woke
  }
}

extension HeldLink {
  /// Everything a link can ask for; carried out in order.
  public enum Effect: Sendable, Equatable, Codable {
    /// Do what comes before a connect, then say `.prepared`, or `.reject` with what went wrong.
    case prepare(AttemptID)
    /// Open the transport.
    case open(AttemptID)
    /// Close the transport, or give up opening it; nothing more is heard of the attempt.
    case close(AttemptID, CloseReason)
    /// Send a ping.
    case ping(AttemptID, UInt64)
    /// Get new credentials.
    case refreshCredentials
    /// Ask the other way to the data once.
    case poll(UInt64)
    /// Queue a connect with the OS that opens whenever the peer appears; first the OS leaves the
    /// peer alone for a while, so that one with which nothing is left to do can rest.
    case arm(AttemptID, after: Duration = .zero)
    /// Take the queued connect back.
    case disarm(AttemptID)
    /// What the user sees changed.
    case status(LinkStatus)
  }

  /// Why a link closes its transport.
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

/// What the user, a log or a screen sees of a link; the one projection of its inner state.
public struct LinkStatus: Sendable, Hashable, Codable {
  /// Where it stands.
  public var phase: Phase
  /// The number of the try that runs or waits, from 1; 0 when none does.
  public var attempt: Int
  /// How many tries there are before standby; `nil` without end or when none runs.
  public var of: Int?
  /// When the next try is made, if it waits for a time.
  public var retryAt: Instant?
  /// How data comes in now.
  public var mode: Mode
  /// Why it is not connected.
  public var reason: Reason?
  /// How well the peer answers, while connected.
  public var quality: LinkQuality?

  public init(
    phase: Phase, attempt: Int = 0, of: Int? = nil, retryAt: Instant? = nil, mode: Mode = .none,
    reason: Reason? = nil, quality: LinkQuality? = nil
  ) {
    self.phase = phase
    self.attempt = attempt
    self.of = of
    self.retryAt = retryAt
    self.mode = mode
    self.reason = reason
    self.quality = quality
  }

  /// Where the link stands.
  public enum Phase: String, Sendable, Hashable, Codable, CaseIterable {
    /// Not wanted.
    case disconnected
    /// Wanted, and held back by a reason that stands beside it.
    case held
    /// First tries.
    case connecting
    /// Connected by the policy's milestone, never before.
    case connected
    /// Lost, and tried again.
    case reconnecting
    /// Tries are exhausted or were refused; the standby does the work.
    case standby
    /// Ended; the user must act.
    case failed
  }

  /// How data arrives.
  public enum Mode: String, Sendable, Hashable, Codable {
    case live
    case polling
    case none
  }

  /// Why.
  public enum Reason: Sendable, Hashable, Codable {
    case obstacle(Obstacle)
    case failure(LinkFailure)
    /// The user must sign in.
    case signIn
    /// All tries failed, the last one so.
    case exhausted(LinkFailure)
    /// Ended by the idle rule or by going to the background.
    case ended(HeldLink.CloseReason)
    /// The network changed and is left to settle.
    case settling
    /// So many tries were made that the next one waits, whoever asks for it.
    case limited
  }
}

// The one projection of the inner state that anybody sees.
extension HeldLink {
  var observed: LinkStatus {
    var status = bareStatus
    if standby.isPolling, runsStandby { status.mode = .polling }
    return status
  }

  private var bareStatus: LinkStatus {
    switch state {
    case .idle(let reason): LinkStatus(phase: .disconnected, reason: reason)
    case .held(let held): LinkStatus(phase: .held, reason: .obstacle(held.obstacle))
    case .settling(let settling):
      trying(settling.series, retryAt: settling.until, reason: .settling)
    case .waiting(let waiting):
      trying(waiting.series, retryAt: waiting.until, reason: waiting.reason)
    case .refreshing(let refreshing):
      trying(refreshing.series, reason: refreshing.failure.map { .failure($0) })
    case .preparing(let trying), .opening(let trying), .establishing(let trying):
      self.trying(trying.series)
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
      of: series.isNew ? nil : retry.limit(of: series), retryAt: retryAt, reason: reason)
  }
}

// What happens when a wait is over, and what proves life.
extension HeldLink {
  /// Moves on from the earliest wait that is over.
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
    case .settling(let settling): expedite(settling.series, after: nil, &step)
    case .waiting(let waiting):
      var series = waiting.series
      series.spread = nil
      expedite(series, after: waiting.failure, &step)
    case .preparing(let trying):
      lost(trying.attempt, .timeout(.response), closing: .timeout, &step)
    case .opening(let trying):
      lost(trying.attempt, .timeout(.connect), closing: .timeout, &step)
    case .establishing(let trying):
      lost(trying.attempt, .timeout(.establish), closing: .timeout, &step)
    case .ready(let ready): expireReady(ready, &step)
    case .idle, .held, .refreshing, .resting, .failed: return  // have no deadline of their own
    }
  }

  private mutating func expireReady(_ before: Ready, _ step: inout Step) {
    var ready = before
    if let stableAt = ready.stableAt, stableAt <= step.now { settleDown(&ready) }
    let due = ready.liveness.due(at: step.now)
    state = .ready(ready)
    switch due {
    case .ping(let id): step.effects.append(.ping(ready.attempt, id))
    case .dead(let phase): lost(ready.attempt, .timeout(phase), closing: .silent, &step)
    case .idle(.idle):
      closeCurrent(.idle, &step)
      dropStandby(&step)
      gate.wish = .none
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

  /// The link proved itself: the next loss starts a new series.
  private mutating func settleDown(_ ready: inout Ready) {
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

  /// Something came in on the link.
  mutating func hear(
    _ attempt: AttemptID, _ step: inout Step, _ note: (inout Liveness, Instant) -> Void
  ) {
    guard case .ready(var ready) = state, ready.attempt == attempt else { return }  // late
    note(&ready.liveness, step.now)
    state = .ready(ready)
  }

  mutating func validData(_ attempt: AttemptID, _ step: inout Step) {
    guard case .ready(var ready) = state, ready.attempt == attempt else { return }  // late
    ready.liveness.data(at: step.now)
    if policy.retry.stability.provenByData { settleDown(&ready) }
    state = .ready(ready)
  }

  mutating func draining(_ attempt: AttemptID, within window: Duration) {
    guard case .ready(var ready) = state, ready.attempt == attempt else { return }  // late
    ready.drainWindow = min(max(window, .zero), policy.retry.longestWish)
    state = .ready(ready)
  }
}

// What always holds between the fields of a link.
extension HeldLink {
  public func check(_ check: inout InvariantCheck) {
    checkWish(&check)
    checkAttempts(&check)
    checkStandby(&check)
    check.require(
      deadline != nil || !waits, "link: every state that waits has a deadline or a queued connect")
    if check.isThorough {
      check.require(status == observed, "link: the user is shown the present state")
    }
    gate.check(&check)
    retry.check(&check)
    standby.check(&check)
  }

  /// Whether only time or the answer of a peer ends the present state.
  private var waits: Bool {
    switch state {
    case .idle, .failed, .held: return false
    case .settling, .waiting, .refreshing, .preparing, .opening, .establishing, .ready: return true
    case .resting:
      if case .queued = standby.state { return false }
      return true
    }
  }

  /// What the user wants and what the gate allows, beside the state.
  private func checkWish(_ check: inout InvariantCheck) {
    check.require(
      isIdle == (gate.wish == .none), "link: it is idle exactly while it is not wanted")
    check.require(
      gate.leavesAt == nil || gate.wish != .none, "link: it leaves only what is wanted")
    switch state {
    case .held(let held):
      // Where the user connects again after the background, the hold outlives its reason.
      check.require(
        held.obstacle == gate.obstacle
          || (held.obstacle == .background && policy.gate.foreground == .wait),
        "link: it is held by an obstacle that exists")
    case .settling, .waiting:
      check.require(gate.obstacle == nil, "link: it waits to try only while the gate is open")
    case .preparing(let trying), .opening(let trying), .establishing(let trying):
      check.require(
        gate.obstacle == nil || isEstablishing, "link: it tries only while the gate is open")
      check.require(
        trying.generation <= gate.credentials.generation,
        "link: an attempt uses credentials that exist")
    case .ready(let ready):
      check.require(
        ready.generation <= gate.credentials.generation,
        "link: a link that stands uses credentials that exist")
    case .refreshing:
      check.require(
        gate.credentials.isRefreshing, "link: it waits for credentials only during a refresh")
    case .idle, .resting, .failed: return
    }
  }

  /// Also behind a closed gate: the system's queued connect opens when the peer appears.
  private var isEstablishing: Bool {
    switch state {
    case .establishing: true
    case .idle, .held, .settling, .waiting, .refreshing, .preparing, .opening, .ready, .resting,
      .failed:
      false
    }
  }

  private var isIdle: Bool {
    switch state {
    case .idle: true
    case .held, .settling, .waiting, .refreshing, .preparing, .opening, .establishing, .ready,
      .resting, .failed:
      false
    }
  }

  /// The attempt under way and its limits.
  private func checkAttempts(_ check: inout InvariantCheck) {
    if let current = currentAttempt {
      check.require(current.number <= lastAttempt, "link: the current attempt was numbered")
    }
    switch state {
    case .preparing(let trying):
      check.require(
        gate.wish == .live && !isLeftForStandby,
        "link: an attempt begins only while the live link is wanted")
      check.require(
        trying.series.prepares && policy.establish.prepare != nil,
        "link: it prepares only where the policy says so")
    case .opening(let trying):
      check.require(
        gate.wish == .live && !isLeftForStandby,
        "link: a transport opens only while the live link is wanted")
      check.require(
        trying.until <= trying.establishBy && !trying.series.prepares,
        "link: opening ends within the time of the attempt")
    case .establishing(let trying):
      check.require(
        trying.until == trying.establishBy, "link: establishing ends with the time of the attempt")
    case .ready(let ready): checkReady(ready, &check)
    case .idle, .held, .settling, .waiting, .refreshing, .resting, .failed: break
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
      ready.liveness.lastHeard >= ready.since, "link: nothing was heard before it was ready")
    if let window = ready.drainWindow {
      check.require(
        window >= .zero && window <= policy.retry.longestWish,
        "link: the window of a drain is obeyed up to the longest wish")
    }
    ready.liveness.check(&check)
  }

  private var series: Series? {
    switch state {
    case .held(let held): held.series
    case .settling(let settling): settling.series
    case .waiting(let waiting): waiting.series
    case .refreshing(let refreshing): refreshing.series
    case .preparing(let trying), .opening(let trying), .establishing(let trying): trying.series
    case .ready(let ready): ready.series
    case .idle, .resting, .failed: nil
    }
  }

  /// What stays armed beside the state.
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
    case .settling, .waiting, .refreshing, .preparing, .opening:
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
