public import LinkCore
public import LinkWire

/// A knock at a phone's door: it wakes the app and carries no data.
public struct Push: Sendable, Hashable {
  /// The address of the phone.
  public var address: PushAddress
  /// From then on it is worth nothing: a service that could not deliver it drops it.
  public var expiresAt: Timestamp
  /// A service keeps only the newest of those that name the same; 1 to 64 bytes.
  public var collapseID: String

  /// A knock that is to be given out at once or not at all after `expiresAt`.
  public init(address: PushAddress, expiresAt: Timestamp, collapseID: String) {
    self.address = address
    self.expiresAt = expiresAt
    self.collapseID = collapseID
  }
}

/// Wakes phones in background.
///
/// Contract: a call returns within the sender's time limit and never throws; what was refused for
/// now is not tried again by itself. Nothing but the knock leaves: no question, no health data.
public protocol PushSender: Sendable {
  func send(_ push: Push) async -> PushOutcome
}
