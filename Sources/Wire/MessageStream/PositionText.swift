extension Position {
  /// Reads `epoch:offset`; `nil` for anything that `description` would not write.
  ///
  /// Nor for offsets above `Int64.max`: none is real, and what counts on from it must not overflow.
  public init?(_ text: some StringProtocol) {
    guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
    let epoch = text[..<colon]
    let digits = text[text.index(after: colon)...]
    guard (1...64).contains(epoch.utf8.count), epoch.utf8.allSatisfy(Self.isAllowed),
      digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let offset = Int64(digits),
      digits.utf8.count == 1 || digits.utf8.first != 0x30
    else { return nil }
    self.init(epoch: String(epoch), offset: UInt64(offset))
  }

  private static func isAllowed(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
      true
    case _: false
    }
  }
}
