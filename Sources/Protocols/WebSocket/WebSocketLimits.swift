/// Which end of a WebSocket this is; a client masks what it sends (RFC 6455 section 5.1).
public enum WebSocketRole: Sendable, Equatable {
  case client, server

  var peer: WebSocketRole { self == .client ? .server : .client }
}

/// How much one message may weigh, and what happens to a heavier one.
public struct WebSocketLimits: Sendable, Equatable {
  /// The largest message in bytes, after reassembly and inflation.
  ///
  /// An uncompressed frame is measured by its header, before anything is allocated for it.
  public var maxMessageBytes: Int
  /// The largest number of frames in one message.
  public var maxFragments: Int
  /// What happens to a message beyond a limit.
  public var oversize: Oversize

  /// What happens to a message beyond a limit.
  public enum Oversize: Sendable, Equatable {
    /// Read past it without keeping a byte, report ``WebSocketEvent/oversized(bytes:)``, stay open.
    case skip
    /// Close with 1009 (RFC 6455 section 7.4.1).
    case close
  }

  /// Limits of 1 MiB and 1024 frames a message unless told otherwise.
  public init(
    maxMessageBytes: Int = 1_048_576, maxFragments: Int = 1024, oversize: Oversize
  ) {
    self.maxMessageBytes = max(0, maxMessageBytes)
    self.maxFragments = max(1, maxFragments)
    self.oversize = oversize
  }
}
