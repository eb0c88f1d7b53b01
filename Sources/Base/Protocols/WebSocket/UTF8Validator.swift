/// An incremental validator of UTF-8 that fails at the first invalid octet (RFC 3629).
struct UTF8Validator: Equatable {
  /// The number of continuation octets that must follow.
  private var due: UInt8 = 0
  /// The range of the next continuation octet. It is narrower after E0, ED, F0 and F4.
  private var lower: UInt8 = 0x80
  private var upper: UInt8 = 0xBF

  /// Whether the text may end here.
  var isComplete: Bool { due == 0 }

  /// Returns whether the octets validly continue the text.
  mutating func accepts(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var offset = 0
    while offset < bytes.count {
      if due == 0 {
        if unsafe bytes[offset] < 0x80 {
          offset = unsafe Self.skipASCII(bytes, from: offset + 1)
          continue
        }
        let whole = unsafe Self.wholeSequence(bytes, at: offset)
        if whole > 0 {
          offset += whole
          continue
        }
        guard unsafe lead(bytes[offset]) else { return false }
      } else {
        let octet = unsafe bytes[offset]
        guard octet >= lower, octet <= upper else { return false }
        due -= 1
        (lower, upper) = (0x80, 0xBF)
      }
      offset += 1
    }
    return true
  }

  /// Returns whether a whole text is valid.
  static func isValid(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var validator = UTF8Validator()
    return unsafe validator.accepts(bytes) && validator.isComplete
  }

  private static func skipASCII(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
    var offset = start
    while offset + 32 <= bytes.count {
      let words = unsafe bytes.loadUnaligned(fromByteOffset: offset, as: SIMD4<UInt64>.self)
      guard words & 0x8080_8080_8080_8080 == .zero else { break }
      offset += 32
    }
    while offset + 8 <= bytes.count {
      let word = unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      guard word & 0x8080_8080_8080_8080 == 0 else { break }
      offset += 8
    }
    while offset < bytes.count, unsafe bytes[offset] < 0x80 { offset += 1 }
    return offset
  }

  /// Returns the length of a complete sequence of two or three octets; 0 for any other sequence.
  private static func wholeSequence(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Int {
    let left = bytes.count - offset
    switch unsafe bytes[offset] {
    case 0xC2...0xDF:
      return unsafe left > 1 && isContinuation(bytes[offset + 1]) ? 2 : 0
    case 0xE1...0xEC, 0xEE, 0xEF:
      guard left > 2 else { return 0 }
      return unsafe isContinuation(bytes[offset + 1]) && isContinuation(bytes[offset + 2]) ? 3 : 0
    case _: return 0
    }
  }

  private static func isContinuation(_ octet: UInt8) -> Bool {
    octet & 0xC0 == 0x80
  }

  /// Sets the range of the octets that may follow a first octet, from table 3-7 of the Unicode
  /// standard.
  private mutating func lead(_ octet: UInt8) -> Bool {
    switch octet {
    case 0xC2...0xDF: due = 1
    case 0xE0: (due, lower) = (2, 0xA0)
    case 0xED: (due, upper) = (2, 0x9F)
    case 0xE1...0xEF: due = 2
    case 0xF0: (due, lower) = (3, 0x90)
    case 0xF4: (due, upper) = (3, 0x8F)
    case 0xF1...0xF3: due = 3
    case _: return false
    }
    return true
  }
}
