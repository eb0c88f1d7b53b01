public import HoldfastCore

/// A characteristic of a bottle that this package reads, writes or subscribes to.
public enum BottleAttribute: UInt8, Sendable, Hashable, Codable, CaseIterable {
  /// The state: 14 bytes; read, notify.
  case state = 1
  /// The configuration: 12 bytes; read, write.
  case configuration = 2
  /// The control of the synchronization of records: 8 bytes; read, write.
  case syncControl = 3
  /// The drinks: 6 bytes, and 14 bytes for each record; read, notify.
  case drinks = 4
  /// Commands: 3, 4, 5 or 13 bytes; write with response.
  case command = 5
  /// The settings: 4 bytes; read, write.
  case settings = 6
  /// The activities: 12 bytes, or a chunk; read, notify.
  case activity = 7
  /// The progress of a calibration: 12 bytes; read, notify.
  case calibration = 8
  /// The battery level as defined by the Bluetooth SIG (2A19), in percent: one byte; read, notify.
  case battery = 0x19

  /// The UUID of the characteristic.
  public var id: GATTID {
    switch self {
    case .state, .configuration, .syncControl, .drinks, .command, .settings, .activity,
      .calibration:
      GATTID(high: Self.service.high, low: Self.service.low | UInt64(rawValue))
    case .battery: Self.assigned(0x2A19)
    }
  }

  /// Creates the characteristic with a UUID. Returns `nil` for unknown UUIDs.
  public init?(id: GATTID) {
    guard let found = Self.allCases.first(where: { $0.id == id }) else { return nil }
    self = found
  }

  /// The service of bottles. Bottles advertise it.
  public static let service = GATTID(high: 0x6F75_616B_7661_7465, low: 0x2D00_0000_0000_0000)
  /// The battery service as defined by the Bluetooth SIG.
  public static let batteryService = assigned(0x180F)

  /// The characteristics that must be discovered before a bottle counts as connected.
  public static let required: [BottleAttribute] = [
    .state, .configuration, .syncControl, .drinks, .command, .settings,
  ]

  /// The characteristics that send notifications.
  public static let notifying: [BottleAttribute] = [
    .state, .drinks, .activity, .calibration, .battery,
  ]

  /// Returns the UUID that the Bluetooth SIG assigned to a number (Core Specification, volume 3,
  /// part B, 2.5.1).
  private static func assigned(_ number: UInt64) -> GATTID {
    GATTID(high: number << 32 | 0x1000, low: 0x8000_0080_5F9B_34FB)
  }
}
