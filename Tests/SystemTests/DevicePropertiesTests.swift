import HoldfastCore
import HoldfastPorts
import HoldfastTestKit
import Testing

@testable import HoldfastLinuxDevice

/// Tests of device states with a private bus daemon and services whose properties change.
@Suite(.enabled(if: PrivateBus.works, "needs dbus-daemon"), .timeLimit(.minutes(60)))
struct DevicePropertiesTests {
  private static let way = Reachability.reachable(path: PathID("fake"))

  @Test func `protected data is unavailable while the session is locked`() async throws {
    let bus = try await PrivateBus()
    let logind = try await FakeService(
      address: bus.address, name: "org.freedesktop.login1",
      at: "/org/freedesktop/login1/session/auto", ["LockedHint": .boolean(false)])
    var events = DeviceState(address: bus.address).changes().makeAsyncIterator()
    #expect(await events.next()?.event == .protectedData(available: true))
    logind.set("LockedHint", .boolean(true))
    #expect(await events.next()?.event == .protectedData(available: false))
    logind.end()
  }

  @Test func `low-power mode follows the power profile and a low battery`() async throws {
    let bus = try await PrivateBus()
    var events = DeviceState(address: bus.address).changes().makeAsyncIterator()
    let power = try await FakeService(
      address: bus.address, name: "org.freedesktop.UPower",
      at: "/org/freedesktop/UPower/devices/DisplayDevice", ["WarningLevel": .number(1)])
    #expect(await events.next()?.event == .lowPower(false))
    power.set("WarningLevel", .number(3))
    #expect(await events.next()?.event == .lowPower(true))
    let profiles = try await FakeService(
      address: bus.address, name: "org.freedesktop.UPower.PowerProfiles",
      at: "/org/freedesktop/UPower/PowerProfiles", ["ActiveProfile": .text("power-saver")])
    power.set("WarningLevel", .number(1))
    profiles.set("ActiveProfile", .text("balanced"))
    #expect(await events.next()?.event == .lowPower(false))
    power.end()
    profiles.end()
  }

  @Test func `a path on a metered network is expensive`() async throws {
    let bus = try await PrivateBus()
    let fake = FakeReachability(Self.way)
    let costed = CostedReachability(fake, address: bus.address)
    var ways = costed.changes().makeAsyncIterator()
    #expect(await ways.next() == Self.way)
    let manager = try await FakeService(
      address: bus.address, name: "org.freedesktop.NetworkManager",
      at: "/org/freedesktop/NetworkManager",
      ["Metered": .number(1), "PrimaryConnectionType": .text("802-11-wireless")])
    #expect(await ways.next()?.traits == .expensive)
    manager.set("PrimaryConnectionType", .text("gsm"))
    #expect(await ways.next()?.traits == [.cellular, .expensive])
    fake.change(to: .unreachable)
    #expect(await ways.next() == .unreachable)
    manager.end()
  }

  @Test func `without a bus no device state is reported and the path is passed through`() async {
    var events = DeviceState(address: "unix:path=/nowhere").changes().makeAsyncIterator()
    #expect(await events.next() == nil)
    let costed = CostedReachability(FakeReachability(Self.way), address: "unix:path=/nowhere")
    var ways = costed.changes().makeAsyncIterator()
    #expect(await ways.next() == Self.way)
  }

  @Test func `CostedReachability satisfies the contract of a reachability monitor`() async throws {
    let fake = FakeReachability(Self.way)
    let costed = CostedReachability(fake, address: "unix:path=/nowhere")
    var isReachable = true
    try await reachabilityMonitorContract(costed) {
      isReachable.toggle()
      fake.change(to: isReachable ? Self.way : .unreachable)
    }
  }
}
