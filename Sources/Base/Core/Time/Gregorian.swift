/// The proleptic Gregorian calendar, in days since 1970-01-01.
package enum Gregorian {
  private static func isLeap(_ year: Int) -> Bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
  }

  /// Returns the number of days of a month.
  package static func length(ofMonth month: Int, year: Int) -> Int {
    switch month {
    case 2: isLeap(year) ? 29 : 28
    case 4, 6, 9, 11: 30
    case _: 31
    }
  }

  /// Returns the number of days from 1970-01-01 to a date, whose month must be from 1 to 12.
  ///
  /// Years are counted from March, so that a leap day is the last day of a year.
  package static func days(year: Int, month: Int, day: Int) -> Int {
    let shifted = month > 2 ? year : year - 1
    let monthFromMarch = (month + 9) % 12
    let leapDays = shifted / 4 - shifted / 100 + shifted / 400
    // Any five consecutive months from March on have 153 days in total. There are 719,469 days from
    // the day before 0000-03-01 to 1970-01-01.
    return shifted * 365 + leapDays + (153 * monthFromMarch + 2) / 5 + day - 719_469
  }

  /// Returns the date with a day number.
  package static func civil(dayNumber: Int) -> (year: Int, month: Int, day: Int) {
    // The estimate is never too late and at most one year too early, since 400 years have 146,097
    // days.
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

  /// Returns the quotient and the remainder, which is never negative.
  package static func floorDivide(_ value: Int64, by divisor: Int64) -> (Int64, Int64) {
    let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }
}

/// A date and time without a time zone.
public struct CivilTime: Sendable, Hashable, Comparable, Codable {
  /// The nanoseconds since 1970-01-01T00:00:00 in the same time zone.
  public var nanoseconds: Int64

  /// Creates a time without validation.
  public init(nanoseconds: Int64) {
    self.nanoseconds = nanoseconds
  }

  /// Compares by date and time of day.
  public static func < (left: CivilTime, right: CivilTime) -> Bool {
    left.nanoseconds < right.nanoseconds
  }
}
