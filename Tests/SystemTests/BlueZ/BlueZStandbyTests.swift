import HoldfastTestKit
import LinkCore
import LinkRuntime
import LinkWire
import Testing

@testable import BluetoothBlueZ

/// Tests of the ways to wait for a peripheral that is out of range.
@Suite(.enabled(if: PrivateBus.works, "needs dbus-daemon"), .timeLimit(.minutes(10)))
struct BlueZStandbyTests {
  @Test func `BlueZ connects a remembered device by itself`() async throws {
    let bench = try await BlueZBench()
    try await bench.connects(1)
    // The central asks BlueZ to keep the device.
    while let call = await bench.bluez.log.next(), call != "Set" {}
    await bench.bluez.disconnect()
    #expect(await bench.next() == .disconnected(AttemptID(1), .reset))
    bench.central.connect(FakeBlueZ.id, attempt: AttemptID(2), isQueued: true)
    #expect(await bench.standbys.next() == .autoConnect)
    let before = bench.calls("Connect")
    await bench.bluez.advertise(true)
    #expect(await bench.next() == .connected(AttemptID(2)))
    #expect(await bench.standbys.next() == .some(nil), "nothing waits any more")
    #expect(bench.calls("Connect") == before, "this program called nothing")
    await bench.end()
  }

  @Test func `BlueZ still connects by itself after the adapter was off`() async throws {
    let bench = try await BlueZBench()
    try await bench.connects(1)
    while let call = await bench.bluez.log.next(), call != "Set" {}
    await bench.bluez.power(false)
    while let event = await bench.next(), event != .adapter(.off) {}
    await bench.bluez.power(true)
    #expect(await bench.next() == .adapter(.on))
    // The daemon still has the earlier application and refuses another.
    while let call = await bench.bluez.log.next(), call != "RegisterApplication" {}
    bench.central.connect(FakeBlueZ.id, attempt: AttemptID(2), isQueued: true)
    while let standby = await bench.standbys.next(), standby != .autoConnect {}
    await bench.bluez.advertise(true)
    #expect(await bench.next() == .connected(AttemptID(2)))
    await bench.end()
  }

  @Test func `a controller with advertisement monitors detects a device`() async throws {
    let bench = try await BlueZBench(.init(hasGattManager: false, hasMonitors: true))
    bench.central.connect(FakeBlueZ.id, attempt: AttemptID(1), isQueued: true)
    #expect(await bench.standbys.next() == .pacedScan, "until the monitor is registered")
    #expect(await bench.standbys.next() == .monitor)
    await bench.bluez.advertise(true)
    #expect(await bench.next() == .connected(AttemptID(1)))
    #expect(bench.calls("RegisterMonitor") == 1)
    await bench.end()
  }

  @Test func `without auto-connect and monitors a paced scan finds the device`() async throws {
    let bench = try await BlueZBench(.init(hasGattManager: false))
    bench.central.connect(FakeBlueZ.id, attempt: AttemptID(1), isQueued: true)
    #expect(await bench.standbys.next() == .pacedScan)
    await bench.bluez.advertise(true)
    #expect(await bench.next() == .connected(AttemptID(1)))
    #expect(bench.calls("StartDiscovery") == 1)
    await bench.end()
  }

  @Test func `a device that is already connected at startup opens at once`() async throws {
    let first = try await BlueZBench()
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
    func best(_ profile: Bool, _ kept: Bool, _ changes: Bool, _ monitor: Bool) -> BlueZStandby {
      .best(
        StandbyFacts(
          hasProfile: profile, isKept: kept, addressChanges: changes, hasMonitor: monitor))
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
