import BottleLink
import LinkCore
import LinkWire

/// What a phone must show of its link, and what its radio must be asked for.
///
/// It follows the radio: what was asked for and not taken back. The link's own state, which other
/// checkers judge, is taken from it.
struct BottleStatusTwin: Sendable {
  private var shown = BottleStatus()
  private var isScanning = false
  /// The attempt of a burst that has found the bottle.
  private var found: AttemptID?
  private var connected: AttemptID?
  private var isReady = false
  private var adapter = AdapterState.unknown
  private var wasKnown = false

  /// Returns how the effects of a step differ from what they must be.
  mutating func stray(
    _ input: BottleModel.Input?, _ effects: [BottleModel.Effect],
    _ standing: Standing<BottleFeature>
  ) -> String? {
    let wasLooking = isScanning && found == nil && standing.own.isKnown && wasKnown
    take(input, effects)
    var status: BottleStatus?
    var told: String?
    for effect in effects {
      if case .update(.status(let new)) = effect { status = new }
      told = told ?? ask(effect, standing)
    }
    wasKnown = standing.own.isKnown
    if let told { return told }
    if let missing = missing(input, effects, wasLooking, standing) { return missing }
    return judge(status, standing)
  }

  private mutating func take(_ input: BottleModel.Input?, _ effects: [BottleModel.Effect]) {
    switch input {
    case .central(.adapter(let state)): adapter = state
    case .central(.failed(let attempt, _)), .central(.disconnected(let attempt, _)):
      forget(attempt)
    case .discovered(let attempt, _, _, _): if attempt == connected { isReady = true }
    case .start, .stop, .refresh, .hold, .perform, .choose, .shown, .link, .central, .undiscovered,
      .heard, .written, .unwritten, .restored, .committed, .uncommitted, nil:
      break
    }
  }

  private mutating func forget(_ attempt: AttemptID) {
    if found == attempt { found = nil }
    if connected == attempt { (connected, isReady) = (nil, false) }
  }

  /// Follows what the radio is asked for; returns what it must not be asked for.
  private mutating func ask(
    _ effect: BottleModel.Effect, _ standing: Standing<BottleFeature>
  ) -> String? {
    switch effect {
    case .scan:
      if isScanning { return "it scans while it scans" }
      isScanning = true
    case .stopScan:
      if !isScanning { return "it ends a scan that does not run" }
      isScanning = false
    case .connect(let attempt, let id, let isQueued):
      if id != BottleRadio.id { return "it connects to another bottle" }
      if !isQueued { found = attempt }
      let right = isQueued ? standing.queuedAttempt : standing.currentAttempt
      if attempt != right { return "it connects as \(attempt), which the link does not know" }
    case .cancel(let attempt): forget(attempt)
    case .discover(let attempt): (connected, isReady, found) = (attempt, false, nil)
    case .write, .commit, .confirm, .update: break
    }
    return nil
  }

  /// What the radio must be asked for when it tells of a bottle or a connection.
  private func missing(
    _ input: BottleModel.Input?, _ effects: [BottleModel.Effect], _ wasLooking: Bool,
    _ standing: Standing<BottleFeature>
  ) -> String? {
    switch input {
    case .central(.found(BottleRadio.id, _)):
      guard wasLooking, let attempt = standing.currentAttempt, connected == nil else { return nil }
      return effects.contains(.connect(attempt, BottleRadio.id, isQueued: false))
        ? nil : "it does not connect to the bottle that it looks for"
    case .central(.connected(let attempt)):
      if attempt == connected { return nil }
      return effects.contains(.cancel(attempt))
        ? nil : "it keeps connection \(attempt.number), which it does not use"
    case .start, .stop, .refresh, .hold, .perform, .choose, .shown, .link, .central, .discovered,
      .undiscovered, .heard, .written, .unwritten, .restored, .committed, .uncommitted, nil:
      return nil
    }
  }

  // The status.

  private mutating func judge(
    _ told: BottleStatus?, _ standing: Standing<BottleFeature>
  ) -> String? {
    var expected = BottleStatus()
    expected.adapter = adapter
    expected.reason = standing.status.reason
    expected.retryAt = standing.status.retryAt
    let isBurst = connected == nil && found == nil && standing.currentAttempt != nil
    let looks = isBurst || !standing.own.isKnown && standing.queuedAttempt != nil
    if looks != isScanning { return looks ? "it does not scan" : "it scans without a reason" }
    expected.phase = phase(isBurst)
    expected.outstanding = outstanding(isBurst, standing)
    if let told {
      guard told != shown else { return "it shows the same status again" }
      shown = told
    }
    return shown == expected ? nil : "it shows \(shown) instead of \(expected)"
  }

  private func phase(_ isBurst: Bool) -> BottleStatus.Phase {
    if connected != nil { return isReady ? .connected : .discovering }
    if found != nil { return .connecting }
    return isBurst ? .scanning : .disconnected
  }

  private func outstanding(
    _ isBurst: Bool, _ standing: Standing<BottleFeature>
  ) -> [BottleStatus.Outstanding] {
    guard standing.own.isLinkWanted else { return [] }
    var all: [BottleStatus.Outstanding] = []
    if connected != nil {
      if !isReady { all.append(.discovery) }
      all.append(.connection)
    } else if found != nil {
      all.append(.connect)
    } else if isBurst {
      all.append(.scan)
    }
    if standing.queuedAttempt != nil {
      all.append(standing.own.isKnown ? .queuedConnect : .queuedScan)
    }
    if adapter != .on { all.append(.adapter) }
    if standing.own.isTimed, connected == nil, found == nil, !isBurst { all.append(.timer) }
    return all
  }
}
