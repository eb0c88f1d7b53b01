import HoldfastBottleData
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastLinuxDevice
import HoldfastTestKit
import Testing

@testable import HoldfastBlueZ

/// Tests of a peripheral over BlueZ, with a fake daemon on a private bus.
@Suite(.enabled(if: PrivateBus.works, "needs dbus-daemon"), .timeLimit(.minutes(60)))
struct BlueZPeripheralTests {
  private static let state = BottleAttribute.state.id
  private static let command = BottleAttribute.command.id

  @Test func `advertises its name and service, and its characteristics have the right flags`()
    async throws
  {
    let harness = try await Harness()
    let advertisement = try await harness.advertised()
    #expect(advertisement["LocalName"] == .text("Bottle"))
    #expect(advertisement["ServiceUUIDs"] == .texts([BottleAttribute.service.description]))
    #expect(await harness.bluez.served?.flags(of: Self.state) == ["read", "notify"])
    #expect(await harness.bluez.served?.flags(of: Self.command) == ["write"])
    await harness.end()
  }

  @Test func `a phone reads and writes values and receives notifications`() async throws {
    let harness = try await Harness()
    try await harness.connected()
    #expect(await harness.next() == .connected(longestValue: 20))
    async let read = harness.bluez.ask("ReadValue", Self.state)
    #expect(await harness.next() == .negotiated(longestValue: 244), "the MTU comes with a request")
    #expect(await harness.next() == .read(1, Self.state))
    harness.peripheral.reply(1, [7, 8])
    #expect(await read == .success([.bytes([7, 8])]))
    async let write = harness.bluez.ask("WriteValue", Self.command, [1])
    #expect(await harness.next() == .write(2, Self.command, [1]))
    harness.peripheral.reply(2, nil)
    #expect(await write == .failure(BusRefusal("org.bluez.Error.Failed", "the peripheral refuses")))
    harness.peripheral.notify(Self.state, [9])
    #expect(await harness.bluez.ask("StartNotify", Self.state) == .success([]))
    harness.peripheral.notify(Self.state, [10])
    #expect(
      await harness.bluez.phoneEvents.next() == .value(Self.state, [10]), "not the 9 of before")
    await harness.end()
  }

  @Test func `advertises only while advertising is enabled and no phone is connected`() async throws
  {
    let harness = try await Harness()
    try await harness.connected()
    await harness.bluez.losePhone()
    #expect(await harness.bluez.phoneEvents.next() == .lost)
    _ = try await harness.advertised()
    harness.peripheral.advertise(false)
    #expect(await harness.bluez.phoneEvents.next() == .advertisement(nil))
    #expect(await harness.next() == .connected(longestValue: 20))
    #expect(await harness.next() == .disconnected)
    await harness.end()
  }

  @Test func `disconnects its phone, and removes its advertisement and services when closed`()
    async throws
  {
    let harness = try await Harness()
    try await harness.connected()
    harness.peripheral.disconnect()
    #expect(await harness.bluez.phoneEvents.next() == .lost)
    _ = try await harness.advertised()
    await harness.peripheral.close()
    #expect(await harness.bluez.phoneEvents.next() == .advertisement(nil))
    while let call = await harness.bluez.log.next(), call != "UnregisterApplication" {}
    #expect(await harness.bluez.served == nil)
    await harness.end()
  }

  @Test func `services and advertisement return after the adapter was off or the daemon restarted`()
    async throws
  {
    let harness = try await Harness()
    _ = try await harness.advertised()
    await harness.bluez.power(false)
    #expect(await harness.bluez.phoneEvents.next() == .advertisement(nil))
    await harness.bluez.power(true)
    _ = try await harness.advertised()
    await harness.bluez.connectPhone()
    #expect(await harness.next() == .connected(longestValue: 20))
    await harness.bluez.crash()
    #expect(await harness.next() == .disconnected)
    _ = harness.bluez.phoneEvents.takeAll()
    await harness.bluez.restart()
    while await harness.bluez.phoneEvents.next() == .advertisement(nil) {}
    #expect(await harness.bluez.served != nil)
    await harness.end()
  }

  @Test func `a refused advertisement is retried after 2 s`() {
    var server = ServerHarness()
    let asked = server.begin()
    #expect(asked == ["RegisterApplication"])
    #expect(server.answer() == ["RegisterAdvertisement"])
    #expect(server.refuse("NotPermitted") == [])
    #expect(server.server.deadline == server.now.advanced(by: .seconds(2)))
    server.now = server.now.advanced(by: .seconds(2))
    #expect(server.names(server.server.tick(at: server.now)) == ["RegisterAdvertisement"])
    #expect(server.refuse("AlreadyExists") == [])
    #expect(server.server.deadline == nil, "it is there")
  }

  @Test func `a long value is read in parts, and a second phone is ignored`() {
    var server = ServerHarness()
    _ = server.begin()
    _ = server.receive(.added(FakeBlueZ.phone, [BlueZName.device: ["Connected": .boolean(true)]]))
    let other = FakeBlueZ.adapter + "/dev_00_AA_01_00_00_02"
    let second = server.receive(.added(other, [BlueZName.device: ["Connected": .boolean(true)]]))
    #expect(second == [])
    #expect(server.server.phone == FakeBlueZ.phone)
    let path = server.server.exports.path(of: Self.state) ?? ""
    let read = BusMember(
      path, BlueZName.characteristic, "ReadValue", [.properties(["offset": .word(2)])])
    #expect(server.receive(.called(read, 5)) == [.report(.read(1, Self.state))])
    #expect(
      server.server.handle(.reply(1, [1, 2, 3]), at: server.now)
        == [.answer(5, .success([.bytes([3])]))])
    #expect(server.server.handle(.reply(1, [1]), at: server.now) == [], "it was answered")
  }
}

/// A fake daemon, and a peripheral that advertises.
private struct Harness {
  let bus: PrivateBus
  let bluez: FakeBlueZ
  let peripheral: BlueZPeripheral
  private let events = Mailbox<PeripheralEvent>()

  init() async throws {
    bus = try await PrivateBus()
    bluez = try await FakeBlueZ(address: bus.address)
    peripheral = BlueZPeripheral(
      adapter: "hci0", service: BottleAttribute.service, name: "Bottle",
      parts: [
        .init(BottleAttribute.state.id, ["read", "notify"]),
        .init(BottleAttribute.command.id, ["write"]),
      ], address: bus.address
    ) { [events] in events.put($0) }
    peripheral.advertise(true)
  }

  func next() async -> PeripheralEvent? { await events.next() }

  /// Returns the next advertisement that a phone receives.
  func advertised() async throws -> [String: BusData] {
    guard case .advertisement(let properties?) = await bluez.phoneEvents.next() else {
      throw ContractViolation("it does not advertise")
    }
    return properties
  }

  /// Connects the phone, and thereby ends the advertisement.
  func connected() async throws {
    _ = try await advertised()
    await bluez.connectPhone()
    guard await bluez.phoneEvents.next() == .advertisement(nil) else {
      throw ContractViolation("it still advertises")
    }
  }

  func end() async {
    await peripheral.close()
    await bluez.end()
  }
}

/// The rules of a peripheral, run in virtual time.
private struct ServerHarness {
  var server = BlueZServer(
    adapter: nil,
    exports: BlueZServerExports(
      service: BottleAttribute.service, name: "Bottle",
      parts: [.init(BottleAttribute.state.id, ["read"])]))
  var now = Instant.zero
  private var last: BlueZServer.CallID = 0

  /// Starts advertising and answers the request for the daemon's objects. Returns the next calls.
  mutating func begin() -> [String] {
    _ = server.handle(.advertise(true), at: now)
    _ = names(receive(.daemon(true)))
    let objects = [FakeBlueZ.adapter: [BlueZName.adapter: ["Powered": BusData.boolean(true)]]]
    return names(receive(.answered(last, [.objects(objects)])))
  }

  mutating func receive(_ message: BlueZMessage) -> [BlueZServer.Effect] {
    server.handle(.bus(message), at: now)
  }

  mutating func answer() -> [String] { names(receive(.answered(last, []))) }

  mutating func refuse(_ error: String) -> [String] {
    names(receive(.refused(last, BusRefusal("org.bluez.Error." + error))))
  }

  /// Returns the names of the calls. The next answer or refusal applies to the last call.
  mutating func names(_ effects: [BlueZServer.Effect]) -> [String] {
    effects.compactMap {
      guard case .call(let id, let member) = $0 else { return nil }
      last = id
      return member.name
    }
  }
}
