/// A fault in a JSON text (RFC 8259) and its place.
public struct JSONError: Error, Sendable, Hashable {
  /// The fault in a few words for people, without a part of the text.
  public var detail: String
  /// The place in bytes, from 0.
  public var offset: Int

  /// A fault at `offset`.
  public init(_ detail: String, at offset: Int) {
    self.detail = detail
    self.offset = offset
  }
}
