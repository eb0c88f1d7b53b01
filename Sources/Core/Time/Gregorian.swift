/// The proleptic Gregorian calendar, by days counted from 1970-01-01.
package enum Gregorian {
  private static func isLeap(_ year: Int) -> Bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
  }

  /// How many days a month has.
  package static func length(ofMonth month: Int, year: Int) -> Int {
    switch month {
    case 2: isLeap(year) ? 29 : 28
    case 4, 6, 9, 11: 30
    case _: 31
    }
  }

  /// Days from 1970-01-01; a month from 1 to 12.
  ///
  /// Years are counted from March, so that a leap day ends one.
  package static func days(year: Int, month: Int, day: Int) -> Int {
    let shifted = month > 2 ? year : year - 1
    let monthFromMarch = (month + 9) % 12
    let leapDays = shifted / 4 - shifted / 100 + shifted / 400
    // 153 days in every five months from March on; 719,469 from 0000-03-01's eve to 1970-01-01.
    return shifted * 365 + leapDays + (153 * monthFromMarch + 2) / 5 + day - 719_469
  }

  /// The date of a day.
  package static func civil(dayNumber: Int) -> (year: Int, month: Int, day: Int) {
    // An estimate that is never late and at most one year early: 400 years have 146,097 days.
    var year = (dayNumber + 719_162) * 400 / 146_097
    while days(year: year + 1, month: 1, day: 1) <= dayNumber { year += 1 }
    var month = 1
    var day = dayNumber - days(year: year, month: 1, day: 1) + 1
    while day > length(ofMonth: month, year: year) {
      day -= length(ofMonth: month, year: year)
      month += 1
    }
    return (year, month, day)
  }

  /// Quotient and remainder; the remainder is not below zero.
  package static func floorDivide(_ value: Int64, by divisor: Int64) -> (Int64, Int64) {
    let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }
}

/// A date and time without a time zone.
public struct CivilTime: Sendable, Hashable, Comparable, Codable {
  /// Nanoseconds since 1970-01-01T00:00:00 of the same wall.
  public var nanoseconds: Int64

  /// A reading; nothing is checked.
  public init(nanoseconds: Int64) {
    self.nanoseconds = nanoseconds
  }

  /// By what the wall shows.
  public static func < (left: CivilTime, right: CivilTime) -> Bool {
    left.nanoseconds < right.nanoseconds
  }
}
