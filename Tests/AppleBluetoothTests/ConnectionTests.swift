@_spi(Script) import CoreBluetooth
import HoldfastBluetooth
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastTestKit
import Testing

/// Tests of discoveries and losses during a connection, as public bug reports describe them.
@Suite(.timeLimit(.minutes(60)))
struct ConnectionTests {
  private static let first = AttemptID(1)
  private static let second = AttemptID(2)

  /// The system may return the characteristics of an earlier connection with the services
  /// (CoreBluetoothMock 66).
  @Test func `services that the system has cached with their characteristics are used`()
    async throws
  {
    let phone = await Phone.connected()
    await phone.system.on { $0.devices[0].isCached = true }
    let central = try #require(phone.central)
    try await central.discover(ContractDevice.service, [ContractDevice.value], of: Self.first)
    try await central.notify(ContractDevice.value, of: Self.first)
    await phone.far.notify([5])
    #expect(await phone.events.next() == .value(Self.first, ContractDevice.value, [5]))
    await phone.expectNoMisuse()
  }

  /// A discovery that a change of the services interrupts may have no callback (RxBluetoothKit
  /// 309).
  @Test func `a change of the services ends a discovery that the system does not answer`()
    async throws
  {
    let phone = await Phone.connected()
    let central = try #require(phone.central)
    await phone.system.on { $0.delivery = .held }
    async let isFound: Void? = try? central.discover(
      ContractDevice.service, [ContractDevice.value], of: Self.first)
    while await phone.system.on({ $0.held.isEmpty }) {}
    await phone.system.on {
      $0.makeHeld([])
      $0.devices[0].changeServices()
    }
    #expect(await isFound == nil)
    #expect(await phone.events.next() == .changed(Self.first))
    try await central.discover(ContractDevice.service, [ContractDevice.value], of: Self.first)
    await phone.expectNoMisuse()
  }

  @Test func `a loss that is reported after the system has reconnected ends the old connection`()
    async throws
  {
    for order in [[0, 1], [1, 0]] {
      let phone = await Phone.connected()
      await phone.system.on { $0.delivery = .held }
      await phone.far.disconnect()
      await phone.far.advertise(true)
      #expect(await phone.far.next() == .connected)
      await phone.system.on { $0.makeHeld(order) }
      #expect(await phone.events.next() == .disconnected(Self.first, .timeout(.silence)))
      let central = try #require(phone.central)
      // The connection ended if this ticket came too late.
      central.connect(phone.id, attempt: Self.second, isQueued: true)
      await phone.far.advertise(true)
      #expect(await phone.events.next() == .connected(Self.second))
      try await central.discover(ContractDevice.service, [ContractDevice.value], of: Self.second)
      await phone.expectNoMisuse()
    }
  }

  @Test func `a new connection whose loss was never reported is noticed by its services`()
    async throws
  {
    let phone = await Phone.connected()
    #expect(await phone.discovers(Self.first))
    await phone.system.on { $0.delivery = .held }
    await phone.far.disconnect()
    await phone.far.advertise(true)
    await phone.system.on { $0.makeHeld([]) }
    #expect(await phone.value() == nil)
    #expect(await phone.events.next() == .disconnected(Self.first, .reset))
    await phone.expectNoMisuse()
  }

  @Test func `the delay of a connect is measured by the clock of the central`() async {
    let clock = TestClock()
    let far = ContractDevice()
    let central = far.system.central(clock: clock)
    await far.system.on { _ in }
    central.connect(far.id, attempt: Self.first, isQueued: true, after: .seconds(90))
    await far.system.on { _ in }
    clock.advance(by: .milliseconds(30_500))
    central.connect(far.id, attempt: Self.second, isQueued: true, after: .seconds(20))
    await far.system.on { _ in }
    clock.advance(by: .seconds(5))
    central.cancel(Self.second)
    #expect(
      await far.system.on(\.calls) == [
        "connect +90", "cancel", "connect +20", "cancel", "connect +55",
      ])
  }

  @Test func `the alert of a disconnection is an option of the connect`() async {
    let phone = Phone()
    let central = await phone.launch(alerts: .disconnection)
    await phone.turn(.poweredOn)
    central.connect(phone.id, attempt: Self.first, isQueued: false)
    let options = await phone.system.on { Array($0.devices[0].options.keys) }
    #expect(options == [CBConnectPeripheralOptionNotifyOnDisconnectionKey])
  }

  /// The system makes the callback with `isReconnecting` only without the older one
  /// (CoreBluetoothMock 127, AsyncBluetooth 88).
  @Test func `a delegate with both callbacks of a disconnection hears only the older one`() {
    let manager = CBCentralManager(delegate: nil, queue: nil)
    let device = CBPeripheral(UUID(), name: nil, of: manager)
    let (both, newer) = (BothCallbacks(), NewerCallback())
    for delegate in [both, newer] as [any CBCentralManagerDelegate] {
      manager.delegate = delegate
      manager.report(gone: device, isReconnecting: true, error: nil)
    }
    #expect(both.heard == ["older"])
    #expect(newer.heard == ["newer"])
  }
}

extension Phone {
  /// Returns whether the service of the contract is found.
  func discovers(_ attempt: AttemptID) async -> Bool {
    (try? await central?.discover(
      ContractDevice.service, [ContractDevice.value], of: attempt)) != nil
  }

  /// Returns the value that ticket 1 reads; `nil` if the read fails.
  func value() async -> [UInt8]? {
    try? await central?.read(ContractDevice.value, of: AttemptID(1))
  }
}

private final class NewerCallback: NSObject, CBCentralManagerDelegate {
  private(set) var heard: [String] = []

  func centralManagerDidUpdateState(_ central: CBCentralManager) {}

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral,
    timestamp: CFAbsoluteTime, isReconnecting: Bool, error: (any Error)?
  ) { heard.append("newer") }
}

private final class BothCallbacks: NSObject, CBCentralManagerDelegate {
  private(set) var heard: [String] = []

  func centralManagerDidUpdateState(_ central: CBCentralManager) {}

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral,
    timestamp: CFAbsoluteTime, isReconnecting: Bool, error: (any Error)?
  ) { heard.append("newer") }

  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral,
    error: (any Error)?
  ) { heard.append("older") }
}
