/// Names one request to a phone, so that its answer finds the way back; 1 to 64 bytes of UTF-8.
public struct RelayRequestID: Sendable, Hashable, Codable, CustomStringConvertible {
  /// As the backend gave it; compared, never taken apart.
  public let text: String

  /// The original's are UUIDs of 36 characters; the bound is ours. `nil` beyond it or if empty.
  public init?(_ text: some StringProtocol) {
    guard (1...Self.maxBytes).contains(text.utf8.count) else { return nil }
    self.text = String(text)
  }

  /// The longest id in bytes.
  public static let maxBytes = 64

  /// As the backend gave it.
  public var description: String { text }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let value = RelayRequestID(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "no request id")
    }
    self = value
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }
}
