@_spi(Script) import CoreBluetooth
import HoldfastBluetooth
import HoldfastCore
import HoldfastPorts
import HoldfastTestKit
import Synchronization

/// The Bluetooth of a system, which outlives the app, behind the stand-in of Core Bluetooth.
///
/// The type is `@unchecked Sendable` because all of its state is confined to the queue of the
/// manager. Tests reach it through `on`, or before a central exists.
final class FakeBluetooth: @unchecked Sendable {
  /// The delivery of callbacks.
  enum Delivery {
    /// At once, in order.
    case prompt
    /// By the test, in any order.
    case held
  }

  /// A callback that waits.
  struct Held {
    /// The change of state. It happens even if the callback is never made.
    let effect: () -> Void
    let callback: () -> Void
  }

  let radio = ScriptedRadio()
  /// The calls of the app, in words.
  var calls: [String] = []
  /// The rules of Core Bluetooth that the app broke and that the stand-in cannot know.
  var violations: [String] = []
  var delivery = Delivery.prompt
  /// The callbacks that wait for the test.
  var held: [Held] = []
  /// Whether `didConnect` is repeated, and the cancellation of a pending connect is reported late.
  var lies = false
  var devices: [FakeDevice] = []
  /// The state that a new manager reports.
  var firstState: CBManagerState? = .poweredOn
  /// Whether the system notices advertisements for pending connects.
  var notices = true
  private(set) var manager: CBCentralManager?
  private var scan: [CBUUID]?
  /// The identifier for which connections are kept while the app does not run.
  private(set) var keptFor: String?
  /// Whether the system also keeps peripherals that are disconnected.
  var keepsDisconnected = false
  private var isScanKept = false
  private let queue = Mutex<DispatchQueue?>(nil)

  init(_ devices: [FakeDevice]) {
    self.devices = devices
    radio.take = { [unowned self] manager, call in take(manager, call) }
    radio.retrieve = { [unowned self] _, id in
      devices.first { $0.identifier == id && $0.isKnown }.map { peripheral(of: $0) }
    }
  }

  /// Returns a central of this system, as a launch of the app would make it.
  func central(
    restoration: String? = nil, alerts: CoreBluetoothCentral.Alerts = [],
    clock: any LinkClock = BootClock()
  ) -> CoreBluetoothCentral {
    ScriptedRadio.$current.withValue(radio) {
      CoreBluetoothCentral(restoration: restoration, alerts: alerts, clock: clock)
    }
  }

  /// Runs work on the queue of the manager, after all earlier work.
  @discardableResult
  func on<Value: Sendable>(_ work: @escaping @Sendable (FakeBluetooth) -> Value) async -> Value {
    await withCheckedContinuation { done in
      queue.withLock(\.self)?.async { done.resume(returning: work(self)) }
    }
  }

  /// Ends the app. The system keeps connections if the app has asked for it.
  func kill() {
    (manager, scan) = (nil, nil)
    held = []
    for device in devices {
      device.peripheral = nil
      if keptFor == nil { device.link = .none }
    }
  }

  /// Ends the app as a user does. The system keeps nothing.
  func forceQuit() {
    keptFor = nil
    for device in devices where device.link == .connected { device.tell?(.disconnected) }
    kill()
  }

  /// Makes a callback later.
  func later(effect: @escaping () -> Void = {}, _ callback: @escaping () -> Void) {
    switch delivery {
    case .held: held.append(Held(effect: effect, callback: callback))
    case .prompt:
      nonisolated(unsafe) let (effect, callback) = (effect, callback)
      manager?.queue.async {
        unsafe effect()
        unsafe callback()
      }
    }
  }

  /// Changes the state of the radio.
  ///
  /// - Parameter isTold: Whether the app's callback is made.
  func turn(_ state: CBManagerState, isTold: Bool = true) {
    guard let manager else { return }
    if state != .poweredOn {
      scan = nil
      for device in devices {
        if device.link == .connected { device.tell?(.disconnected) }
        device.link = .none
        device.peripheral?.isInvalid = true
        device.peripheral?.scriptedState = .disconnected
        device.peripheral = nil
      }
    }
    manager.scriptedState = state
    if isTold { manager.delegate?.centralManagerDidUpdateState(manager) }
    look()
  }

  private func launched(_ manager: CBCentralManager, _ identifier: String?) {
    // The callbacks of the earlier launch are made before there is another manager.
    queue.withLock { exchange(&$0, with: manager.queue) }?.sync {}
    self.manager = manager
    let isKept = identifier != nil && identifier == keptFor
    let kept = devices.filter { isKept && ($0.link != .none || keepsDisconnected) }
    for device in devices where !kept.contains(where: { $0 === device }) { device.link = .none }
    keptFor = identifier
    let restored = kept.map { device in
      let peripheral = peripheral(of: device)
      peripheral.scriptedState =
        switch device.link {
        case .none: .disconnected
        case .pending: .connecting
        case .connected: .connected
        }
      device.isLocal = false
      if device.link == .connected { device.subscribedServices(of: peripheral) }
      return peripheral
    }
    if isScanKept { manager.keepScan(true) }
    later { [self] in
      if !restored.isEmpty || isScanKept {
        manager.delegate?.centralManager(
          manager, willRestoreState: [CBCentralManagerRestoredStatePeripheralsKey: restored])
      }
      // A later launch has another manager, whose queue this is not.
      if let firstState, self.manager === manager { turn(firstState) }
    }
  }

  /// Makes the callbacks that wait, in the order of these indices, and later ones at once.
  func makeHeld(_ order: [Int]) {
    let all = order.map { held[$0] }
    (held, delivery) = ([], .prompt)
    for next in all {
      next.effect()
      next.callback()
    }
  }

  /// Keeps a scan for the next launch.
  func keepScan() { isScanKept = true }

  func peripheral(of device: FakeDevice) -> CBPeripheral {
    if let known = device.peripheral { return known }
    guard let manager else { preconditionFailure("a launch makes a manager first") }
    let made = CBPeripheral(device.identifier, name: device.name, of: manager)
    made.longestValue = device.longestValue
    device.peripheral = made
    return made
  }

  func device(of peripheral: CBPeripheral) -> FakeDevice? {
    devices.first { $0.peripheral === peripheral }
  }
}

// The calls of the app.
extension FakeBluetooth {
  private func take(_ manager: CBCentralManager, _ call: RadioCall) {
    switch call {
    case .made(let identifier): launched(manager, identifier)
    case .scan(let services):
      calls.append("scan")
      scan = services
      look()
    case .stopScan:
      calls.append("stopScan")
      (scan, isScanKept) = (nil, false)
    case .connect(let peripheral, let options): connect(peripheral, options)
    case .cancel(let peripheral): cancel(peripheral)
    case .services(let peripheral, let wanted): request(peripheral) { $0.discover(wanted, self) }
    case .characteristics(let peripheral, let service, let wanted):
      request(peripheral) { $0.discover(wanted, of: service, self) }
    case .notify(let peripheral, let characteristic, let isOn):
      calls.append("notify \(isOn)")
      request(peripheral) { $0.notify(characteristic, isOn, self) }
    case .read(let peripheral, let characteristic):
      request(peripheral) { $0.read(characteristic) }
    case .write(let peripheral, let characteristic, let data, let type):
      if type != .withResponse { violations.append("a write without a response") }
      request(peripheral) { $0.write(characteristic, Array(data)) }
    }
  }

  private func request(_ peripheral: CBPeripheral, _ work: (FakeDevice) -> Void) {
    guard let device = device(of: peripheral) else { return }
    if !device.isLocal { violations.append("a request to a kept peripheral before its connect") }
    work(device)
  }

  private func connect(_ peripheral: CBPeripheral, _ options: [String: Any]) {
    guard let device = device(of: peripheral) else { return }
    device.options = options
    let delay = options[CBConnectPeripheralOptionStartDelayKey] as? Int ?? 0
    let isReconnecting = options[CBConnectPeripheralOptionEnableAutoReconnect] as? Bool == true
    calls.append("connect" + (isReconnecting ? " again" : "") + (delay > 0 ? " +\(delay)" : ""))
    device.isLocal = true
    device.connects += 1
    device.delay = delay
    if device.link == .connected { return connected(device) }
    if device.refusesReconnection, isReconnecting {
      peripheral.scriptedState = .disconnected
      let error = CBError(.invalidParameters)
      return later { [self] in report(failed: peripheral, error) }
    }
    device.link = .pending
    device.isResting = delay > 0
    look()
  }

  private func cancel(_ peripheral: CBPeripheral) {
    guard let device = device(of: peripheral) else { return }
    calls.append("cancel")
    switch device.link {
    case .none: return
    case .pending:
      device.link = .none
      peripheral.scriptedState = .disconnected
      if lies { later { [self] in report(gone: peripheral, nil) } }
    case .connected:
      device.link = .none
      device.generation += 1
      peripheral.scriptedState = .disconnecting
      device.tell?(.disconnected)
      later {
        if peripheral.scriptedState == .disconnecting { peripheral.scriptedState = .disconnected }
      } _: { [self] in
        report(gone: peripheral, nil)
      }
    }
  }
}

// What happens on the air.
extension FakeBluetooth {
  /// Lets the system see advertisements.
  func look() {
    guard let manager, manager.state == .poweredOn else { return }
    for device in devices where device.isAdvertising && device.isInRange {
      if let scan, device.profile.contains(where: { scan.contains($0.service) }) {
        device.isKnown = true
        let peripheral = peripheral(of: device)
        later {
          manager.delegate?.centralManager(
            manager, didDiscover: peripheral,
            advertisementData: [CBAdvertisementDataLocalNameKey: device.name], rssi: -50)
        }
      }
      if device.link == .pending, !device.isResting, notices { open(device) }
    }
  }

  private func open(_ device: FakeDevice) {
    (device.link, device.isAdvertising) = (.connected, false)
    device.generation += 1
    let peripheral = peripheral(of: device)
    peripheral.scriptedState = .connected
    peripheral.scriptedServices = nil
    device.tell?(.connected)
    connected(device)
  }

  private func connected(_ device: FakeDevice) {
    let peripheral = peripheral(of: device)
    for _ in 0..<(lies ? 2 : 1) {
      later { [self] in
        guard let manager else { return }
        manager.delegate?.centralManager(manager, didConnect: peripheral)
      }
    }
  }

  /// Ends a connection without the app.
  func lose(_ device: FakeDevice, _ error: CBError = CBError(.connectionTimeout)) {
    guard device.link == .connected else { return }
    let peripheral = peripheral(of: device)
    let reconnects = device.options[CBConnectPeripheralOptionEnableAutoReconnect] as? Bool == true
    device.link = reconnects ? .pending : .none
    device.generation += 1
    device.isResting = false
    peripheral.scriptedState = reconnects ? .connecting : .disconnected
    later { [self] in report(gone: peripheral, error, isReconnecting: reconnects) }
  }

  /// Reports the end of a connection to the app.
  func report(gone peripheral: CBPeripheral, _ error: CBError?, isReconnecting: Bool = false) {
    manager?.report(gone: peripheral, isReconnecting: isReconnecting, error: error)
  }

  func report(failed peripheral: CBPeripheral, _ error: CBError) {
    guard let manager else { return }
    manager.delegate?.centralManager(manager, didFailToConnect: peripheral, error: error)
  }
}
