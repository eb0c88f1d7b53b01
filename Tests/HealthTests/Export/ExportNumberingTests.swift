import Testing

@testable import HoldfastHealthSamples

/// Tests of which texts share a number and which have their own.
@Suite struct ExportNumberingTests {
  /// Returns the numbers of a hundred texts, each read in two ways.
  private static func numbers(
    _ round: Int, _ pair: (Int, inout ExportNames) -> [UInt16]
  ) -> [UInt16] {
    var names = ExportNames()
    var numbers: [UInt16] = []
    for number in 100 * round..<100 * (round + 1) { numbers += pair(number, &names) }
    return numbers
  }

  @Test(arguments: 0..<100)
  func `a text and its beginning have numbers of their own`(round: Int) {
    let numbers = Self.numbers(round) { number, names in
      let bytes = Array("\(10_000_000 + number)\(20_000_000 + number)".utf8)[...]
      return [16, 8].map { names.number(bytes.span, 0..<$0) }
    }
    #expect(numbers == Array(0..<200))
  }

  @Test(arguments: 0..<100)
  func `a device and a plain text of the same bytes have numbers of their own`(round: Int) {
    let numbers = Self.numbers(round) { number, names in
      let bytes = Array("<<HKDevice: 0x1>, name:\(number)>".utf8)[...]
      let plain = names.number(bytes.span, 0..<bytes.count)
      return [plain, names.number(bytes.span, 0..<bytes.count, as: .device)]
    }
    #expect(numbers == Array(0..<200))
  }

  @Test func `a repeated text of the reader itself gets one number`() {
    var names = ExportNames()
    var numbers: [UInt16] = []
    for text in ["a", "b", "a"] { numbers.append(names.number(of: text)) }
    #expect(numbers == [0, 1, 0])
    #expect(names.names.map(\.text) == ["a", "b"])
  }

  @Test func `the count of repaired texts continues after the names are cleared`() {
    let bytes = Array("a\u{01}".utf8)[...]
    var names = ExportNames()
    for _ in 0..<2 {
      let number = names.number(bytes.span, 0..<bytes.count)
      #expect(number == 0)
      names.begin()
    }
    #expect(names.names == [])
    #expect(names.repaired == 2)
  }

  @Test func `an empty text has no number`() {
    let bytes = Array("a".utf8)[...]
    var names = ExportNames()
    let number = names.optionalNumber(bytes.span, 1..<1)
    #expect(number == HealthRow.none)
    #expect(names.names == [])
  }
}
