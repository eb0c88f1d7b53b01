import HoldfastCore

/// A parser for the three forms of an HTTP-date (RFC 9110 section 5.6.7).
package enum HTTPDate {
  /// Returns the number of seconds from 1970 to a date; `nil` if the text has none of the forms.
  ///
  /// The name of the day is not checked against the date. A leap second counts as the next second.
  package static func seconds(_ text: String) -> Int? {
    let words = text.split(separator: " ", omittingEmptySubsequences: true)
    switch words.count {
    // Sun, 06 Nov 1994 08:49:37 GMT
    case 6 where words[0].hasSuffix(",") && words[5] == "GMT":
      return seconds(
        year: number(words[3], digits: 4...4), month: month(words[2]), day: words[1],
        time: words[4])
    // Sunday, 06-Nov-94 08:49:37 GMT
    case 4 where words[0].hasSuffix(",") && words[3] == "GMT":
      let date = words[1].split(separator: "-", omittingEmptySubsequences: false)
      guard date.count == 3 else { return nil }
      return seconds(
        year: number(date[2], digits: 2...2).map(fullYear), month: month(date[1]), day: date[0],
        time: words[2])
    // Sun Nov  6 08:49:37 1994
    case 5 where words[0].count == 3:
      return seconds(
        year: number(words[4], digits: 4...4), month: month(words[1]), day: words[2],
        time: words[3])
    case _: return nil
    }
  }

  private static func seconds(
    year: Int?, month: Int?, day: Substring, time: Substring
  ) -> Int? {
    let clock = time.split(separator: ":", omittingEmptySubsequences: false)
    guard let year, year > 0, let month, let day = number(day, digits: 1...2),
      (1...Gregorian.length(ofMonth: month, year: year)).contains(day), clock.count == 3,
      let hour = number(clock[0], digits: 2...2), hour < 24,
      let minute = number(clock[1], digits: 2...2), minute < 60,
      let second = number(clock[2], digits: 2...2), second <= 60
    else { return nil }
    let days = Gregorian.days(year: year, month: month, day: day)
    return days * 86_400 + hour * 3_600 + minute * 60 + second
  }

  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  private static func month(_ name: Substring) -> Int? {
    months.firstIndex { $0 == name }.map { $0 + 1 }
  }

  /// Returns the year with these last two digits. It depends on no clock: years from 70 on belong to
  /// the twentieth century.
  private static func fullYear(_ year: Int) -> Int { year < 70 ? 2_000 + year : 1_900 + year }

  private static func number(_ text: Substring, digits: ClosedRange<Int>) -> Int? {
    let isNumber = text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    return isNumber && digits.contains(text.utf8.count) ? Int(text) : nil
  }
}
