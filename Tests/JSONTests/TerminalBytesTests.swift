import HoldfastJSON
import Testing

/// Tests of making texts safe to display in a terminal.
@Suite struct TerminalBytesTests {
  @Test(arguments: [
    ("", ""), ("plain \u{7E}", "plain \u{7E}"), ("a\u{7F}b", "a\\u007fb"),
    ("\u{80}\u{81}", "\\u0080\\u0081"), ("x\u{9F}", "x\\u009f"), ("\u{A0}", "\u{A0}"),
    ("\u{C2}\u{E9}\u{20AC}\u{1F600}", "\u{C2}\u{E9}\u{20AC}\u{1F600}"),
    ("\u{1B}[0m\u{9B}0m", "\\u001b[0m\\u009b0m"),
  ])
  func `controls that RFC 8259 allows unescaped are escaped, and nothing else is`(
    text: String, shown: String
  ) throws {
    var writer = JSONWriter()
    writer.beginArray()
    writer.string(text)
    writer.endArray()
    #expect(String(decoding: writer.terminalBytes, as: UTF8.self) == "[\"\(shown)\"]")
    var reader = JSONReader(writer.terminalBytes)
    try reader.beginArray()
    #expect(try reader.nextElement())
    #expect(try reader.string() == text)
  }

  @Test func `a control character at the very end is escaped`() {
    var writer = JSONWriter()
    writer.raw([0x22, 0xC2, 0x80])
    #expect(writer.terminalBytes == Array("\"\\u0080".utf8))
  }

  @Test func `an incomplete character at the end is left unchanged`() {
    var writer = JSONWriter()
    writer.raw([0x22, 0xC2])
    #expect(writer.terminalBytes == [0x22, 0xC2])
  }
}
