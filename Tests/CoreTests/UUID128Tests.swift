import LinkCore
import Testing

@Suite struct UUID128Tests {
  private static let text = "01234567-89ab-cdef-fedc-ba9876543210"

  /// The same, digit by digit.
  private static func slow(_ id: UUID128) -> String {
    let digits = [id.high, id.low].map { word in
      let text = String(word, radix: 16)
      return String(repeating: "0", count: 16 - text.count) + text
    }.joined()
    let parts = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { range in
      String(digits.dropFirst(range.lowerBound).prefix(range.count))
    }
    return parts.joined(separator: "-")
  }

  @Test func `is written digit by digit, and read again in either letter case`() {
    var chance = Chance(seed: 12)
    var ids = [(0, 0), (.max, .max), (0x0123_4567_89AB_CDEF, 0xFEDC_BA98_7654_3210)].map {
      UUID128(high: $0, low: $1)
    }
    for _ in 0..<2_000 { ids.append(UUID128(high: chance.next(), low: chance.next())) }
    for id in ids {
      let text = Self.slow(id)
      #expect(id.description == text)
      #expect(UUID128(text) == id)
      #expect(UUID128(text.uppercased()) == id)
      #expect(UUID128(Substring("x" + text).dropFirst()) == id)
    }
  }

  @Test(arguments: 0..<36)
  func `a byte at any place is a digit or a dash where it must be`(place: Int) {
    let isDash = [8, 13, 18, 23].contains(place)
    for byte in UInt8.min...127 {
      var bytes = Array(Self.text.utf8)
      bytes[place] = byte
      let character = Character(Unicode.Scalar(byte))
      let isGood = isDash ? character == "-" : character.isHexDigit
      #expect((UUID128(String(decoding: bytes, as: UTF8.self)) != nil) == isGood)
    }
  }

  @Test func `another length is none`() {
    for text in [
      "", "0", String(Self.text.dropLast()), Self.text + "0", Self.text + "\u{0}",
      "0123456789abcdeffedcba9876543210", "{\(Self.text)}", String(Self.text.dropLast()) + "é",
    ] {
      #expect(UUID128(text) == nil)
    }
  }
}
