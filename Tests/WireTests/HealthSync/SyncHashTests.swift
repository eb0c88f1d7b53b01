import HoldfastCore
import HoldfastJSON
import Testing

@testable import HoldfastSyncData

@Suite struct SyncHashTests {
  @Test(arguments: [
    ("0", "0"), ("-0.0", "0"), ("72", "72"), ("72.0", "72"), ("-72", "-72"), ("0.731", "0.731"),
    ("1834.27", "1834.27"), ("1e20", "100000000000000000000"), ("1e21", "1e+21"),
    ("1.5e21", "1.5e+21"), ("999999999999999900000", "999999999999999900000"),
    ("123456789012345680000", "123456789012345680000"),
    ("9007199254740993", "9007199254740992"), ("18014398509481984", "18014398509481984"),
    ("9041026000000000", "9041026000000000"), ("-9041026e9", "-9041026000000000"),
    ("0.001", "0.001"), ("0.0001", "0.0001"), ("0.00001", "0.00001"), ("0.000001", "0.000001"),
    ("0.0000015", "0.0000015"), ("0.0000001", "1e-7"), ("1.25e-7", "1.25e-7"),
    ("-1.25e-7", "-1.25e-7"), ("5e-324", "5e-324"),
    ("1.7976931348623157e308", "1.7976931348623157e+308"), ("inf", "Infinity"),
    ("-inf", "-Infinity"), ("nan", "NaN"), ("0.30000000000000004", "0.30000000000000004"),
    ("4.35", "4.35"), ("1e-10", "1e-10"), ("123e-20", "1.23e-18"),
  ])
  func `numbers are written as in JavaScript`(literal: String, text: String) throws {
    let number = try #require(Double(literal))
    #expect(String(decoding: SyncNumber.text(number), as: UTF8.self) == text)
  }

  @Test func `a number in JavaScript's format reads back unchanged`() {
    var seed: UInt64 = 1
    for _ in 0..<5_000 {
      seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      let number = Double(bitPattern: seed)
      guard number.isFinite else { continue }
      #expect(Double(String(decoding: SyncNumber.text(number), as: UTF8.self)) == number)
    }
  }

  private static func input(_ value: String) throws -> String {
    let batch = try SyncBatch.read(
      Array(
        (#"{"dataType":"t","records":[{"recordType":"r","sourceName":"a|b\u00e9","#
          + #""startTime":"2026-01-18T20:00:00.50+01:00","#
          + #""endTime":"2026-01-18T20:01:00Z"\#(value)}]}"#)
          .utf8))
    return String(decoding: batch.records?.first?.hashInput ?? [], as: UTF8.self)
  }

  @Test(arguments: [
    (#","value":72.0"#, "72"), (#","value":72,"valueText":"x""#, "72"),
    (#","value":null,"valueText":"x""#, "x"), (#","valueText":null"#, "null"), ("", "undefined"),
    (#","value":null"#, "undefined"), (#","value":1e21"#, "1e+21"),
  ])
  func `the hash input ends with the value or the text, and has times as sent`(
    members: String, last: String
  ) throws {
    #expect(
      try Self.input(members)
        == "r|a|b\u{E9}|2026-01-18T20:00:00.50+01:00|2026-01-18T20:01:00Z|\(last)")
  }

  @Test func `a hash has 32 bytes and is ordered by them`() throws {
    let bytes = (0..<32).map { UInt8($0 * 8 + 1) }
    let hash = try #require(SyncHash(bytes))
    #expect(hash.bytes == bytes)
    #expect(SyncHash(bytes.dropLast()) == nil && SyncHash(bytes + [0]) == nil)
    for index in [0, 7, 8, 31] {
      var other = bytes
      other[index] += 1
      let greater = try #require(SyncHash(other))
      #expect(hash < greater && !(greater < hash))
    }
    #expect(!(hash < hash))
  }
}
