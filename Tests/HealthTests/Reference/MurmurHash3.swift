import HoldfastCore
import HoldfastHealthSamples

/// The hash function MurmurHash3 x64 128 as published, and the keys of samples and texts.
enum MurmurHash3 {
  private static let factors: [UInt64] = [9_782_798_678_568_883_157, 5_545_529_020_109_919_103]
  private static let rotations = [[31, 27], [33, 31]]
  private static let terms: [UInt64] = [0x52DC_E729, 0x3849_5AB5]

  /// Returns the hash of bytes that form whole blocks.
  static func hash(_ bytes: [UInt8]) -> HealthSampleKey {
    var state: [UInt64] = [0, 0]
    for (number, start) in stride(from: 0, to: bytes.count, by: 8).enumerated() {
      let half = number % 2
      var word: UInt64 = 0
      for index in (start..<start + 8).reversed() { word = word * 256 + UInt64(bytes[index]) }
      let mixed = rotated(word &* factors[half], rotations[half][0]) &* factors[1 - half]
      let other = state[1 - half]
      state[half] = (rotated(state[half] ^ mixed, rotations[half][1]) &+ other) &* 5 &+ terms[half]
    }
    state = state.map { $0 ^ UInt64(bytes.count) }
    state = summed(summed(state).map { avalanche($0) })
    return HealthSampleKey(high: state[0], low: state[1])
  }

  private static func summed(_ state: [UInt64]) -> [UInt64] {
    let first = state[0] &+ state[1]
    return [first, state[1] &+ first]
  }

  private static func rotated(_ word: UInt64, _ bits: Int) -> UInt64 {
    word << bits + word >> (64 - bits)
  }

  private static func avalanche(_ word: UInt64) -> UInt64 {
    let half: UInt64 = 1 << 33
    var mixed = word
    for factor in [18_397_679_294_719_823_053, 14_181_476_777_654_086_739] as [UInt64] {
      mixed = (mixed ^ mixed / half) &* factor
    }
    return mixed ^ mixed / half
  }

  /// Returns the eight bytes of a word, the least significant first.
  private static func bytes(_ word: UInt64) -> [UInt8] {
    (0...7).map { UInt8(word >> ($0 * 8) & 255) }
  }

  /// Returns the block that represents a key in the hash of several keys.
  static func block(_ key: HealthSampleKey) -> [UInt8] { bytes(key.low) + bytes(key.high) }

  /// Returns the key of a text: the hash of its bytes, then one or more zeros up to the end of a
  /// block, then a block with the length.
  static func key(_ text: String) -> HealthSampleKey {
    var all = Array(text.utf8)
    let length = UInt64(all.count)
    repeat { all.append(0) } while all.count % 16 > 0
    return hash(all + bytes(length) + bytes(0))
  }

  /// Returns the key of a sample: the hash of its type, source, unit, times and value, and of its
  /// creation time if that is known.
  static func key(_ sample: HealthSample, created: Timestamp? = nil) -> HealthSampleKey {
    var texts = [sample.type, sample.source]
    if let unit = sample.unit { texts.append(unit) }
    var all = texts.flatMap { block(key($0)) }
    for time in [sample.start, sample.end] { all += bytes(UInt64(bitPattern: time.nanoseconds)) }
    switch sample.value {
    case .quantity(let number): all += bytes(1) + bytes(number == 0 ? 0 : number.bitPattern)
    case .category(let name): all += block(key(name))
    case .workout(let workout): all += block(key(workout.activity))
    }
    if let created { all += bytes(UInt64(bitPattern: created.nanoseconds)) + bytes(2) }
    return hash(all)
  }
}
