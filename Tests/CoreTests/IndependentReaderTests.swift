import Foundation
import HoldfastCore
import HoldfastTestKit
import Testing

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Tests that compare identifiers, addresses and times with Foundation and the C library.
@Suite struct IndependentReaderTests {
  /// Returns `text` with at most one character inserted, removed or replaced.
  private func changed(_ text: String, _ signs: String, _ generator: inout RandomSource) -> String {
    var all = Array(text)
    let index = Int.random(in: 0...all.count, using: &generator)
    let sign = signs.randomElement(using: &generator) ?? "0"
    switch Int.random(in: 0...3, using: &generator) {
    case 0: all.insert(sign, at: index)
    case 1 where index < all.count: all.remove(at: index)
    case 2 where index < all.count: all[index] = sign
    case _: break
    }
    return String(all)
  }

  @Test func `reads and writes UUIDs as Foundation does`() {
    var generator = RandomSource(seed: 50)
    for _ in 0..<4_000 {
      let drawn = UUID128(high: generator.next(), low: generator.next())
      let other = Foundation.UUID(uuidString: drawn.description)
      #expect(other?.uuidString.lowercased() == drawn.description)
      #expect(other.flatMap { UUID128($0.uuidString) } == drawn)
      #expect(UUID128("x\(drawn)".dropFirst()) == drawn)
      // On Linux, Foundation accepts more than RFC 9562 allows, such as spaces between the digits.
      let text = changed(drawn.description, "09afAFgG- ", &generator)
      guard let found = UUID128(text) else { continue }
      #expect(Foundation.UUID(uuidString: text)?.uuidString.lowercased() == found.description)
    }
    let random = UUID128.random(using: &generator).description
    #expect(Array(random)[14] == "4")
    #expect("89ab".contains(Array(random)[19]))
  }

  private static let addresses = [
    "127.0.0.1", "255.255.255.255", "0.0.0.0", "10.1.128.7", "::", "::1", "1::", "fe80::1",
    "2001:DB8::a:b", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8", "1:2:3:4::6:7:8",
    "::ffff:10.0.0.1", "::FFFF:a00:1", "1::ffff:10.0.0.1", "::10.0.0.1", "1:2:3:4:5:6:10.0.0.1",
    "0:0:0:0:0:ffff:127.0.0.1",
  ]

  /// Returns the bytes of an address as the C library parses it. An IPv4-mapped IPv6 address has 4
  /// bytes.
  private func bytes(_ text: String) -> [UInt8]? {
    var four = [UInt8](repeating: 0, count: 4)
    if unsafe inet_pton(AF_INET, text, &four) == 1 { return four }
    var six = [UInt8](repeating: 0, count: 16)
    guard unsafe inet_pton(AF_INET6, text, &six) == 1 else { return nil }
    let isMapped = six.starts(with: [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF])
    return isMapped ? Array(six[12...]) : six
  }

  @Test func `accepts the same addresses as the C library, with the same bytes`() {
    var generator = RandomSource(seed: 51)
    for text in Self.addresses { #expect(NetworkAddress(text)?.bytes == bytes(text)) }
    for _ in 0..<8_000 {
      var text = Self.addresses.randomElement(using: &generator) ?? ""
      for _ in 0..<2 { text = changed(text, "0159afAFg:.+", &generator) }
      #expect(NetworkAddress(text)?.bytes == bytes(text), "\(text)")
    }
  }

  @Test func `reads and writes times as Foundation does, in any time zone`() {
    var generator = RandomSource(seed: 52)
    let formatter = ISO8601DateFormatter()
    for _ in 0..<1_000 {
      // The years 1678 to 2261.
      let second = Int64.random(in: -9_214_560_000..<9_214_646_400, using: &generator)
      let date = Date(timeIntervalSince1970: Double(second))
      let time = Timestamp(nanoseconds: second * 1_000_000_000)
      formatter.timeZone = .gmt
      #expect(RFC3339.format(time) == formatter.string(from: date))
      let minutes = Int.random(in: -840...840, using: &generator)
      guard let zone = TimeZone(secondsFromGMT: minutes * 60) else { continue }
      formatter.timeZone = zone
      let text = formatter.string(from: date)
      #expect(RFC3339.parse(text) == time, "\(text)")
    }
  }

  @Test func `accepts exactly the dates of Foundation's calendar`() {
    var generator = RandomSource(seed: 53)
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = .gmt
    for _ in 0..<2_000 {
      let year = [1700, 1900, 2000, 2023, 2024, 2100].randomElement(using: &generator) ?? 1970
      let month = Int.random(in: 0...13, using: &generator)
      let day = Int.random(in: 0...32, using: &generator)
      func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
      let text = "\(year)-\(two(month))-\(two(day))T12:34:56Z"
      let parts = DateComponents(
        year: year, month: month, day: day, hour: 12, minute: 34, second: 56)
      let date = parts.isValidDate(in: calendar) ? calendar.date(from: parts) : nil
      let nanoseconds = date.map { Int64($0.timeIntervalSince1970) * 1_000_000_000 }
      #expect(RFC3339.parse(text)?.nanoseconds == nanoseconds, "\(text)")
    }
  }

  /// Compares with the first outputs of the C program by SplitMix64's authors for the seed 1234567.
  @Test func `the random source implements SplitMix64`() {
    var generator = RandomSource(seed: 1_234_567)
    #expect(
      (0..<5).map { _ in generator.next() } == [
        6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423,
        4_593_380_528_125_082_431, 16_408_922_859_458_223_821,
      ])
  }
}

/// Tests of the encoding of single values in journals.
@Suite struct CodedValueTests {
  private func check<Value: Codable & Equatable>(
    _ value: Value, _ text: String, refuses others: [String]
  ) throws {
    #expect(try String(decoding: JSONEncoder().encode([value]), as: UTF8.self) == "[\(text)]")
    #expect(try JSONDecoder().decode([Value].self, from: Data("[\(text)]".utf8)) == [value])
    for other in others {
      #expect(throws: DecodingError.self, "\(Value.self) \(other)") {
        try JSONDecoder().decode([Value].self, from: Data("[\(other)]".utf8))
      }
    }
  }

  @Test func `identifiers and times are encoded as bare numbers or strings`() throws {
    let odd = ["\"1\"", "{}", "1.5", "9223372036854775808", "null"]
    for number in [Int64.min, -1, 0, .max] {
      try check(Instant(nanoseconds: number), "\(number)", refuses: odd)
      try check(Timestamp(nanoseconds: number), "\(number)", refuses: odd)
      try check(CivilTime(nanoseconds: number), "\(number)", refuses: odd)
    }
    let none = ["\"1\"", "{}", "1.5", "18446744073709551616", "-1"]
    for number in [UInt64.min, 7, .max] {
      try check(AttemptID(number), "\(number)", refuses: none)
      try check(ConnectionID(number), "\(number)", refuses: none)
      try check(RequestID(number), "\(number)", refuses: none)
    }
    #expect(AttemptID(1) < AttemptID(2))
    #expect(!(AttemptID(2) < AttemptID(2)))
    try check(PathID("en0"), "\"en0\"", refuses: ["1", "{}"])
    let id = UUID128(high: 0x0123_4567_89AB_CDEF, low: 10)
    let text = "01234567-89ab-cdef-0000-00000000000a"
    try check(id, "\"\(text)\"", refuses: ["\"\(text)0\"", "\"\"", "1"])
  }

  @Test func `secrets and message contents are not written to journals`() throws {
    let secret = Secret("s3cret")
    #expect(secret.text == "s3cret")
    #expect(try String(decoding: JSONEncoder().encode([secret]), as: UTF8.self) == "[\"\"]")
    #expect(!"\(secret)".contains("s3cret"))
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    for (message, text) in [
      (SocketMessage.text("aä"), #"{"bytes":3,"text":true}"#),
      (SocketMessage(binary: []), #"{"bytes":0,"text":false}"#),
    ] {
      #expect(try String(decoding: encoder.encode(message), as: UTF8.self) == text)
      let read = try JSONDecoder().decode(SocketMessage.self, from: Data(text.utf8))
      #expect(read.isText == message.isText && read.count == message.count)
      #expect(read.bytes == nil)
    }
    for (count, isRead) in [(-1, false), (4_294_967_295, true), (4_294_967_296, false)] {
      let form = Data(#"{"text":true,"bytes":\#(count)}"#.utf8)
      #expect(((try? JSONDecoder().decode(SocketMessage.self, from: form)) != nil) == isRead)
    }
  }
}
