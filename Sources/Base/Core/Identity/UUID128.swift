/// A UUID, stored as two 64-bit words. It is compared and hashed without conversion to text.
///
/// UUIDs are ordered like their lower-case text (RFC 9562 section 4).
public struct UUID128: Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
  /// The first 16 hexadecimal digits.
  public var high: UInt64
  /// The last 16 hexadecimal digits.
  public var low: UInt64

  /// Creates a UUID from its digits.
  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Creates a UUID from its 16 bytes, the most significant one first.
  package init(bytes: some Sequence<UInt8>) {
    (high, low) = (0, 0)
    for byte in bytes {
      high = high << 8 | low >> 56
      low = low << 8 | UInt64(byte)
    }
  }

  /// The 16 bytes, the most significant one first.
  package var bytes: [UInt8] {
    (0..<16).map { index in
      UInt8(truncatingIfNeeded: (index < 8 ? high : low) >> (56 - UInt64(index % 8) * 8))
    }
  }

  /// Compares the digits from first to last.
  public static func < (left: UUID128, right: UUID128) -> Bool {
    (left.high, left.low) < (right.high, right.low)
  }

  /// Returns a random UUID (version 4, RFC 9562 section 5.4) from the caller's generator.
  public static func random(using generator: inout some RandomNumberGenerator) -> UUID128 {
    let high = generator.next() & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
    let low = generator.next() & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
    return UUID128(high: high, low: low)
  }

  /// Parses the 36-character form in either letter case. Returns `nil` for other text.
  public init?(_ text: some StringProtocol) {
    let read = text.utf8.withContiguousStorageIfAvailable { unsafe UUID128(digits: $0) }
    guard let id = read ?? UUID128(utf8: ArraySlice(text.utf8)) else { return nil }
    self = id
  }

  /// Parses the 36-character form from UTF-8. Returns `nil` for other text.
  package init?(utf8 bytes: ArraySlice<UInt8>) {
    let read = unsafe bytes.withUnsafeBufferPointer { unsafe UUID128(digits: $0) }
    guard let read else { return nil }
    self = read
  }

  private init?(digits text: UnsafeBufferPointer<UInt8>) {
    guard text.count == 36 else { return nil }
    let dash = UInt8(ascii: "-")
    guard unsafe text[8] == dash, unsafe text[13] == dash, unsafe text[18] == dash,
      unsafe text[23] == dash
    else { return nil }
    var (high, low): (UInt64, UInt64) = (0, 0)
    // Greater than 15 once a byte was not a hexadecimal digit.
    var odd: UInt8 = 0
    func read(_ indices: Range<Int>, into word: inout UInt64) {
      for index in indices {
        let digit = unsafe Hex.value(of: text[index]) ?? 0xFF
        odd |= digit
        word = word &<< 4 | UInt64(digit & 0xF)
      }
    }
    read(0..<8, into: &high)
    read(9..<13, into: &high)
    read(14..<18, into: &high)
    read(19..<23, into: &low)
    read(24..<36, into: &low)
    guard odd <= 0xF else { return nil }
    self.init(high: high, low: low)
  }

  /// The 36-character lower-case form.
  public var description: String {
    unsafe String(unsafeUninitializedCapacity: 36) { unsafe write(to: $0) }
  }

  /// Writes the 36 characters at the start of a buffer, which must have room for them.
  ///
  /// - Returns: The number of characters written.
  @discardableResult
  package func write(to buffer: UnsafeMutableBufferPointer<UInt8>) -> Int {
    let memory = UnsafeMutableRawBufferPointer(buffer)
    let (first, second) = (Self.digits(high &>> 32), Self.digits(high))
    let (third, last) = (Self.digits(low &>> 32), Self.digits(low))
    unsafe memory.storeBytes(of: first.littleEndian, toByteOffset: 0, as: UInt64.self)
    for (digits, index) in [(second, 9), (second &>> 32, 14), (third, 19), (third &>> 32, 24)] {
      let four = UInt32(truncatingIfNeeded: digits).littleEndian
      unsafe memory.storeBytes(of: four, toByteOffset: index, as: UInt32.self)
    }
    unsafe memory.storeBytes(of: last.littleEndian, toByteOffset: 28, as: UInt64.self)
    for index in [8, 13, 18, 23] { unsafe buffer[index] = UInt8(ascii: "-") }
    return 36
  }

  /// Returns the eight digits of the lower half of `word` in ASCII, the first in the lowest byte.
  @inline(__always)
  private static func digits(_ word: UInt64) -> UInt64 {
    // Spreads each byte over two bytes, then leaves four of its bits in each.
    var bytes = UInt64(UInt32(truncatingIfNeeded: word).byteSwapped)
    bytes = (bytes | bytes &<< 16) & 0x0000_FFFF_0000_FFFF
    bytes = (bytes | bytes &<< 8) & 0x00FF_00FF_00FF_00FF
    let nibbles =
      (bytes &>> 4) & 0x000F_000F_000F_000F | (bytes & 0x000F_000F_000F_000F) &<< 8
    let isLetter = (nibbles &+ 0x0606_0606_0606_0606) &>> 4 & 0x0101_0101_0101_0101
    // In ASCII, "a" is 40 after "9", but 10 is only 1 after 9. A letter therefore adds 39.
    return nibbles &+ 0x3030_3030_3030_3030 &+ isLetter &* 39
  }
}
