import HoldfastBottleChecks
import HoldfastBottleData
import HoldfastBottleLink
import HoldfastCore
import HoldfastLinkChecks
import HoldfastWorldKernel

/// A checker of idle connections. Unused connections must end, and held connections must not.
struct IdleChecker: Sendable {
  private(set) var found = Findings()
  private var phase = LinkStatus.Phase.disconnected
  /// The times at which the connection was established and at which it was last used.
  private var connected: Instant?
  private var used: Instant?
  /// The time of the user's last request, or of the last start or end of a hold if that is later.
  private var requestedAt: Instant?
  /// The time since which the connection has been held, and the time of the last ping that kept the
  /// bottle awake.
  private var held: Instant?
  private var pinged: Instant?
  /// The IDs of the unanswered pings that the user requested.
  private var requestedPings: Set<UInt64> = []
  /// The time at which the phone closed a connection because no work remained; `nil` after a new
  /// reason to connect.
  private var rested: Instant?
  /// The number of the bottle's unsynchronized records in its most recent report.
  private var unsynced: UInt16 = 0
  private var awakeSince = Instant.zero
  /// Whether a discovery is running. A connection has another one if its services change.
  private var isDiscovering = false

  mutating func received(
    _ input: BottleFeature.Input?, isLate: Bool, _ phoneState: PhoneState<BottleFeature>
  ) {
    checkDeadlines(phoneState)
    guard let input else { return }
    noteRest(input, isLate: isLate, phoneState)
    switch input {
    case .refresh, .hold: (used, requestedAt) = (phoneState.now, phoneState.now)
    case .perform(let id, let request):
      // A request that the app rejects does not use the connection.
      if BottleRequestKind.isRefused(request) { return }
      (used, requestedAt) = (phoneState.now, phoneState.now)
      if request == .command(.ping) { requestedPings.insert(id) }
    case .start, .written: used = phoneState.now
    case .heard(let attempt, .chunk, _):
      if !isLate, attempt == phoneState.currentAttempt { used = phoneState.now }
    case .stop, .choose, .shown, .link, .central, .discovered, .undiscovered, .heard, .unwritten,
      .restored, .committed, .uncommitted:
      return
    }
  }

  /// Reports a reconnect to a bottle during the bottle's rest period.
  private mutating func noteRest(
    _ input: BottleFeature.Input, isLate: Bool, _ phoneState: PhoneState<BottleFeature>
  ) {
    switch input {
    case .discovered(let attempt, _, let state, _):
      // A repeated callback for a discovered connection contains an old state.
      guard !isLate, attempt == phoneState.currentAttempt, isDiscovering else { return }
      (unsynced, isDiscovering, used) = (state.unsynced, false, phoneState.now)
    case .heard(let attempt, .state(let state), _):
      if !isLate, attempt == phoneState.currentAttempt { unsynced = state.unsynced }
    case .central(.connected):
      guard !isLate, let rested, case .queuedConnect(let queue) = phoneState.policy.standby else {
        return
      }
      let time = rested.duration(to: phoneState.now)
      self.rested = nil
      guard time < queue.rest else { return }
      found.add(.needless, at: phoneState.now, "connects again \(time) after it was done")
    case .start, .stop, .refresh, .hold, .perform, .choose, .shown, .link, .central, .undiscovered,
      .heard, .written, .unwritten, .restored, .committed, .uncommitted:
      if BottleModel.role(of: input).isNewStart { rested = nil }
    }
  }

  mutating func requested(
    _ effect: BottleFeature.Effect, isTick: Bool, _ phoneState: PhoneState<BottleFeature>
  ) {
    switch effect {
    case .write(_, _, .command, BottleCommand.ping.bytes):
      pinged = phoneState.now
      if phoneState.own.holds == 0, requestedPings.isEmpty {
        found.add(.needless, at: phoneState.now, "keeps a bottle awake that nobody holds")
      }
    case .update(.performed(let id, _)): requestedPings.remove(id)
    case .cancel: if isTick { closed(phoneState) }
    case .discover: isDiscovering = true
    case .scan, .stopScan, .connect, .write, .commit, .confirm, .update: return
    }
  }

  /// Checks a connection attempt that a timer ended.
  private mutating func closed(_ phoneState: PhoneState<BottleFeature>) {
    let reason = phoneState.status.reason
    let isDone = reason == .ended(.idle) || reason == .ended(.background)
    if phase == .connected, isDone, unsynced == 0, phoneState.own.requests == 0 {
      rested = phoneState.now
    }
    guard phase == .connected, phoneState.status.reason == .ended(.idle),
      let idle = phoneState.policy.liveness.idle, let connected
    else { return }
    // While the app is suspended, its holds do not keep the connection open.
    if phoneState.own.holds > 0, awakeSince.advanced(by: idle.after) <= phoneState.now {
      found.add(.needless, at: phoneState.now, "closed as idle although somebody holds it")
    }
    let time = max(connected, requestedAt ?? connected).duration(to: phoneState.now)
    if time < idle.after {
      found.add(.needless, at: phoneState.now, "closed as idle after \(time)")
    }
  }

  mutating func handle(_ seen: Observation<BottleFeature>, _ phoneState: PhoneState<BottleFeature>)
  {
    switch seen {
    case .launched:
      let findings = found
      self = IdleChecker()
      (found, awakeSince) = (findings, phoneState.now)
    case .resumed: awakeSince = phoneState.now
    case .killed, .suspended: return
    case .received, .ticked, .upgraded, .serverLost, .wentDead, .server, .began, .ended, .calm,
      .fact:
      checkDeadlines(phoneState)
    }
  }

  /// Checks the time that passed since the last observation.
  private mutating func checkDeadlines(_ phoneState: PhoneState<BottleFeature>) {
    held = phoneState.own.holds > 0 ? held ?? phoneState.now : nil
    guard phoneState.isAwake, phase == .connected else { return }
    if phoneState.own.holds == 0 { overstay(phoneState) } else { neglect(phoneState) }
  }

  private mutating func overstay(_ phoneState: PhoneState<BottleFeature>) {
    guard let used, let idle = phoneState.policy.liveness.idle else { return }
    // If a hold was just released, a ping may have been sent recently.
    let slack = (phoneState.policy.liveness.ping ?? .zero) + .seconds(1)
    let start = max(used, awakeSince.advanced(by: .zero - idle.after))
    guard start.advanced(by: idle.after + slack) < phoneState.now else { return }
    self.used = nil
    found.add(.storm, at: phoneState.now, "is connected, and nothing comes")
  }

  private mutating func neglect(_ phoneState: PhoneState<BottleFeature>) {
    guard let ping = phoneState.policy.liveness.ping, let connected, let held else { return }
    let start = max(pinged ?? held, connected, held, awakeSince)
    guard start.advanced(by: ping + .seconds(1)) < phoneState.now else { return }
    pinged = phoneState.now
    found.add(.stuck, at: phoneState.now, "is held, and nothing keeps the bottle awake")
  }

  mutating func stepEnded(_ phoneState: PhoneState<BottleFeature>) {
    if phoneState.status.phase == .connected, phase != .connected {
      (used, connected) = (phoneState.now, phoneState.now)
      if phoneState.own.holds > 0, pinged != phoneState.now {
        found.add(.stuck, at: phoneState.now, "connects for a hold, and lets the bottle sleep")
      }
    }
    phase = phoneState.status.phase
  }
}
