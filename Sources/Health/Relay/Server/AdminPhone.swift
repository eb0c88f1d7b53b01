public import HoldfastCore
public import HoldfastRelayData

/// A phone that the relay knows, as operators see it.
public struct AdminPhone: Sendable, Hashable {
  /// The presence of a phone.
  public enum State: String, Sendable, Hashable {
    /// The phone has a socket.
    case here
    /// The phone has no socket, but may come back or be woken.
    case away
    /// The pairing is over, and an assistant has not been told yet.
    case over
  }

  /// The ID of the phone.
  public var id: PhoneID
  public var state: State
  /// The socket of the phone; `nil` while it is away.
  public var connection: ConnectionID?
  /// The time of the last contact, while the phone is away.
  public var leftAt: Timestamp?
  /// The user of health sync whose samples answer for the phone; `nil` for none.
  public var user: String?
  /// The number of assistants that may ask the phone.
  public var assistants: Int
  /// Whether a push can wake the phone.
  public var isWakeable: Bool

  /// Creates a phone from its parts.
  public init(
    id: PhoneID, state: State, connection: ConnectionID? = nil, leftAt: Timestamp? = nil,
    user: String? = nil, assistants: Int = 0, isWakeable: Bool = false
  ) {
    (self.id, self.state, self.connection, self.leftAt) = (id, state, connection, leftAt)
    (self.user, self.assistants, self.isWakeable) = (user, assistants, isWakeable)
  }
}
