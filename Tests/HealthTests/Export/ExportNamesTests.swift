import Testing

@testable import HoldfastHealthSamples

/// Tests of the numbers that `ExportNames` assigns to the texts of an export.
@Suite struct ExportNamesTests {
  /// Returns the numbers of the texts, which are added in order.
  private static func number(_ texts: [String], by names: inout ExportNames) -> [UInt16] {
    var numbers: [UInt16] = []
    for text in texts {
      let bytes = Array(text.utf8)[...]
      numbers.append(names.number(bytes.span, 0..<bytes.count))
    }
    return numbers
  }

  @Test func `texts that differ only in their first byte have numbers of their own`() {
    let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    let texts = (0..<10).flatMap { digit in letters.map { "\($0)\(digit)" } }
    var names = ExportNames()
    let numbers = Self.number(texts, by: &names)
    #expect(numbers == Array(0..<520))
  }

  @Test func `a repaired text counts once even among many others`() {
    let texts = (0..<600).map { "\($0)\u{01}" }
    var names = ExportNames()
    let first = Self.number(texts, by: &names)
    let second = Self.number(texts, by: &names)
    #expect(first == Array(0..<600))
    #expect(second == first)
    #expect(names.repaired == 600)
  }

  @Test func `the name table is full if fewer than 16 of 32,768 entries are left`() {
    var names = ExportNames()
    var count = 0
    while !names.isFull, count < 40_000 {
      _ = Self.number(["\(count)"], by: &names)
      count += 1
    }
    #expect(count == 32_753)
  }

  @Test func `the name table is full if its texts exceed two mebibytes`() {
    let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef"
    var names = ExportNames()
    _ = Self.number(letters.map { String(repeating: $0, count: 65_536) }, by: &names)
    #expect(!names.isFull)
    _ = Self.number(["g"], by: &names)
    #expect(names.isFull)
  }
}
