import HoldfastBottleData
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastTestKit
import Testing

@testable import HoldfastBlueZ

/// Tests of the standby modes, which wait for a peripheral that is out of range.
@Suite(.enabled(if: PrivateBus.works, "needs dbus-daemon"), .timeLimit(.minutes(60)))
struct BlueZStandbyTests {
  @Test func `BlueZ connects a remembered device by itself`() async throws {
    let harness = try await BlueZHarness()
    try await harness.connects(1)
    // The central requests that BlueZ keep the device.
    while let call = await harness.bluez.log.next(), call != "Set" {}
    await harness.bluez.disconnect()
    #expect(await harness.next() == .disconnected(AttemptID(1), .reset))
    harness.central.connect(FakeBlueZ.id, attempt: AttemptID(2), isQueued: true)
    #expect(await harness.standbys.next() == .autoConnect)
    let before = harness.calls("Connect")
    await harness.bluez.advertise(true)
    #expect(await harness.next() == .connected(AttemptID(2)))
    #expect(await harness.standbys.next() == .some(nil), "nothing waits any more")
    #expect(harness.calls("Connect") == before, "this program called nothing")
    await harness.end()
  }

  @Test func `BlueZ still connects by itself after the adapter was off`() async throws {
    let harness = try await BlueZHarness()
    try await harness.connects(1)
    while let call = await harness.bluez.log.next(), call != "Set" {}
    await harness.bluez.power(false)
    while let event = await harness.next(), event != .adapter(.off) {}
    await harness.bluez.power(true)
    #expect(await harness.next() == .adapter(.on))
    // The earlier application is still registered, so the daemon refuses another one.
    while let call = await harness.bluez.log.next(), call != "RegisterApplication" {}
    harness.central.connect(FakeBlueZ.id, attempt: AttemptID(2), isQueued: true)
    while let standby = await harness.standbys.next(), standby != .autoConnect {}
    await harness.bluez.advertise(true)
    #expect(await harness.next() == .connected(AttemptID(2)))
    await harness.end()
  }

  @Test func `a controller with advertisement monitors detects a device`() async throws {
    let harness = try await BlueZHarness(.init(hasGattManager: false, hasMonitors: true))
    harness.central.connect(FakeBlueZ.id, attempt: AttemptID(1), isQueued: true)
    #expect(await harness.standbys.next() == .pacedScan, "until the monitor is registered")
    #expect(await harness.standbys.next() == .monitor)
    await harness.bluez.advertise(true)
    #expect(await harness.next() == .connected(AttemptID(1)))
    #expect(harness.calls("RegisterMonitor") == 1)
    await harness.end()
  }

  @Test func `without auto-connect and monitors a paced scan finds the device`() async throws {
    let harness = try await BlueZHarness(.init(hasGattManager: false))
    harness.central.connect(FakeBlueZ.id, attempt: AttemptID(1), isQueued: true)
    #expect(await harness.standbys.next() == .pacedScan)
    await harness.bluez.advertise(true)
    #expect(await harness.next() == .connected(AttemptID(1)))
    #expect(harness.calls("StartDiscovery") == 1)
    await harness.end()
  }

  @Test func `a device that is already connected at startup opens at once`() async throws {
    let first = try await BlueZHarness()
    try await first.connects(1)
    let second = BlueZCentral(services: [BottleAttribute.service], address: first.bus.address)
    let events = Mailbox<CentralEvent>()
    second.events { events.put($0) }
    #expect(await events.next() == .adapter(.on))
    second.connect(FakeBlueZ.id, attempt: AttemptID(1), isQueued: true)
    #expect(await events.next() == .connected(AttemptID(1)))
    await second.close()
    await first.end()
  }

  @Test func `chooses the best standby mode for each combination of conditions`() {
    func best(_ profile: Bool, _ isStored: Bool, _ changes: Bool, _ monitor: Bool) -> BlueZStandby {
      .best(
        StandbyFacts(
          hasProfile: profile, isStored: isStored, addressChanges: changes, hasMonitor: monitor))
    }
    for monitor in [true, false] {
      let other = monitor ? BlueZStandby.monitor : .pacedScan
      #expect(best(true, true, false, monitor) == .autoConnect)
      #expect(best(false, true, false, monitor) == other, "no profile was taken")
      #expect(best(true, false, false, monitor) == other, "BlueZ drops the device")
      #expect(best(true, true, true, monitor) == other, "its address changes")
    }
  }
}
