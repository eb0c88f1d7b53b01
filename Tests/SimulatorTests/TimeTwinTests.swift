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

  @Test func `a time that is read, written or counted otherwise is found`() throws {
    let (text, stamp) = ("1970-01-01T00:00:01Z", Timestamp(nanoseconds: 1_000_000_000))
    try TimeWalk.expect(each: [
      (nil, { $0.compareReading([stamp, stamp], of: text) }),
      ("\(text), read,", { $0.compareReading([nil, stamp], of: text) }),
      ("\(text), read,", { $0.compareReading([stamp, nil], of: text) }),
      (nil, { $0.compareText(text, stamp, of: stamp) }),
      ("the text of \(stamp)", { $0.compareText("1970", stamp, of: stamp) }),
      ("\(stamp), read again,", { $0.compareText(text, nil, of: stamp) }),
      (nil, { $0.compareSum(.max, 1, .max) }),
      ("1 + 2", { $0.compareSum(4, 1, 2) }),
      (nil, { $0.compareLength(29, of: 2, 2000) }),
      ("the length of 2000-2", { $0.compareLength(28, of: 2, 2000) }),
      (nil, { $0.compareDay(1, [1970, 1, 2], of: [1970, 1, 2]) }),
      ("the days to [1970, 1, 2]", { $0.compareDay(0, [1970, 1, 2], of: [1970, 1, 2]) }),
      ("the date of [1970, 1, 2]", { $0.compareDay(1, [1970, 1, 1], of: [1970, 1, 2]) }),
      (nil, { $0.compareNanoseconds(.max, of: .max, 0) }),
      ("the nanoseconds of 1 s and 0 as", { $0.compareNanoseconds(1, of: 1, 0) }),
    ])
  }

  @Test func `a name that is read otherwise is found`() throws {
    let address = try #require(NetworkAddress("10.0.0.1"))
    let six = [UInt8](repeating: 1, count: 16)
    let id = UUID128(high: 1, low: 2)
    try NameWalk.expect(each: [
      (nil, { $0.compareHost("10.0.0.1", address, isHere: false, of: "10.0.0.1") }),
      (
        "10.0.0.1 without brackets",
        { $0.compareHost("10.0", address, isHere: false, of: "10.0.0.1") }
      ),
      ("the host 10.0.0.1", { $0.compareHost("10.0.0.1", nil, isHere: false, of: "10.0.0.1") }),
      (
        "whether 10.0.0.1 is this machine",
        { $0.compareHost("10.0.0.1", address, isHere: true, of: "10.0.0.1") }
      ),
      (nil, { $0.look(address, [10, 0, 0, 1]) }),
      ("whether [127, 0, 0, 1] is this machine", { $0.look(address, [127, 0, 0, 1]) }),
      ("whether [0, 0, 0, 0] is any", { $0.look(address, [0, 0, 0, 0]) }),
      ("whether \(six) is of IPv6", { $0.look(address, six) }),
      ("the origin of [10, 0, 0, 2]", { $0.look(address, [10, 0, 0, 2]) }),
      (nil, { $0.compareUUID([id, id], of: "\(id)") }),
      ("\(id), read,", { $0.compareUUID([nil, id], of: "\(id)") }),
      ("\(id), read,", { $0.compareUUID([id, nil], of: "\(id)") }),
      (nil, { $0.compareDigit(10, of: 0x61) }),
      ("the digit 97", { $0.compareDigit(11, of: 0x61) }),
    ])
  }
}
