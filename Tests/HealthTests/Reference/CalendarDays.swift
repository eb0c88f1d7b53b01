/// The Gregorian calendar, computed with a table of months and a search for the year.
enum CalendarDays {
  private static let months = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

  private static func isLeap(_ year: Int) -> Bool {
    year % 400 == 0 || (year % 4 == 0 && year % 100 != 0)
  }

  static func length(_ month: Int, _ year: Int) -> Int {
    month == 2 && isLeap(year) ? 29 : months[month - 1]
  }

  /// Returns the number of days from 1970-01-01 to the first day of a year.
  private static func newYear(_ year: Int) -> Int {
    let past = year - 1
    return past * 365 + past / 4 - past / 100 + past / 400 - 719_162
  }

  /// Returns the number of days from 1970-01-01 to a date.
  static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
    (1..<month).reduce(newYear(year) + day - 1) { $0 + length($1, year) }
  }

  /// Returns the year, month and day of the date that is `days` days after 1970-01-01.
  static func date(_ days: Int) -> [Int] {
    var years = 1..<10_001
    while years.count > 1 {
      let middle = (years.lowerBound + years.upperBound) / 2
      years = newYear(middle) <= days ? middle..<years.upperBound : years.lowerBound..<middle
    }
    var rest = days - newYear(years.lowerBound)
    for month in 1...12 {
      let length = length(month, years.lowerBound)
      if rest < length { return [years.lowerBound, month, rest + 1] }
      rest -= length
    }
    return []
  }
}
