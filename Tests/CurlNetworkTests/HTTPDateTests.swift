import Foundation
import HoldfastCore
import HoldfastSocketEngine
import Testing

/// Tests of the dates of HTTP (RFC 9110 section 5.6.7).
@Suite struct HTTPDateTests {
  @Test(arguments: [
    ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Thursday, 01-Jan-70 00:00:00 GMT", 0),
    ("Thu Jan  1 00:00:00 1970", 0),
    ("Wed, 31 Dec 1969 23:59:59 GMT", -1), ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
    ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777), ("Sun Nov  6 08:49:37 1994", 784_111_777),
    ("Tue, 29 Feb 2000 23:59:59 GMT", 951_868_799),
    ("Mon, 29 Feb 2016 00:00:00 GMT", 1_456_704_000),
    ("Tue, 19 Jan 2038 03:14:08 GMT", 2_147_483_648),
    ("Wednesday, 31-Dec-69 23:59:59 GMT", 3_155_759_999),
    ("Mon, 01 Jan 0001 00:00:00 GMT", -62_135_596_800),
    ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
    // A leap second is the second after it.
    ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
    ("Sun, 01 Jan 2017 00:00:00 GMT", 1_483_228_800),
  ])
  func `a date in each form is its seconds since 1970`(text: String, seconds: Int) {
    #expect(HTTPDate.seconds(text) == seconds)
  }

  @Test(arguments: [
    "", " ", "GMT", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC",
    "Sun, 06 Nov 1994 08:49:37 gmt", "Sun, 06 Nov 1994 08:49:37 +0000",
    "Sun 06 Nov 1994 08:49:37 GMT",
    "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 31 Nov 1994 08:49:37 GMT",
    "Wed, 29 Feb 1900 08:49:37 GMT",
    "Sun, 29 Feb 2015 08:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT",
    "Sun, 06 Nov 19945 08:49:37 GMT", "Sun, 06 Nov 0000 08:49:37 GMT",
    "Sun, 06 Nov 1994 24:00:00 GMT",
    "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
    "Sun, 06 Nov 1994 8:49:37 GMT",
    "Sun, 06 Nov 1994 08:49 GMT", "Sun, 06 Nov 1994 08:49:37:00 GMT",
    "Sun, 06 Nov 1994 08:+9:37 GMT",
    "Sun, -6 Nov 1994 08:49:37 GMT", "Sun, ٠٦ Nov 1994 08:49:37 GMT",
    "Sunday, 06-Nov-1994 08:49:37 GMT",
    "Sunday, 06-Nov 08:49:37 GMT", "Sunday, 06--Nov-94 08:49:37 GMT", "Sunday Nov 6 08:49:37 1994",
    "Sun Nov 32 08:49:37 1994",
  ])
  func `another text is no date`(text: String) {
    #expect(HTTPDate.seconds(text) == nil)
  }

  @Test func `each day from 1970 to 2399 has the seconds that Foundation computes`() throws {
    let format = DateFormatter()
    format.locale = Locale(identifier: "en_US_POSIX")
    format.timeZone = TimeZone(secondsFromGMT: 0)
    format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
    for day in stride(from: 0, to: 157_000, by: 1) {
      let seconds = day * 86_400 + day % 86_400
      let text = format.string(from: Date(timeIntervalSince1970: Double(seconds)))
      guard HTTPDate.seconds(text) == seconds else {
        Issue.record("\(text)")
        return
      }
    }
  }

  @Test func `random texts are dates only within the range of years`() {
    var generator = RandomSource(seed: 11)
    let pieces = [
      "Sun,", "Sunday,", "Sun", "06", "6", "31", "Nov", "Feb", "1994", "9999", "0001", "06-Nov-94",
      "31-Feb-00", "-", ":", "08:49:37", "23:59:60", "GMT", "UTC", " ", "  ", "\u{0}", "é", "٣",
      String(repeating: "9", count: 40),
    ]
    for _ in 0..<200_000 {
      let words = (0..<Int.random(in: 0..<9, using: &generator)).map { _ in
        pieces[Int.random(in: 0..<pieces.count, using: &generator)]
      }
      let text = words.joined(separator: Bool.random(using: &generator) ? " " : "")
      guard let seconds = HTTPDate.seconds(text) else { continue }
      #expect((-62_135_596_800...253_402_300_800).contains(seconds), "\(text)")
    }
  }
}
