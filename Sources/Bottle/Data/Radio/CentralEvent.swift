public import HoldfastCore

/// The UUID of a GATT service or characteristic.
public typealias GATTID = UUID128

/// The identifier of a peripheral: the UUID that this device's radio assigns to it.
public struct PeripheralID: Sendable, Hashable, Codable {
  public var id: UUID128

  public init(_ id: UUID128) {
    self.id = id
  }

  public init(from decoder: any Decoder) throws {
    id = try decoder.singleValueContainer().decode(UUID128.self)
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(id)
  }
}

/// The state of the device's radio.
public enum AdapterState: String, Sendable, Hashable, Codable, CaseIterable {
  case on
  /// The user has switched the radio off.
  case off
  /// The user has not allowed this app to use the radio.
  case unauthorised
  /// The device has no radio.
  case unsupported
  /// The system is restarting the radio. Connections and queued operations are lost.
  case resetting
  /// The system has not reported a state yet.
  case unknown
}

/// An event of a central.
///
/// `restored` is sent at most once, before any other event. Events of an attempt may arrive late or
/// twice, even after the attempt was cancelled.
public enum CentralEvent: Sendable, Hashable, Codable {
  case adapter(AdapterState)
  /// The peripherals that the system kept for this app while it was not running.
  case restored([RestoredPeripheral])
  /// A peripheral sent an advertisement. This occurs only while scanning.
  case found(PeripheralID, name: String?)
  case connected(AttemptID)
  /// The connection attempt can no longer succeed.
  case failed(AttemptID, LinkFailure)
  /// The connection ended. The failure is `nil` if the end was requested.
  case disconnected(AttemptID, LinkFailure?)
  /// The connected peripheral changed its services. The services, characteristics and subscriptions
  /// of the connection are no longer valid; they must be discovered and subscribed to again. The
  /// connection continues. The change is reported for each of the peripheral's tickets.
  case changed(AttemptID)
  /// A characteristic sent a value as a notification.
  case value(AttemptID, GATTID, [UInt8])
}

/// A peripheral that the system kept for this app.
public struct RestoredPeripheral: Sendable, Hashable, Codable {
  public var id: PeripheralID
  /// Whether the peripheral is already connected. Otherwise, its connection is pending.
  public var isConnected: Bool

  public init(_ id: PeripheralID, isConnected: Bool) {
    (self.id, self.isConnected) = (id, isConnected)
  }
}
