/// Bytes eight at a time.
extension Span<UInt8> {
  /// Eight bytes as one number, the first lowest; they must be there.
  @inlinable @inline(__always)
  package func word(at index: Int) -> UInt64 {
    unsafe UInt64(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self))
  }
}
