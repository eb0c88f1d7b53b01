/// What any device and any socket can tell the model of a link.
public enum LinkEvent: Sendable, Hashable, Codable {
  case device(DeviceChange)
  /// A WebSocket ping of the server.
  case ping(AttemptID)
  case pong(AttemptID, UInt64)
  /// A message over the limit was dropped unread.
  case oversized(AttemptID, bytes: UInt64)
  /// The attempt failed, or its connection ended.
  case lost(AttemptID, LinkFailure)

  /// The attempt that it belongs to; `nil` for the device.
  public var attempt: AttemptID? {
    switch self {
    case .device: nil
    case .ping(let attempt), .pong(let attempt, _), .oversized(let attempt, _),
      .lost(let attempt, _):
      attempt
    }
  }

  /// The same event of another attempt.
  public func moved(to attempt: AttemptID) -> LinkEvent {
    switch self {
    case .device: self
    case .ping: .ping(attempt)
    case .pong(_, let id): .pong(attempt, id)
    case .oversized(_, let bytes): .oversized(attempt, bytes: bytes)
    case .lost(_, let failure): .lost(attempt, failure)
    }
  }
}

/// The inputs of a model that drives a link.
public protocol LinkInput: Sendable {
  /// Tells the model of an event.
  ///
  /// - Parameter wall: the device's wall clock.
  init(_ event: LinkEvent, at wall: Timestamp)
  /// The event that the input holds as it is; `nil` for another input.
  var event: LinkEvent? { get }
}

extension LinkInput {
  public var event: LinkEvent? { nil }
}

extension HeldLink.Input {
  /// What an event means for a link that is wanted.
  public init(_ event: LinkEvent) {
    switch event {
    case .device(let change): self.init(change)
    case .ping(let attempt), .oversized(let attempt, _): self = .heard(attempt)
    case .pong(let attempt, let id): self = .pong(attempt, id)
    case .lost(let attempt, let failure): self = .lost(attempt, failure)
    }
  }
}
