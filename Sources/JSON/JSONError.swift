/// Why bytes are no JSON text (RFC 8259), and where.
public struct JSONError: Error, Sendable, Hashable {
  /// For people; never a part of the text.
  public var detail: String
  /// Counts bytes from 0.
  public var offset: Int

  /// A fault at `offset`.
  public init(_ detail: String, at offset: Int) {
    self.detail = detail
    self.offset = offset
  }
}
