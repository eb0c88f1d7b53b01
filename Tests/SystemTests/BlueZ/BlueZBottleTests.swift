import Foundation
import HoldfastBottleData
import HoldfastCore
import HoldfastFirmware
import HoldfastLinuxDevice
import HoldfastPorts
import HoldfastTestKit
import HoldfastVirtualBottle
import Testing

@testable import HoldfastBlueZ

/// Tests of the real program with a fake BlueZ and the firmware of a bottle.
@Suite(.enabled(if: PrivateBus.works, "needs dbus-daemon"), .timeLimit(.minutes(60)))
struct BlueZBottleTests {
  @Test func `a bottle is found and synchronized over BlueZ, and reconnected by the standby`()
    async throws
  {
    let harness = try await Harness()
    let phone = try harness.phone(["watch"])
    await harness.bottle.give(.moved, .stands(true), .poured(250))
    try await phone.next { $0["status"] as? String == "connected" ? () : nil }
    #expect(try await phone.next { $0["amountML"] as? Int } == 250)
    try await phone.next { $0["unsynced"] as? Int == 0 ? () : nil }
    await harness.bottle.leave()
    try await phone.next { $0["status"] as? String == "disconnected" ? () : nil }
    let running = try await harness.running { $0.contains("standby") }
    #expect(running.contains("(standby: auto-connect)"))
    await harness.bottle.give(.moved, .poured(40))
    await harness.bottle.comeBack()
    #expect(try await phone.next { $0["amountML"] as? Int } == 40)
    phone.process.signal(SIGTERM)
    #expect(await phone.process.exit() == 0)
    await harness.end()
  }

  @Test func `a command is carried out over BlueZ`() async throws {
    let harness = try await Harness()
    await harness.bottle.give(.moved, .stands(true))
    let phone = try harness.phone(["tare", "--adapter", "hci0"])
    #expect(try await phone.next { $0["result"] as? String } == "done")
    #expect(await phone.process.exit() == 0)
    await harness.end()
  }

  @Test func `a virtual bottle is a peripheral of BlueZ while its firmware advertises`()
    async throws
  {
    let bus = try await PrivateBus()
    let bluez = try await FakeBlueZ(address: bus.address)
    let bottle = try Phone(
      ["bottle", "virtual", "--adapter", "hci0", "--interactive", "--json"], bus.address)
    bottle.process.send("move")
    guard case .advertisement(.some) = await bluez.phoneEvents.next() else {
      throw ContractViolation("it does not advertise")
    }
    await bluez.connectPhone()
    try await bottle.next { $0["state"] as? String == "connected" ? () : nil }
    #expect(await bluez.phoneEvents.next() == .advertisement(nil))
    let state = await bluez.ask("ReadValue", BottleAttribute.state.id)
    #expect(try state.get().first?.bytes?.count == 14)
    #expect(await bluez.ask("WriteValue", BottleAttribute.state.id, [1]) != .success([]))
    bottle.process.send("gone")
    #expect(await bluez.phoneEvents.next() == .lost)
    bottle.process.send("back")
    guard case .advertisement(.some) = await bluez.phoneEvents.next() else {
      throw ContractViolation("it does not advertise again")
    }
    bottle.process.send("quit")
    #expect(await bottle.process.exit() == 0)
    #expect(await bluez.phoneEvents.next() == .advertisement(nil))
    await bluez.end()
  }

  @Test func `a virtual bottle requires exactly one available radio`() async throws {
    let bus = try await PrivateBus()
    let environment = ["DBUS_SYSTEM_BUS_ADDRESS": bus.address]
    let none = try await CommandProcess.run(["bottle", "virtual"], environment: environment)
    #expect(none.status == 1)
    #expect(none.errors.joined().contains("bluetoothd is not running"))
    let both = try await CommandProcess.run(
      ["bottle", "virtual", "--socket", "s", "--adapter", "hci0"], environment: environment)
    #expect(both.status == 2)
  }

  @Test func `without Bluetooth the error names the problem and its remedy`() async throws {
    let bus = try await PrivateBus()
    let scratch = try Scratch()
    let environment = ["DBUS_SYSTEM_BUS_ADDRESS": bus.address]
    let none = try await CommandProcess.run(
      ["bottle", "watch", "--data", scratch("data")], environment: environment)
    #expect(none.status == 1)
    #expect(none.errors.joined().contains("bluetoothd is not running"))
    #expect(none.errors.joined().contains("systemctl start bluetooth"))
    let both = try await CommandProcess.run(
      ["bottle", "watch", "--radio", "r", "--adapter", "hci0"], environment: environment)
    #expect(both.status == 2)
  }
}

/// A bus, a fake BlueZ, and a bottle in range.
private struct Harness {
  let bus: PrivateBus
  let bluez: FakeBlueZ
  let bottle: BlueZBottle
  let scratch: Scratch

  init() async throws {
    bus = try await PrivateBus()
    scratch = try Scratch()
    bluez = try await FakeBlueZ(
      address: bus.address,
      FakeBlueZ.Setup(characteristics: BottleAttribute.allCases.map(\.id)))
    bottle = BlueZBottle(bluez)
    Task { [bottle] in await bottle.run() }
  }

  func phone(_ arguments: [String]) throws -> Phone {
    try Phone(
      ["bottle"] + arguments + ["--data", scratch("data"), "--json"], bus.address)
  }

  /// Runs `bottle status` until `isMeant` accepts the value of `running`, and returns that value.
  func running(_ isMeant: (String) -> Bool) async throws -> String {
    while true {
      let outcome = try await CommandProcess.run(
        "bottle", "status", "--data", scratch("data"), "--json")
      let event = try Phone.object(outcome.output.first ?? "{}")
      if let text = event["running"] as? String, isMeant(text) { return text }
    }
  }

  func end() async { await bluez.end() }
}

/// A running command that prints events.
private struct Phone {
  let process: LabProcess

  init(_ arguments: [String], _ address: String) throws {
    process = try CommandProcess.start(
      arguments, environment: ["DBUS_SYSTEM_BUS_ADDRESS": address])
  }

  /// Reads events until `pick` returns a value, and returns that value.
  func next<Found>(_ pick: ([String: Any]) -> Found?) async throws -> Found {
    for await line in process.lines {
      if let found = try pick(Self.object(line)) { return found }
    }
    throw ContractViolation("the program has ended")
  }

  static func object(_ line: String) throws -> [String: Any] {
    try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] ?? [:]
  }
}

/// The firmware of a bottle. Its radio is the peripheral of the fake BlueZ.
private actor BlueZBottle {
  private let bluez: FakeBlueZ
  private let clock = BootClock()
  private var bottle: VirtualBottle
  private var isAway = false

  init(_ bluez: FakeBlueZ) {
    self.bluez = bluez
    bottle = VirtualBottle(.plan035, at: clock.now)
  }

  /// Handles the peripheral's events until the test ends.
  func run() async {
    while let event = await bluez.events.next() {
      switch event {
      case .connected: await take(bottle.handle(.connected(longestValue: 244), at: clock.now))
      case .disconnected: await take(bottle.handle(.disconnected, at: clock.now))
      case .read(let number, let id):
        await bluez.reply(number, BottleAttribute(id: id).flatMap { bottle.value(of: $0) })
      case .write(let number, let id, let bytes):
        guard let attribute = BottleAttribute(id: id) else { continue }
        let outputs = bottle.handle(.written(attribute, bytes), at: clock.now)
        let isTaken = !outputs.contains(.answers(attribute, isTaken: false))
        await bluez.reply(number, isTaken ? [] : nil)
        await take(outputs)
      }
    }
  }

  /// Applies inputs to the bottle.
  func give(_ inputs: BottleInput...) async {
    for input in inputs { await take(bottle.handle(.world(input), at: clock.now)) }
  }

  /// Moves the bottle out of range, which ends the connection.
  func leave() async {
    isAway = true
    await bluez.disconnect()
    await take(bottle.handle(.disconnected, at: clock.now))
  }

  /// Moves the bottle back into range.
  func comeBack() async {
    isAway = false
    if bottle.bottle.isAdvertising { await bluez.advertise(true) }
  }

  private func take(_ outputs: [VirtualBottle.Output]) async {
    for output in outputs {
      switch output {
      case .advertises(let isOn): await bluez.advertise(isOn && !isAway)
      case .disconnects: await bluez.disconnect()
      case .notifies(let attribute, let bytes): await bluez.notify(attribute.id, bytes)
      case .answers, .sleeps, .stores: continue
      }
    }
  }
}
