/// Why bytes are no JSON text (RFC 8259), and where.
public struct JSONError: Error, Sendable, Hashable {
  public var detail: String
  /// Counts bytes from 0.
  public var offset: Int

  public init(_ detail: String, at offset: Int) {
    self.detail = detail
    self.offset = offset
  }
}
