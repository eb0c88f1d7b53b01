/// A hasher that creates a sample's key from its parts.
///
/// The algorithm is MurmurHash3 x64 128 (Appleby 2011, public domain). It does not resist
/// deliberate collisions, but whoever could cause them can write any sample anyway. Accidental
/// collisions are unlikely even among 2^40 samples. Stores keep keys, so the result must never
/// change.
struct HealthSampleKeyHasher {
  private static let first: UInt64 = 0x87C3_7B91_1142_53D5
  private static let second: UInt64 = 0x4CF5_AD43_2745_937F

  private var low: UInt64 = 0
  private var high: UInt64 = 0
  private var count: UInt64 = 0

  /// Adds sixteen bytes as two words.
  @inline(__always)
  mutating func add(_ left: UInt64, _ right: UInt64) {
    low ^= Self.rotated(left &* Self.first, 31) &* Self.second
    low = (Self.rotated(low, 27) &+ high) &* 5 &+ 0x52DC_E729
    high ^= Self.rotated(right &* Self.second, 33) &* Self.first
    high = (Self.rotated(high, 31) &+ low) &* 5 &+ 0x3849_5AB5
    count &+= 16
  }

  @inline(__always)
  mutating func add(_ key: HealthSampleKey) { add(key.low, key.high) }

  /// Returns the key of all parts that were added.
  @inline(__always)
  func finished() -> HealthSampleKey {
    var left = low ^ count
    var right = high ^ count
    left &+= right
    right &+= left
    left = Self.mixed(left)
    right = Self.mixed(right)
    left &+= right
    right &+= left
    return HealthSampleKey(high: left, low: right)
  }

  /// Returns the key of a text. The hash covers its UTF-8 in blocks of sixteen bytes, padded with
  /// zeros, and then its length.
  static func key(of text: String) -> HealthSampleKey {
    var hasher = HealthSampleKeyHasher()
    var words: (UInt64, UInt64) = (0, 0)
    var filled: UInt64 = 0
    var length: UInt64 = 0
    for byte in text.utf8 {
      let bits = UInt64(byte) << (filled % 8 * 8)
      if filled < 8 { words.0 |= bits } else { words.1 |= bits }
      filled += 1
      length += 1
      guard filled == 16 else { continue }
      hasher.add(words.0, words.1)
      (words, filled) = ((0, 0), 0)
    }
    hasher.add(words.0, words.1)
    hasher.add(length, 0)
    return hasher.finished()
  }

  @inline(__always)
  private static func rotated(_ word: UInt64, _ bits: UInt64) -> UInt64 {
    word &<< bits | word &>> (64 &- bits)
  }

  @inline(__always)
  private static func mixed(_ word: UInt64) -> UInt64 {
    var word = word
    word = (word ^ (word &>> 33)) &* 0xFF51_AFD7_ED55_8CCD
    word = (word ^ (word &>> 33)) &* 0xC4CE_B9FE_1A85_EC53
    return word ^ (word &>> 33)
  }
}
