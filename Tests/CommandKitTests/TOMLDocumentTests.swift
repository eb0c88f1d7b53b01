import HoldfastCommandKit
import Testing

/// Tests of the reader of configuration files with texts and faults that were chosen by hand.
@Suite struct TOMLDocumentTests {
  private static func read(_ text: String) throws(TOMLFault) -> TOMLDocument {
    try TOMLDocument(Array(text.utf8))
  }

  /// Returns the fault in a text as `LINE:COLUMN: CAUSE`; `nil` if there is none.
  private static func fault(in bytes: [UInt8]) -> String? {
    do throws(TOMLFault) {
      _ = try TOMLDocument(bytes)
      return nil
    } catch {
      #expect(!error.remedy.isEmpty)
      return "\(error.place.line):\(error.place.column): \(error.cause)"
    }
  }

  @Test func `reads keys and values with their places`() throws {
    let document = try Self.read(
      """
      # a comment
      port = 8787 # another

      'name' = "caf\\u00e9 \\"x\\"\\t"
      "päth"\t='C:\\data'
      plain=true
      hosts = [ # of the proxy
        "a", 'b',

        -3, # a number
      ]
      none = []
      """)
    let names = ["port", "name", "päth", "plain", "hosts", "none"]
    #expect(document.entries.map(\.key) == names)
    #expect(document.entries.map(\.keyPlace.line) == [2, 4, 5, 6, 7, 12])
    #expect(
      document.entries.map(\.place) == [
        TextPlace(line: 2, column: 8), TextPlace(line: 4, column: 10),
        TextPlace(line: 5, column: 9), TextPlace(line: 6, column: 7),
        TextPlace(line: 7, column: 9), TextPlace(line: 12, column: 8),
      ])
    #expect(document.entries[0].value == .single(.integer(8787)))
    #expect(document.entries[1].value == .single(.text("café \"x\"\t")))
    #expect(document.entries[2].value == .single(.text("C:\\data")))
    #expect(document.entries[3].value == .single(.truth(true)))
    guard case .list(let elements) = document.entries[4].value else {
      Issue.record("hosts is a list")
      return
    }
    #expect(elements.map(\.scalar) == [.text("a"), .text("b"), .integer(-3)])
    #expect(elements.map(\.place.line) == [8, 8, 10])
    #expect(document.entries[5].value == .list([]))
  }

  @Test(arguments: [
    ("", 0), ("\n\n", 0), ("#", 0), ("a=1", 1), ("a=1\r\nb=2\r\n", 2), ("\ta = 1 \t", 1),
    ("a=1#x", 1), ("a=+0", 1), ("a=-0", 1), ("a=1_000", 1), ("a=9223372036854775807", 1),
    ("a=-9223372036854775808", 1), ("a=\"\"", 1), ("a=''", 1), ("\"\"=1", 1), ("a=[1,]", 1),
    ("a=[\r\n]", 1), ("-=1", 1), ("1=1", 1), ("true=false", 1), ("a='\t'", 1),
    ("a=\"\\U0010FFFF\\b\\f\\n\\r\\\\\"", 1),
  ])
  func `reads what TOML permits`(text: String, count: Int) throws {
    #expect(try Self.read(text).entries.count == count)
  }

  @Test(arguments: [
    ("port 1", "1:6: an = is missing after the key"),
    ("port", "1:5: an = is missing after the key"),
    ("\n  = 1", "2:3: there is no key here"),
    ("é=1", "1:1: there is no key here"),
    ("port =", "1:7: the value is missing"),
    ("port = # 1", "1:8: the value is missing"),
    ("port = 1 2", "1:10: the line does not end after the value"),
    ("a='x' b=1", "1:7: the line does not end after the value"),
    ("a=1\nb=2\na=3", "3:1: line 1 has the same key"),
    ("a=1\n'a'=1", "2:1: line 1 has the same key"),
    ("[tls]\ncert='c'", "1:1: tables are not supported"),
    ("a={b=1}", "1:3: tables are not supported"),
    ("a.b=1", "1:2: dotted keys are not supported"),
    ("a=\"\"\"\nx\"\"\"", "1:3: strings of several lines are not supported"),
    ("a='''x'''", "1:3: strings of several lines are not supported"),
    ("a=[[1]]", "1:4: lists in lists are not supported"),
    ("a=[1\n2]", "2:1: a comma or ] is missing"),
    ("a=[,]", "1:4: the value is missing"),
    ("a= [1,\n2", "1:4: the list does not end"),
    ("a=\"x", "1:3: the string does not end in its line"),
    ("a='x\n'", "1:3: the string does not end in its line"),
    ("a=\"\\", "1:4: the string does not end"),
    ("a=\"\\x41\"", "1:4: this escape does not exist"),
    ("a=\"\\u12\"", "1:4: this escape needs 4 hexadecimal digits"),
    ("a=\"\\ud800\"", "1:4: no character has this number"),
    ("a=\"\\U00110000\"", "1:4: no character has this number"),
    ("a=yes", "1:3: a value without quotation marks must be true, false or a whole number"),
    ("a=nan", "1:3: a value without quotation marks must be true, false or a whole number"),
    ("a=True", "1:3: a value without quotation marks must be true, false or a whole number"),
    ("a=1.5", "1:3: this is not a whole number in decimal digits"),
    ("a=10s", "1:3: this is not a whole number in decimal digits"),
    ("a=0x1F", "1:3: this is not a whole number in decimal digits"),
    ("a=007", "1:3: this is not a whole number in decimal digits"),
    ("a=1__0", "1:3: this is not a whole number in decimal digits"),
    ("a=1_", "1:3: this is not a whole number in decimal digits"),
    ("a=2026-12-01", "1:3: this is not a whole number in decimal digits"),
    ("a=9223372036854775808", "1:3: the number is too large"),
    ("a=-9223372036854775809", "1:3: the number is too large"),
    ("a='\u{1}'", "1:4: a control character"),
    ("a=\"\u{7F}\"", "1:4: a control character"),
    ("# \u{0}", "1:3: a control character"),
    ("a=1\rb=2", "1:4: a carriage return is not the end of a line"),
    ("\u{FEFF}a=1", "1:1: the file begins with a byte order mark"),
    ("é='é'\u{7}", "1:1: there is no key here"),
    ("a='é' x", "1:7: the line does not end after the value"),
  ])
  func `names the place and the cause of a fault`(text: String, fault: String) {
    #expect(Self.fault(in: Array(text.utf8)) == fault)
  }

  @Test func `a byte that is not UTF-8 has a place`() {
    #expect(
      Self.fault(in: Array("a=1\né='".utf8) + [0xFF, 0x27]) == "2:4: this is not UTF-8 text")
    #expect(Self.fault(in: [0xC3]) == "1:1: this is not UTF-8 text")
  }

  @Test func `a fault never contains a value`() {
    for text in ["a=hunter2", "a=\"hunter2", "a=1hunter2", "a='x' hunter2", "a=[hunter2"] {
      #expect(Self.fault(in: Array(text.utf8))?.contains("hunter2") == false)
    }
  }
}
