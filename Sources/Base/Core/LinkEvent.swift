/// An event of the device or of a socket that every model of a link handles.
public enum LinkEvent: Sendable, Hashable, Codable {
  case device(DeviceChange)
  /// The server sent a WebSocket ping.
  case ping(AttemptID)
  case pong(AttemptID, UInt64)
  /// A message over the size limit was dropped unread.
  case oversized(AttemptID, bytes: UInt64)
  /// The attempt failed, or its connection ended.
  case lost(AttemptID, LinkFailure)

  /// The attempt to which the event belongs; `nil` for a change of the device.
  public var attempt: AttemptID? {
    switch self {
    case .device: nil
    case .ping(let attempt), .pong(let attempt, _), .oversized(let attempt, _),
      .lost(let attempt, _):
      attempt
    }
  }

  /// Returns the same event with another attempt.
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

/// The input of a model that drives a link.
public protocol LinkInput: Sendable {
  /// Creates an input from an event.
  ///
  /// - Parameter wall: The device's wall-clock time.
  init(_ event: LinkEvent, at wall: Timestamp)
  /// The event from which the input was created; `nil` for any other input.
  var event: LinkEvent? { get }
}

extension LinkInput {
  public var event: LinkEvent? { nil }
}

extension HeldLink.Input {
  /// Creates the input that reports an event to a wanted link.
  public init(_ event: LinkEvent) {
    switch event {
    case .device(let change): self.init(change)
    case .ping(let attempt), .oversized(let attempt, _): self = .heard(attempt)
    case .pong(let attempt, let id): self = .pong(attempt, id)
    case .lost(let attempt, let failure): self = .lost(attempt, failure)
    }
  }
}

/// A change of the device that is reported to machines.
public enum DeviceChange: Sendable, Hashable, Codable {
  case reachability(Reachability)
  case lifecycle(AppLifecycle)
  case woke
  /// A new attempt was requested, for example by SIGHUP.
  case again
}

extension HeldLink.Input {
  /// Creates the input that reports a change of the device to a wanted link.
  public init(_ change: DeviceChange) {
    switch change {
    case .reachability(let reachability): self = .reachability(reachability)
    case .lifecycle(let lifecycle): self = .lifecycle(lifecycle)
    case .woke: self = .trigger(.woke)
    case .again: self = .setIntent(.live)
    }
  }
}

/// A text or binary WebSocket message (RFC 6455 section 5.6).
///
/// Its encoded form contains only the kind and the byte count, so that a journal of any protocol
/// contains no content. In a replay, both sides have messages without content, which compare equal.
public struct SocketMessage: Sendable, Hashable, Codable {
  /// Whether the message is text rather than binary.
  public let isText: Bool
  /// The number of bytes.
  public let count: Int
  /// The content, which is UTF-8 for a text message; `nil` in a message that was read from a
  /// journal.
  public let bytes: [UInt8]?

  /// Creates a text message from valid UTF-8.
  public init(text bytes: [UInt8]) {
    (isText, self.bytes, count) = (true, bytes, bytes.count)
  }

  /// Creates a binary message.
  public init(binary bytes: [UInt8]) {
    (isText, self.bytes, count) = (false, bytes, bytes.count)
  }

  /// Creates a text message.
  public static func text(_ text: String) -> SocketMessage { SocketMessage(text: Array(text.utf8)) }

  /// The content of a text message; `nil` for a binary message or one that was read from a journal.
  public var text: String? {
    isText ? bytes.map { String(decoding: $0, as: UTF8.self) } : nil
  }
}

/// The result of a background wake, reported to the system at the end of the wake.
public enum WakeResult: String, Sendable, Hashable, Codable {
  /// All available data was stored.
  case done
  /// Some work is left for the next wake.
  case later
}
