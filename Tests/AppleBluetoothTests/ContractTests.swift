@_spi(Script) import CoreBluetooth
import HoldfastBluetooth
import HoldfastBottleData
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastTestKit
import Testing

/// Tests of the promises of `Central`, kept by the adapter of Core Bluetooth.
@Suite(.timeLimit(.minutes(60)))
struct ContractTests {
  @Test(arguments: [false, true])
  func `the central satisfies the contract, also when callbacks come twice and late`(
    lies: Bool
  ) async throws {
    let far = ContractDevice(lies: lies)
    try await centralContract(far.system.central(restoration: "contract"), far: far)
    #expect(far.system.radio.misuses == [])
    #expect(far.system.radio.unanswered == [])
    #expect(await far.system.on(\.violations) == [])
  }
}

/// The peripheral of the contract.
struct ContractDevice: FarPeripheral {
  static let service = GATTID(high: 0x6E40_0001_B5A3_F393, low: 0xE0A9_E50E_24DC_CA9E)
  static let value = GATTID(high: 0x6E40_0002_B5A3_F393, low: 0xE0A9_E50E_24DC_CA9E)

  let system: FakeBluetooth
  let device: FakeDevice
  let events = Mailbox<FarPeripheralEvent>()

  init(lies: Bool = false) {
    device = FakeDevice(7, name: "far", profile: [(Self.service, [Self.value])])
    system = FakeBluetooth([device])
    system.lies = lies
    device.tell = { [events] in events.put($0) }
  }

  var id: PeripheralID { device.id }
  var name: String { device.name }
  var service: GATTID { Self.service }
  var characteristic: GATTID { Self.value }

  func advertise(_ isOn: Bool) async {
    await system.on { [device] in
      device.isAdvertising = isOn
      $0.look()
    }
  }

  func disconnect() async { await system.on { [device] in $0.lose(device) } }

  func notify(_ bytes: [UInt8]) async {
    await system.on { [device] in device.notify(Self.value, bytes, $0) }
  }

  func changeServices() async -> ServiceChangeReport {
    await system.on { [device] _ in device.changeServices() }
    return .reported
  }

  func reply(_ request: UInt16, _ bytes: [UInt8]?) async {
    await system.on { [device] in device.reply(request, bytes, $0) }
  }

  func next() async -> FarPeripheralEvent? { await events.next() }
}
