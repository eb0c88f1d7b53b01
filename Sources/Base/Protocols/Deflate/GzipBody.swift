import CHoldfastZlib

/// Conversions of HTTP bodies with the content coding `gzip` (RFC 9110 section 8.4.1.3, RFC 1952).
public enum GzipBody {
  /// The reason why a body was not decompressed.
  public enum Fault: Error, Sendable, Hashable {
    /// The body is not in gzip format, is damaged, or ends too early.
    case malformed
    /// The decompressed body is longer than allowed.
    case tooLong
    /// Memory is exhausted on this side. The sender is not at fault.
    case noMemory
  }

  /// The largest window, 32 KiB, in gzip format (zlib.h, `inflateInit2`).
  private static let windowBits = CInt(MAX_WBITS + 16)
  private static let pieceBytes = 65_536

  /// Decompresses a whole body. Several gzip members are joined (RFC 1952 section 2.2).
  ///
  /// - Parameter limit: The maximum size of the result in bytes. No more bytes are produced.
  public static func inflate(_ body: [UInt8], atMost limit: Int) throws(Fault) -> [UInt8] {
    // zlib stores the address of its stream, so the stream must be on the heap.
    let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    unsafe stream.initialize(to: z_stream())
    defer { unsafe stream.deallocate() }
    let status = unsafe inflateInit2_(
      stream, windowBits, ZLIB_VERSION, CInt(MemoryLayout<z_stream>.size))
    guard status == Z_OK else { throw .noMemory }
    defer { unsafe inflateEnd(stream) }
    let found = unsafe body.withUnsafeBytes { input in
      // zlib does not write to its input.
      unsafe stream.pointee.next_in = UnsafeMutablePointer(
        mutating: input.baseAddress?.assumingMemoryBound(to: UInt8.self))
      unsafe stream.pointee.avail_in = CUnsignedInt(clamping: input.count)
      return unsafe inflated(stream, atMost: limit)
    }
    return try found.get()
  }

  private static func inflated(
    _ stream: UnsafeMutablePointer<z_stream>, atMost limit: Int
  ) -> Result<[UInt8], Fault> {
    var found: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: pieceBytes)
    while true {
      let status = unsafe piece.withUnsafeMutableBufferPointer { buffer in
        unsafe stream.pointee.next_out = buffer.baseAddress
        unsafe stream.pointee.avail_out = CUnsignedInt(buffer.count)
        return unsafe CHoldfastZlib.inflate(stream, Z_NO_FLUSH)
      }
      let count = unsafe piece.count - Int(stream.pointee.avail_out)
      guard count <= limit - found.count else { return .failure(.tooLong) }
      found += piece[..<count]
      switch status {
      case Z_OK: continue
      case Z_STREAM_END:
        guard unsafe stream.pointee.avail_in > 0 else { return .success(found) }
        guard unsafe inflateReset(stream) == Z_OK else { return .failure(.malformed) }
      case _: return .failure(fault(status))
      }
    }
  }

  /// Returns the fault for a zlib status.
  static func fault(_ status: CInt) -> Fault { status == Z_MEM_ERROR ? .noMemory : .malformed }

  /// Compresses a whole body. Returns `nil` if memory is exhausted.
  public static func deflate(_ body: [UInt8]) -> [UInt8]? {
    let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    unsafe stream.initialize(to: z_stream())
    defer { unsafe stream.deallocate() }
    let status = unsafe deflateInit2_(
      stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, windowBits, 8, Z_DEFAULT_STRATEGY,
      ZLIB_VERSION, CInt(MemoryLayout<z_stream>.size))
    guard status == Z_OK else { return nil }
    defer { unsafe deflateEnd(stream) }
    let room = unsafe Int(deflateBound(stream, CUnsignedLong(body.count))) + 32
    var isWhole = false
    let compressed = unsafe body.withUnsafeBytes { input in
      unsafe [UInt8](unsafeUninitializedCapacity: room) { output, count in
        unsafe stream.pointee.next_in = UnsafeMutablePointer(
          mutating: input.baseAddress?.assumingMemoryBound(to: UInt8.self))
        unsafe stream.pointee.avail_in = CUnsignedInt(clamping: input.count)
        unsafe stream.pointee.next_out = output.baseAddress
        unsafe stream.pointee.avail_out = CUnsignedInt(clamping: output.count)
        isWhole = unsafe CHoldfastZlib.deflate(stream, Z_FINISH) == Z_STREAM_END
        count = unsafe output.count - Int(stream.pointee.avail_out)
      }
    }
    return isWhole ? compressed : nil
  }
}
