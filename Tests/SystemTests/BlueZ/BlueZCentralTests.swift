import HoldfastBottleData
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastTestKit
import Testing

@testable import HoldfastBlueZ

/// Tests of a central over BlueZ, with a fake daemon on a private bus.
@Suite(.enabled(if: PrivateBus.works, "needs dbus-daemon"), .timeLimit(.minutes(60)))
struct BlueZCentralTests {
  private static let value = BottleAttribute.state.id

  @Test(arguments: [true, false], [true, false])
  func `a BlueZ central satisfies the contract`(
    hasGattManager: Bool, hasMonitors: Bool
  ) async throws {
    let bus = try await PrivateBus()
    let bluez = try await FakeBlueZ(
      address: bus.address,
      FakeBlueZ.Setup(hasGattManager: hasGattManager, hasMonitors: hasMonitors))
    try await centralContract(
      BlueZCentral(services: [BottleAttribute.service], address: bus.address),
      far: BlueZFar(bluez: bluez))
    await bluez.end()
  }

  @Test func `a connect that BlueZ aborts is retried`() async throws {
    let harness = try await BlueZHarness()
    await harness.bluez.fail(next: .abortByLocal, .abortByLocal)
    try await harness.connects(1)
    #expect(harness.calls("Connect") == 3)
    #expect(harness.calls("Disconnect") == 2, "each failure is cleared")
    await harness.end()
  }

  @Test func `a connect that BlueZ always aborts fails after nine attempts`() async throws {
    let harness = try await BlueZHarness { await $0.remember() }
    await harness.bluez.fail(next: .init(repeating: .abortByLocal, count: 9))
    harness.central.connect(FakeBlueZ.id, attempt: AttemptID(1), isQueued: false)
    #expect(
      await harness.next()
        == .failed(AttemptID(1), .local(detail: "le-connection-abort-by-local")))
    #expect(harness.calls("Connect") == 9)
    await harness.end()
  }

  @Test func `a connect that a crash left behind is repaired by removing the device`()
    async throws
  {
    let harness = try await BlueZHarness { await $0.remember(isStuck: true) }
    try await harness.connects(1)
    #expect(harness.calls("RemoveDevice") == 1)
    #expect(harness.calls("Connect") == 3, "twice in vain, once after the repair")
    await harness.end()
  }

  @Test(arguments: [FakeBlueZ.ConnectFault.vanish, .noSlot])
  func `a device that vanishes is found again and connected`(
    _ fault: FakeBlueZ.ConnectFault
  ) async throws {
    let harness = try await BlueZHarness()
    await harness.bluez.fail(next: fault)
    try await harness.connects(1)
    #expect(harness.calls("Connect") == 2)
    await harness.end()
  }

  @Test func `a device that vanishes ends its connection`() async throws {
    let harness = try await BlueZHarness()
    try await harness.connects(1)
    await harness.bluez.forget()
    #expect(await harness.next() == .disconnected(AttemptID(1), .reset))
    await harness.end()
  }

  @Test func `a discovery waits for services that are resolved late`() async throws {
    let harness = try await BlueZHarness()
    await harness.bluez.hold(services: true)
    try await harness.connects(1)
    async let found = harness.discovers(1)
    await harness.bluez.resolve()
    #expect(await found)
    await harness.end()
  }

  @Test func `a discovery fails if the connection ends before the services are resolved`()
    async throws
  {
    let harness = try await BlueZHarness()
    await harness.bluez.hold(services: true)
    try await harness.connects(1)
    async let found = harness.discovers(1)
    await harness.bluez.disconnect()
    #expect(await found == false)
    #expect(await harness.next() == .disconnected(AttemptID(1), .reset))
    await harness.end()
  }

  @Test func `objects that BlueZ has not exported yet are requested again`()
    async throws
  {
    let harness = try await BlueZHarness()
    await harness.bluez.hold(objects: true, untilListed: true)
    try await harness.connects(1)
    #expect(await harness.discovers(1))
    await harness.end()
  }

  @Test func `a subscription that BlueZ restored by itself is stopped and renewed`() async throws {
    let harness = try await BlueZHarness()
    try await harness.connects(1)
    #expect(await harness.discovers(1))
    await harness.bluez.subscribe(Self.value)
    try await harness.central.notify(Self.value, of: AttemptID(1))
    #expect(harness.calls("StopNotify") == 1)
    await harness.bluez.notify(Self.value, [5])
    #expect(await harness.next() == .value(AttemptID(1), Self.value, [5]))
    await harness.end()
  }

  @Test func `a restarted daemon ends all attempts and serves new ones`() async throws {
    let harness = try await BlueZHarness()
    try await harness.connects(1)
    #expect(await harness.discovers(1))
    async let value = harness.reads(1)
    #expect(await harness.bluez.events.next() == .read(1, Self.value))
    await harness.bluez.crash()
    #expect(await value == nil)
    while let event = await harness.next() {
      if event == .adapter(.resetting) { break }
      // The disconnection of the device may be reported first.
      #expect(event == .disconnected(AttemptID(1), .reset))
    }
    await harness.bluez.restart()
    #expect(await harness.next() == .adapter(.on))
    _ = await harness.bluez.events.next()
    try await harness.connects(2)
    await harness.end()
  }

  @Test func `reports an adapter that is switched off and on`() async throws {
    let harness = try await BlueZHarness()
    await harness.bluez.power(false)
    #expect(await harness.next() == .adapter(.off))
    await harness.bluez.power(true)
    #expect(await harness.next() == .adapter(.on))
    try await harness.connects(1)
    await harness.end()
  }

  @Test func `reports Bluetooth as unsupported without an adapter, a daemon or a bus`() async throws
  {
    let bus = try await PrivateBus()
    let events = Mailbox<CentralEvent>()
    let central = BlueZCentral(services: [], address: bus.address)
    central.events { events.put($0) }
    #expect(await events.next() == .adapter(.unsupported))
    let bluez = try await FakeBlueZ(address: bus.address)
    #expect(await events.next() == .adapter(.on), "a daemon may come later")
    let other = BlueZCentral(adapter: "hci7", services: [], address: bus.address)
    other.events { events.put($0) }
    #expect(await events.next() == .adapter(.unsupported))
    let nowhere = BlueZCentral(services: [], address: "unix:path=/nowhere")
    nowhere.events { events.put($0) }
    #expect(await events.next() == .adapter(.unsupported))
    for each in [central, other, nowhere] { await each.close() }
    await bluez.end()
  }
}

/// A central, the fake daemon that it uses, and the events and calls of both.
struct BlueZHarness: Sendable {
  let bus: PrivateBus
  let bluez: FakeBlueZ
  let central: BlueZCentral
  let events = Mailbox<CentralEvent>()
  let standbys = Mailbox<BlueZStandby?>()
  private let log = Mailbox<String>()

  /// Starts the daemon and the central, and returns once the radio is on.
  init(
    _ setup: FakeBlueZ.Setup = .init(), before: (FakeBlueZ) async -> Void = { _ in }
  ) async throws {
    bus = try await PrivateBus()
    bluez = try await FakeBlueZ(address: bus.address, setup)
    await before(bluez)
    central = BlueZCentral(
      services: [BottleAttribute.service], address: bus.address
    ) { [standbys] in standbys.put($0) }
    central.events { [events] in events.put($0) }
    try #require(await events.next() == .adapter(.on))
  }

  /// Connects like an app in the foreground.
  func connects(_ number: UInt64) async throws {
    central.connect(FakeBlueZ.id, attempt: AttemptID(number), isQueued: false)
    await bluez.advertise(true)
    try #require(await next() == .connected(AttemptID(number)))
    try #require(await bluez.events.next() == .connected)
  }

  func next() async -> CentralEvent? { await events.next() }

  func discovers(_ number: UInt64) async -> Bool {
    (try? await central.discover(
      BottleAttribute.service, [BottleAttribute.state.id], of: AttemptID(number))) != nil
  }

  func reads(_ number: UInt64) async -> [UInt8]? {
    try? await central.read(BottleAttribute.state.id, of: AttemptID(number))
  }

  /// Returns the number of times that the daemon has received a call.
  func calls(_ name: String) -> Int {
    for call in bluez.log.takeAll() { log.put(call) }
    let all = log.takeAll()
    for call in all { log.put(call) }
    return all.count { $0 == name }
  }

  func end() async {
    await central.close()
    await bluez.end()
  }
}
