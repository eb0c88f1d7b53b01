import LinkCore

/// A date and a time of day, told a second time: a table of months, and years counted from the
/// first one.
struct TimeAccount {
  static let months = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

  static func isLeap(_ year: Int) -> Bool {
    if year % 400 == 0 { return true }
    return year % 100 == 0 ? false : year % 4 == 0
  }

  static func length(_ month: Int, _ year: Int) -> Int {
    month == 2 && isLeap(year) ? 29 : months[month - 1]
  }

  /// Days from 1970-01-01 to the first of a year.
  private static func newYear(_ year: Int) -> Int {
    let past = year - 1
    return past * 365 + past / 4 - past / 100 + past / 400 - 719_162
  }

  static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
    var days = newYear(year) + day - 1
    for earlier in 1..<month { days += length(earlier, year) }
    return days
  }

  /// The date of a day, found by halves.
  static func date(_ dayNumber: Int) -> [Int] {
    var years = 1..<10_001
    while years.count > 1 {
      let middle = (years.lowerBound + years.upperBound) / 2
      years =
        newYear(middle) <= dayNumber ? middle..<years.upperBound : years.lowerBound..<middle
    }
    var rest = dayNumber - newYear(years.lowerBound)
    for month in 1...12 {
      let length = length(month, years.lowerBound)
      if rest < length { return [years.lowerBound, month, rest + 1] }
      rest -= length
    }
    return []
  }

  /// The text of a time in UTC.
  static func text(_ time: Timestamp) -> String {
    var (days, rest) = (0, Int128(time.nanoseconds))
    let day: Int128 = 86_400_000_000_000
    // The 106,752nd day before 1970 is earlier than any timestamp.
    rest += 106_752 * day
    days = Int(rest / day) - 106_752
    rest %= day
    let date = date(days)
    let second = Int(rest / 1_000_000_000)
    var text = pad(date[0], 4) + "-" + pad(date[1], 2) + "-" + pad(date[2], 2) + "T"
    text += [second / 3_600, second % 3_600 / 60, second % 60].map { pad($0, 2) }
      .joined(separator: ":")
    var part = pad(Int(rest % 1_000_000_000), 9)
    while part.last == "0" { part.removeLast() }
    return text + (part.isEmpty ? "Z" : ".\(part)Z")
  }

  static func pad(_ number: Int, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}

/// The reading of a date and a time of day as RFC 3339 writes it, by the places of its signs.
struct TimeReading {
  private var rest: [Character]

  var isAtEnd: Bool { rest.isEmpty }

  init(_ text: String) { rest = Array(text) }

  /// The moment of a text; `nil` for what is none.
  static func time(_ text: String) -> Timestamp? {
    var reading = TimeReading(text)
    guard let day = reading.day(), reading.sign("Tt") != nil, let hour = reading.digits(2),
      reading.sign(":") != nil, let minute = reading.digits(2), reading.sign(":") != nil,
      let second = reading.digits(2), let part = reading.part(), let east = reading.east(),
      reading.rest.isEmpty, hour < 24, minute < 60, second < 61
    else { return nil }
    let seconds = Int128(((day * 24 + hour) * 60 + minute - east) * 60 + second)
    // A leap second is followed by the first minute of a day.
    if second == 60, seconds % 86_400 != 0 { return nil }
    return Int64(exactly: seconds * 1_000_000_000 + Int128(part))
      .map { Timestamp(nanoseconds: $0) }
  }

  /// One of some signs, if it is next.
  mutating func sign(_ signs: String) -> Character? {
    guard let next = rest.first, signs.contains(next) else { return nil }
    return rest.removeFirst()
  }

  mutating func digits(_ width: Int) -> Int? {
    let digits = rest.prefix(width)
    guard digits.count == width, digits.allSatisfy({ "0123456789".contains($0) }) else {
      return nil
    }
    rest.removeFirst(width)
    return Int(String(digits))
  }

  mutating func day() -> Int? {
    guard let year = digits(4), sign("-") != nil, let month = digits(2), sign("-") != nil,
      let day = digits(2), year > 0, (1...12).contains(month), day > 0,
      day <= TimeAccount.length(month, year)
    else { return nil }
    return TimeAccount.days(year, month, day)
  }

  /// The nanoseconds of digits behind a point.
  mutating func fraction() -> Int? {
    var digits = ""
    while let digit = sign("0123456789") { digits.append(digit) }
    return digits.isEmpty ? nil : Int(String((digits + "00000000").prefix(9)))
  }

  private mutating func part() -> Int? { sign(".") == nil ? 0 : fraction() }

  /// Minutes east of UTC.
  private mutating func east() -> Int? {
    guard let side = sign("Zz+-") else { return nil }
    if "Zz".contains(side) { return 0 }
    guard let hours = digits(2), sign(":") != nil, let minutes = digits(2), hours < 24,
      minutes < 60
    else { return nil }
    return (side == "+" ? 1 : -1) * (hours * 60 + minutes)
  }
}
