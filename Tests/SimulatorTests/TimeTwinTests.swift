import LinkCore
import Testing

@testable import LinkSimulator

/// The second accounts of times, names and addresses.
@Suite struct TimeTwinTests {
  @Test(arguments: [
    ("1970-01-01T00:00:00Z", 0), ("1970-01-02T00:00:00.5Z", 86_400_500_000_000),
    ("1969-12-31T23:59:59.999999999Z", -1), ("2000-03-01T00:00:00Z", 951_868_800_000_000_000),
  ])
  func `the account writes and reads times`(text: String, nanoseconds: Int64) {
    #expect(TimeAccount.text(Timestamp(nanoseconds: nanoseconds)) == text)
    #expect(TimeReading.time(text) == Timestamp(nanoseconds: nanoseconds))
  }

  @Test(arguments: [
    "2023-02-29T00:00:00Z", "1970-01-01T24:00:00Z", "1970-01-01T00:00:60Z", "1970-01-01T00:00:00",
    "1970-01-01T00:00:00.Z", "1970-01-01 00:00:00Z", "2262-04-11T23:47:16.854775808Z",
  ])
  func `the account refuses what is no time`(text: String) {
    #expect(TimeReading.time(text) == nil)
  }

  @Test func `the account counts the days of the calendar`() {
    #expect(TimeAccount.days(1970, 1, 1) == 0)
    #expect(TimeAccount.days(1, 1, 1) == -719_162)
    #expect(TimeAccount.date(-1) == [1969, 12, 31])
    #expect(TimeAccount.date(11_016) == [2000, 2, 29])
  }

  @Test func `the account reads addresses`() {
    #expect(NameAddress.bytes("10.0.0.1") == [10, 0, 0, 1])
    #expect(NameAddress.bytes("::ffff:10.0.0.1") == [10, 0, 0, 1])
    #expect(NameAddress.bytes("::1") == [UInt8](repeating: 0, count: 15) + [1])
    #expect(NameAddress.bytes("1::2::3") == nil)
    #expect(NameAddress.bytes("10.0.0.01") == nil)
    #expect(NameAddress.block("10.0.0.0/9")?.shared.count == 9)
    #expect(NameAddress.block("::ffff:10.0.0.0/104")?.shared.count == 8)
    #expect(NameAddress.block("10.0.0.0/33") == nil)
    let id = UUID128(high: 1, low: 2)
    #expect(NameAddress.uuid("00000000-0000-0001-0000-000000000002") == id)
  }

  @Test func `walks of times and names return the first difference that they find`() {
    var time = TimeWalk(Chance(seed: 1))
    #expect(time.walk(3) == nil)
    time.compare("a day", 1, 2)
    time.compare("a day", 3, 4)
    #expect(time.walk(3) == "a day is 1, and must be 2")
    var names = NameWalk(Chance(seed: 1))
    #expect(names.walk(3) == nil)
  }
}
