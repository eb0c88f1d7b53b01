import HoldfastCore
import HoldfastJSON
import HoldfastTestKit
import Testing

/// Returns the reader's error for a whole text, or `nil` if the text is valid.
private func fault(of bytes: [UInt8]) -> JSONError? {
  var reader = JSONReader(bytes)
  do throws(JSONError) {
    try reader.skipValue()
    try reader.finish()
    return nil
  } catch {
    return error
  }
}

@Suite struct JSONReaderTests {
  @Test(arguments: [
    "null", "true", "false", "0", "-0", "10", "-1.5e+10", "1E5", "1e-5", "0.0", "\"\"", "[]", "{}",
    " \t\r\n[ 1 , 2 ] \n", #"{"a":{"b":[{},[]]},"a":1}"#, #""\"\\\/\b\f\n\r\t""#,
    #""\uD83D\uDE9A\u00e9\uFFFF""#, "\"é€🚚\u{7F}\"", #"{"":""}"#,
  ])
  func `accepts texts that the grammar allows`(text: String) {
    #expect(fault(of: Array(text: text)) == nil)
  }

  @Test(arguments: [
    "", " ", "nul", "nulll", "True", "+1", "01", "-", "-01", "1.", ".5", "1e", "1e+", "1e-+5",
    "0x1", "NaN",
    "Infinity", "[", "]", "{", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "[1}", "{,}", "{\"a\"}",
    "{\"a\":}", "{\"a\":1,}", "{\"a\":1]", "{a:1}", "{1:1}", "{\"a\":1 \"b\":2}", "'a'", "\"a",
    "\"\\", "\"\\x\"", "\"\\u12\"", "\"\\u123g\"", "\"a\nb\"", "\"a\u{0}b\"", "\"\u{1F}\"",
    "1 2", "{}{}", "[]]", "null,", "// a\n1", "1//", "\u{FEFF}1", "1\u{0}", "\u{A0}1",
  ])
  func `rejects texts that the grammar does not allow`(text: String) {
    #expect(fault(of: Array(text: text)) != nil)
  }

  @Test(arguments: [
    #""\uD83D""#, #""\uDE9A""#, #""\uD83D\uD83D""#, #""\uD83Dx""#, #""\uD83D\n""#,
    #""\uDE9A\uD83D""#, #""\uD83D\u0041""#, #""\uD83D\uE000""#, #""\uD83D\u""#, #""\uD83D"#,
  ])
  func `refuses half a surrogate pair`(text: String) {
    #expect(fault(of: Array(text: text)) != nil)
  }

  @Test(arguments: [
    (#""\uD800\uDC00""#, "\u{10000}"), (#""\uD800\uDFFF""#, "\u{103FF}"),
    (#""\uD801\uDC00""#, "\u{10400}"), (#""a\ud83d\ude9az""#, "a🚚z"),
    (#""\uDBFF\uDFFF""#, "\u{10FFFF}"),
  ])
  func `reads a surrogate pair as one character`(text: String, value: String) throws {
    var reader = JSONReader(Array(text: text))
    #expect(try reader.string() == value)
  }

  @Test(arguments: [
    ("\u{FEFF}1", "byte order mark", 0), ("[\u{FEFF}1]", "no value", 1),
    ("1 x", "trailing bytes", 2), ("[1,]", "no value", 3), ("[1 2]", "expected ','", 3),
    ("01", "leading zero", 0), ("[-01]", "leading zero", 2),
    (#""\uDC00\uZ""#, "lone surrogate", 1), (#""\uD83D\u"#, "expected a hexadecimal digit", 9),
    ("\"\u{E9}", "the text ends inside a string", 3),
  ])
  func `reports the problem and its position`(text: String, detail: String, position: Int) {
    #expect(fault(of: Array(text: text)) == JSONError(detail, at: position))
  }

  @Test func `reads 64 levels of nesting and no more`() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
      for depth in [63, 64, 65, 100_000] {
        let ends = (String(repeating: open, count: depth), String(repeating: close, count: depth))
        let error = fault(of: Array(text: "\(ends.0)1\(ends.1)"))
        let expected = JSONError("nested too deep", at: 64 * open.utf8.count)
        #expect(error == (depth <= 64 ? nil : expected))
      }
    }
  }

  @Test(arguments: [(63, true), (64, false)])
  func `arrays and objects that have ended do not allow deeper nesting`(depth: Int, isRead: Bool) {
    let deep = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    let text = "[[],{},\(deep)]"
    let expected = JSONError("nested too deep", at: "[[],{},".utf8.count + depth - 1)
    #expect(fault(of: Array(text: text)) == (isRead ? nil : expected))
  }

  @Test func `agrees with the standard library on two bytes of UTF-8`() {
    for first in UInt8(0x80)...0xFF {
      for second in UInt8(0x23)...0xFF where second != 0x5C {
        let bytes = [first, second]
        let isValid = String(validating: bytes, as: UTF8.self) != nil
        #expect((fault(of: [0x22] + bytes + [0x22]) == nil) == isValid)
      }
    }
  }

  @Test func `agrees with the standard library on longer UTF-8`() {
    var generator = RandomSource(seed: 1)
    let edges: [UInt8] = [0x61, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xE0, 0xED]
    for _ in 0..<20_000 {
      var bytes = [UInt8.random(in: 0xDF...0xF6, using: &generator)]
      for _ in 0..<Int.random(in: 1...4, using: &generator) {
        bytes.append(edges.randomElement(using: &generator) ?? 0x80)
      }
      let isValid = String(validating: bytes, as: UTF8.self) != nil
      #expect((fault(of: [0x22] + bytes + [0x22]) == nil) == isValid)
    }
  }

  @Test func `reads whole numbers of 64 bits`() throws {
    for number in [Int64.min, -1, 0, 1, .max] {
      var reader = JSONReader(Array(text: "\(number)"))
      #expect(try reader.int() == number)
    }
    // According to RFC 8259 section 6, a number has the same value in every spelling. The limits
    // are 2^63 - 1 and -2^63.
    let spellings: [(String, Int64)] = [
      ("1.0", 1), ("1e3", 1_000), ("5000.0", 5_000), ("5e3", 5_000), ("5E+3", 5_000),
      ("0.005e6", 5_000), ("500000e-2", 5_000), ("-0.0", 0), ("0e999999999999999999999", 0),
      ("9223372036854775807.000", .max), ("9.223372036854775807e18", .max),
      ("-9223372036854775808e0", .min), ("9007199254740993.0", 9_007_199_254_740_993),
    ]
    for (text, number) in spellings {
      var reader = JSONReader(Array(text: text))
      #expect(try reader.int() == number)
      #expect(reader.position == text.utf8.count)
    }
    for text in [
      "9223372036854775808", "-9223372036854775809", "9223372036854775808.0", "1e19", "1e999",
      "1.5", "5e-1", "12345e-2", "0.1", "1e-9223372036854775808", "1e9223372036854775807",
      "1e99999999999999999999",
    ] {
      #expect(throws: JSONError("not a 64-bit whole number", at: 0)) {
        var reader = JSONReader(Array(text: text))
        _ = try reader.int()
      }
    }
  }

  @Test func `reads finite numbers and rejects a number out of range`() throws {
    let cases: [(String, Double)] = [
      ("1.5", 1.5), ("-0.25e2", -25), ("1e308", 1e308),
      ("5e-324", .leastNonzeroMagnitude),
    ]
    for (text, value) in cases {
      var reader = JSONReader(Array(text: text))
      #expect(try reader.double() == value)
    }
    #expect(throws: JSONError("number out of range", at: 1)) {
      var reader = JSONReader(Array(text: " 1e309"))
      _ = try reader.double()
    }
  }

  @Test func `returns members in their order, including repeated ones`() throws {
    var reader = JSONReader(Array(text: #"{"a":1,"\u0061":true,"b":"x\ty","c":null}"#))
    try reader.beginObject()
    let first = try #require(try reader.nextKey())
    #expect(reader.matches(first, "a"))
    #expect(try reader.int() == 1)
    let second = try #require(try reader.nextKey())
    #expect(reader.matches(second, "a"))
    #expect(!reader.matches(second, "b"))
    #expect(try reader.bool())
    let third = try #require(try reader.nextKey())
    #expect(reader.text(of: third) == "b")
    #expect(try reader.string() == "x\ty")
    _ = try reader.nextKey()
    #expect(try reader.peek() == .null)
    try reader.null()
    #expect(try reader.nextKey() == nil)
    try reader.finish()
  }

  @Test func `accepts null after white space`() throws {
    var reader = JSONReader(Array(text: " \n null "))
    try reader.null()
    try reader.finish()
  }

  @Test(arguments: ["{\"e\u{301}\":1}", #"{"e\u0301":1}"#])
  func `names are compared by code points, so a combining accent makes another name`(
    text: String
  ) throws {
    var reader = JSONReader(Array(text: text))
    try reader.beginObject()
    let key = try #require(try reader.nextKey())
    #expect(reader.matches(key, "e\u{301}"))
    #expect(!reader.matches(key, "\u{E9}"))
  }

  @Test(arguments: [("\"plain é\"", "plain é"), (#""\u0061\n\ud83d\ude9a""#, "a\n🚚")])
  func `returns the bytes of a string with its escapes decoded`(text: String, value: String) throws
  {
    var reader = JSONReader(Array(text: text))
    let string = try reader.scanString()
    #expect(Array(reader.utf8(of: string)) == Array(value.utf8))
  }

  @Test func `reads damaged texts without a crash and accepts only valid UTF-8`() {
    var generator = RandomSource(seed: 2)
    let text = Array(text: #"{"a":[1,-2.5e3,"x\n\uD83D\uDE9A🚚",{"b":null}],"c":[true,false,{}]}"#)
    var good = 0
    for _ in 0..<20_000 {
      let damaged = generator.damaged(text)
      guard fault(of: damaged) == nil else { continue }
      good += 1
      #expect(String(validating: damaged, as: UTF8.self) != nil)
    }
    // Some texts must stay valid, since the test checks nothing otherwise.
    #expect((100..<19_000).contains(good))
  }
}

@Suite struct JSONWriterTests {
  @Test func `writes members in the order of the calls`() {
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("z")
    writer.beginArray()
    writer.int(-1)
    writer.int(UInt64.max)
    writer.beginObject()
    writer.endObject()
    writer.beginArray()
    writer.endArray()
    writer.endArray()
    writer.key("a\"")
    writer.bool(true)
    writer.key("b")
    writer.string(nil)
    writer.key("c")
    writer.double(0.5)
    writer.key("d")
    writer.double(.nan)
    writer.endObject()
    let expected = #"{"z":[-1,18446744073709551615,{},[]],"a\"":true,"b":null,"c":0.5,"d":null}"#
    #expect(writer.bytes.text == expected)
  }

  @Test func `a member without a value is written as null`() {
    var writer = JSONWriter()
    writer.object {
      $0.entry("text", nil as String?)
      $0.entry("whole", nil as Int?)
      $0.entry("number", nil as Double?)
      $0.entry("last", true)
    }
    let expected = #"{"text":null,"whole":null,"number":null,"last":true}"#
    #expect(writer.bytes.text == expected)
  }

  @Test func `escapes only the characters that must be escaped`() {
    var writer = JSONWriter()
    writer.string("\"\\/\u{0}\u{8}\t\n\u{B}\u{C}\r\u{19}\u{1A}\u{1F}\u{7F}é\u{2028}🚚")
    let expected = #""\"\\/\u0000\b\t\n\u000b\f\r\u0019\u001a\u001f"# + "\u{7F}é\u{2028}🚚\""
    #expect(writer.bytes.text == expected)
  }

  @Test func `writes strings that read back the same`() throws {
    var generator = RandomSource(seed: 3)
    for _ in 0..<2_000 {
      let text = generator.text(upTo: 30)
      var writer = JSONWriter()
      writer.string(text)
      var reader = JSONReader(writer.bytes)
      let found = try reader.string()
      #expect(found.unicodeScalars.elementsEqual(text.unicodeScalars))
      try reader.finish()
    }
  }
}
