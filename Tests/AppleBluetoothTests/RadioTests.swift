@_spi(Script) import CoreBluetooth
import HoldfastBluetooth
import HoldfastBottleData
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastTestKit
import Testing

/// Tests of launches, of the radio's states, and of the options of connects.
@Suite(.timeLimit(.minutes(60)))
struct RadioTests {
  private static let first = AttemptID(1)
  private static let second = AttemptID(2)

  @Test func `a launch with a connected peripheral connects it again and turns notifications on`()
    async throws
  {
    let phone = await Phone.connected()
    await phone.kill(turning: nil)
    let central = await phone.launch()
    #expect(
      await phone.events.next() == .restored([RestoredPeripheral(phone.id, isConnected: true)]))
    await phone.turn(.poweredOn)
    #expect(await phone.events.next() == .adapter(.on))
    central.connect(phone.id, attempt: Self.first, isQueued: true)
    #expect(await phone.events.next() == .connected(Self.first))
    try await central.discover(
      ContractDevice.service, [ContractDevice.value], of: Self.first)
    try await central.notify(ContractDevice.value, of: Self.first)
    await phone.far.notify([5])
    #expect(await phone.events.next() == .value(Self.first, ContractDevice.value, [5]))
    #expect(await phone.calls() == ["connect again", "notify false", "notify true"])
    await phone.expectNoMisuse()
  }

  @Test
  func `a launch with a pending connect asks for it again, and opens it for the first ticket`()
    async throws
  {
    let phone = Phone()
    let earlier = await phone.launch()
    await phone.turn(.poweredOn)
    earlier.connect(phone.id, attempt: Self.first, isQueued: true)
    await phone.kill(turning: nil)
    let central = await phone.launch()
    #expect(
      await phone.events.next() == .restored([RestoredPeripheral(phone.id, isConnected: false)]))
    await phone.turn(.poweredOn)
    #expect(await phone.events.next() == .adapter(.on))
    await phone.far.advertise(true)
    #expect(await phone.far.next() == .connected)
    central.connect(phone.id, attempt: Self.second, isQueued: true)
    #expect(await phone.events.next() == .connected(Self.second))
    #expect(await phone.calls() == ["connect again"])
    await phone.expectNoMisuse()
  }

  @Test func `a radio that was closed works for the next user, as after a sign-out`() async throws {
    let phone = await Phone.connected()
    let central = try #require(phone.central)
    await central.close()
    central.connect(phone.id, attempt: Self.second, isQueued: true)
    #expect(await phone.far.next() == .disconnected)
    await phone.turn(.poweredOff)
    let events = Mailbox<CentralEvent>()
    central.events { events.put($0) }
    #expect(await events.next() == .adapter(.off), "the state that was reached while it was closed")
    await phone.turn(.poweredOn)
    #expect(await events.next() == .adapter(.on))
    central.connect(phone.id, attempt: Self.first, isQueued: true)
    await phone.far.advertise(true)
    #expect(await events.next() == .connected(Self.first))
    #expect(await phone.calls() == ["cancel", "connect again"])
    #expect(phone.events.takeAll() == [], "the first user hears nothing more")
    await phone.expectNoMisuse()
  }

  @Test func `a radio that is opened again asks for peripherals that a reset did not report`()
    async throws
  {
    let phone = await Phone.connected()
    let central = try #require(phone.central)
    await central.close()
    await phone.system.on {
      $0.turn(.resetting, isTold: false)
      $0.turn(.poweredOn)
    }
    central.events { [events = phone.events] in events.put($0) }
    #expect(await phone.events.next() == .adapter(.on))
    central.connect(phone.id, attempt: Self.first, isQueued: true)
    await phone.far.advertise(true)
    #expect(await phone.events.next() == .connected(Self.first))
    await phone.expectNoMisuse()
  }

  @Test(arguments: [true, false])
  func `what the system kept ends if the radio is closed before it is on`(
    restoresLast: Bool
  ) async throws {
    let phone = await Phone.connected()
    _ = phone.far.events.takeAll()
    await phone.kill(turning: nil)
    if restoresLast { await phone.configure { $0.delivery = .held } }
    let central = phone.system.central(restoration: "kept")
    await central.close()
    if restoresLast { await phone.system.on { $0.makeHeld([0]) } }
    await phone.turn(.poweredOn)
    #expect(await phone.far.next() == .disconnected)
    central.events { [events = phone.events] in events.put($0) }
    #expect(await phone.events.next() == .adapter(.on))
    central.connect(phone.id, attempt: Self.first, isQueued: true)
    await phone.far.advertise(true)
    #expect(await phone.events.next() == .connected(Self.first))
    #expect(await phone.calls() == ["cancel", "connect again"])
    await phone.expectNoMisuse()
  }

  @Test func `a launch without kept peripherals only reports the radio`() async {
    let phone = Phone()
    _ = await phone.launch()
    await phone.turn(.poweredOn)
    #expect(await phone.events.next() == .adapter(.on))
    #expect(await phone.calls() == [])
    await phone.expectNoMisuse()
  }

  @Test func `a kept connection that was lost before the radio is on is asked for again`() async {
    let phone = await Phone.connected()
    await phone.kill(turning: nil)
    let central = await phone.launch()
    await phone.system.on { [device = phone.far.device] in
      device.link = .none
      device.peripheral?.scriptedState = .disconnected
      $0.turn(.poweredOn)
    }
    _ = await phone.events.next(2)
    central.connect(phone.id, attempt: Self.first, isQueued: true)
    await phone.far.advertise(true)
    #expect(await phone.events.next() == .connected(Self.first))
    #expect(await phone.calls() == ["connect again"])
    await phone.expectNoMisuse()
  }

  @Test func `a scan that the system kept ends if the app does not scan`() async {
    let phone = Phone()
    await phone.configure { $0.keepScan() }
    _ = await phone.launch()
    await phone.turn(.poweredOn)
    #expect(await phone.events.next() == .restored([]))
    #expect(await phone.calls() == ["stopScan"])
    await phone.expectNoMisuse()
  }

  @Test func `events before the listener are delivered to it, in order`() async {
    let phone = await Phone.connected()
    await phone.kill(turning: .poweredOn)
    let central = phone.system.central(restoration: "kept")
    await phone.system.on { _ in }
    central.events { [events = phone.events] in events.put($0) }
    #expect(
      await phone.events.next(2) == [
        .restored([RestoredPeripheral(phone.id, isConnected: true)]), .adapter(.on),
      ])
  }

  @Test(arguments: [
    (CBManagerState.poweredOff, AdapterState.off), (.resetting, .resetting),
    (.unauthorized, .unauthorised), (.unsupported, .unsupported), (.unknown, .unknown),
  ])
  func `without the radio tickets are invalid, requests end and no call is made`(
    state: CBManagerState, reported: AdapterState
  ) async {
    let phone = await Phone.connected()
    let (central, far) = (phone.central, phone.far)
    async let value = try? central?.read(ContractDevice.value, of: Self.first)
    guard case .read? = await far.next() else { return #expect(Bool(false), "not read") }
    await phone.turn(state)
    #expect(await value == nil)
    #expect(await phone.events.next() == .adapter(reported))
    central?.connect(phone.id, attempt: Self.second, isQueued: true)
    central?.scan(for: [ContractDevice.service])
    central?.cancel(Self.first)
    await phone.system.on { $0.calls = [] }
    await phone.turn(.poweredOn)
    #expect(await phone.events.next() == .adapter(.on))
    #expect(await phone.calls() == ["scan"])
    central?.connect(phone.id, attempt: AttemptID(3), isQueued: true)
    await far.advertise(true)
    while let event = await phone.events.next(), event != .connected(AttemptID(3)) {
      #expect(event == .found(phone.id, name: "far"))
    }
    await phone.expectNoMisuse()
  }

  @Test func `a connection that the system opens again is reported to the next ticket`() async {
    let phone = await Phone.connected()
    await phone.far.disconnect()
    #expect(await phone.events.next() == .disconnected(Self.first, .timeout(.silence)))
    phone.central?.connect(phone.id, attempt: Self.second, isQueued: true)
    await phone.far.advertise(true)
    #expect(await phone.events.next() == .connected(Self.second))
    #expect(await phone.calls() == [], "the system reconnects without a call")
    await phone.expectNoMisuse()
  }

  @Test func `a connection that the system reconnects and nobody wants is ended`() async {
    let phone = await Phone.connected()
    await phone.far.disconnect()
    _ = await phone.events.next()
    await phone.far.advertise(true)
    #expect(await phone.far.next() == .connected)
    #expect(await phone.far.next() == .disconnected)
    #expect(await phone.calls() == ["cancel"])
    await phone.expectNoMisuse()
  }

  @Test func `the options of a connect follow its tickets`() async {
    let phone = Phone()
    let central = await phone.launch()
    await phone.turn(.poweredOn)
    central.connect(
      phone.id, attempt: Self.first, isQueued: true, after: .milliseconds(59_500))
    #expect(await phone.calls() == ["connect +60"])
    central.connect(phone.id, attempt: Self.second, isQueued: false)
    #expect(await phone.calls() == ["cancel", "connect again"])
    central.cancel(Self.second)
    #expect(await phone.calls() == ["cancel", "connect +60"])
    central.cancel(Self.first)
    central.connect(phone.id, attempt: AttemptID(3), isQueued: false)
    #expect(await phone.calls() == ["cancel", "connect"])
    await phone.expectNoMisuse()
  }

  @Test func `alerts are options of each connect`() async {
    let phone = Phone()
    let central = await phone.launch(alerts: [.connection, .notification])
    await phone.turn(.poweredOn)
    central.connect(phone.id, attempt: Self.first, isQueued: true)
    let options = await phone.system.on { [device = phone.far.device] _ in
      device.options.keys.sorted()
    }
    #expect(
      options == [
        CBConnectPeripheralOptionEnableAutoReconnect,
        CBConnectPeripheralOptionNotifyOnConnectionKey,
        CBConnectPeripheralOptionNotifyOnNotificationKey,
      ])
  }

  @Test func `a system that refuses automatic reconnection is asked without it`() async {
    let phone = Phone()
    let central = await phone.launch()
    await phone.system.on { [device = phone.far.device] in
      device.refusesReconnection = true
      $0.turn(.poweredOn)
    }
    central.connect(phone.id, attempt: Self.first, isQueued: true)
    await phone.far.advertise(true)
    #expect(await phone.events.next(2).last == .connected(Self.first))
    #expect(await phone.calls() == ["connect again", "connect"])
    await phone.expectNoMisuse()
  }

  @Test func `a peripheral that the system does not know fails at once`() async {
    let phone = Phone()
    let central = await phone.launch()
    await phone.turn(.poweredOn)
    let id = PeripheralID(UUID128(high: 8, low: 9))
    central.connect(id, attempt: Self.first, isQueued: true)
    #expect(
      await phone.events.next(2).last
        == .failed(Self.first, .unreachable(detail: "the peripheral is unknown here")))
  }

  @Test func `changed services are reported, and can be discovered again`() async throws {
    let phone = await Phone.connected()
    let central = try #require(phone.central)
    try await central.discover(ContractDevice.service, [ContractDevice.value], of: Self.first)
    async let value = try? central.read(ContractDevice.value, of: Self.first)
    #expect(await phone.far.next() == .read(1, ContractDevice.value))
    await phone.system.on { [device = phone.far.device] _ in device.changeServices() }
    #expect(await value == nil)
    #expect(await phone.events.next() == .changed(Self.first))
    try await central.discover(ContractDevice.service, [ContractDevice.value], of: Self.first)
    try await central.notify(ContractDevice.value, of: Self.first)
    await phone.expectNoMisuse()
  }

  @Test func `a request that the peripheral refuses names the error of ATT`() async throws {
    let phone = await Phone.connected()
    let central = try #require(phone.central)
    async let failure = refusal(of: central)
    #expect(await phone.far.next() == .write(1, ContractDevice.value, [1]))
    await phone.far.reply(1, nil)
    #expect(await failure == .protocolError(detail: "the peripheral refused: ATT 3"))
  }

  private func refusal(of central: any Central) async -> LinkFailure? {
    do throws(LinkFailure) {
      try await central.write([1], to: ContractDevice.value, of: Self.first)
      return nil
    } catch {
      return error
    }
  }
}
