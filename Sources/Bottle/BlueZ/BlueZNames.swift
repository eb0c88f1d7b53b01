#if os(Linux)
  import HoldfastCore
  import HoldfastBottleData
  import HoldfastLinuxDevice

  /// The names of BlueZ's interfaces and objects.
  enum BlueZName {
    static let service = "org.bluez"
    static let adapter = "org.bluez.Adapter1"
    static let device = "org.bluez.Device1"
    static let gattService = "org.bluez.GattService1"
    static let characteristic = "org.bluez.GattCharacteristic1"
    static let gattManager = "org.bluez.GattManager1"
    static let profile = "org.bluez.GattProfile1"
    static let advertisingManager = "org.bluez.LEAdvertisingManager1"
    static let advertisement = "org.bluez.LEAdvertisement1"
    static let monitorManager = "org.bluez.AdvertisementMonitorManager1"
    static let monitor = "org.bluez.AdvertisementMonitor1"
    static let manager = "org.freedesktop.DBus.ObjectManager"
    static let properties = "org.freedesktop.DBus.Properties"
  }

  /// The Bluetooth address of a device, and the names derived from it.
  struct BlueZAddress: Sendable, Hashable {
    /// The 48 bits of the address. The first byte of the text form is the most significant.
    let bits: UInt64

    /// The bits that mark an ID as an address: a version 8 UUID (RFC 9562 section 5.8) with
    /// "BLUEZ".
    private static let high: UInt64 = 0x424C_5545_5A00_8000
    private static let low: UInt64 = 0x8000_0000_0000_0000

    /// Parses `XX:XX:XX:XX:XX:XX`, or the same form with `_`; `nil` for any other text.
    init?(_ text: some StringProtocol) {
      let parts = text.split(omittingEmptySubsequences: false) { $0 == ":" || $0 == "_" }
      let bytes = parts.compactMap { $0.utf8.count == 2 ? UInt64($0, radix: 16) : nil }
      guard parts.count == 6, bytes.count == 6 else { return nil }
      bits = bytes.reduce(0) { $0 << 8 | $1 }
    }

    /// Extracts the address from an ID; `nil` for an ID of another radio.
    init?(_ id: PeripheralID) {
      guard id.id.high == Self.high, id.id.low >> 48 == Self.low >> 48 else { return nil }
      bits = id.id.low & 0xFFFF_FFFF_FFFF
    }

    var id: PeripheralID { PeripheralID(UUID128(high: Self.high, low: Self.low | bits)) }

    /// Whether the address changes over time if it is a random address.
    ///
    /// Random addresses change unless their two highest bits are set (Core Specification, volume 6,
    /// part B, 1.3.2).
    var changesIfRandom: Bool { bits >> 46 != 0b11 }

    /// Returns the path of the device's object below the path of an adapter.
    func path(below adapter: String) -> String {
      let digits = (0..<6).map { index in
        let byte = bits >> UInt64(40 - 8 * index) & 0xFF
        return (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
      }
      return adapter + "/dev_" + digits.joined(separator: "_")
    }

    /// Extracts the address from the path of a device's object; `nil` for any other path.
    init?(path: String, below adapter: String) {
      guard path.hasPrefix(adapter + "/dev_") else { return nil }
      self.init(path.dropFirst(adapter.count + 5))
    }
  }

  /// A copy of BlueZ's objects, which signals keep up to date. It has as many objects as BlueZ.
  struct BlueZObjects: Sendable, Hashable {
    typealias Interfaces = [String: [String: BusData]]

    private(set) var all: [String: Interfaces] = [:]

    init(_ all: [String: Interfaces] = [:]) { self.all = all }

    mutating func add(_ path: String, _ interfaces: Interfaces) {
      all[path, default: [:]].merge(interfaces) { $1 }
    }

    mutating func remove(_ path: String, _ interfaces: [String]) {
      for interface in interfaces { all[path]?[interface] = nil }
      if all[path]?.isEmpty == true { all[path] = nil }
    }

    mutating func change(
      _ path: String, _ interface: String, _ changed: [String: BusData], without: [String]
    ) {
      guard all[path]?[interface] != nil else { return }
      all[path]?[interface]?.merge(changed) { $1 }
      for name in without { all[path]?[interface]?[name] = nil }
    }

    subscript(path: String, interface: String) -> [String: BusData]? { all[path]?[interface] }

    subscript(path: String, interface: String, name: String) -> BusData? {
      all[path]?[interface]?[name]
    }

    /// The paths of the adapters, sorted.
    var adapters: [String] {
      all.filter { $0.value[BlueZName.adapter] != nil }.keys.sorted()
    }

    /// Returns the path of an adapter if it exists. The name is such as `hci0`, or `nil` for the
    /// first one.
    func adapter(_ name: String?) -> String? {
      guard let name else { return adapters.first }
      let path = "/org/bluez/" + name
      return self[path, BlueZName.adapter] == nil ? nil : path
    }

    /// Returns the reply to a call by BlueZ that reads these objects; `nil` for any other call.
    func answer(_ call: BusMember) -> [BusData]? {
      switch (call.interface, call.name) {
      case (BlueZName.manager, "GetManagedObjects"):
        let below = all.filter { $0.key.hasPrefix(call.path + "/") }
        return below.isEmpty ? nil : [.objects(below)]
      case (BlueZName.properties, "GetAll"):
        guard let interface = call.arguments.first?.text else { return nil }
        return self[call.path, interface].map { [.properties($0)] }
      case _: return nil
      }
    }

    /// Returns the path of a service of a device.
    func service(_ id: GATTID, of device: String) -> String? {
      find(BlueZName.gattService, id, below: device)
    }

    /// Returns the path of a characteristic in any of a device's services.
    func characteristic(_ id: GATTID, of device: String) -> String? {
      find(BlueZName.characteristic, id, below: device)
    }

    /// Returns the first matching path in sorted order, so that the result does not depend on the
    /// order of a dictionary.
    private func find(_ interface: String, _ id: GATTID, below device: String) -> String? {
      all.filter { path, interfaces in
        path.hasPrefix(device + "/")
          && interfaces[interface]?["UUID"]?.text.flatMap { GATTID($0) } == id
      }.keys.min()
    }

    /// Returns the services that a device advertises or has.
    func services(of device: String) -> Set<GATTID> {
      let texts = self[device, BlueZName.device, "UUIDs"]?.texts ?? []
      return Set(texts.compactMap { GATTID($0) })
    }
  }
#endif
