/// A text that must not reach a journal or a log: it is encoded and described as nothing.
///
/// A journal holds the inputs of a machine; this type keeps codes and tokens out of it. A replay
/// reads the empty text on both sides, so the values compare equal.
public struct Secret: Sendable, Hashable, Codable, CustomStringConvertible {
  /// The text itself.
  public let text: String

  /// Creates a secret.
  public init(_ text: String) {
    self.text = text
  }

  /// Never the text.
  public var description: String { "[secret]" }
}
