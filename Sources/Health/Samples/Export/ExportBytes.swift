import HoldfastCore

/// Search functions that read eight bytes at a time.
extension Span<UInt8> {
  /// Returns up to eight bytes as one number. Bytes at or after `end` count as zero.
  @inline(__always)
  func word(at index: Int, before end: Int) -> UInt64 {
    let length = end &- index
    if length >= 8 { return word(at: index) }
    guard index &+ 8 <= count else { return shortWord(at: index, before: end) }
    return word(at: index) & ((1 &<< UInt64(length &* 8)) &- 1)
  }

  private func shortWord(at index: Int, before end: Int) -> UInt64 {
    var word: UInt64 = 0
    for position in stride(from: end - 1, through: index, by: -1) {
      word = word << 8 | UInt64(self[position])
    }
    return word
  }

  /// Returns the index of the next occurrence of a byte, or `count` if there is none.
  @inline(__always)
  func next(_ byte: UInt8, from start: Int) -> Int {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let wanted = ones &* UInt64(byte)
    var index = start
    while index &+ 8 <= count {
      let difference = word(at: index) ^ wanted
      // This marks the lowest byte that is zero, and no byte below it.
      let marks = (difference &- ones) & ~difference & (ones &<< 7)
      if marks != 0 { return index &+ marks.trailingZeroBitCount / 8 }
      index &+= 8
    }
    while index < count, self[index] != byte { index &+= 1 }
    return index
  }

  /// Returns whether the bytes at `index` start with an ASCII text.
  func holds(_ text: StaticString, at index: Int) -> Bool {
    guard index + text.utf8CodeUnitCount <= count else { return false }
    for offset in 0..<text.utf8CodeUnitCount
    where unsafe self[index + offset] != text.utf8Start[offset] {
      return false
    }
    return true
  }

  /// Returns the index of the next complete occurrence of an ASCII text, or `nil` if there is none.
  func next(_ text: StaticString, from start: Int) -> Int? {
    let first = unsafe text.utf8Start[0]
    var index = next(first, from: start)
    while index < count {
      if holds(text, at: index) { return index }
      index = next(first, from: index + 1)
    }
    return nil
  }
}

/// Returns whether a byte is white space (XML 1.0, production 3).
@inline(__always)
func isBlank(_ byte: UInt8) -> Bool {
  byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
}
