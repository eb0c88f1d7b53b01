public import LinkCore
public import LinkWire

/// A wake push for a phone, which wakes the app and carries no data.
public struct Push: Sendable, Hashable {
  /// The address of the phone.
  public var address: PushAddress
  /// When the push becomes worthless; a service that could not deliver it by then drops it.
  public var expiresAt: Timestamp
  /// The key for collapsing: a service keeps only the newest push with the same key; 1 to 64 bytes.
  public var collapseID: String

  /// Creates a push that is delivered before `expiresAt` or not at all.
  public init(address: PushAddress, expiresAt: Timestamp, collapseID: String) {
    self.address = address
    self.expiresAt = expiresAt
    self.collapseID = collapseID
  }
}

/// A sender of pushes that wake phones in the background.
///
/// Contract: a call returns within the sender's time-out and never throws. A push that was refused
/// for now is not retried automatically. Only the wake push is sent: no question and no health
/// data.
public protocol PushSender: Sendable {
  func send(_ push: Push) async -> PushOutcome
}
