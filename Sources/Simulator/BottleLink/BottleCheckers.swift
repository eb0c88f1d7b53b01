import BottleLink
import LinkCore
import LinkWire

/// The checkers of a bottle's own promises.
public struct BottleCheckers: FeatureCheckers {
  /// The feature that they check.
  public typealias Feature = BottleFeature

  private var found = Findings()
  private var scans = BottleScans()
  private var idling = BottleIdling()
  private var keeping = BottleKeeping()
  private var twin = BottlePhoneTwin()
  private var status = BottleStatusTwin()
  /// The phone differed from its twin: what follows that means nothing.
  private var hasStrayed = false
  /// When the bottle recorded what is not stored.
  private var waiting: [UInt32: Instant] = [:]
  private var known: Set<UInt32> = []
  /// The ids of the chunk that came last.
  private var chunk: [UInt32] = []
  /// The numbers of the drinks that this run of the app has shown, and the newest of them.
  private var shown: Set<UInt64> = []
  private var lastShown: UInt64 = 0

  public init() {}

  public var findings: [Finding] {
    found.all + scans.found.all + idling.found.all + keeping.found.all
  }

  public mutating func stepped(
    _ input: Feature.Input?, isLate: Bool, _ effects: [Feature.Effect],
    _ standing: Standing<BottleFeature>
  ) {
    lapse(standing)
    scans.told(input, isLate: isLate, standing)
    idling.told(input, isLate: isLate, standing)
    keeping.told(input, isLate: isLate, standing)
    if case .heard(_, .chunk(let news), _)? = input {
      chunk = news.records.filter { !$0.flags.contains(.isDeleted) }.map(\.id)
    }
    for effect in effects {
      asked(effect, standing)
      scans.asked(effect, standing)
      idling.asked(effect, isTick: input == nil, standing)
      keeping.asked(effect, standing)
    }
    scans.settled(standing)
    idling.settled(standing)
    guard !hasStrayed else { return }
    let strays = [
      twin.stray(input, effects, standing), status.stray(input, effects, standing),
    ]
    guard let stray = strays.lazy.compactMap(\.self).first else { return }
    hasStrayed = true
    found.add(.strayed, at: standing.now, stray)
  }

  public mutating func asked(
    _ effect: Feature.Effect, _ standing: Standing<BottleFeature>
  ) {
    switch effect {
    case .write(_, _, .syncControl, BottleSync.acknowledgement.bytes):
      let missing = chunk.filter { !standing.own.stored.contains($0) }
      guard let first = missing.first else { return }
      found.add(.unstored, at: standing.now, "record \(first) was acknowledged before its storage")
    case .update(.drink(let drink)):
      let isKnown = drink.number <= standing.own.confirmed
      if isKnown || !shown.insert(drink.number).inserted {
        found.add(.duplicated, at: standing.now, "drink \(drink.number) was shown twice")
      } else if drink.number < lastShown {
        found.add(.reordered, at: standing.now, "drink \(drink.number) came after \(lastShown)")
      }
      lastShown = max(lastShown, drink.number)
    case .scan, .stopScan, .connect, .cancel, .discover, .write, .commit, .confirm, .update: return
    }
  }

  public mutating func met(
    _ seen: Observation<BottleFeature>, _ standing: Standing<BottleFeature>
  ) {
    lapse(standing)
    scans.met(seen, standing)
    idling.met(seen, standing)
    keeping.met(seen, standing)
    switch seen {
    case .launched:
      (shown, lastShown, chunk) = ([], 0, [])
      (twin, status, hasStrayed) = (BottlePhoneTwin(), BottleStatusTwin(), false)
    case .fact(let fact): noted(fact, standing)
    case .killed, .suspended, .resumed, .told, .ticked, .upgraded, .serverLost, .wentDead, .began,
      .ended, .calm:
      return
    }
  }

  public mutating func noted(
    _ fact: Feature.Fact, _ standing: Standing<BottleFeature>
  ) {
    switch fact {
    case .recorded(let id): waiting[id] = standing.now
    case .gone(let id): waiting[id] = nil
    case .stored(let id):
      waiting[id] = nil
      guard !known.insert(id).inserted else { return }
      found.add(.duplicated, at: standing.now, "record \(id) was stored twice")
    case .stamped(let isValid):
      if isValid { return }
      found.add(.untimed, at: standing.now, "a drink has no time although a phone is connected")
    case .erased: (waiting, known, chunk) = ([:], [], [])
    case .strayed(let what): found.add(.strayed, at: standing.now, what)
    case .advertises, .linked: return
    }
  }

  /// Finds records that were not stored in time.
  private mutating func lapse(_ standing: Standing<BottleFeature>) {
    guard let clear = standing.own.clearSince,
      clear.advanced(by: standing.own.bound) < standing.now, !waiting.isEmpty
    else { return }
    for (id, made) in waiting.sorted(by: { $0.key < $1.key }) {
      // What was made before waits for the next connection.
      guard let start = made >= clear ? made : standing.own.freshSince,
        start.advanced(by: standing.own.bound) < standing.now
      else { continue }
      waiting[id] = nil
      let seconds = start.duration(to: standing.now).components.seconds
      found.add(
        .unsynced, at: standing.now,
        "record \(id) is not stored \(seconds) s after phone and bottle could meet")
    }
  }

  public mutating func conclude(_ standing: Standing<BottleFeature>) {
    let lost = standing.own.expected.sorted()
    if !lost.isEmpty {
      found.add(.lost, at: standing.now, "records \(lost) were never stored")
    }
    keeping.conclude(standing)
  }
}

/// Finds an app that waits for its bottle while the system holds nothing for it.
struct BottleKeeping: Sendable {
  private(set) var found = Findings()
  private var awakeSince = Instant.zero
  /// The requests that were not answered, by when they must be.
  private var asked: [UInt64: Instant] = [:]
  private var isTold = false
  private var isAway = true

  /// A refresh or a command, then the state that confirms a deletion.
  private static let patience = Duration.seconds(21)

  mutating func told(
    _ input: BottleFeature.Input?, isLate: Bool, _ standing: Standing<BottleFeature>
  ) {
    lapse(standing)
    switch input {
    case .refresh(let id), .perform(let id, _):
      asked[id] = standing.now.advanced(by: Self.patience)
    case .start: isAway = false
    case .stop: isAway = true
    case .hold, .choose, .shown, .link, .central, .discovered, .undiscovered, .heard, .written,
      .unwritten, .restored, .committed, .uncommitted, nil:
      return
    }
  }

  mutating func asked(_ effect: BottleFeature.Effect, _ standing: Standing<BottleFeature>) {
    switch effect {
    case .update(.refreshed(let id, _)), .update(.performed(let id, _)):
      guard asked.removeValue(forKey: id) == nil else { return }
      found.add(.duplicated, at: standing.now, "request \(id) was answered twice")
    case .scan, .stopScan, .connect, .cancel, .discover, .write, .commit, .confirm, .update: return
    }
  }

  mutating func met(_ seen: Observation<BottleFeature>, _ standing: Standing<BottleFeature>) {
    switch seen {
    case .launched:
      asked = [:]
      (awakeSince, isTold) = (standing.now, false)
    case .killed: asked = [:]
    case .resumed: awakeSince = standing.now
    case .suspended:
      if standing.own.bareSince != nil {
        tell(standing.now, "is suspended, and nothing is outstanding with the system")
      }
    case .told, .ticked, .upgraded, .serverLost, .wentDead, .began, .ended, .calm, .fact:
      lapse(standing)
    }
  }

  private mutating func lapse(_ standing: Standing<BottleFeature>) {
    guard standing.isAwake else { return }
    if let since = standing.own.bareSince {
      if since.advanced(by: standing.policy.longestBare) < standing.now {
        tell(standing.now, "waits, and nothing is outstanding with the system")
      }
    } else {
      isTold = false
    }
    guard !asked.isEmpty else { return }
    for (id, due) in asked.sorted(by: { $0.key < $1.key })
    where max(due, awakeSince.advanced(by: .seconds(1))) < standing.now {
      asked[id] = nil
      found.add(.stuck, at: standing.now, "request \(id) is not answered")
    }
  }

  private mutating func tell(_ now: Instant, _ detail: String) {
    if !isTold { found.add(.stuck, at: now, detail) }
    isTold = true
  }

  mutating func conclude(_ standing: Standing<BottleFeature>) {
    guard isAway, standing.own.isKept else { return }
    found.add(.storm, at: standing.now, "was left, and something is outstanding with the system")
  }
}

extension LinkPolicy {
  /// How long an app that is awake may leave nothing with the system: after a fast failure.
  var longestBare: Duration {
    guard case .queuedConnect(let queue) = standby else { return .zero }
    return max(queue.floor, queue.rearm) + .milliseconds(100)
  }
}
