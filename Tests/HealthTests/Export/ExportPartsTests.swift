import HoldfastCore
import Testing

@testable import HoldfastHealthSamples
@testable import HoldfastTestKit

/// Tests of texts, and of dates and numbers, which are compared with the results of slower parsers.
@Suite struct ExportPartsTests {
  private func date(_ text: String) -> Timestamp? {
    let bytes = Array(text.utf8)[...]
    var time = ExportTime()
    return time.read(bytes.span, 0..<bytes.count)
  }

  private func number(_ text: String) -> Double? {
    let bytes = Array(text.utf8)[...]
    return ExportNumber.read(bytes.span, 0..<bytes.count)
  }

  /// Returns the text that is read from the first bytes of a value.
  private func value(_ text: String, upTo end: Int) -> String {
    let bytes = Array(text.utf8)[...]
    return ExportText(bytes.span, 0..<end).text
  }

  @Test func `a reference ends within its value`() {
    #expect(value("a&lt;", upTo: 5) == "a<")
    #expect(value("a&lt;", upTo: 4) == "a&lt")
  }

  @Test(arguments: [
    ("2017-11-07 10:05:13 +0200", "2017-11-07T08:05:13Z"),
    ("1970-01-01 00:00:00 +0000", "1970-01-01T00:00:00Z"),
    ("1969-12-31 23:59:59 -0030", "1970-01-01T00:29:59Z"),
    ("2024-02-29 12:00:00 -1200", "2024-03-01T00:00:00Z"),
    ("2261-12-31 23:59:59 +0000", "2261-12-31T23:59:59Z"),
    ("1678-01-01 00:00:00 +0000", "1678-01-01T00:00:00Z"),
    ("20141013181700+0100", "2014-10-13T17:17:00Z"),
    ("2014-10-13T18:17:00.25+01:00", "2014-10-13T17:17:00.25Z"),
    ("2014-10-13T18:17:00-05:45", "2014-10-14T00:02:00Z"),
    ("2014-10-13T18:17:00Z", "2014-10-13T18:17:00Z"),
    ("2014-10-13 18:17:60 +0000", "2014-10-13T18:18:00Z"),
    ("2017-11-07 10:05:13 +0545", "2017-11-07T04:20:13Z"),
    ("2017-11-07 10:05:13 -1800", "2017-11-08T04:05:13Z"),
    ("2014-10-13T18:17:00.05+01:00", "2014-10-13T17:17:00.05Z"),
    ("2014-10-13T18:17:00.905Z", "2014-10-13T18:17:00.905Z"),
    ("2014-10-13T18:17:00+09:00", "2014-10-13T09:17:00Z"),
    ("2014-10-13T18:17:00-10:30", "2014-10-14T04:47:00Z"),
  ])
  func `dates of all kinds are read`(_ text: String, _ wanted: String) {
    #expect(date(text) == RFC3339.parse(wanted))
  }

  @Test(arguments: [
    "", "2017-11-07", "2017-11-07 10:05:13", "2017-13-07 10:05:13 +0200",
    "2017-00-07 10:05:13 +0200", "2017-11-31 10:05:13 +0200", "2017-11-00 10:05:13 +0200",
    "2023-02-29 10:05:13 +0200", "2017-11-07 24:05:13 +0200", "2017-11-07 10:60:13 +0200",
    "2017-11-07 10:05:61 +0200", "2017-11-07 10:05:13 +0260", "2017-11-07 10:05:13 +1900",
    "2017-11-07 10:05:13 x0200", "2017-11-07 1O:05:13 +0200", "2017/11/07 10:05:13 +0200",
    "1677-11-07 10:05:13 +0200", "2262-11-07 10:05:13 +0200", "0000-00-00 00:00:00 +0000",
    "2017-11-07 10:05:13 +020", "-2017-11-07 10:05:13 +02", "2017-11-07 10:05:1: +0200",
    "2014-10-13T18:17:00+01x00", "2014-10-13T18:17:00x01:00", "2017-11-07 10:05:13 *0200",
    "2017-11-07 10:05:13 +020:", "2017-11-07 10:05:13 +0265", "2017-11-07 10:05:13 -1801",
    "2017-11-07 10:05:13 -1900", "-2017-11-07 10:05:13 +0200", "20 17-11-07 10:05:13 +0200",
    "2014-10-13T18:17:00.25", "2017-11-07 10:05:13 ,0200",
  ])
  func `a malformed date is not read`(_ text: String) {
    #expect(date(text) == nil)
  }

  @Test(arguments: [
    "\u{2}\u{0}\u{1}\u{7}\u{0}\u{1}\u{1}\u{0}07 10:05:13 +0200",
    "2017-11-\u{0}\u{7}\u{0}\u{1}\u{0}\u{0}\u{0}\u{5}:13 +0200",
    "2017-11-07 10:05\u{0}\u{1}\u{3}\u{0}+\u{0}\u{2}\u{0}0", "2017-11-07 10:05:13 +020\u{0}",
  ])
  func `control bytes do not count as digits of a date`(_ text: String) {
    #expect(date(text) == nil)
  }

  @Test(arguments: [
    "2017-11-17", "2017-11-27", "2017-11-08", "2017-12-07", "2017-01-07", "2018-11-07",
    "2027-11-07", "2117-11-07", "2217-11-07",
  ])
  func `a day that differs from the previous one in one digit is read correctly`(_ other: String) {
    var time = ExportTime()
    for day in ["2017-11-07", other, "2017-11-07"] {
      let bytes = Array("\(day) 10:05:13 +0000".utf8)[...]
      #expect(time.read(bytes.span, 0..<25) == RFC3339.parse("\(day)T10:05:13Z"))
    }
  }

  @Test func `every day between 1900 and 2100 is read as its day number`() {
    var time = ExportTime()
    for day in stride(from: -25_567, to: 47_482, by: 1) {
      let text = ExportWriter.day(day)
      let bytes = Array("\(text) 01:02:03 +0000".utf8)[...]
      let wanted = Timestamp(nanoseconds: (Int64(day) * 86_400 + 3_723) * 1_000_000_000)
      #expect(time.read(bytes.span, 0..<25) == wanted, "\(text)")
    }
  }

  @Test(arguments: [
    "0", "1", "-1", "0.5", "72.0", "0.985", "4.314366666475932", "9007199254740992",
    "9007199254740993", "0.1234567890123456789", "1e-05", "1E3", "-2.5e+10", "00012.500",
    "123456789012345678901234567890", "0.00000000000000000000001", ".5", "5.",
    ".0000000000000000001",
  ])
  func `a number is read as the nearest double`(_ text: String) {
    #expect(number(text) == Double(text))
  }

  @Test(arguments: [
    "", "-", ".", "1.2.3", "1,5", "nan", "inf", "0x10", "1e999", "1 ", "--1", "e5", "..5", "-..5",
    "\u{1}", "\t", "1^5",
  ])
  func `a malformed number is not read`(_ text: String) {
    #expect(number(text) == nil)
  }

  @Test func `a number of any length is read as the nearest double`() {
    var generator = RandomSource(seed: 5)
    for _ in 0..<20_000 {
      let bits = Double(bitPattern: generator.next() >> 2 | 0x3000_0000_0000_0000)
      let text = "\(bits)"
      #expect(number(text) == Double(text), "\(text)")
      let decimal =
        "\(generator.next() >> (generator.next() % 60)).\(generator.next() >> (generator.next() % 60))"
      #expect(number(decimal) == Double(decimal), "\(decimal)")
    }
  }
}
