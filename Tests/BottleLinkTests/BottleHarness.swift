import HoldfastBottleData
import HoldfastCore
import HoldfastFirmware
import HoldfastTestKit
import HoldfastVirtualBottle
import Testing

@testable import HoldfastBottleLink

/// A phone with a store, a bottle, and the radio between them, in virtual time.
///
/// The phone's system behaves as iOS does. A burst finds an advertisement within a second, and the
/// queued connect finds one after `passive`. In the background, the app's timers run for 10 s after
/// each event of the radio and then stop until the next event.
struct BottleHarness {
  static let id = PeripheralID(UUID128(high: 7, low: 7))
  static let wall = Timestamp(nanoseconds: 1_768_766_400_000_000_000)

  enum Event: Sendable, Equatable {
    case model(BottleModel.Input)
    case bottle(VirtualBottle.Input)
    case meet
    case discovered(AttemptID)
  }

  var model: BottleModel
  var bottle: VirtualBottle
  var store = StoredDrinks()
  var now = Instant.zero
  var isInRange = true
  var adapter = AdapterState.on
  var isInBackground = false
  var isRunning = true
  /// The time that the system takes to notice an advertisement without a scan.
  var passive = Duration.seconds(12)
  /// The time for which the system keeps a background app running after an event.
  var grant = Duration.seconds(10)
  var runsUntil = Instant.zero
  var longestValue = 244
  /// The time that a notification takes. The reply to a write takes 30 ms.
  var notifying = Duration.milliseconds(40)
  /// The failure with which the store refuses commits of records; `nil` if it stores them.
  var storeFailure: StoreFailure?
  /// The numbers of the notifications to drop, counted from 1.
  var dropped: Set<Int> = []
  var repeated: Set<Int> = []
  /// The maximum number of bytes that a notification carries; `nil` for no limit.
  var cutsAt: Int?
  var notified = 0
  /// The number of future clock writes that are lost in transit.
  var failingTimes = 0

  var updates: [BottleUpdate] = []
  var log: [(at: Double, effect: BottleModel.Effect)] = []
  private var queue: [(at: Instant, order: Int, event: Event)] = []
  private var order = 0
  /// The pending connects, oldest first.
  private var tickets: [(attempt: AttemptID, isQueued: Bool, restsUntil: Instant)] = []
  private var isScanning = false
  private(set) var isLinked = false
  /// Whether the bottle changed its services, and they have not been discovered again. Until then,
  /// notifications are lost and writes fail.
  private var isChanged = false

  init(
    _ profile: TimerProfile = .plan035, policy: LinkPolicy = .bottleLink,
    settings change: (inout BottleSettings) -> Void = { _ in }
  ) {
    var settings = BottleSettings(policy: policy)
    change(&settings)
    model = BottleModel(settings, seed: 7)
    bottle = VirtualBottle(profile, at: .zero)
  }

  /// Returns a phone in the foreground with a known bottle and a started link. The bottle is
  /// asleep.
  static func wanted(
    _ profile: TimerProfile = .plan035, policy: LinkPolicy = .bottleLink
  ) -> BottleHarness {
    var harness = BottleHarness(profile, policy: policy)
    var change = DrinkChange(at: wall)
    change.bottle = KnownBottle(id, name: "Bottle")
    _ = harness.store.commit(change)
    harness.launch()
    return harness
  }

  /// Returns the harness of `wanted(_:policy:)`, connected and synchronized.
  static func connected(_ profile: TimerProfile = .plan035) -> BottleHarness {
    var harness = wanted(profile)
    harness.touch(.moved)
    harness.touch(.stands(true))
    harness.pass(4)
    #expect(harness.status.phase == .connected)
    (harness.updates, harness.log) = ([], [])
    return harness
  }

  var seconds: Double { Double(now.nanoseconds) / 1e9 }
  var wall: Timestamp { Self.wall.advanced(by: .nanoseconds(now.nanoseconds)) }
  var status: BottleStatus { model.status }
  var drinks: [BottleDrink] {
    updates.compactMap { if case .drink(let drink) = $0 { drink } else { nil } }
  }
  var stored: [UInt32] { store.drinks(before: nil, limit: 10_000).map(\.record.id) }
  var notices: [BottleNotice] {
    updates.compactMap { if case .notice(let notice) = $0 { notice } else { nil } }
  }
  /// Whether the system has suspended the app.
  var isSuspended: Bool { isInBackground && now >= runsUntil }

  /// Starts the app, for the first time or again after it was ended.
  mutating func launch(restoring: [RestoredPeripheral]? = nil) {
    isRunning = true
    give(.restored(store.snapshot))
    if let restoring { give(.central(.restored(restoring))) }
    give(.start)
    give(.central(.adapter(adapter)))
  }

  /// Ends the app. If `keeping` is true, the system keeps the pending connects, as iOS does unless
  /// the user ended the app.
  mutating func kill(keeping: Bool) {
    isRunning = false
    isScanning = false
    queue.removeAll { if case .bottle = $0.event { false } else { $0.event != .meet } }
    if !keeping {
      tickets = []
      unlink()
    }
    model = BottleModel(model.settings, seed: 8)
  }

  mutating func touch(_ input: BottleInput) { radio(bottle.handle(.world(input), at: now)) }

  /// Changes the bottle's services during the connection, and reports it to the phone.
  mutating func changeServices() {
    guard isLinked else { return }
    isChanged = true
    for ticket in tickets { later(.milliseconds(10), .model(.central(.changed(ticket.attempt)))) }
  }

  /// Restarts the bottle, as if its battery had been taken out and put back.
  mutating func restart() { radio(bottle.handle(.restarted, at: now)) }

  /// Deletes a record, as another phone would.
  mutating func deleteOnBottle(_ id: UInt32) {
    _ = bottle.handle(.connected(longestValue: 100), at: now)
    _ = bottle.handle(.written(.command, BottleCommand.delete(id).bytes), at: now)
    radio(bottle.handle(.disconnected, at: now))
  }

  mutating func give(_ input: BottleModel.Input) {
    guard isRunning else { return }
    perform(model.handle(input, at: now))
    #expect(model.brokenInvariants(.thorough) == [])
  }

  mutating func background() {
    isInBackground = true
    runsUntil = now.advanced(by: grant)
    give(.link(.device(.lifecycle(.background))))
  }

  mutating func foreground() {
    isInBackground = false
    give(.link(.device(.lifecycle(.foreground))))
  }

  mutating func range(_ isIn: Bool) {
    isInRange = isIn
    isIn ? meet() : later(.seconds(6), .meet)
  }

  mutating func adapter(_ state: AdapterState) {
    adapter = state
    if state != .on {
      tickets = []
      isScanning = false
      if isLinked { unlink() }
    }
    give(.central(.adapter(state)))
  }

  /// Lets time pass.
  mutating func pass(_ seconds: Double) { pass(until: now.advanced(by: .milliseconds(seconds))) }

  /// Lets time pass until `holds` returns true. Returns how long that took in seconds, or `nil` if
  /// it took longer than `limit`.
  mutating func wait(
    _ limit: Double, until holds: (BottleHarness) -> Bool
  ) -> Double? {
    let start = seconds
    while seconds - start < limit {
      if holds(self) { return seconds - start }
      pass(0.05)
    }
    return holds(self) ? seconds - start : nil
  }

  private mutating func pass(until end: Instant) {
    while true {
      let next = queue.min { ($0.at, $0.order) < ($1.at, $1.order) }
      let timer = isRunning ? model.deadline.map { max($0, now) } : nil
      let isAwake = !isInBackground || (timer ?? .zero) < runsUntil
      let times = [next?.at, isAwake ? timer : nil, bottle.deadline.map { max($0, now) }]
      guard let at = times.compactMap(\.self).min(), at <= end else { break }
      now = at
      if let next, next.at == at {
        queue.removeAll { $0.order == next.order }
        take(next.event)
      } else if bottle.deadline.map({ $0 <= at }) == true {
        radio(bottle.tick(at: at))
      } else {
        perform(model.tick(at: at))
        #expect(model.brokenInvariants(.thorough) == [])
      }
    }
    now = end
  }

  private mutating func take(_ event: Event) {
    switch event {
    case .model(let input):
      // An event of the radio wakes a suspended app.
      runsUntil = max(runsUntil, now.advanced(by: grant))
      give(input)
    case .bottle(let input): radio(bottle.handle(input, at: now))
    case .meet: meet()
    case .discovered(let attempt):
      guard isLinked else { return }
      isChanged = false
      give(
        .discovered(attempt, longestValue: longestValue, bottle.state, at: wall))
    }
  }

  mutating func later(_ wait: Duration, _ event: Event) {
    order += 1
    queue.append((now.advanced(by: wait), order, event))
  }

  // MARK: the phone's effects

  private mutating func perform(_ effects: [BottleModel.Effect]) {
    for effect in effects {
      log.append((seconds, effect))
      switch effect {
      case .scan:
        isScanning = true
        later(.milliseconds(700), .meet)
      case .stopScan: isScanning = false
      case .connect(let attempt, _, let isQueued, let rest):
        if !tickets.contains(where: { $0.attempt == attempt }) {
          tickets.append((attempt, isQueued, now.advanced(by: rest)))
        }
        if isLinked {
          later(.milliseconds(1), .model(.central(.connected(attempt))))
        } else {
          later(rest + .milliseconds(isQueued ? 1 : 50), .meet)
        }
      case .cancel(let attempt, _): cancel(attempt)
      case .discover(let attempt): later(.milliseconds(400), .discovered(attempt))
      case .write(_, let id, let attribute, let bytes): write(id, attribute, bytes)
      case .commit(let id, let change): commit(id, change)
      case .confirm(let number): store.confirm(number)
      case .update(let update): updates.append(update)
      }
    }
  }

  private mutating func cancel(_ attempt: AttemptID) {
    let count = tickets.count
    tickets.removeAll { $0.attempt == attempt }
    if count > 0, tickets.isEmpty, isLinked { unlink() }
  }

  private mutating func write(
    _ id: WriteID, _ attribute: BottleAttribute, _ bytes: [UInt8]
  ) {
    guard isLinked else { return }
    guard !isChanged else {
      return later(.milliseconds(30), .model(.unwritten(id, .protocolError(detail: "no part"))))
    }
    if failingTimes > 0, attribute == .command, case .setTime? = try? BottleCommand(bytes) {
      failingTimes -= 1
      return later(.seconds(1), .model(.unwritten(id, .timeout(.response))))
    }
    let outputs = bottle.handle(.written(attribute, bytes), at: now.advanced(by: .milliseconds(20)))
    let isTaken = !outputs.contains(.answers(attribute, isTaken: false))
    later(
      .milliseconds(30), .model(isTaken ? .written(id) : .unwritten(id, .refused)))
    radio(outputs)
  }

  private mutating func commit(_ id: UInt64, _ change: DrinkChange) {
    if let storeFailure, !change.records.isEmpty {
      later(.milliseconds(5), .model(.uncommitted(id, storeFailure)))
    } else {
      later(.milliseconds(5), .model(.committed(id, store.commit(change))))
    }
  }

  // MARK: the radio

  private mutating func radio(_ outputs: [VirtualBottle.Output]) {
    for output in outputs {
      switch output {
      case .advertises(true): later(.milliseconds(300), .meet)
      case .advertises(false): passiveSince = nil
      case .disconnects: drop(.reset)
      case .notifies(let attribute, let bytes): notify(attribute, bytes)
      case .answers, .sleeps, .stores: break
      }
    }
  }

  private mutating func notify(_ attribute: BottleAttribute, _ bytes: [UInt8]) {
    guard isLinked, isInRange, !isChanged, let attempt = tickets.first?.attempt,
      let news = BottleModel.News(Array(bytes.prefix(cutsAt ?? .max)), of: attribute)
    else { return }
    notified += 1
    guard !dropped.contains(notified) else { return }
    for _ in 0..<(repeated.contains(notified) ? 2 : 1) {
      later(notifying, .model(.heard(attempt, news, at: wall)))
    }
  }

  /// Loses the connection and reports the loss to the phone.
  mutating func drop(_ failure: LinkFailure?) {
    guard isLinked else { return }
    isLinked = false
    queue.removeAll { if case .discovered = $0.event { true } else { false } }
    let lost = tickets
    tickets = []
    for ticket in lost {
      later(.milliseconds(10), .model(.central(.disconnected(ticket.attempt, failure))))
    }
    later(.milliseconds(20), .bottle(.disconnected))
  }

  /// Ends the connection on the phone's side.
  private mutating func unlink() {
    guard isLinked else { return }
    isLinked = false
    queue.removeAll {
      switch $0.event {
      case .discovered, .model(.heard), .model(.written), .model(.unwritten): true
      case .model, .bottle, .meet: false
      }
    }
    later(.milliseconds(50), .bottle(.disconnected))
  }

  /// Connects the phone and the bottle if both are ready.
  private mutating func meet() {
    guard adapter == .on else { return }
    if isLinked, !isInRange { return drop(.timeout(.silence)) }
    guard isInRange, !isLinked, bottle.bottle.isAdvertising else { return }
    if isScanning, !isSuspended { give(.central(.found(Self.id, name: "Bottle"))) }
    let awake = tickets.filter { $0.restsUntil <= now }
    guard let first = awake.first else { return }
    let isEager = awake.contains { !$0.isQueued }
    if !isEager, !isScanning {
      // Only the system's passive scan is left. It takes the time `passive` once both are in range.
      guard passiveIsDue(first.attempt) else { return }
    }
    radio(bottle.handle(.connected(longestValue: longestValue), at: now))
    guard bottle.bottle.isConnected else { return }
    (isLinked, isChanged) = (true, false)
    passiveSince = nil
    if !isRunning {
      let previous = tickets
      tickets = []
      isLinked = true
      launch(restoring: previous.map { _ in RestoredPeripheral(Self.id, isConnected: true) })
      return
    }
    for ticket in tickets { later(.milliseconds(1), .model(.central(.connected(ticket.attempt)))) }
  }

  private var passiveSince: (start: Instant, attempt: AttemptID)?

  private mutating func passiveIsDue(_ attempt: AttemptID) -> Bool {
    if let since = passiveSince, since.attempt == attempt {
      return since.start.duration(to: now) >= passive
    }
    passiveSince = (now, attempt)
    later(passive, .meet)
    return false
  }
}

extension Duration {
  fileprivate static func milliseconds(_ seconds: Double) -> Duration {
    .nanoseconds(Int64((seconds * 1e9).rounded()))
  }
}
