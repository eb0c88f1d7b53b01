package import HoldfastCore

/// The fragments of random texts, each of which once caused a problem in a codec.
private let fragments: [String] = [
  "a", "Hello", " ", "\"", "\\", "/", "\u{0}", "\u{1}", "\u{8}", "\t", "\n", "\u{C}", "\r",
  "\u{1F}", "\u{7F}", "é", "e\u{301}", "שלום", "مرحبا", "\u{200F}", "\u{202E}", "\u{2028}", "🚚",
  "👩‍👩‍👧", "\u{FFFD}", "\u{FFFF}", "\u{10FFFF}", "\u{FEFF}", "\\u0041", "\r\n", "日本",
]

extension RandomSource {
  /// Draws a text of at most `count` of the `fragments`.
  package mutating func text(upTo count: Int) -> String {
    (0..<Int.random(in: 0...count, using: &self)).reduce(into: "") { text, _ in
      text += fragments.randomElement(using: &self) ?? ""
    }
  }

  /// Draws a time of any precision.
  package mutating func timestamp() -> Timestamp {
    let unit: Int64 = [1, 1_000, 1_000_000, 1_000_000_000].randomElement(using: &self) ?? 1
    let nanoseconds = Int64.random(in: .min ... .max, using: &self)
    return Timestamp(nanoseconds: nanoseconds / unit * unit)
  }

  /// Returns the bytes with one to four small changes.
  package mutating func damaged(_ bytes: [UInt8]) -> [UInt8] {
    var bytes = bytes
    let tokens = Array(#"{}[]",:\u0tnf-+.eE19"#.utf8) + [0x00, 0x1F, 0x80, 0xC0, 0xED, 0xF5, 0xFF]
    for _ in 0..<Int.random(in: 1...4, using: &self) where !bytes.isEmpty {
      let index = Int.random(in: 0..<bytes.count, using: &self)
      switch Int.random(in: 0..<6, using: &self) {
      case 0: bytes[index] = tokens.randomElement(using: &self) ?? 0
      case 1: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &self)
      case 2: bytes.remove(at: index)
      case 3: bytes.insert(tokens.randomElement(using: &self) ?? 0, at: index)
      case 4: bytes.removeSubrange(index...)
      case _: bytes.insert(contentsOf: bytes[index..<min(index + 20, bytes.count)], at: index)
      }
    }
    return bytes
  }
}

extension RandomSource {
  /// Draws one of the values. The array must not be empty.
  package mutating func one<Value>(_ values: [Value]) -> Value {
    values[Int.random(in: values.indices, using: &self)]
  }

  /// Draws a Boolean value.
  package mutating func flag() -> Bool { Bool.random(using: &self) }

  /// Draws a value or `nil`.
  package mutating func maybe<Value>(_ value: (inout RandomSource) -> Value) -> Value? {
    flag() ? value(&self) : nil
  }

  /// Draws up to three values.
  package mutating func few<Value>(_ value: (inout RandomSource) -> Value) -> [Value] {
    (0..<Int.random(in: 0...3, using: &self)).map { _ in value(&self) }
  }

  /// Draws an identifier of 1 to 64 bytes.
  package mutating func id() -> String { "i" + text(upTo: 3) }

  /// Draws a number of up to 53 bits. Small numbers and the largest one are more likely than
  /// others.
  package mutating func number() -> UInt64 {
    one([0, 1, (1 << 53) - 1, UInt64.random(in: 0..<1 << 53, using: &self)])
  }
}

extension Array where Element == UInt8 {
  /// Creates the UTF-8 bytes of a text.
  package init(text: String) {
    self = Array(text.utf8)
  }

  /// The bytes decoded as UTF-8.
  package var text: String { String(decoding: self, as: UTF8.self) }
}
