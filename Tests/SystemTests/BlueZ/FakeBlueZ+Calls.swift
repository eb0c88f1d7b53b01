import HoldfastBottleData
import HoldfastCore
import HoldfastLinuxDevice
import HoldfastTestKit

@testable import HoldfastBlueZ

// The objects and calls that the fake daemon serves.
extension FakeBlueZ {
  /// The object paths of the characteristics.
  var paths: [String] {
    setup.characteristics.indices.map { Self.service + "/char000\($0 + 1)" }
  }

  func path(of id: GATTID) -> String? {
    setup.characteristics.firstIndex(of: id).map { paths[$0] }
  }

  func deviceProperties(rssi: Int16?) -> [String: BusData] {
    var properties: [String: BusData] = [
      "Address": .text(Self.address), "AddressType": .text("random"), "Name": .text("Bottle"),
      "Paired": .boolean(false), "Trusted": .boolean(isTrusted),
      "Connected": .boolean(isConnected), "ServicesResolved": .boolean(isResolved),
      "UUIDs": .texts([BottleAttribute.service.description]), "Adapter": .path(Self.adapter),
    ]
    if let rssi { properties["RSSI"] = .short(rssi) }
    return properties
  }

  var gattObjects: [String: BlueZObjects.Interfaces] {
    var all: [String: BlueZObjects.Interfaces] = [
      Self.service: [
        BlueZName.gattService: [
          "UUID": .text(BottleAttribute.service.description), "Primary": .boolean(true),
          "Device": .path(Self.device),
        ]
      ]
    ]
    for (id, path) in zip(setup.characteristics, paths) {
      all[path] = [
        BlueZName.characteristic: [
          "UUID": .text(id.description), "Service": .path(Self.service),
          "Flags": .texts(["read", "write", "notify"]), "Notifying": .boolean(false),
          "Value": .bytes([]), "MTU": .word(247),
        ]
      ]
    }
    return all
  }

  private var objects: [String: BlueZObjects.Interfaces] {
    guard setup.hasAdapter else { return [:] }
    var adapter: BlueZObjects.Interfaces = [
      BlueZName.adapter: [
        "Address": .text("00:AA:01:00:00:00"), "Powered": .boolean(isPowered),
        "Discovering": .boolean(!discoverers.isEmpty),
      ]
    ]
    if setup.hasGattManager { adapter[BlueZName.gattManager] = [:] }
    if setup.hasMonitors {
      adapter[BlueZName.monitorManager] = ["SupportedMonitorTypes": .texts(["or_patterns"])]
    }
    var all = [Self.adapter: adapter]
    if isKnown { all[Self.device] = [BlueZName.device: deviceProperties(rssi: nil)] }
    if hasPhone { all[Self.phone] = [BlueZName.device: ["Connected": .boolean(true)]] }
    if hasObjects { all.merge(gattObjects) { $1 } }
    return all
  }

  /// The argument types that the real daemon requires.
  private static let signatures = [
    "Set": "ssv", "SetDiscoveryFilter": "a{sv}", "RemoveDevice": "o",
    "RegisterApplication": "oa{sv}", "UnregisterApplication": "o", "RegisterMonitor": "o",
    "RegisterAdvertisement": "oa{sv}", "UnregisterAdvertisement": "o", "ReadValue": "a{sv}",
    "WriteValue": "aya{sv}",
  ]

  func answer(_ call: BusMember, _ sender: String, _ number: UInt64) {
    guard bus.signature(of: number) == Self.signatures[call.name, default: ""] else {
      try? bus.refuse(number, BusRefusal("org.freedesktop.DBus.Error.InvalidArgs"))
      return
    }
    switch (call.path, call.interface) {
    case ("/", BlueZName.manager): try? bus.answer(number, [.objects(objects)])
    case (Self.adapter, BlueZName.adapter): adapterCall(call, sender, number)
    case (Self.adapter, BlueZName.gattManager), (Self.adapter, BlueZName.monitorManager):
      register(call, sender, number)
    case (Self.adapter, BlueZName.advertisingManager): advertisingCall(call, sender, number)
    case (Self.phone, BlueZName.device): phoneCall(call, number)
    case (Self.device, _) where !isKnown: unknown(number)
    case (Self.device, BlueZName.device): deviceCall(call, number)
    case (Self.device, BlueZName.properties) where call.name == "Set":
      isTrusted = true
      try? bus.answer(number)
      changed(Self.device, BlueZName.device, ["Trusted": .boolean(true)])
    case (let path, BlueZName.characteristic) where hasObjects && paths.contains(path):
      characteristicCall(call, sender, number)
    case _: unknown(number)
    }
  }

  private func unknown(_ number: UInt64) {
    try? bus.refuse(number, BusRefusal("org.freedesktop.DBus.Error.UnknownObject"))
  }

  private func adapterCall(_ call: BusMember, _ sender: String, _ number: UInt64) {
    switch call.name {
    case "SetDiscoveryFilter": try? bus.answer(number)
    case "StartDiscovery" where !isPowered: refuse(number, "NotReady", "Resource Not Ready")
    case "StartDiscovery" where discoverers.contains(sender):
      refuse(number, "InProgress", "Operation already in progress")
    case "StartDiscovery":
      discoverers.insert(sender)
      try? bus.answer(number)
      announce()
    case "StopDiscovery":
      discoverers.remove(sender)
      try? bus.answer(number)
      // BlueZ has the signal strength only during a discovery.
      if discoverers.isEmpty, isKnown { changed(Self.device, BlueZName.device, [:], ["RSSI"]) }
    case "RemoveDevice":
      guard isKnown else { return refuse(number, "DoesNotExist", "Does Not Exist") }
      linkDown()
      remove()
      try? bus.answer(number)
      announce()
    case _: unknown(number)
    }
  }

  private func deviceCall(_ call: BusMember, _ number: UInt64) {
    switch call.name {
    case "Connect": connect(number)
    case "Disconnect":
      for call in connects { refuse(call, "Failed", "br-connection-canceled") }
      let was = isConnected || !connects.isEmpty
      connects = []
      linkDown()
      if was { try? bus.answer(number) } else { refuse(number, "NotConnected", "Not Connected") }
    case _: unknown(number)
    }
  }

  private func connect(_ number: UInt64) {
    if isStuck { return refuse(number, "InProgress", "Operation already in progress") }
    if isConnected { return refuse(number, "AlreadyConnected", "Already Connected") }
    switch faults.isEmpty ? nil : faults.removeFirst() {
    case .abortByLocal: refuse(number, "Failed", "le-connection-abort-by-local")
    case .stuck:
      isStuck = true
      refuse(number, "InProgress", "Operation already in progress")
    case .vanish:
      remove()
      refuse(number, "Failed", "br-connection-canceled")
      announce()
    case .noSlot:
      refuse(number, "Failed", "le-connection-concurrent-connection-limit")
      remove()
      announce()
    case nil:
      connects.append(number)
      if isAdvertising { linkUp() }
    }
  }

  private func characteristicCall(_ call: BusMember, _ sender: String, _ number: UInt64) {
    guard let index = paths.firstIndex(of: call.path) else { return unknown(number) }
    let id = setup.characteristics[index]
    switch call.name {
    case "StartNotify":
      guard subscribers[call.path] == nil else {
        return refuse(number, "InProgress", "Operation already in progress")
      }
      subscribers[call.path] = sender
      try? bus.answer(number)
    case "StopNotify":
      subscribers[call.path] = nil
      try? bus.answer(number)
    case "ReadValue": events.put(.read(request(number), id))
    case "WriteValue":
      events.put(.write(request(number), id, call.arguments.first?.bytes ?? []))
    case _: unknown(number)
    }
  }

  private func request(_ number: UInt64) -> UInt16 {
    lastRequest += 1
    requests[lastRequest] = number
    return lastRequest
  }

  /// Registers or unregisters an application or a monitor. Requests the objects of an application
  /// or a monitor before it registers one.
  private func register(_ call: BusMember, _ sender: String, _ number: UInt64) {
    guard call.name.hasPrefix("Register") else {
      served = nil
      try? bus.answer(number)
      return
    }
    if call.name == "RegisterApplication", sender == application || sender == served?.sender {
      return refuse(number, "AlreadyExists", "Already Exists")
    }
    guard let root = call.arguments.first?.text,
      let question = try? bus.call(
        sender, BusMember(root, BlueZName.manager, "GetManagedObjects"))
    else { return unknown(number) }
    waiting[question] = { bluez, result in
      let objects = (try? result.get())?.first?.objects ?? [:]
      if objects.contains(where: { $0.value[BlueZName.gattService] != nil }) {
        bluez.serve(objects, of: sender)
        try? bluez.bus.answer(number)
        return
      }
      let wanted =
        call.name == "RegisterApplication" ? BlueZName.profile : BlueZName.monitor
      guard let found = objects.first(where: { $0.value[wanted] != nil }) else {
        return bluez.refuse(number, "Failed", "No object received")
      }
      if call.name == "RegisterApplication" {
        bluez.application = sender
      } else {
        bluez.monitor = (sender, found.key)
        _ = try? bluez.bus.call(sender, BusMember(found.key, BlueZName.monitor, "Activate"))
      }
      try? bluez.bus.answer(number)
      bluez.announce()
    }
  }
}

/// The peripheral of the fake daemon, adapted to the contract suites.
struct BlueZFar: FarPeripheral {
  let bluez: FakeBlueZ
  var id: PeripheralID { FakeBlueZ.id }
  var name: String { "Bottle" }
  var service: GATTID { BottleAttribute.service }
  var characteristic: GATTID { BottleAttribute.state.id }

  func advertise(_ isOn: Bool) async { await bluez.advertise(isOn) }

  func disconnect() async { await bluez.disconnect() }

  func notify(_ bytes: [UInt8]) async { await bluez.notify(characteristic, bytes) }

  func reply(_ request: UInt16, _ bytes: [UInt8]?) async { await bluez.reply(request, bytes) }

  func changeServices() async -> ServiceChangeReport {
    await bluez.changeServices()
    return .reported
  }

  func next() async -> FarPeripheralEvent? { await bluez.events.next() }
}
