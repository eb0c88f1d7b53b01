import CZlib

/// One direction's decompression (RFC 7692 section 7.2.2), in pieces and within bounds.
@safe struct Inflater: ~Copyable {
  /// Takes a piece of output; returns whether more is wanted.
  typealias Take = (UnsafeRawBufferPointer) throws(WebSocketError) -> Bool

  /// zlib remembers where its stream lies, so it lies on the heap.
  private let stream: UnsafeMutablePointer<z_stream>
  /// A block with BFINAL ended and nothing followed it yet.
  private var ended = false

  /// The most output that is held at a time.
  private static let pieceBytes = 16_384

  /// Reads with the largest window, whatever was agreed.
  ///
  /// With a smaller one zlib takes a reference behind it as long as the target lies in the output
  /// of the same call, so how the octets came would decide. It costs 32 KiB while a stream lives.
  init() throws(WebSocketError) {
    let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    unsafe stream.initialize(to: z_stream())
    // Negative: raw deflate.
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
      // zlib counts in 32 bits.
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

  /// One call of zlib; returns whether there is more to do.
  private mutating func step(
    _ piece: UnsafeMutableRawBufferPointer, _ take: Take
  ) throws(WebSocketError) -> Bool {
    if ended {
      // Another stream behind a BFINAL block, with the window kept (RFC 7692 section 7.2.3.4).
      unsafe inflateResetKeep(stream)
      ended = false
    }
    unsafe stream.pointee.next_out = piece.baseAddress?.assumingMemoryBound(to: UInt8.self)
    unsafe stream.pointee.avail_out = CUnsignedInt(piece.count)
    let status = unsafe CZlib.inflate(stream, Z_SYNC_FLUSH)
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

  /// Returns the error for a status of zlib: 1011 if memory is missing here, else 1007, since the
  /// peer sent the data.
  static func fault(_ status: CInt) -> WebSocketError {
    status == Z_MEM_ERROR
      ? WebSocketError(code: 1011, detail: "no memory to inflate")
      : .inconsistent("compressed data that does not inflate")
  }

  /// Ends a message: feeds the four octets its sender took off, and checks that they fit.
  ///
  /// Not to be called behind a `take` that wanted no more.
  mutating func finishMessage(take: Take) throws(WebSocketError) {
    if ended { return }
    let tail: ArraySlice<UInt8> = [0x00, 0x00, 0xFF, 0xFF]
    try unsafe tail.span.bytes.withUnsafeBytes { bytes throws(WebSocketError) in
      try unsafe inflate(bytes, take: take)
    }
    // 128 in data_type: at the end of a block; its low bits count what is left of the last octet.
    // The four octets may also end a last block, an empty one with BFINAL.
    guard unsafe ended || stream.pointee.data_type & 0x87 == 0x80 else {
      throw .inconsistent("a compressed message that ends inside a block")
    }
  }
}
