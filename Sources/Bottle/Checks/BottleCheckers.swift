import HoldfastBottleData
import HoldfastBottleLink
import HoldfastCore
public import HoldfastLinkChecks

/// The checkers of the guarantees that are specific to a bottle, and that need no more than a
/// journal contains.
public struct BottleCheckers: FeatureCheckers {
  /// The feature that the checkers check.
  public typealias Feature = BottleFeature

  private var found = Findings()
  private var keeping = PendingRequestChecker()
  /// The IDs of the records in the latest chunk.
  private var chunk: [UInt32] = []
  /// The numbers of the drinks that the app has shown in this run, and the highest of these
  /// numbers.
  private var shown: Set<UInt64> = []
  private var lastShown: UInt64 = 0

  public init() {}

  public var findings: [Finding] {
    found.all + keeping.found.all
  }

  public mutating func stepped(
    _ input: Feature.Input?, isLate: Bool, _ effects: [Feature.Effect],
    _ phoneState: PhoneState<BottleFeature>
  ) {
    keeping.received(input, isLate: isLate, phoneState)
    if case .heard(_, .chunk(let news), _)? = input {
      chunk = news.records.filter { !$0.flags.contains(.isDeleted) }.map(\.id)
    }
    for effect in effects {
      requested(effect, phoneState)
      keeping.requested(effect, phoneState)
    }
  }

  public mutating func requested(
    _ effect: Feature.Effect, _ phoneState: PhoneState<BottleFeature>
  ) {
    switch effect {
    case .write(_, _, .syncControl, BottleSync.acknowledgement.bytes):
      let missing = chunk.filter { !phoneState.own.stored.contains($0) }
      guard let first = missing.first else { return }
      found.add(
        .unstored, at: phoneState.now, "record \(first) was acknowledged before its storage")
    case .update(.drink(let drink)):
      let isKnown = drink.number <= phoneState.own.confirmed
      if isKnown || !shown.insert(drink.number).inserted {
        found.add(.duplicated, at: phoneState.now, "drink \(drink.number) was shown twice")
      } else if drink.number < lastShown {
        found.add(.reordered, at: phoneState.now, "drink \(drink.number) came after \(lastShown)")
      }
      lastShown = max(lastShown, drink.number)
    case .scan, .stopScan, .connect, .cancel, .discover, .write, .commit, .confirm, .update: return
    }
  }

  public mutating func handle(
    _ seen: Observation<BottleFeature>, _ phoneState: PhoneState<BottleFeature>
  ) {
    keeping.handle(seen, phoneState)
    switch seen {
    case .launched: (shown, lastShown, chunk) = ([], 0, [])
    case .fact(.erased): chunk = []
    case .killed, .suspended, .resumed, .received, .ticked, .upgraded, .serverLost, .wentDead,
      .server, .began, .ended, .calm, .fact:
      return
    }
  }

  public mutating func conclude(_ phoneState: PhoneState<BottleFeature>) {
    keeping.conclude(phoneState)
  }
}

/// A checker that detects two faults: an app that waits for its bottle while nothing is pending
/// with the system, and requests that are answered late or twice.
struct PendingRequestChecker: Sendable {
  private(set) var found = Findings()
  private var awakeSince = Instant.zero
  /// The unanswered requests, with the times by which they must be answered.
  private var pending: [UInt64: Instant] = [:]
  private var isReported = false
  private var isAway = true

  /// The time limit of a request. It covers a refresh or command, and the state that then confirms
  /// a deletion.
  private static let timeLimit = Duration.seconds(21)

  mutating func received(
    _ input: BottleFeature.Input?, isLate: Bool, _ phoneState: PhoneState<BottleFeature>
  ) {
    checkDeadlines(phoneState)
    switch input {
    case .refresh(let id), .perform(let id, _):
      pending[id] = phoneState.now.advanced(by: Self.timeLimit)
    case .start: isAway = false
    case .stop: isAway = true
    case .hold, .choose, .shown, .link, .central, .discovered, .undiscovered, .heard, .written,
      .unwritten, .restored, .committed, .uncommitted, nil:
      return
    }
  }

  mutating func requested(_ effect: BottleFeature.Effect, _ phoneState: PhoneState<BottleFeature>) {
    switch effect {
    case .update(.refreshed(let id, _)), .update(.performed(let id, _)):
      answered(id, at: phoneState.now)
    case .scan, .stopScan, .connect, .cancel, .discover, .write, .commit, .confirm, .update: return
    }
  }

  private mutating func answered(_ id: UInt64, at now: Instant) {
    guard pending.removeValue(forKey: id) == nil else { return }
    found.add(.duplicated, at: now, "request \(id) was answered twice")
  }

  mutating func handle(_ seen: Observation<BottleFeature>, _ phoneState: PhoneState<BottleFeature>)
  {
    switch seen {
    case .launched:
      pending = [:]
      (awakeSince, isReported) = (phoneState.now, false)
    case .killed: pending = [:]
    case .resumed: awakeSince = phoneState.now
    case .suspended:
      if phoneState.own.idleSince != nil {
        report(phoneState.now, "is suspended, and nothing is outstanding with the system")
      }
    case .received, .ticked, .upgraded, .serverLost, .wentDead, .server, .began, .ended, .calm,
      .fact:
      checkDeadlines(phoneState)
    }
  }

  private mutating func checkDeadlines(_ phoneState: PhoneState<BottleFeature>) {
    guard phoneState.isAwake else { return }
    if let since = phoneState.own.idleSince {
      if since.advanced(by: phoneState.policy.longestBare) < phoneState.now {
        report(phoneState.now, "waits, and nothing is outstanding with the system")
      }
    } else {
      isReported = false
    }
    guard !pending.isEmpty else { return }
    for (id, due) in pending.sorted(by: { $0.key < $1.key })
    where max(due, awakeSince.advanced(by: .seconds(1))) < phoneState.now {
      pending[id] = nil
      found.add(.stuck, at: phoneState.now, "request \(id) is not answered")
    }
  }

  private mutating func report(_ now: Instant, _ detail: String) {
    if !isReported { found.add(.stuck, at: now, detail) }
    isReported = true
  }

  mutating func conclude(_ phoneState: PhoneState<BottleFeature>) {
    guard isAway, phoneState.own.hasPending else { return }
    found.add(.storm, at: phoneState.now, "was stopped, but a request is pending with the system")
  }
}

extension LinkPolicy {
  /// The maximum time for which an awake app may have nothing pending with the system. Such a time
  /// follows a fast failure.
  var longestBare: Duration {
    guard case .queuedConnect(let queue) = standby else { return .zero }
    return max(queue.floor, queue.rearm) + .milliseconds(100)
  }
}
