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

/// A change of the device that machines are told.
public enum DeviceChange: Sendable, Hashable, Codable {
  case reachability(Reachability)
  case lifecycle(Lifecycle)
  case woke
  /// Another try is asked for, by SIGHUP for example.
  case again
}

extension HeldLink.Input {
  /// What a change of the device means for a link that is wanted.
  public init(_ change: DeviceChange) {
    switch change {
    case .reachability(let reachability): self = .reachability(reachability)
    case .lifecycle(let lifecycle): self = .lifecycle(lifecycle)
    case .woke: self = .trigger(.woke)
    case .again: self = .want(.live)
    }
  }
}

/// A message of a WebSocket: a text or bytes (RFC 6455 section 5.6).
///
/// Its coded form states the kind and the byte count only, so that a journal of any protocol holds
/// no content. A replay meets messages without content on both sides, which compare equal.
public struct SocketMessage: Sendable, Hashable, Codable {
  /// Whether it is a text, or binary.
  public let isText: Bool
  /// How many bytes it has.
  public let count: Int
  /// The content, UTF-8 for a text; `nil` in a message that was read from a journal.
  public let bytes: [UInt8]?

  /// A text whose bytes are valid UTF-8.
  public init(text bytes: [UInt8]) {
    (isText, self.bytes, count) = (true, bytes, bytes.count)
  }

  /// A binary message.
  public init(binary bytes: [UInt8]) {
    (isText, self.bytes, count) = (false, bytes, bytes.count)
  }

  /// A text.
  public static func text(_ text: String) -> SocketMessage { SocketMessage(text: Array(text.utf8)) }

  /// The content of a text; `nil` for a binary message.
  public var text: String? {
    isText ? bytes.map { String(decoding: $0, as: UTF8.self) } : nil
  }
}

/// The result of a background wake, reported to the system when its time is given back.
public enum WakeResult: String, Sendable, Hashable, Codable {
  /// All that there was is stored.
  case done
  /// Something is left for the next time.
  case later
}
