import HoldfastBottleChecks
import HoldfastBottleLink
import HoldfastCore
import HoldfastLinkChecks
import HoldfastWorldKernel

/// A checker of the limits for scans and connects. It checks when they begin and when they end.
struct BottleScans: Sendable {
  private(set) var found = Findings()
  /// The start of the current scan, and the starts of recent bursts. While requests look for the
  /// bottle, several bursts follow each other in one scan.
  private var scanning: Instant?
  private var bursts: [Instant] = []
  /// The attempts that were in progress or queued after the most recent step.
  private var known: Set<AttemptID> = []
  /// The times of the user's most recent request that permits an immediate scan, and of the most
  /// recent one that permits a longer scan.
  private var prompted: Instant?
  private var looking: Instant?
  /// The unanswered requests and their times. Each request immediately starts a search for the
  /// bottle.
  private var open: [UInt64: Instant] = [:]
  /// A burst that must begin at a certain time and not earlier.
  private var due: Due?
  /// The time until which a connection may remain open in the background.
  private var leaveBy: Instant?
  /// The most recent queued connect, and whether it ended quickly.
  private var armed: (attempt: AttemptID, at: Instant)?
  private var endedFast = false
  /// The time since which the phone has been connected, and whether the previous connection was
  /// short.
  private var connectedSince: Instant?
  private var wasShort = false
  private var phase = LinkStatus.Phase.disconnected
  private var isInFront = true
  private var wasKnown = false
  private var awakeSince = Instant.zero

  private struct Due: Sendable {
    var at: Instant
    var why: String
  }

  private static let slack = Duration.milliseconds(100)
  /// The duration of the search for the bottle that a request starts.
  private static let looks = Duration.seconds(10)

  mutating func received(
    _ input: BottleFeature.Input?, isLate: Bool, _ phoneState: PhoneState<BottleFeature>
  ) {
    checkDeadlines(phoneState)
    guard let input else { return }
    switch BottleModel.role(of: input) {
    case .wanted, .trigger: prompt(input, phoneState)
    case .left, .changed:
      prompted = phoneState.now
      (due, armed, endedFast, leaveBy) = (nil, nil, false, nil)
    case .lifecycle(let lifecycle): turn(lifecycle, phoneState)
    case .opened: due = nil
    case .lost(let attempt, _): if !isLate { lost(attempt, phoneState) }
    case .credentials, .draining, .data, .received, .answered, .refused, .other: return
    }
  }

  private mutating func prompt(
    _ input: BottleFeature.Input, _ phoneState: PhoneState<BottleFeature>
  ) {
    prompted = phoneState.now
    switch input {
    case .refresh(let id), .perform(let id, _):
      looking = phoneState.now
      open[id] = phoneState.now
    case .start, .stop, .hold, .choose, .shown, .link, .central, .discovered, .undiscovered,
      .heard, .written, .unwritten, .restored, .committed, .uncommitted:
      return
    }
  }

  private mutating func turn(_ lifecycle: AppLifecycle, _ phoneState: PhoneState<BottleFeature>) {
    let was = isInFront
    isInFront = lifecycle == .foreground
    (due, endedFast) = (nil, false)
    guard isInFront != was else { return }
    if isInFront {
      leaveBy = nil
      guard phase == .standby, phoneState.own.isOn, wasKnown,
        case .connect(let wait) = phoneState.policy.gate.foreground
      else { return }
      due = Due(at: phoneState.now.advanced(by: wait), why: "coming to the front")
    } else if phase == .connected, case .leave(let wait, _) = phoneState.policy.gate.background {
      leaveBy = phoneState.now.advanced(by: wait)
    }
  }

  private mutating func lost(_ attempt: AttemptID, _ phoneState: PhoneState<BottleFeature>) {
    leaveBy = nil
    if isForgiven(phoneState) { armed = nil }
    noteEnd(of: attempt, phoneState)
    guard phase == .connected, isInFront, case .list(let waits) = phoneState.policy.retry.reconnect,
      let wait = waits.first
    else { return }
    due = Due(at: phoneState.now.advanced(by: wait), why: "an unexpected loss")
  }

  /// Returns whether the connection that just ended was short but the previous connection was not.
  private mutating func isForgiven(_ phoneState: PhoneState<BottleFeature>) -> Bool {
    guard let since = connectedSince else { return false }
    let isShort = since.duration(to: phoneState.now) < phoneState.policy.retry.stability.after
    defer { wasShort = isShort }
    return isShort && !wasShort
  }

  private mutating func noteEnd(of attempt: AttemptID, _ phoneState: PhoneState<BottleFeature>) {
    guard let armed, armed.attempt == attempt,
      case .queuedConnect(let queue) = phoneState.policy.standby,
      armed.at.duration(to: phoneState.now) < queue.fastFailure
    else { return }
    endedFast = true
  }

  mutating func requested(_ effect: BottleFeature.Effect, _ phoneState: PhoneState<BottleFeature>) {
    switch effect {
    case .scan: begin(phoneState)
    case .stopScan: scanning = nil
    case .connect(let attempt, _, true, _): arm(attempt, phoneState)
    case .cancel(let attempt, _): noteEnd(of: attempt, phoneState)
    case .update(.refreshed(let id, _)), .update(.performed(let id, _)): open[id] = nil
    case .connect, .discover, .write, .commit, .confirm, .update: return
    }
  }

  private mutating func begin(_ phoneState: PhoneState<BottleFeature>) {
    // If no bottle is known, the system searches for any bottle, without a time limit.
    guard phoneState.own.isKnown else { return }
    scanning = phoneState.now
    let isOutstanding = open.values.contains { $0.advanced(by: Self.looks) > phoneState.now }
    if let due, phoneState.now < due.at, prompted != phoneState.now, !isOutstanding {
      found.add(.storm, at: phoneState.now, "a scan begins too soon after \(due.why)")
    }
    due = nil
    if !isInFront, prompted != phoneState.now {
      found.add(.storm, at: phoneState.now, "a scan begins in the background")
    }
    noteBurst(phoneState)
  }

  /// Counts a burst, and checks that the windows of the policy permit it.
  private mutating func noteBurst(_ phoneState: PhoneState<BottleFeature>) {
    for window in phoneState.policy.retry.windows where bursts.count >= window.attempts {
      let first = bursts[bursts.count - window.attempts]
      guard first.advanced(by: window.per) > phoneState.now else { continue }
      found.add(.storm, at: phoneState.now, "more than \(window.attempts) scans in \(window.per)")
    }
    bursts.append(phoneState.now)
    let most = phoneState.policy.retry.windows.map(\.attempts).max() ?? 0
    if bursts.count > most { bursts.removeFirst(bursts.count - most) }
  }

  /// Counts a burst that began without a scan of its own.
  private mutating func noteAttempts(_ phoneState: PhoneState<BottleFeature>) {
    if let attempt = phoneState.currentAttempt, !known.contains(attempt),
      bursts.last != phoneState.now
    {
      noteBurst(phoneState)
    }
    known = Set([phoneState.currentAttempt, phoneState.queuedAttempt].compactMap(\.self))
  }

  /// Returns the earliest time at which the windows of the policy permit another burst.
  private func nextBurst(_ policy: LinkPolicy) -> Instant {
    let full = policy.retry.windows.filter { $0.attempts <= bursts.count }
    let ends = full.map { bursts[bursts.count - $0.attempts].advanced(by: $0.per) }
    return ends.max() ?? .zero
  }

  private mutating func arm(_ attempt: AttemptID, _ phoneState: PhoneState<BottleFeature>) {
    if let armed, endedFast, case .queuedConnect(let queue) = phoneState.policy.standby {
      let wait = armed.at.duration(to: phoneState.now)
      let least = isInFront ? queue.floor : min(queue.floor, queue.background)
      if wait < least {
        found.add(.storm, at: phoneState.now, "queued \(wait) after it was, which ended fast")
      }
    }
    // The ticket of a bottle that was just found has been pending for a long time.
    if armed?.attempt != attempt {
      (armed, endedFast) = (wasKnown ? (attempt, phoneState.now) : nil, false)
    }
  }

  mutating func handle(_ seen: Observation<BottleFeature>, _ phoneState: PhoneState<BottleFeature>)
  {
    switch seen {
    case .launched:
      let findings = found
      self = BottleScans()
      (found, awakeSince, prompted) = (findings, phoneState.now, phoneState.now)
    case .killed, .suspended: (due, leaveBy, scanning) = (nil, nil, nil)
    case .resumed: awakeSince = phoneState.now
    case .received, .ticked, .upgraded, .serverLost, .wentDead, .server, .began, .ended, .calm,
      .fact:
      checkDeadlines(phoneState)
    }
  }

  /// Checks the time that passed since the last observation.
  private mutating func checkDeadlines(_ phoneState: PhoneState<BottleFeature>) {
    guard phoneState.isAwake else { return }
    let now = phoneState.now
    if let due, max(due.at, nextBurst(phoneState.policy)).advanced(by: Self.slack) < now {
      self.due = nil
      if scanning == nil, phoneState.own.isOn {
        found.add(.stuck, at: now, "no scan follows \(due.why)")
      }
    }
    if let scanning {
      let start = max(scanning, looking?.advanced(by: Self.looks) ?? scanning)
      let end = start.advanced(by: phoneState.policy.establish.openTimeout + Self.slack)
      if end < now {
        self.scanning = nil
        found.add(.storm, at: now, "scans for longer than a burst")
      }
    }
    if let leaveBy, leaveBy.advanced(by: Self.slack) < now {
      self.leaveBy = nil
      found.add(.storm, at: now, "is still connected in the background")
    }
  }

  mutating func stepEnded(_ phoneState: PhoneState<BottleFeature>) {
    if phoneState.status.phase == .connected {
      connectedSince = connectedSince ?? phoneState.now
      // An established connection ends a series of quick failures.
      endedFast = false
    } else {
      (leaveBy, connectedSince) = (nil, nil)
    }
    noteAttempts(phoneState)
    phase = phoneState.status.phase
    wasKnown = phoneState.own.isKnown
    // A scan for an unknown bottle has no time limit.
    if !wasKnown { scanning = nil }
  }
}

/// The activity summaries and lists that bottles with the original firmware send.
///
/// The firmware of this package has no lists. The world therefore answers on its behalf when it
/// simulates a bottle with the original firmware.
enum BottleLists {
  private static let summary: UInt8 = 0x30
  private static let motions: UInt8 = 0x31
  private static let backpacks: UInt8 = 0x32

  /// Returns the answer to a command; `nil` if the command does not request a list.
  static func answer(_ command: [UInt8], _ generator: inout RandomSource) -> [UInt8]? {
    guard command.count == 4, [summary, motions, backpacks].contains(command[0]) else { return nil }
    if command[0] == summary {
      return LittleEndian.bytes(generator.next(), 8)
        + LittleEndian.bytes(generator.next(), generator.next() % 8 == 0 ? 3 : 4)
    }
    let isOfMotions = command[0] == motions
    // The count may exceed the capacity of a chunk by one entry.
    let count = UInt8(generator.next() % (isOfMotions ? 12 : 7))
    var bytes = [command[1], command[1] &+ UInt8(generator.next() % 3), count, 0]
    for _ in 0..<count {
      bytes += LittleEndian.bytes(generator.next(), isOfMotions ? 6 : 10)
      // The cause of waking or sleeping has three valid values. A fourth value cannot be decoded.
      bytes.append(UInt8(generator.next() % 20 == 0 ? 3 : generator.next() % 3))
      bytes.append([0, 1, 0x80, 0x81][Int(generator.next() % 4)])
    }
    return generator.next() % 8 == 0 ? bytes.dropLast() : bytes
  }
}

/// An encoder of numbers as little-endian bytes.
enum LittleEndian {
  static func bytes(_ number: some BinaryInteger, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
  }
}
