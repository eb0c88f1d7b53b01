import LinkCore
import LinkServerCore
import LinkWire

/// A server of health sync beside its twin, which says after each step what it should have done.
struct WatchedServer {
  var rules: SyncServer
  private var twin: SyncHouse
  private var stray: String?
  /// Once they differ, all that follows does.
  private var isLost = false

  /// - Parameter defect: What the server does otherwise than its twin expects.
  init(_ defect: SyncFeature.Defect? = nil, at now: Instant) {
    var policy = SyncServerPolicy()
    if defect == .hurriesBack { policy.storeRetry = .seconds(29) }
    (rules, twin) = (SyncServer(policy: policy, at: now), SyncHouse(at: now))
  }

  mutating func handle(_ event: SyncLetter.Event, at now: Instant) -> [SyncServer.Effect] {
    let effects = rules.handle(event.input, at: now)
    compare(event, effects, at: now)
    return effects
  }

  mutating func tick(at now: Instant) -> [SyncServer.Effect] {
    let effects = rules.tick(at: now)
    compare(nil, effects, at: now)
    return effects
  }

  private mutating func compare(
    _ event: SyncLetter.Event?, _ effects: [SyncServer.Effect], at now: Instant
  ) {
    guard !isLost else { return }
    let orders = twin.step(event, at: now)
    let found = effects.map { SyncOrder($0) }
    if found != orders {
      let place = zip(found, orders).prefix { $0 == $1 }.count
      let (one, two) = (found.dropFirst(place).first, orders.dropFirst(place).first)
      note("asks for \(Self.short(one)), and must for \(Self.short(two))")
    } else if rules.deadline != twin.deadline {
      note("has the deadline \(Self.short(rules.deadline)), not \(Self.short(twin.deadline))")
    } else if rules.serviceHealth != twin.health || rules.isFinished != (twin.mode == .ended) {
      note("says that it is \(rules.serviceHealth), not \(twin.health)")
    }
  }

  private static func short(_ value: (some Any)?) -> String {
    value.map { String("\($0)".prefix(400)) } ?? "nothing"
  }

  private mutating func note(_ what: String) {
    stray = stray ?? "the server " + what
    isLost = true
  }

  /// Compares what the server counts.
  mutating func compareCounts() {
    guard !isLost else { return }
    var page = MetricsPage()
    rules.report(to: &page)
    guard page.text != twin.page else { return }
    let lines = (page.text.split(separator: "\n"), twin.page.split(separator: "\n"))
    let first = zip(lines.0, lines.1).first { $0 != $1 }
    note("counts \(first.map { "\($0.0), not \($0.1)" } ?? "more or less")")
  }

  /// What it did wrongly since the last call.
  mutating func newStray() -> String? {
    defer { stray = nil }
    return stray
  }
}

extension SyncHouse {
  /// What is said of it to who watches over it.
  var health: ServiceHealth {
    guard mode == .serves else { return .draining }
    guard let failure else { return .ok }
    switch failure {
    case .full: return .failing(reason: "the disk of the sync store is full")
    case .locked: return .failing(reason: "another program holds the sync store")
    case .corrupt: return .failing(reason: "the sync store is damaged")
    case .fromTheFuture: return .failing(reason: "the sync store is of a newer version")
    case .denied: return .failing(reason: "the sync store cannot be written")
    case .other: return .failing(reason: "the sync store failed")
    }
  }
}
