@_spi(Script) import CoreBluetooth
import HoldfastBluetooth
import HoldfastBottleData
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastTestKit
import Testing

/// Tests of launches with peripherals that the system kept.
@Suite(.timeLimit(.minutes(60)))
struct LaunchTests {
  private static let first = AttemptID(1)
  private static let second = AttemptID(2)

  /// Returns a phone that has ended the app during a connection, and its next launch.
  private static func relaunched(
    _ restoration: String = "kept", _ change: @escaping @Sendable (FakeBluetooth) -> Void = { _ in }
  ) async -> (Phone, CoreBluetoothCentral) {
    let phone = await Phone.connected()
    await phone.kill(turning: nil)
    await phone.system.on(change)
    return (phone, await phone.launch(restoration))
  }

  /// Some apps waited for such a connect without end (CGMBLEKit 75).
  @Test func `a kept connect that would never end is asked for again`() async {
    let phone = Phone()
    let earlier = await phone.launch()
    await phone.turn(.poweredOn)
    earlier.connect(phone.id, attempt: Self.first, isQueued: true)
    await phone.kill(turning: nil)
    let central = await phone.launch()
    await phone.system.on { [device = phone.far.device] _ in device.link = .none }
    await phone.turn(.poweredOn)
    central.connect(phone.id, attempt: Self.second, isQueued: true)
    await phone.far.advertise(true)
    #expect(
      await phone.events.next(3) == [
        .restored([RestoredPeripheral(phone.id, isConnected: false)]), .adapter(.on),
        .connected(Self.second),
      ])
    #expect(await phone.calls() == ["connect again"])
    await phone.expectNoMisuse()
  }

  @Test func `a kept peripheral that is disconnected is connected for the first ticket`() async {
    let (phone, central) = await Self.relaunched { system in
      system.keepsDisconnected = true
      system.devices[0].link = .none
    }
    await phone.turn(.poweredOn)
    await phone.far.advertise(true)
    #expect(await phone.far.next() == .connected)
    central.connect(phone.id, attempt: Self.second, isQueued: true)
    #expect(
      await phone.events.next(3) == [
        .restored([RestoredPeripheral(phone.id, isConnected: false)]), .adapter(.on),
        .connected(Self.second),
      ])
    await phone.expectNoMisuse()
  }

  @Test(arguments: [
    (CBManagerState.poweredOff, AdapterState.off), (.unauthorized, .unauthorised),
    (.resetting, .resetting),
  ])
  func `a launch without the radio makes no call, and works once the radio is on`(
    state: CBManagerState, reported: AdapterState
  ) async {
    let (phone, central) = await Self.relaunched()
    await phone.turn(state)
    await phone.turn(.poweredOn)
    #expect(
      await phone.events.next(3) == [
        .restored([RestoredPeripheral(phone.id, isConnected: true)]), .adapter(reported),
        .adapter(.on),
      ])
    #expect(await phone.calls() == [], "the system has ended what it kept")
    central.connect(phone.id, attempt: Self.second, isQueued: true)
    await phone.far.advertise(true)
    #expect(await phone.events.next() == .connected(Self.second))
    #expect(await phone.calls() == ["connect again"])
    await phone.expectNoMisuse()
  }

  @Test func `each launch with the same identifier has the connection, and each value once`()
    async throws
  {
    let phone = await Phone.connected()
    for number in UInt64(2)...4 {
      await phone.kill(turning: .poweredOn)
      let central = await phone.launch()
      central.connect(phone.id, attempt: AttemptID(number), isQueued: true)
      #expect(
        await phone.events.next(3) == [
          .restored([RestoredPeripheral(phone.id, isConnected: true)]), .adapter(.on),
          .connected(AttemptID(number)),
        ])
      try await central.discover(
        ContractDevice.service, [ContractDevice.value], of: AttemptID(number))
      try await central.notify(ContractDevice.value, of: AttemptID(number))
      await phone.far.notify([UInt8(number)])
      await phone.far.notify([0])
      #expect(
        await phone.events.next(2)
          == [[UInt8(number)], [0]].map {
            .value(AttemptID(number), ContractDevice.value, $0)
          })
    }
    await phone.expectNoMisuse()
  }

  @Test func `a launch with another identifier gets nothing`() async {
    let (phone, _) = await Self.relaunched("other")
    await phone.turn(.poweredOn)
    #expect(await phone.events.next() == .adapter(.on))
    #expect(await phone.calls() == [])
  }

  /// Other libraries end the app if the system kept more than one peripheral (bluejay 262).
  @Test func `several kept peripherals are all connected again`() async {
    let profile = [(service: ContractDevice.service, characteristics: [ContractDevice.value])]
    let devices = [UInt8(1), 2].map { FakeDevice($0, name: "\($0)", profile: profile) }
    let system = FakeBluetooth(devices)
    let earlier = system.central(restoration: "many")
    earlier.events { _ in }
    for (number, device) in devices.enumerated() {
      earlier.connect(device.id, attempt: AttemptID(UInt64(number + 1)), isQueued: true)
    }
    await system.on {
      $0.devices[0].isAdvertising = true
      $0.look()
    }
    await system.on { $0.kill() }
    let events = Mailbox<CentralEvent>()
    let central = system.central(restoration: "many")
    central.events { events.put($0) }
    for (number, device) in devices.enumerated() {
      central.connect(device.id, attempt: AttemptID(UInt64(number + 3)), isQueued: true)
    }
    await system.on {
      $0.devices[1].isAdvertising = true
      $0.look()
    }
    #expect(
      await events.next(4) == [
        .restored([
          RestoredPeripheral(devices[0].id, isConnected: true),
          RestoredPeripheral(devices[1].id, isConnected: false),
        ]), .adapter(.on), .connected(AttemptID(3)), .connected(AttemptID(4)),
      ])
    #expect(system.radio.misuses == [])
  }

  /// The system may report one end twice, as a failure and as a disconnection (bluejay 206).
  @Test func `a kept connect that fails and is reported as disconnected too fails one ticket once`()
    async
  {
    let (phone, central) = await Self.relaunched { $0.devices[0].link = .pending }
    await phone.turn(.poweredOn)
    central.connect(phone.id, attempt: Self.first, isQueued: true)
    await phone.system.on { [device = phone.far.device] system in
      guard let peripheral = device.peripheral else { return }
      device.link = .none
      peripheral.scriptedState = .disconnected
      system.report(failed: peripheral, CBError(.connectionTimeout))
      system.report(gone: peripheral, CBError(.peripheralDisconnected))
    }
    central.connect(phone.id, attempt: Self.second, isQueued: true)
    await phone.far.advertise(true)
    #expect(
      await phone.events.next(4).suffix(2) == [
        .failed(Self.first, .timeout(.silence)), .connected(Self.second),
      ])
    await phone.expectNoMisuse()
  }

  /// When the system's daemon ends, the system may report only that the radio is on again. All
  /// earlier objects are then refused (CoreBluetoothMock 67).
  @Test func `a reset that is reported only by its end ends the tickets, and new ones connect`()
    async
  {
    let phone = await Phone.connected()
    await phone.system.on {
      $0.turn(.resetting, isTold: false)
      $0.turn(.poweredOn)
    }
    #expect(await phone.events.next() == .disconnected(Self.first, .reset))
    phone.central?.connect(phone.id, attempt: Self.second, isQueued: true)
    await phone.far.advertise(true)
    #expect(await phone.events.next() == .connected(Self.second))
    await phone.expectNoMisuse()
  }

  @Test func `a repeated report that the radio is on changes nothing`() async throws {
    let phone = await Phone.connected()
    await phone.turn(.poweredOn)
    let central = try #require(phone.central)
    try await central.discover(ContractDevice.service, [ContractDevice.value], of: Self.first)
    #expect(phone.events.takeAll() == [])
  }

  @Test func `a peripheral that a scan found before a reset is not used after it`() async {
    let phone = Phone()
    let central = await phone.launch()
    await phone.turn(.poweredOn)
    central.scan(for: [ContractDevice.service])
    await phone.system.on { $0.delivery = .held }
    await phone.far.advertise(true)
    await phone.system.on {
      $0.turn(.poweredOff)
      $0.turn(.poweredOn)
      // The first advertisement is reported after the reset, and after the second one.
      $0.makeHeld(Array($0.held.indices).reversed())
    }
    central.connect(phone.id, attempt: Self.first, isQueued: true)
    await phone.far.advertise(true)
    while let event = await phone.events.next(), event != .connected(Self.first) {}
    await phone.expectNoMisuse()
  }
}
