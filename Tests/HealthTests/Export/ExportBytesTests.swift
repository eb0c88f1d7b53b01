import Testing

@testable import HoldfastHealthSamples

/// Tests of words and markers that are read from the bytes of an export.
@Suite struct ExportBytesTests {
  @Test(arguments: 0...10)
  func `a word has the bytes before its end, at most eight`(length: Int) {
    let bytes = Array("abcdefghijklmnopqrstuvwxyz".utf8)[...]
    let word = bytes.span.word(at: 3, before: 3 + length)
    // The first byte is the least significant one.
    let expected = bytes[3..<3 + min(length, 8)].reversed().reduce(0 as UInt64) {
      $0 << 8 | UInt64($1)
    }
    #expect(word == expected)
  }

  @Test(arguments: [("-->", 0), ("--->", 1), ("----->", 3), ("a-b-->", 3)])
  func `an end marker is found after a similar prefix`(text: String, position: Int) {
    let bytes = Array(text.utf8)[...]
    let found = bytes.span.next("-->", from: 0)
    #expect(found == position)
  }

  @Test func `four bytes are enough to detect a zstd-compressed file`() {
    let start: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD]
    var reader = HealthExportReader()
    reader.append(start)
    #expect(throws: HealthExportError.disguised(.zstandard)) { try reader.next() }
  }
}
