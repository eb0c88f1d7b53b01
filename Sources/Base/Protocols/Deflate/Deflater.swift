import CHoldfastZlib

/// A compressor for one direction (RFC 7692 section 7.2.1).
@safe struct Deflater: ~Copyable {
  private let stream: UnsafeMutablePointer<z_stream>

  /// The smallest window with which zlib can produce raw deflate. A window of 8 bits is not
  /// possible.
  static let smallestWindowBits = 9

  init?(windowBits: Int) {
    let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    unsafe stream.initialize(to: z_stream())
    // The memory depends on the window: 2^(bits+2) bytes for the window and 2^(level+9) bytes for
    // other data (zconf.h).
    let memoryLevel = CInt(windowBits - 7)
    let status = unsafe deflateInit2_(
      stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -CInt(windowBits), memoryLevel,
      Z_DEFAULT_STRATEGY, ZLIB_VERSION, CInt(MemoryLayout<z_stream>.size))
    guard status == Z_OK else {
      unsafe stream.deallocate()
      return nil
    }
    unsafe self.stream = stream
  }

  deinit {
    unsafe deflateEnd(stream)
    unsafe stream.deallocate()
  }

  /// Returns the window size for a message that is compressed alone. The window is no larger than
  /// the message can use.
  static func windowBits(for count: Int, atMost limit: Int) -> Int {
    var bits = smallestWindowBits
    while bits < limit, 1 << bits < count { bits += 1 }
    return bits
  }

  /// Returns a compressed message without its last four octets, which are the same for every
  /// message. Returns `nil` if memory is exhausted.
  mutating func message(_ payload: [UInt8]) -> [UInt8]? {
    if payload.isEmpty { return [0x00] }
    let room = unsafe Int(deflateBound(stream, CUnsignedLong(payload.count))) + 16
    var compressed = unsafe payload.withUnsafeBytes { input in
      unsafe [UInt8](unsafeUninitializedCapacity: room) { output, count in
        count = unsafe run(input, into: output)
      }
    }
    guard compressed.suffix(4) == [0x00, 0x00, 0xFF, 0xFF] else { return nil }
    compressed.removeLast(4)
    return compressed
  }

  private func run(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableBufferPointer<UInt8>
  ) -> Int {
    unsafe stream.pointee.next_in = UnsafeMutablePointer(
      mutating: input.baseAddress?.assumingMemoryBound(to: UInt8.self))
    unsafe stream.pointee.avail_in = CUnsignedInt(input.count)
    unsafe stream.pointee.next_out = output.baseAddress
    unsafe stream.pointee.avail_out = CUnsignedInt(output.count)
    unsafe deflate(stream, Z_SYNC_FLUSH)
    let left = unsafe Int(stream.pointee.avail_out)
    unsafe stream.pointee.next_in = nil
    // Input is left unread, or output is missing, only if the output buffer is full.
    return left > 0 ? output.count - left : 0
  }
}
