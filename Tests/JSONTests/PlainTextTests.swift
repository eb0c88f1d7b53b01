import HoldfastCore
import HoldfastJSON
import Testing

/// Tests that reading a string eight bytes at a time has the same result as reading it byte by
/// byte.
@Suite struct PlainTextTests {
  /// The characters to place between letters, with their JSON encodings.
  private static let odd: [(String, String)] = [
    ("\"", #"\""#), ("\\", #"\\"#), ("\u{0}", #"\u0000"#), ("\u{1F}", #"\u001f"#),
    ("\n", #"\n"#), (" ", " "), ("!", "!"), ("#", "#"), ("[", "["), ("]", "]"),
    ("\u{7F}", "\u{7F}"), ("\u{80}", "\u{80}"), ("é", "é"), ("€", "€"), ("😀", "😀"),
  ]

  @Test func `a special character at any position is written and read correctly`() throws {
    for length in 0...26 {
      for index in 0...length {
        let (before, after) = (
          String(repeating: "a", count: index), String(repeating: "~", count: length - index)
        )
        for (character, written) in Self.odd {
          var writer = JSONWriter()
          writer.string(before + character + after)
          let text = "\"\(before)\(written)\(after)\""
          #expect(writer.bytes == Array(text.utf8))
          // The reader stops at the end of the string, whether or not more bytes follow.
          for rest in ["", "     \n "] {
            var reader = JSONReader(Array((text + rest).utf8))
            #expect(try reader.string() == before + character + after)
            #expect(throws: Never.self) { try reader.finish() }
          }
        }
      }
    }
  }

  @Test func `a control character and an early end are reported with their position`() {
    for length in 0...20 {
      let text = Array(("\"" + String(repeating: "a", count: length)).utf8)
      for byte in [0x1F, 0x00] as [UInt8] {
        var reader = JSONReader(text + [byte] + Array("aaaaaaaaaa\"".utf8))
        let error = #expect(throws: JSONError.self) { try reader.string() }
        #expect(error?.offset == text.count)
        #expect(error?.detail.contains("control character") == true)
      }
      var reader = JSONReader(text)
      let error = #expect(throws: JSONError.self) { try reader.string() }
      #expect(error?.offset == text.count)
    }
  }

  @Test func `names differ if a byte at any position differs`() throws {
    for length in 1...26 {
      let name = String("abcdefghijklmnopqrstuvwxyz".prefix(length))
      for index in 0..<length {
        var bytes = Array("{\"\(name)\":1}".utf8)
        bytes[index + 2] = UInt8(ascii: "_")
        var reader = JSONReader(bytes)
        try reader.beginObject()
        let key = try #require(try reader.nextKey())
        #expect(!reader.matches(key, name))
        #expect(reader.matches(key, reader.text(of: key)))
        #expect(!reader.matches(key, name + "a") && !reader.matches(key, String(name.dropLast())))
      }
    }
  }

  @Test func `identifiers, times and member names are written in quotes`() {
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("")
    writer.id(UUID128(high: 0x0123_4567_89AB_CDEF, low: 0xFEDC_BA98_7654_3210))
    writer.member("a longer name than others")
    writer.time(Timestamp(nanoseconds: 1_800_000_000_123_456_789))
    writer.member("t")
    writer.time(Timestamp(nanoseconds: 0))
    writer.endObject()
    let text = """
      {"":"01234567-89ab-cdef-fedc-ba9876543210","a longer name than others":\
      "2027-01-15T08:00:00.123456789Z","t":"1970-01-01T00:00:00Z"}
      """
    #expect(writer.bytes == Array(text.utf8))
  }
}
