/// A small deterministic generator (xorshift64*), so that a run can be repeated with a seed that
/// failed.
struct Seeded: RandomNumberGenerator {
  private var state: UInt64

  init(_ seed: UInt64) {
    state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
  }

  mutating func next() -> UInt64 {
    state ^= state >> 12
    state ^= state << 25
    state ^= state >> 27
    return state &* 0x2545_F491_4F6C_DD1D
  }

  mutating func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8(truncatingIfNeeded: next() >> 32) }
  }

  /// Returns the bytes in pieces of 1 to `longest` bytes each.
  mutating func pieces(_ bytes: [UInt8], longest: Int) -> [[UInt8]] {
    var pieces: [[UInt8]] = []
    var start = 0
    while start < bytes.count {
      let end = min(bytes.count, start + Int.random(in: 1...longest, using: &self))
      pieces.append(Array(bytes[start..<end]))
      start = end
    }
    return pieces
  }
}

/// Returns the octets of a hexadecimal text such as `81 05 48`.
func hex(_ text: String) -> [UInt8] {
  text.split(separator: " ").compactMap { UInt8($0, radix: 16) }
}

func octets(_ text: String) -> [UInt8] {
  Array(text.utf8)
}
