@_spi(Script) import CoreBluetooth
import HoldfastBluetooth
import HoldfastBottleData
import HoldfastBottleLink
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastFirmware
import HoldfastTestKit
import HoldfastVirtualBottle
import Testing

/// Tests of the four scenarios of seed 002: the model of a bottle's client, the real adapter, and
/// the firmware behind the stand-in of Core Bluetooth, in virtual time.
@Suite(.timeLimit(.minutes(60)))
struct BottleTests {
  @Test func `test 1: in the foreground a bottle that wakes is connected within 5 seconds`()
    async throws
  {
    let phone = try await BottlePhone.connected()
    await phone.background()
    await phone.pass(6)
    #expect(await phone.link() != .connected, "the app leaves after 5 seconds")
    await phone.pass(300)
    await phone.give(.moved)
    await phone.foreground()
    #expect(await phone.isConnected(within: 5))
    await phone.expectNoMisuse()
  }

  @Test func `test 2: after walking out of range and back it is connected within 8 seconds`()
    async throws
  {
    let phone = try await BottlePhone.connected()
    await phone.leave()
    #expect(phone.model.status.phase != .connected)
    await phone.give(.moved, .stands(true), .poured(120))
    await phone.comeBack()
    #expect(await phone.isConnected(within: 8))
    await phone.pass(5)
    #expect(phone.drinks == [120])
    #expect(phone.shown == [120])
    await phone.expectNoMisuse()
  }

  @Test func `test 3: in the background a drink is synchronized before the app is opened`()
    async throws
  {
    let phone = try await BottlePhone.connected()
    await phone.background()
    await phone.pass(606)
    await phone.system.on { $0.notices = false }
    await phone.give(.moved, .stands(true), .poured(250))
    await phone.pass(20)
    #expect(phone.drinks == [])
    await phone.notice()
    await phone.pass(5)
    #expect(phone.drinks == [250])
    await phone.expectNoMisuse()
  }

  @Test func `test 4: after a forced end it reconnects at the next launch`() async throws {
    let phone = try await BottlePhone.connected()
    await phone.forceQuit()
    await phone.pass(60)
    await phone.give(.moved, .stands(true), .poured(60))
    await phone.launch()
    #expect(await phone.isConnected(within: 5))
    await phone.pass(5)
    #expect(phone.drinks == [60])
    #expect(phone.shown == [60])
    await phone.expectNoMisuse()
  }

  @Test func `an app that the system ended is launched connected, and synchronizes`() async throws {
    let phone = try await BottlePhone.connected()
    await phone.background()
    await phone.pass(60)
    await phone.endedBySystem()
    await phone.give(.moved, .stands(true), .poured(90))
    await phone.connectWithoutApp()
    await phone.launch()
    #expect(await phone.isConnected(within: 5))
    await phone.pass(5)
    #expect(phone.drinks == [90])
    await phone.expectNoMisuse()
  }

  @Test func `drinks of 8 hours out of range without a process are stored once after the return`()
    async throws
  {
    let phone = try await BottlePhone.connected()
    await phone.background()
    await phone.leave()
    await phone.endedBySystem()
    for hour in 1...8 {
      await phone.pass(3_000)
      // With a new record the bottle stays awake until its deep sleep, from which a tap wakes it.
      await phone.give(.tapped, .moved, .stands(true), .poured(Int16(100 + hour)), .stands(true))
      await phone.pass(600)
    }
    #expect(await phone.unsynced() == 8)
    await phone.comeBack()
    await phone.give(.tapped, .moved)
    await phone.connectWithoutApp()
    #expect(await phone.link() == .connected, "the system kept the connect")
    await phone.launch()
    #expect(await phone.isConnected(within: 5))
    await phone.pass(10)
    #expect(phone.drinks == (101...108).map(\.self), "nothing is lost or stored twice")
    #expect(phone.shown == phone.drinks)
    #expect(await phone.unsynced() == 0)
    await phone.expectNoMisuse()
  }

  @Test func `the battery and the calibration are subscribed, though no discovery names them`()
    async throws
  {
    let phone = try await BottlePhone.connected()
    #expect(
      await phone.system.on { $0.calls.filter { $0 == "notify true" }.count } == 4,
      "state, drinks, calibration and battery")
  }
}

/// A phone that runs the model of a bottle's client over the real adapter, one step at a time.
private final class BottlePhone {
  private static let wall = Timestamp(nanoseconds: 1_768_766_400_000_000_000)
  /// The time for which the system runs a background app after an event.
  private static let grant = Duration.seconds(10)

  let system: FakeBluetooth
  private let host: BottleHost
  private(set) var model = BottleModel(BottleSettings(), seed: 7)
  private var central: CoreBluetoothCentral?
  private var events = Mailbox<CentralEvent>()
  private var inputs: [BottleModel.Input] = []
  private var store = StoredDrinks()
  private var now = Instant.zero
  private var isInBackground = false
  private var runsUntil = Instant.zero
  private var rest: (connects: Int, end: Instant)?
  /// The amounts of the drinks that the app has shown since the launch.
  private(set) var shown: [Int] = []

  init() {
    host = BottleHost()
    system = host.system
  }

  /// Returns a phone in the foreground that is connected to its bottle.
  static func connected() async throws -> BottlePhone {
    let phone = BottlePhone()
    await phone.launch()
    await phone.give(.moved, .stands(true))
    try #require(await phone.isConnected(within: 5))
    await phone.pass(1)
    return phone
  }

  var drinks: [Int] {
    store.drinks(before: nil, limit: 100).map { Int($0.record.amount) }
  }

  func link() async -> FakeDevice.Link { await system.on { [host] _ in host.device.link } }

  /// Returns the number of records that the bottle considers not stored.
  func unsynced() async -> UInt16 { await system.on { [host] _ in host.bottle.bottle.unsynced } }

  func launch() async {
    let made = system.central(restoration: "bottle")
    (central, events, isInBackground, shown) = (made, Mailbox(), false, [])
    made.events { [events] in events.put($0) }
    model = BottleModel(BottleSettings(), seed: 7)
    inputs = [.restored(store.snapshot), .start]
    await settle()
  }

  func background() async {
    (isInBackground, runsUntil) = (true, now.advanced(by: Self.grant))
    await take(.link(.device(.lifecycle(.background))))
  }

  func foreground() async {
    isInBackground = false
    await take(.link(.device(.lifecycle(.foreground))))
  }

  func forceQuit() async { await end { $0.forceQuit() } }

  func endedBySystem() async { await end { $0.kill() } }

  private func end(_ work: @escaping @Sendable (FakeBluetooth) -> Void) async {
    await system.on(work)
    central = nil
    inputs = []
  }

  /// Lets the system open the connect that it kept.
  func connectWithoutApp() async {
    await system.on { [host] _ in
      guard host.device.link == .pending, host.device.isAdvertising else { return }
      (host.device.link, host.device.isAdvertising) = (.connected, false)
      host.device.tell?(.connected)
    }
  }

  /// Lets the system notice advertisements.
  func notice() async {
    await system.on {
      $0.notices = true
      $0.look()
    }
    await settle()
  }

  /// Moves out of range. The radio notices this after 6 seconds.
  func leave() async {
    await system.on { [host] _ in host.device.isInRange = false }
    await pass(6)
    await system.on { [host] in
      $0.lose(host.device)
      host.take(.disconnected)
    }
    await settle()
  }

  func comeBack() async {
    await system.on { [host] in
      host.device.isInRange = true
      $0.look()
    }
    await settle()
  }

  func give(_ inputs: BottleInput...) async {
    await system.on { [host, now] _ in
      host.now = now
      for input in inputs { host.handle(.world(input)) }
    }
    await settle()
  }

  /// Lets time pass until the bottle is connected, and returns whether it is in time.
  func isConnected(within limit: Double) async -> Bool {
    var left = limit
    while model.status.phase != .connected, left > 0 {
      await pass(0.1)
      left -= 0.1
    }
    return model.status.phase == .connected
  }

  func pass(_ seconds: Double) async {
    let end = now.advanced(by: .nanoseconds(Int64(seconds * 1e9)))
    while let due = await nextDeadline(), due <= end {
      now = max(due, now)
      await tick()
    }
    now = end
    await system.on { [host, now] _ in host.now = now }
  }

  private func nextDeadline() async -> Instant? {
    let (device, connects, delay) = await system.on { [host] _ in
      (host.bottle.deadline, host.device.connects, host.device.isResting ? host.device.delay : nil)
    }
    if let delay, rest?.connects != connects {
      rest = (connects, now.advanced(by: .seconds(delay)))
    }
    if delay == nil { rest = nil }
    let timer = central == nil ? nil : model.deadline.map { max($0, now) }
    let isAwake = !isInBackground || (timer ?? .zero) < runsUntil
    return [device.map { max($0, now) }, isAwake ? timer : nil, rest?.end].compactMap(\.self).min()
  }

  private func tick() async {
    let isRested = rest.map { $0.end <= now } ?? false
    if isRested { rest = nil }
    await system.on { [host, now] in
      host.now = now
      host.tick()
      if isRested {
        host.device.isResting = false
        $0.look()
      }
    }
    let isAwake = !isInBackground || now < runsUntil
    if central != nil, isAwake, let due = model.deadline, due <= now {
      await perform(model.tick(at: now))
    }
    await settle()
  }

  private func take(_ input: BottleModel.Input) async {
    inputs.append(input)
    await settle()
  }

  /// Handles inputs and events until none is left.
  private func settle() async {
    await system.on { [host, now] _ in host.now = now }
    var quiet = 0
    while quiet < 12 {
      quiet += 1
      await system.on { _ in }
      let new = events.takeAll()
      inputs += new.compactMap { input(of: $0) }
      if !new.isEmpty { runsUntil = max(runsUntil, now.advanced(by: Self.grant)) }
      while central != nil, !inputs.isEmpty {
        quiet = 0
        await perform(model.handle(inputs.removeFirst(), at: now))
        #expect(model.brokenInvariants(.thorough) == [])
      }
    }
  }

  private var time: Timestamp { Self.wall.advanced(by: Instant.zero.duration(to: now)) }

  private func input(of event: CentralEvent) -> BottleModel.Input? {
    guard case .value(let attempt, let id, let bytes) = event else { return .central(event) }
    guard let attribute = BottleAttribute(id: id),
      let news = BottleModel.News(bytes, of: attribute)
    else { return nil }
    return .heard(attempt, news, at: time)
  }

  private func perform(_ effects: [BottleModel.Effect]) async {
    guard let central else { return }
    for effect in effects {
      switch effect {
      case .scan: central.scan(for: [BottleAttribute.service])
      case .stopScan: central.stopScan()
      case .connect(let attempt, let id, let isQueued, let rest):
        central.connect(id, attempt: attempt, isQueued: isQueued, after: rest)
      case .cancel(let attempt, _): central.cancel(attempt)
      case .discover(let attempt): await discover(attempt, central)
      case .write(let attempt, let id, let attribute, let bytes):
        await write(bytes, attribute, attempt, id, central)
      case .commit(let id, let change): inputs.append(.committed(id, store.commit(change)))
      case .update(.drink(let drink)): shown.append(Int(drink.record.amount))
      case .confirm, .update: continue
      }
    }
  }

  private func discover(_ attempt: AttemptID, _ central: CoreBluetoothCentral) async {
    do throws(LinkFailure) {
      try await central.discover(
        BottleAttribute.service, BottleAttribute.required.map(\.id), of: attempt)
      try await central.notify(BottleAttribute.state.id, of: attempt)
      try await central.notify(BottleAttribute.drinks.id, of: attempt)
      for attribute in [BottleAttribute.calibration, .battery] {
        try? await central.notify(attribute.id, of: attempt)
      }
      let bytes = try await central.read(BottleAttribute.state.id, of: attempt)
      let longest = await central.longestValue(of: attempt)
      guard let state = try? BottleState(bytes) else {
        throw .protocolError(detail: "no state: \(bytes)")
      }
      inputs.append(.discovered(attempt, longestValue: longest, state, at: time))
    } catch {
      inputs.append(.undiscovered(attempt, error))
    }
  }

  private func write(
    _ bytes: [UInt8], _ attribute: BottleAttribute, _ attempt: AttemptID, _ id: WriteID,
    _ central: CoreBluetoothCentral
  ) async {
    do throws(LinkFailure) {
      try await central.write(bytes, to: attribute.id, of: attempt)
      inputs.append(.written(id))
    } catch {
      inputs.append(.unwritten(id, error))
    }
  }

  func expectNoMisuse() async {
    #expect(system.radio.misuses == [])
    #expect(system.radio.unanswered == [])
    #expect(await system.on(\.violations) == [])
  }
}
