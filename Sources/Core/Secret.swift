/// A text that only its owner may see: it is coded and described as nothing.
///
/// A journal holds what a machine was told; this keeps codes and tokens out of it. A replay meets
/// the empty text on both sides, so it compares equal.
public struct Secret: Sendable, Hashable, Codable, CustomStringConvertible {
  /// The text itself.
  public let text: String

  /// Hides a text.
  public init(_ text: String) {
    self.text = text
  }

  /// The empty text, whatever was written.
  public init(from decoder: any Decoder) throws {
    _ = try decoder.singleValueContainer().decode(String.self)
    text = ""
  }

  /// Writes an empty text.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode("")
  }

  /// Never the text.
  public var description: String { "[secret]" }
}
