import CHoldfastZlib

/// A decompressor for one direction (RFC 7692 section 7.2.2). Its output comes in pieces, and the
/// receiver can stop after each.
@safe struct Inflater: ~Copyable {
  /// A function that receives a piece of output and returns whether it accepts more.
  typealias Take = (UnsafeRawBufferPointer) throws(WebSocketError) -> Bool

  /// The zlib stream. It is on the heap because zlib stores its address.
  private let stream: UnsafeMutablePointer<z_stream>
  /// Whether a block with BFINAL has ended and no input has followed it yet.
  private var ended = false

  /// The maximum size of the output that is buffered at a time, in bytes.
  private static let pieceBytes = 16_384

  /// Creates a decompressor with the largest window, regardless of the negotiated size.
  ///
  /// With a smaller window, zlib accepts a reference beyond the window if its target is in the
  /// output of the same call. The result would then depend on how the octets arrive. The largest
  /// window uses 32 KiB while a stream exists.
  init() throws(WebSocketError) {
    let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    unsafe stream.initialize(to: z_stream())
    // A negative value selects raw deflate.
    let status = unsafe inflateInit2_(
      stream, -MAX_WBITS, ZLIB_VERSION, CInt(MemoryLayout<z_stream>.size))
    guard status == Z_OK else {
      unsafe stream.deallocate()
      throw Self.fault(Z_MEM_ERROR)
    }
    unsafe self.stream = stream
  }

  deinit {
    unsafe inflateEnd(stream)
    unsafe stream.deallocate()
  }

  /// Inflates all of `input`.
  mutating func inflate(_ input: UnsafeRawBufferPointer, take: Take) throws(WebSocketError) {
    var start = 0
    while start < input.count {
      // zlib uses 32-bit counts.
      let end = min(input.count, start + (1 << 30))
      try unsafe inflate(part: UnsafeRawBufferPointer(rebasing: input[start..<end]), take)
      start = end
    }
  }

  private mutating func inflate(
    part: UnsafeRawBufferPointer, _ take: Take
  ) throws(WebSocketError) {
    // zlib does not write to its input.
    unsafe stream.pointee.next_in = UnsafeMutablePointer(
      mutating: part.baseAddress?.assumingMemoryBound(to: UInt8.self))
    unsafe stream.pointee.avail_in = CUnsignedInt(part.count)
    try unsafe withUnsafeTemporaryAllocation(byteCount: Self.pieceBytes, alignment: 8) {
      piece throws(WebSocketError) in
      while try unsafe step(piece, take) {}
    }
  }

  /// Calls zlib once. Returns whether another call is needed.
  private mutating func step(
    _ piece: UnsafeMutableRawBufferPointer, _ take: Take
  ) throws(WebSocketError) -> Bool {
    if ended {
      // Another stream follows a BFINAL block, and the window is kept (RFC 7692 section 7.2.3.4).
      unsafe inflateResetKeep(stream)
      ended = false
    }
    unsafe stream.pointee.next_out = piece.baseAddress?.assumingMemoryBound(to: UInt8.self)
    unsafe stream.pointee.avail_out = CUnsignedInt(piece.count)
    let status = unsafe CHoldfastZlib.inflate(stream, Z_SYNC_FLUSH)
    let left = unsafe Int(stream.pointee.avail_out)
    if left < piece.count {
      let output = unsafe UnsafeRawBufferPointer(rebasing: piece[..<(piece.count - left)])
      guard try unsafe take(output) else { return false }
    }
    let pending = unsafe stream.pointee.avail_in > 0
    switch status {
    case Z_OK: return pending || left == 0
    case Z_BUF_ERROR: return false
    case Z_STREAM_END:
      ended = true
      return pending
    case _: throw Self.fault(status)
    }
  }

  /// Returns the error for a zlib status: 1011 if memory is exhausted on this side. Any other
  /// status gives 1007, because the peer sent invalid data.
  static func fault(_ status: CInt) -> WebSocketError {
    status == Z_MEM_ERROR
      ? WebSocketError(code: 1011, detail: "out of memory during decompression")
      : .inconsistent("compressed data that does not inflate")
  }

  /// Ends a message: adds the four octets that the sender removed, and checks that they complete
  /// the last block.
  ///
  /// Must not be called after `take` returned false.
  mutating func finishMessage(take: Take) throws(WebSocketError) {
    if ended { return }
    let tail: ArraySlice<UInt8> = [0x00, 0x00, 0xFF, 0xFF]
    try unsafe tail.span.bytes.withUnsafeBytes { bytes throws(WebSocketError) in
      try unsafe inflate(bytes, take: take)
    }
    // In data_type, 128 means the end of a block, and the low bits count the unused bits of the
    // last octet. The four octets may also complete an empty last block with BFINAL.
    guard unsafe ended || stream.pointee.data_type & 0x87 == 0x80 else {
      throw .inconsistent("a compressed message that ends inside a block")
    }
  }
}
