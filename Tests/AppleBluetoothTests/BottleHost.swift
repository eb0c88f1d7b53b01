@_spi(Script) import CoreBluetooth
import HoldfastBottleData
import HoldfastBottleLink
import HoldfastCore
import HoldfastFirmware
import HoldfastTestKit
import HoldfastVirtualBottle

/// The firmware of a bottle whose radio is the peripheral of a `FakeBluetooth`.
///
/// The type is `@unchecked Sendable` because its state is confined to the queue of the manager.
final class BottleHost: @unchecked Sendable {
  let system: FakeBluetooth
  let device: FakeDevice
  var bottle = VirtualBottle(.plan035, at: .zero)
  var now = Instant.zero

  init() {
    let parts = BottleAttribute.allCases.filter { $0 != .battery }.map(\.id)
    device = FakeDevice(
      3, name: "Bottle-0001",
      profile: [
        (BottleAttribute.service, parts),
        (BottleAttribute.batteryService, [BottleAttribute.battery.id]),
      ])
    system = FakeBluetooth([device])
    device.tell = { [unowned self] in take($0) }
  }

  func handle(_ input: VirtualBottle.Input) { send(bottle.handle(input, at: now)) }

  func tick() { send(bottle.tick(at: now)) }

  func take(_ event: FarPeripheralEvent) {
    switch event {
    case .connected: handle(.connected(longestValue: device.longestValue))
    case .disconnected: handle(.disconnected)
    case .read(let number, let id):
      device.reply(number, BottleAttribute(id: id).flatMap { bottle.value(of: $0) }, system)
    case .write(let number, let id, let bytes):
      guard let attribute = BottleAttribute(id: id) else {
        return device.reply(number, nil, system)
      }
      let outputs = bottle.handle(.written(attribute, bytes), at: now)
      let isTaken = !outputs.contains(.answers(attribute, isTaken: false))
      device.reply(number, isTaken ? [] : nil, system)
      send(outputs)
    }
  }

  private func send(_ outputs: [VirtualBottle.Output]) {
    for output in outputs {
      switch output {
      case .advertises(let isOn):
        device.isAdvertising = isOn
        if isOn { system.look() }
      case .disconnects:
        system.lose(device, CBError(.peripheralDisconnected))
        handle(.disconnected)
      case .notifies(let attribute, let bytes): device.notify(attribute.id, bytes, system)
      case .answers, .sleeps, .stores: continue
      }
    }
  }
}
