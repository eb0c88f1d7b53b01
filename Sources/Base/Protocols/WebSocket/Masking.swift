/// Masking of payloads (RFC 6455 section 5.3).
enum Masking {
  /// Masks or unmasks bytes in place, one word at a time. `phase` is the offset within the frame.
  static func apply(_ mask: UInt32, phase: Int, to bytes: UnsafeMutableRawBufferPointer) {
    let turn = UInt32(phase & 3) * 8
    let turned = mask >> turn | mask << (32 - turn)
    let wide = (UInt64(turned) | UInt64(turned) << 32).littleEndian
    var offset = 0
    let wordsEnd = bytes.count & ~7
    while offset < wordsEnd {
      let word = unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      unsafe bytes.storeBytes(of: word ^ wide, toByteOffset: offset, as: UInt64.self)
      offset += 8
    }
    while offset < bytes.count {
      let octet = UInt8(truncatingIfNeeded: turned >> UInt32((offset & 3) * 8))
      unsafe bytes[offset] ^= octet
      offset += 1
    }
  }

  /// Returns the unmasked octets in a new array, which is the only copy of a payload.
  static func copy(
    _ bytes: UnsafeRawBufferPointer, mask: UInt32?, phase: Int = 0
  ) -> [UInt8] {
    // This is twice as fast as `init(unsafeUninitializedCapacity:)`, which looks up the array's
    // metadata.
    var copy = unsafe [UInt8](bytes)
    if let mask { apply(mask, phase: phase, to: &copy, from: 0) }
    return copy
  }

  /// Appends the unmasked octets to an array.
  static func append(
    _ bytes: UnsafeRawBufferPointer, mask: UInt32?, phase: Int, to out: inout [UInt8]
  ) {
    let start = out.count
    unsafe out.append(contentsOf: bytes)
    if let mask { apply(mask, phase: phase, to: &out, from: start) }
  }

  /// Masks the end of an array in place.
  static func apply(_ mask: UInt32, phase: Int = 0, to out: inout [UInt8], from start: Int) {
    unsafe out.withUnsafeMutableBytes { buffer in
      let tail = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[start...])
      unsafe apply(mask, phase: phase, to: tail)
    }
  }
}

/// A generator of masking keys that cannot be predicted from earlier keys (RFC 6455 section 10.3).
///
/// It uses SHA-1 of a secret seed and a counter. Each digest provides five keys, and none of them
/// reveals the seed.
struct MaskSource {
  private let seed: UInt64
  private var counter: UInt64 = 0
  private var pool: [UInt32] = []

  init(seed: UInt64) {
    self.seed = seed
  }

  mutating func next() -> UInt32 {
    if let mask = pool.popLast() { return mask }
    var block: [UInt8] = []
    for word in [seed, counter] {
      for shift in stride(from: 56, through: 0, by: -8) {
        block.append(UInt8(truncatingIfNeeded: word >> UInt64(shift)))
      }
    }
    counter &+= 1
    let digest = SHA1.digest(block)
    for start in stride(from: 0, to: 20, by: 4) {
      pool.append(digest[start..<(start + 4)].reduce(0) { $0 << 8 | UInt32($1) })
    }
    return pool.popLast() ?? 0
  }
}
