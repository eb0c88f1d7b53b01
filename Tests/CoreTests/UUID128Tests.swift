import HoldfastCore
import Testing

@Suite struct UUID128Tests {
  private static let text = "01234567-89ab-cdef-fedc-ba9876543210"

  @Test(arguments: 0..<36)
  func `each position of a UUID accepts only hexadecimal digits or only a dash`(index: Int) {
    let isDash = [8, 13, 18, 23].contains(index)
    for byte in UInt8.min...127 {
      var bytes = Array(Self.text.utf8)
      bytes[index] = byte
      let character = Character(Unicode.Scalar(byte))
      let isGood = isDash ? character == "-" : character.isHexDigit
      #expect((UUID128(String(decoding: bytes, as: UTF8.self)) != nil) == isGood)
    }
  }

  @Test func `rejects a text of any other length`() {
    for text in [
      "", "0", String(Self.text.dropLast()), Self.text + "0", Self.text + "\u{0}",
      "0123456789abcdeffedcba9876543210", "{\(Self.text)}", String(Self.text.dropLast()) + "é",
    ] {
      #expect(UUID128(text) == nil)
    }
  }
}
