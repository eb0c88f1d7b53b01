public import LinkCore

/// A characteristic of a bottle that this package reads, writes or subscribes to.
public enum BottleAttribute: UInt8, Sendable, Hashable, Codable, CaseIterable {
  /// 14 bytes; read, notify.
  case state = 1
  /// 12 bytes; read, write.
  case configuration = 2
  /// 8 bytes; read, write.
  case syncControl = 3
  /// 6 bytes and 14 for each record; read, notify.
  case drinks = 4
  /// 3, 4, 5 or 13 bytes; write with response.
  case command = 5
  /// 4 bytes; read, write.
  case settings = 6
  /// 12 bytes, or a chunk; read, notify.
  case activity = 7
  /// 12 bytes; read, notify.
  case calibration = 8
  /// One byte, percent: the battery level of the Bluetooth SIG (2A19); read, notify.
  case battery = 0x19

  /// Its UUID.
  public var id: GATTID {
    switch self {
    case .state, .configuration, .syncControl, .drinks, .command, .settings, .activity,
      .calibration:
      GATTID(high: Self.service.high, low: Self.service.low | UInt64(rawValue))
    case .battery: Self.assigned(0x2A19)
    }
  }

  /// The characteristic of a UUID; `nil` for another one.
  public init?(id: GATTID) {
    guard let found = Self.allCases.first(where: { $0.id == id }) else { return nil }
    self = found
  }

  /// The service of bottles, which they advertise.
  public static let service = GATTID(high: 0x6F75_616B_7661_7465, low: 0x2D00_0000_0000_0000)
  /// The battery service of the Bluetooth SIG.
  public static let batteryService = assigned(0x180F)

  /// "Connected" means that all of these were discovered.
  public static let required: [BottleAttribute] = [
    .state, .configuration, .syncControl, .drinks, .command, .settings,
  ]

  /// Those that notify.
  public static let notifying: [BottleAttribute] = [
    .state, .drinks, .activity, .calibration, .battery,
  ]

  /// The base UUID of the Bluetooth SIG with a number (Core Specification, volume 3, part B,
  /// 2.5.1).
  private static func assigned(_ number: UInt64) -> GATTID {
    GATTID(high: number << 32 | 0x1000, low: 0x8000_0080_5F9B_34FB)
  }
}
