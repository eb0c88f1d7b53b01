import HoldfastBottleData

#if os(Linux)
  import HoldfastCore
  import HoldfastLinuxDevice

  extension BusRefusal {
    static let unknownMethod = BusRefusal(
      "org.freedesktop.DBus.Error.UnknownMethod", "there is no such method")

    /// Whether the object to be registered is already registered with BlueZ.
    var isThere: Bool { name == "org.bluez.Error.AlreadyExists" }
  }

  /// The objects that this program exports to BlueZ.
  ///
  /// The objects are a profile, for which BlueZ connects by itself, and an advertisement monitor.
  enum BlueZExports {
    static let application = "/holdfast/application"
    static let monitors = "/holdfast/monitors"
    private static let profilePath = application + "/profile"
    private static let monitorPath = monitors + "/monitor"

    /// The AD types of the incomplete and complete lists of 128-bit service UUIDs (Supplement to
    /// the Core Specification, part A, 1.1).
    private static let lists: [UInt8] = [0x06, 0x07]

    /// Returns the reply to a call by BlueZ.
    static func answer(
      _ call: BusMember, _ services: [GATTID]
    ) -> Result<[BusData], BusRefusal> {
      let objects = BlueZObjects([
        profilePath: [BlueZName.profile: profile(services)],
        monitorPath: [BlueZName.monitor: monitor(services)],
      ])
      if let values = objects.answer(call) { return .success(values) }
      switch (call.interface, call.name, call.path) {
      case (BlueZName.profile, "Release", profilePath),
        (BlueZName.monitor, "Activate", monitorPath), (BlueZName.monitor, "Release", monitorPath),
        (BlueZName.monitor, "DeviceFound", monitorPath),
        (BlueZName.monitor, "DeviceLost", monitorPath):
        return .success([])
      case _: break
      }
      return .failure(.unknownMethod)
    }

    /// Returns the input that a call by BlueZ causes; `nil` if there is none.
    static func input(_ call: BusMember) -> BlueZRadio.Input? {
      guard call.interface == BlueZName.monitor else { return nil }
      if call.name == "DeviceFound", let device = call.arguments.first?.text {
        return .detected(device)
      }
      return call.name == "Release" ? .monitorReleased : nil
    }

    private static func profile(_ services: [GATTID]) -> [String: BusData] {
      ["UUIDs": .texts(services.map(\.description))]
    }

    private static func monitor(_ services: [GATTID]) -> [String: BusData] {
      let patterns = services.flatMap { service in
        lists.map { BusData.structure([.byte(0), .byte($0), .bytes(littleEndian(service))]) }
      }
      return ["Type": .text("or_patterns"), "Patterns": .list(patterns, of: "(yyay)")]
    }

    /// Returns the bytes of a UUID in the order in which advertisements contain them.
    private static func littleEndian(_ id: GATTID) -> [UInt8] {
      [id.low, id.high].flatMap { word in
        (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(8 * $0)) }
      }
    }
  }
#endif
