import Dispatch
import Glibc
import HoldfastBottleData
import HoldfastCore
import HoldfastLinuxDevice
import HoldfastPorts
import HoldfastTestKit

@testable import HoldfastBlueZ

/// A fake `org.bluez` on a bus, with one adapter and one peripheral.
///
/// The daemon serves ObjectManager, Adapter1, Device1, GattService1, GattCharacteristic1,
/// GattManager1, AdvertisementMonitorManager1 and LEAdvertisingManager1 like BlueZ 5.66. It fails
/// on request.
actor FakeBlueZ {
  /// A failure of the next `Connect`.
  enum ConnectFault: Sendable {
    case abortByLocal
    /// The call fails with `InProgress` until the device is removed, as after the crash of a
    /// caller.
    case stuck
    /// The device's object vanishes during the call.
    case vanish
    /// The adapter has no free connection, and the device's object vanishes.
    case noSlot
  }

  struct Setup: Sendable {
    var hasGattManager = true
    var hasMonitors = false
    var isPowered = true
    var hasAdapter = true
    var characteristics = [BottleAttribute.state.id]
  }

  static let adapter = "/org/bluez/hci0"
  static let address = "F0:F1:F2:F3:F4:F5"
  static let device = adapter + "/dev_F0_F1_F2_F3_F4_F5"
  static let id = BlueZAddress(address)?.id ?? PeripheralID(GATTID(high: 0, low: 0))
  static let service = device + "/service000a"

  let setup: Setup
  /// The events that the peripheral receives from centrals.
  let events = Mailbox<FarPeripheralEvent>()
  /// The names of the received calls, in order.
  let log = Mailbox<String>()
  private let executor: QueueExecutor
  private let queue = DispatchQueue(label: "fake bluez")
  let bus: BusPeer
  private var source: (any DispatchSourceRead)?
  var waiting: [UInt64: @Sendable (isolated FakeBlueZ, Result<[BusData], BusRefusal>) -> Void] = [:]

  var isPowered: Bool
  var discoverers: Set<String> = []
  var isAdvertising = false
  var isKnown = false
  var isTrusted = false
  var isConnected = false
  var isResolved = false
  var hasObjects = false
  var isStuck = false
  var faults: [ConnectFault] = []
  /// Whether services are resolved late, and whether their objects are exported late.
  var holdsServices = false
  var holdsObjects = false
  /// Whether held objects are exported when the client lists objects.
  var exportsWhenListed = false
  var connects: [UInt64] = []
  var subscribers: [String: String] = [:]
  var requests: [UInt16: UInt64] = [:]
  var lastRequest: UInt16 = 0
  var application: String?
  var monitor: (sender: String, path: String)?
  /// The objects and the advertisement of a serving program, and whether a phone is connected.
  var served: Served?
  var advertised: (sender: String, path: String)?
  var hasPhone = false
  var refusesAdvertisement = false
  /// The events that a phone near the peripheral receives.
  let phoneEvents = Mailbox<PhoneEvent>()

  nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe executor.asUnownedSerialExecutor()
  }

  /// Starts the fake daemon, and returns once it owns its name.
  init(address: String, _ setup: Setup = Setup()) async throws {
    self.setup = setup
    executor = QueueExecutor(queue)
    isPowered = setup.isPowered
    bus = try BusPeer(address: address, or: .system)
    try begin()
  }

  private func begin() throws {
    try bus.own(BlueZName.service)
    // A copy, because the source may use its descriptor after the bus has closed its own.
    let copy = fcntl(bus.descriptor, F_DUPFD_CLOEXEC, 0)
    let source = DispatchSource.makeReadSource(fileDescriptor: copy, queue: queue)
    source.setEventHandler { [weak self] in self?.assumeIsolated { $0.serve() } }
    source.setCancelHandler { Glibc.close(copy) }
    source.activate()
    self.source = source
    serve()
  }

  private func serve() {
    for message in (try? bus.take()) ?? [] {
      switch message {
      case .call(let call, let sender, let number):
        log.put(call.name)
        if exportsWhenListed, call.name == "GetManagedObjects" { resolve() }
        answer(call, sender, number)
      case .answered(let number, let values):
        waiting.removeValue(forKey: number)?(self, .success(values))
      case .refused(let number, let refusal):
        waiting.removeValue(forKey: number)?(self, .failure(refusal))
      case .signal(let signal, let sender): if sender == served?.sender { emitted(signal) }
      }
    }
    bus.flush()
  }

  // MARK: what a test does

  func advertise(_ isOn: Bool) {
    isAdvertising = isOn
    guard isOn, !isConnected, isPowered else { return }
    announce()
    if isTrusted, isKnown, application != nil { linkUp() } else if !connects.isEmpty { linkUp() }
    bus.flush()
  }

  /// Ends the connection from the peripheral's side. No event reports this.
  func disconnect() {
    linkDown(isReported: false)
    bus.flush()
  }

  func notify(_ id: GATTID, _ bytes: [UInt8]) {
    guard let path = path(of: id), subscribers[path] != nil else { return }
    changed(path, BlueZName.characteristic, ["Value": .bytes(bytes)])
    bus.flush()
  }

  func reply(_ request: UInt16, _ bytes: [UInt8]?) {
    guard let number = requests.removeValue(forKey: request) else { return }
    if let bytes {
      try? bus.answer(number, [.bytes(bytes)])
    } else {
      refuse(number, "Failed", "Operation failed with ATT error: 0x80")
    }
    bus.flush()
  }

  func fail(next faults: ConnectFault...) { self.faults = faults }

  func fail(next faults: [ConnectFault]) { self.faults = faults }

  /// Adds a subscription, as if the daemon had renewed it from an earlier connection.
  func subscribe(_ id: GATTID) { if let path = path(of: id) { subscribers[path] = ":0" } }

  func hold(services: Bool = false, objects: Bool = false, untilListed: Bool = false) {
    (holdsServices, holdsObjects) = (services, objects)
    exportsWhenListed = untilListed
  }

  /// Exports the held services and reports them as resolved.
  func resolve() {
    hold()
    export()
    if !isResolved { resolved() }
    bus.flush()
  }

  func power(_ isOn: Bool) {
    isPowered = isOn
    if !isOn {
      linkDown()
      releaseAdvertisement()
    }
    discoverers = []
    changed(Self.adapter, BlueZName.adapter, ["Powered": .boolean(isOn)])
    bus.flush()
  }

  /// Removes the device's object.
  func forget() {
    linkDown()
    remove()
    bus.flush()
  }

  /// Ends the daemon, which loses its registrations and pending calls.
  func crash() {
    linkDown()
    (discoverers, application, monitor, connects) = ([], nil, nil, [])
    (isKnown, isStuck) = (false, false)
    (served, advertised, hasPhone) = (nil, nil, false)
    try? bus.own(BlueZName.service, false)
    bus.flush()
  }

  /// Restarts the daemon.
  func restart() {
    try? bus.own(BlueZName.service)
    bus.flush()
  }

  /// Sets the state that an earlier run left: the device is known, and may be trusted or stuck in a
  /// connect.
  func remember(isTrusted: Bool = false, isStuck: Bool = false) {
    (isKnown, self.isTrusted, self.isStuck) = (true, isTrusted, isStuck)
  }

  func end() {
    source?.cancel()
    source = nil
    try? bus.own(BlueZName.service, false)
  }

  // MARK: the peripheral

  /// Reports an advertisement to programs that run a discovery or have registered a monitor.
  func announce() {
    guard isAdvertising else { return }
    if !discoverers.isEmpty {
      if isKnown {
        changed(Self.device, BlueZName.device, ["RSSI": .short(-50)])
      } else {
        isKnown = true
        added(Self.device, [BlueZName.device: deviceProperties(rssi: -50)])
      }
    }
    guard let monitor else { return }
    if !isKnown {
      isKnown = true
      added(Self.device, [BlueZName.device: deviceProperties(rssi: nil)])
    }
    _ = try? bus.call(
      monitor.sender,
      BusMember(monitor.path, BlueZName.monitor, "DeviceFound", [.path(Self.device)]))
  }

  func linkUp() {
    guard !isConnected else { return }
    (isConnected, isAdvertising, isKnown) = (true, false, true)
    events.put(.connected)
    changed(Self.device, BlueZName.device, ["Connected": .boolean(true)])
    for call in connects { try? bus.answer(call) }
    connects = []
    if holdsServices { return }
    if !holdsObjects { export() }
    resolved()
  }

  func linkDown(isReported: Bool = true) {
    guard isConnected else { return }
    (isConnected, isResolved) = (false, false)
    withdraw()
    changed(
      Self.device, BlueZName.device,
      ["ServicesResolved": .boolean(false), "Connected": .boolean(false)])
    if isReported { events.put(.disconnected) }
  }

  /// Replaces the objects of the services, as BlueZ does when a peripheral changes them.
  func changeServices() {
    guard isConnected else { return }
    withdraw()
    export()
  }

  /// Removes the objects of the services, and ends their requests and subscriptions.
  private func withdraw() {
    (hasObjects, subscribers) = (false, [:])
    for number in requests.values { refuse(number, "Failed", "ATT error: 0x0e") }
    requests = [:]
    for path in paths {
      signal(
        "/", BlueZName.manager, "InterfacesRemoved",
        [
          .path(path), .texts([BlueZName.characteristic]),
        ])
    }
    signal(
      "/", BlueZName.manager, "InterfacesRemoved",
      [
        .path(Self.service), .texts([BlueZName.gattService]),
      ])
  }

  func remove() {
    guard isKnown else { return }
    (isKnown, isTrusted, isStuck) = (false, false, false)
    signal(
      "/", BlueZName.manager, "InterfacesRemoved",
      [
        .path(Self.device), .texts([BlueZName.device]),
      ])
  }

  private func export() {
    guard isConnected, !hasObjects else { return }
    hasObjects = true
    for (path, interfaces) in gattObjects.sorted(by: { $0.key < $1.key }) {
      added(path, interfaces)
    }
  }

  private func resolved() {
    isResolved = true
    changed(Self.device, BlueZName.device, ["ServicesResolved": .boolean(true)])
  }

  func changed(
    _ path: String, _ interface: String, _ values: [String: BusData], _ without: [String] = []
  ) {
    signal(
      path, BlueZName.properties, "PropertiesChanged",
      [
        .text(interface), .properties(values), .texts(without),
      ])
  }

  func added(_ path: String, _ interfaces: BlueZObjects.Interfaces) {
    signal("/", BlueZName.manager, "InterfacesAdded", [.path(path), .interfaces(interfaces)])
  }

  private func signal(
    _ path: String, _ interface: String, _ name: String, _ arguments: [BusData]
  ) {
    try? bus.emit(BusMember(path, interface, name, arguments))
  }

  func refuse(_ number: UInt64, _ name: String, _ text: String) {
    try? bus.refuse(number, BusRefusal("org.bluez.Error." + name, text))
  }
}
