/// What one text frame of the stream says.
public enum StreamFrame: Sendable, Hashable {
  case message(Message)
  /// The server stops within this time: connect again.
  case draining(within: Duration)
  /// A frame with a `type` that this version does not know; to be ignored.
  case unknown(type: String)
}

/// Text frames of the message stream <-> values.
public enum StreamCodec {
  /// Reads a frame in one pass; unknown members are ignored.
  public static func decode(
    _ frame: [UInt8], shop: ShopID, limits: MessageLimits = MessageLimits()
  ) throws(MessageError) -> StreamFrame { throw .malformed(detail: "") }

  public static func encode(_ message: Message) -> [UInt8] { [] }

  public static func encodeDraining(within limit: Duration) -> [UInt8] { [] }
}
