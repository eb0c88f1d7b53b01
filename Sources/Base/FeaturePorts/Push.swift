public import HoldfastCore
public import HoldfastRelayData

/// A push that wakes an app on a phone. It carries no data.
public struct Push: Sendable, Hashable {
  /// The address of the phone.
  public var address: PushAddress
  /// The time at which the push expires. A push service that has not delivered it by then drops it.
  public var expiresAt: Timestamp
  /// The key for collapsing pushes, of 1 to 64 bytes. A service keeps only the newest push with a
  /// key.
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
/// Contract: a call returns within the sender's time-out and never throws an error. If a push is
/// refused temporarily, the sender does not retry it. The sender sends only the wake push, without
/// questions or health data.
public protocol PushSender: Sendable {
  func send(_ push: Push) async -> PushOutcome
}
