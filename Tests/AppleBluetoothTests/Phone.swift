@_spi(Script) import CoreBluetooth
import HoldfastBluetooth
import HoldfastBottleData
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastTestKit
import Testing

/// A phone with one app, and the peripheral of the contract in range.
final class Phone {
  let far = ContractDevice()
  let events = Mailbox<CentralEvent>()
  private(set) var central: CoreBluetoothCentral?

  var system: FakeBluetooth { far.system }
  var id: PeripheralID { far.id }

  init() { far.system.firstState = nil }

  /// Returns a phone with a connection of the ticket 1, whose events and calls are read.
  static func connected() async -> Phone {
    let phone = Phone()
    let central = await phone.launch()
    await phone.turn(.poweredOn)
    central.connect(phone.id, attempt: AttemptID(1), isQueued: true)
    await phone.far.advertise(true)
    _ = await phone.events.next(2)
    _ = await phone.far.next()
    await phone.system.on { $0.calls = [] }
    return phone
  }

  /// Changes the system before the launch.
  func configure(_ change: (FakeBluetooth) -> Void) async { change(system) }

  func launch(
    _ restoration: String = "kept", alerts: CoreBluetoothCentral.Alerts = []
  ) async -> CoreBluetoothCentral {
    let central = system.central(restoration: restoration, alerts: alerts)
    central.events { [events] in events.put($0) }
    await system.on { _ in }
    self.central = central
    return central
  }

  /// Ends the app, and sets the state that the radio reports at the next launch.
  func kill(turning state: CBManagerState?) async {
    _ = events.takeAll()
    await system.on {
      $0.kill()
      $0.calls = []
      $0.firstState = state
    }
    _ = events.takeAll()
    central = nil
  }

  func turn(_ state: CBManagerState) async { await system.on { $0.turn(state) } }

  /// Returns the calls since the last time.
  func calls() async -> [String] {
    await system.on { system in
      defer { system.calls = [] }
      return system.calls
    }
  }

  func expectNoMisuse() async {
    #expect(system.radio.misuses == [])
    #expect(system.radio.unanswered == [])
    #expect(await system.on(\.violations) == [])
  }
}
