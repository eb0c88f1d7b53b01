/// SHA-1 of a short input (RFC 3174). It is used only for the accept key, which needs no security.
enum SHA1 {
  static func digest(_ input: [UInt8]) -> [UInt8] {
    var message = input
    message.append(0x80)
    while message.count % 64 != 56 { message.append(0) }
    let bitCount = UInt64(input.count) * 8
    for shift in stride(from: 56, through: 0, by: -8) {
      message.append(UInt8(truncatingIfNeeded: bitCount >> UInt64(shift)))
    }
    var state: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0]
    var words = [UInt32](repeating: 0, count: 80)
    for start in stride(from: 0, to: message.count, by: 64) {
      expand(message[start..<(start + 64)], into: &words)
      compress(words, into: &state)
    }
    return state.flatMap { word in
      stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> UInt32($0)) }
    }
  }

  private static func expand(_ block: ArraySlice<UInt8>, into words: inout [UInt32]) {
    var index = block.startIndex
    for slot in 0..<16 {
      words[slot] = block[index..<(index + 4)].reduce(0) { $0 << 8 | UInt32($1) }
      index += 4
    }
    for slot in 16..<80 {
      let mixed = words[slot - 3] ^ words[slot - 8] ^ words[slot - 14] ^ words[slot - 16]
      words[slot] = rotated(mixed, by: 1)
    }
  }

  private static func compress(_ words: [UInt32], into state: inout [UInt32]) {
    var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
    for (slot, word) in words.enumerated() {
      let (choice, constant): (UInt32, UInt32) =
        switch slot {
        case ..<20: (b & c | ~b & d, 0x5A82_7999)
        case ..<40: (b ^ c ^ d, 0x6ED9_EBA1)
        case ..<60: (b & c | b & d | c & d, 0x8F1B_BCDC)
        case _: (b ^ c ^ d, 0xCA62_C1D6)
        }
      let next = rotated(a, by: 5) &+ choice &+ e &+ word &+ constant
      (e, d, c, b, a) = (d, c, rotated(b, by: 30), a, next)
    }
    for (slot, value) in [a, b, c, d, e].enumerated() { state[slot] &+= value }
  }

  private static func rotated(_ word: UInt32, by count: UInt32) -> UInt32 {
    word << count | word >> (32 - count)
  }
}
