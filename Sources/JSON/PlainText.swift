import LinkCore

/// The characters of a string that stand for themselves.
enum PlainText {
  /// The first place of a byte that is none: a quote, a backslash or a control character, and with
  /// `isASCII` a part of a longer scalar; `count` without one.
  @inline(__always)
  static func end(
    of text: Span<UInt8>, from start: Int, isASCII: Bool
  ) -> Int {
    let ones: UInt64 = 0x0101_0101_0101_0101
    var place = start
    while place &+ 8 <= text.count {
      let word = text.word(at: place)
      // Of each byte the highest bit tells that it is 0, or below 0x20, if it was not set before.
      // The lowest such bit is right; a borrow may have made those above it.
      let quote = word ^ ones &* UInt64(UInt8(ascii: "\""))
      let escape = word ^ ones &* UInt64(UInt8(ascii: "\\"))
      let special =
        (quote &- ones) & ~quote | (escape &- ones) & ~escape | (word &- ones &* 0x20) & ~word
      let marks = (isASCII ? special | word : special) & ones &<< 7
      if marks != 0 { return place &+ marks.trailingZeroBitCount / 8 }
      place &+= 8
    }
    while place < text.count, isPlain(text[place], isASCII: isASCII) { place &+= 1 }
    return place
  }

  @inline(__always)
  private static func isPlain(_ byte: UInt8, isASCII: Bool) -> Bool {
    byte >= 0x20 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
      && !(isASCII && byte >= 0x80)
  }
}
