public import LinkCore

/// A GATT service or characteristic, named by its UUID.
public typealias GATTID = UUID128

/// A peripheral, by the name that this device's radio gives it.
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

/// What the device's radio can do now.
public enum AdapterState: String, Sendable, Hashable, Codable, CaseIterable {
  case on
  /// The user switched it off.
  case off
  /// The user did not allow this app to use it.
  case unauthorised
  /// There is none.
  case unsupported
  /// The system restarts it; what was open or queued is gone.
  case resetting
  /// The system has not said yet.
  case unknown
}

/// What a central reports.
///
/// `restored` comes before any other event, at most once. Events of one attempt may come late or
/// twice, after it was cancelled too.
public enum CentralEvent: Sendable, Hashable, Codable {
  case adapter(AdapterState)
  /// What the system kept for this app while it did not run.
  case restored([RestoredPeripheral])
  /// A peripheral advertises; only while scanning.
  case found(PeripheralID, name: String?)
  case connected(AttemptID)
  /// The connect cannot succeed any more.
  case failed(AttemptID, LinkFailure)
  /// The connection is over; `nil` if it was asked for.
  case disconnected(AttemptID, LinkFailure?)
  /// A characteristic notified a value.
  case value(AttemptID, GATTID, [UInt8])
}

/// A peripheral that the system kept for this app.
public struct RestoredPeripheral: Sendable, Hashable, Codable {
  public var id: PeripheralID
  /// Connected already, or else its connect is pending.
  public var isConnected: Bool

  public init(_ id: PeripheralID, isConnected: Bool) {
    (self.id, self.isConnected) = (id, isConnected)
  }
}
