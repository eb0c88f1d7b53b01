import HoldfastCore

// Random texts, devices and numbers.
extension RandomExport {
  private static let letters = [
    "a", "b", "Z", " ", "é", "e\u{301}", "😀", "'", "\"", ">", "/", "=", "]", "~", ",", "alt;",
    "##65;",
  ]
  private static let references: [(String, String)] = [
    ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"), ("&quot;", "\""), ("&apos;", "'"),
    ("&#65;", "A"), ("&#x42;", "B"), ("&#x6a;", "j"), ("&#x6B;", "k"), ("&#x1F600;", "😀"),
    ("&#x10FFFF;", "\u{10FFFF}"), ("&#32;", " "), ("&#x20;", " "), ("&#126;", "~"),
    ("&#128;", "\u{80}"), ("&#000000065;", "A"), ("&#x0000041;", "A"), ("&#8217;", "’"),
  ]
  /// Invalid references, which the reader keeps as text.
  private static let oddities = [
    "&", "& ", "&;", "&nope;", "&#;", "&#x;", "&#31;", "&#x1F;", "&#127;", "&#x7F;", "&#0;",
    "&#xD800;", "&#x110000;", "&#0000000065;", "&#X41;", "&65;", "&x41;", "&LT;", "&#6G;", "&#xG;",
    "&#10;", "<", "&lt ", "&#000000065x",
  ]
  private static let invalid = ["\u{1}", "\n", "\t", "\u{1F}", "\u{7F}", "\u{0}"]

  /// Draws a text that consists of a few pieces.
  mutating func text() -> WrittenValue {
    var text = WrittenValue(happens(12) ? "" : one(["x", "y"]))
    guard !text.raw.isEmpty else { return text }
    for _ in 0..<number(0...4) { text = text + piece() }
    return happens(20) ? text + WrittenValue("&lt") : text
  }

  private mutating func piece() -> WrittenValue {
    switch number(0...11) {
    case 0...3: return WrittenValue(one(Self.letters))
    case 4...7:
      let (raw, text) = one(Self.references)
      return WrittenValue(raw: Array(raw.utf8), text: text)
    case 8...9: return WrittenValue(one(Self.oddities))
    case 10:
      var piece = WrittenValue(raw: Array(one(Self.invalid).utf8), text: "")
      piece.isRepaired = true
      return piece
    case _:
      var piece = WrittenValue(raw: one([[0xFF], [0xE2, 0x82]]), text: "\u{FFFD}")
      piece.isRepaired = true
      return piece
    }
  }

  /// Returns a text in which some characters are written as references.
  mutating func written(_ text: String, once: UInt64 = 10) -> WrittenValue {
    var written = WrittenValue(raw: [], text: "")
    for scalar in text.unicodeScalars {
      var raw = String(scalar)
      if scalar == "<" { raw = one(["&lt;", "&#60;", "&#x3c;", "<"]) }
      if scalar == "&" { raw = "&amp;" }
      if happens(once) { raw = happens(2) ? "&#\(scalar.value);" : "&#x\(hex(scalar.value));" }
      written = written + WrittenValue(raw: Array(raw.utf8), text: String(scalar))
    }
    return written
  }

  private mutating func hex(_ value: UInt32) -> String {
    String(value, radix: 16, uppercase: happens(2))
  }

  /// Draws a name that differs from other names in one byte or in its length.
  mutating func name() -> WrittenValue {
    var letters = Array("abcdefghijklmnopqrstuvwxyz".utf8.prefix(number(1...26)))
    if happens(2) { letters[number(0...letters.count - 1)] = UInt8(ascii: "X") }
    return WrittenValue(raw: letters, text: String(decoding: letters, as: UTF8.self))
  }

  /// Draws a device, with or without an address in the form that iOS writes.
  mutating func device() -> WrittenValue {
    let rest = one(["name:Apple Watch, model:Watch", "name:a", ",", ", >", "x, ", "a>b", ">"])
    let head = one(["<<HKDevice: 0x28", "<<HKDevice: 0x2800b1", "<<HKDevice: "])
    let (between, end) = (one([">, ", ">", ">,, ", "> "]), one([">", ""]))
    var device = written(head + between + rest + end)
    // The name is the text after the address, without the separators before it and the final
    // bracket.
    var label = Array((between + rest + end).dropFirst())
    if label.last == ">" { label.removeLast() }
    while let first = label.first, first == "," || first == " " { label.removeFirst() }
    device.device = String(label)
    switch number(0...9) {
    case 0: return written(one(["<<HKDevice: 0x28", "<HKDevice: 0x28>, name:a>", "<<HKDevice:>"]))
    case 1: return text()
    case 2: return name()
    case _: return device
    }
  }

  private static let numbers = [
    "0", "1", "-1", "72.0", "0.985", "4.314366666475932", "9007199254740991", "9007199254740992",
    "9007199254740993", "9007199254740994", "-9007199254740993", "900719925474099.3", ".5", "5.",
    "90071992547409.93", "0.9007199254740993", "0.9007199254740992", "18446744073709551617",
    "9223372036854775807", "1e-05", "1E3", "-2.5e+10", "+7", "1e308", "1e309", "-1e999", "00012.5",
    "0.1234567890123456789", ".0000000000000000001", ".00000000000000000001", "1000000000000000000",
    "0000000000000000001", "00000000000000000001", "3.00000000000000000001", "-0.5", "-.5", "-5.",
    "1.7976931348623157e308", "4.9e-324", "0.1", "0.3", "123456789012345678901234567890",
  ]
  private static let noNumbers = [
    "", "-", ".", "-.", "1.2.3", "1,5", "nan", "inf", "0x10", "1 ", " 1", "--1", "e5", "..5",
    "1e", "1-", "\u{1}", "\t", "1^5", "1:", "1/2", "&#49;", "5x", "1e5.", "é",
  ]

  /// Draws a number or, with a probability of one in eight, a text that is not a number.
  mutating func figure() -> WrittenValue {
    switch number(0...15) {
    case 0...1: return WrittenValue(one(Self.noNumbers))
    case 2: return WrittenValue(one(["", "0."]) + String(of: "1", count: one([396, 398, 400])))
    case 3: return WrittenValue("0." + String(of: "3", count: one([397, 398, 399])))
    case 4...7: return WrittenValue(one(Self.numbers))
    case 8...11:
      // A small number with up to 20 decimals. The reader takes its slow path for more than 19.
      let (count, digits) = (number(1...20), String(number(1...9)))
      return WrittenValue("." + String(of: "0", count: count - 1) + digits)
    case _: return WrittenValue(digits())
    }
  }

  /// Draws digits, usually with a decimal point between them.
  private mutating func digits() -> String {
    let count = one([1, 2, 3, 7, 15, 16, 17, 18, 19, 20, 21])
    var digits = (0..<count).map { _ in Character(String(number(0...9))) }
    if happens(2) { digits = digits.map { happens(2) ? "0" : $0 } }
    if !happens(4) { digits.insert(".", at: number(0...count)) }
    return (happens(4) ? "-" : "") + String(digits)
  }
}
