public import HoldfastBottleChecks
import HoldfastBottleData
public import HoldfastBottleLink
import HoldfastCore
public import HoldfastLinkChecks
import HoldfastWorldKernel

/// The checkers of a bottle's guarantees that need to know what the radio, the phone's system and
/// the bottle do.
public struct BottleWorldCheckers: FeatureCheckers {
  /// The feature that the checkers check.
  public typealias Feature = BottleFeature

  private var found = Findings()
  private var scans = BottleScans()
  private var idling = IdleChecker()
  private var writes = WriteChecker()
  /// For each record that has not been stored, the time at which the bottle made it.
  private var waiting: [UInt32: Instant] = [:]
  private var known: Set<UInt32> = []

  public init() {}

  public var findings: [Finding] {
    found.all + scans.found.all + idling.found.all + writes.found.all
  }

  public mutating func stepped(
    _ input: BottleModel.Input?, isLate: Bool, _ effects: [BottleModel.Effect],
    _ phoneState: PhoneState<BottleFeature>
  ) {
    checkDeadlines(phoneState)
    scans.received(input, isLate: isLate, phoneState)
    idling.received(input, isLate: isLate, phoneState)
    if let input { writes.received(input) }
    for effect in effects {
      scans.requested(effect, phoneState)
      idling.requested(effect, isTick: input == nil, phoneState)
      writes.requested(effect, at: phoneState.now)
    }
    scans.stepEnded(phoneState)
    idling.stepEnded(phoneState)
  }

  public mutating func handle(
    _ seen: Observation<BottleFeature>, _ phoneState: PhoneState<BottleFeature>
  ) {
    checkDeadlines(phoneState)
    scans.handle(seen, phoneState)
    idling.handle(seen, phoneState)
    switch seen {
    case .launched, .killed: writes.ended()
    case .fact(let fact): noted(fact, phoneState)
    case .suspended, .resumed, .received, .ticked, .upgraded, .serverLost, .wentDead, .server,
      .began, .ended, .calm:
      return
    }
  }

  public mutating func noted(
    _ fact: Feature.Fact, _ phoneState: PhoneState<BottleFeature>
  ) {
    switch fact {
    case .recorded(let id): waiting[id] = phoneState.now
    case .removed(let id): waiting[id] = nil
    case .stored(let id):
      waiting[id] = nil
      guard !known.insert(id).inserted else { return }
      found.add(.duplicated, at: phoneState.now, "record \(id) was stored twice")
    case .stamped(let isValid):
      if isValid { return }
      found.add(.untimed, at: phoneState.now, "a drink has no time although a phone is connected")
    case .erased: (waiting, known) = ([:], [])
    case .altered(let id):
      found.add(.untrue, at: phoneState.now, "record \(id) differs from the one that was made")
    case .advertises, .linked: return
    }
  }

  /// Reports records that were not stored in time.
  private mutating func checkDeadlines(_ phoneState: PhoneState<BottleFeature>) {
    guard let clear = phoneState.own.clearSince,
      clear.advanced(by: phoneState.own.bound) < phoneState.now, !waiting.isEmpty
    else { return }
    for (id, made) in waiting.sorted(by: { $0.key < $1.key }) {
      // Earlier records are stored only with the next connection.
      guard let start = made >= clear ? made : phoneState.own.freshSince,
        start.advanced(by: phoneState.own.bound) < phoneState.now
      else { continue }
      waiting[id] = nil
      let seconds = start.duration(to: phoneState.now).components.seconds
      found.add(
        .unsynced, at: phoneState.now,
        "record \(id) is not stored \(seconds) s after phone and bottle could meet")
    }
  }

  public mutating func conclude(_ phoneState: PhoneState<BottleFeature>) {
    let lost = phoneState.own.expected.sorted()
    if !lost.isEmpty {
      found.add(.lost, at: phoneState.now, "records \(lost) were never stored")
    }
  }
}

/// A checker that detects requests that are reported as done although they were not written.
private struct WriteChecker: Sendable {
  private(set) var found = Findings()
  /// The bytes of requests that have not been written yet.
  private var unwritten: [UInt64: (attribute: BottleAttribute, bytes: [UInt8])] = [:]

  mutating func received(_ input: BottleModel.Input) {
    if case .perform(let id, let request) = input {
      unwritten[id] = BottleRequestKind.written(request)
    }
  }

  mutating func requested(_ effect: BottleModel.Effect, at now: Instant) {
    switch effect {
    case .write(_, _, let attribute, let bytes):
      unwritten = unwritten.filter { $0.value.attribute != attribute || $0.value.bytes != bytes }
    case .update(.performed(let id, let result)):
      guard unwritten.removeValue(forKey: id) != nil, result == .done else { return }
      found.add(.untrue, at: now, "request \(id) is done but was not written")
    case .scan, .stopScan, .connect, .cancel, .discover, .commit, .confirm, .update: return
    }
  }

  /// Handles the start or the end of the process.
  mutating func ended() { unwritten = [:] }
}
