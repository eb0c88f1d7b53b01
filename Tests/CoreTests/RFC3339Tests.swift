import HoldfastTestKit
import LinkCore
import Testing

@Suite struct RFC3339Tests {
  private static let seed: Int64 = 1_767_454_200

  /// Texts, seconds and nanoseconds since 1970.
  private static let readable: [(String, Int64, Int64)] = [
    ("1970-01-01T00:00:00Z", 0, 0),
    ("2026-01-03T15:30:00Z", seed, 0),
    ("2026-01-03t15:30:00z", seed, 0),
    ("2026-01-03T15:30:00.5Z", seed, 500_000_000),
    ("2026-01-03T15:30:00.12Z", seed, 120_000_000),
    ("2026-01-03T15:30:00.123Z", seed, 123_000_000),
    ("2026-01-03T15:30:00.1234Z", seed, 123_400_000),
    ("2026-01-03T15:30:00.12345Z", seed, 123_450_000),
    ("2026-01-03T15:30:00.123456Z", seed, 123_456_000),
    ("2026-01-03T15:30:00.1234567Z", seed, 123_456_700),
    ("2026-01-03T15:30:00.12345678Z", seed, 123_456_780),
    ("2026-01-03T15:30:00.123456789Z", seed, 123_456_789),
    ("2026-01-03T15:30:00.1234567899999Z", seed, 123_456_789),
    ("2026-01-03T15:30:00.0000000000Z", seed, 0),
    ("2026-01-03T17:30:00+02:00", seed, 0),
    ("2026-01-03T10:00:00-05:30", seed, 0),
    ("2026-01-03T15:30:00-00:00", seed, 0),
    ("2026-01-04T15:29:00.25+23:59", seed, 250_000_000),
    ("2016-12-31T23:59:60Z", 1_483_228_800, 0),
    ("2016-12-31T23:59:60.5Z", 1_483_228_800, 500_000_000),
    ("2016-12-31T15:59:60-08:00", 1_483_228_800, 0),
    ("2024-02-29T00:00:00Z", 1_709_164_800, 0),
    ("2000-02-29T00:00:00Z", 951_782_400, 0),
    ("1969-12-31T23:59:59.75Z", -1, 750_000_000),
    ("1969-12-31T23:59:60Z", 0, 0),
    ("2262-04-11T23:47:16.854775807Z", 9_223_372_036, 854_775_807),
    ("1677-09-21T00:12:43.145224192Z", -9_223_372_037, 145_224_192),
  ]

  @Test(arguments: readable)
  func `reads`(text: String, seconds: Int64, nanoseconds: Int64) {
    let length = Duration.seconds(seconds) + .nanoseconds(nanoseconds)
    #expect(RFC3339.parse(text) == Timestamp(nanoseconds: 0).advanced(by: length))
  }

  @Test(arguments: [
    "", "2026", "2026-01-03", "2026-01-03T15:30:00", "2026-01-03 15:30:00Z", "2026-01-03T15:30Z",
    "2026-1-03T15:30:00Z", "26-01-03T15:30:00Z", "+2026-01-03T15:30:00Z", "12026-01-03T15:30:00Z",
    "2026-00-03T15:30:00Z", "2026-13-03T15:30:00Z", "2026-01-00T15:30:00Z", "2026-01-32T15:30:00Z",
    "2026-04-31T15:30:00Z", "2026-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2024-02-30T00:00:00Z",
    "2026-01-03T24:00:00Z", "2026-01-03T15:60:00Z", "2026-01-03T15:30:61Z", "2026-01-03T15:30:60Z",
    "2016-12-31T23:59:60-08:00", "2026-01-03T15:30:00.Z", "2026-01-03T15:30:00,5Z",
    "2026-01-03T15:30:00.5", "2026-01-03T15:30:00.-5Z", "2026-01-03T15:30:00+2:00",
    "2026-01-03T15:30:00+0200", "2026-01-03T15:30:00+24:00", "2026-01-03T15:30:00+02:60",
    "2026-01-03T15:30:00+02", "2026-01-03T15:30:00ZZ", "2026-01-03T15:30:00Z ",
    " 2026-01-03T15:30:00Z", "２026-01-03T15:30:00Z", "2026-01-03T15:30:00 02:00",
    "0000-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z",
    "2262-04-11T23:47:16.854775808Z", "2262-04-11T23:47:17Z", "1677-09-21T00:12:43.145224191Z",
    "1677-09-21T00:12:43Z", "-001-01-01T00:00:00Z", "2026-01-03T15:30:0002:00",
    "202601-03T15:30:00Z", "2026-0103T15:30:00Z", "2026-01-03T1530:00Z", "2026-01-03T15:3000Z",
  ])
  func `refuses`(text: String) {
    #expect(RFC3339.parse(text) == nil)
  }

  @Test(arguments: [
    (0, "1970-01-01T00:00:00Z"), (-1, "1969-12-31T23:59:59.999999999Z"),
    (1_500_000_000, "1970-01-01T00:00:01.5Z"), (1_000, "1970-01-01T00:00:00.000001Z"),
    (1_767_454_200_000_000_000, "2026-01-03T15:30:00Z"),
    (Int64.max, "2262-04-11T23:47:16.854775807Z"), (Int64.min, "1677-09-21T00:12:43.145224192Z"),
  ])
  func `writes`(nanoseconds: Int64, text: String) {
    #expect(RFC3339.format(Timestamp(nanoseconds: nanoseconds)) == text)
  }

  @Test func `reads back what it writes`() {
    var chance = Chance(seed: 4)
    for _ in 0..<10_000 {
      let time = chance.timestamp()
      #expect(RFC3339.parse(RFC3339.format(time)) == time)
    }
  }

  @Test func `keeps step with a calendar that is counted day by day`() {
    var (year, month, day) = (1678, 1, 1)
    // Every sum fits 64 bits, though not every step of it.
    let start = RFC3339.parse("1678-01-01T00:00:00Z")?.nanoseconds ?? 0
    for number in 0..<213_000 {
      let wanted = "\(year)-\(month < 10 ? "0" : "")\(month)-\(day < 10 ? "0" : "")\(day)"
      let time = Timestamp(nanoseconds: start &+ Int64(number) &* 86_400_000_000_000)
      let found = RFC3339.format(time)
      if found != wanted + "T00:00:00Z" || number % 97 == 0 && RFC3339.parse(found) != time {
        Issue.record("\(wanted) was written \(found)")
      }
      let isLeap = year.isMultiple(of: 400) || year.isMultiple(of: 4) && !year.isMultiple(of: 100)
      let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
      day += 1
      if day > lengths[month - 1] { (month, day) = (month + 1, 1) }
      if month > 12 { (year, month) = (year + 1, 1) }
    }
    #expect(year == 2261)
  }

  @Test func `survives damage`() {
    var chance = Chance(seed: 5)
    let text = Array(text: "2026-01-03T15:30:00.123456789+02:00")
    for _ in 0..<20_000 {
      guard let time = RFC3339.parse(chance.damaged(text)[...]) else { continue }
      #expect(RFC3339.parse(RFC3339.format(time)) == time)
    }
  }
}
