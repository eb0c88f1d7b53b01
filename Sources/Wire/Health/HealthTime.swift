public import LinkCore

/// A time as questions and answers write it: ISO 8601, with a zone or without.
public enum HealthTime: Sendable, Hashable, Codable, CustomStringConvertible {
  /// A moment, with the offset that it was or will be written in; `nil` is `Z`.
  case instant(Timestamp, minutesEast: Int?)
  /// A reading of the user's own wall clock.
  case local(CivilTime)
}

extension HealthTime {
  /// Reads a date, or a date and a time, in the extended form of ISO 8601.
  ///
  /// `T` or a space between them; seconds and their fraction may be missing, and so may the zone
  /// (`Z`, `+hh:mm`, `+hhmm`, `+hh`). A date alone is its first moment, 24:00 the next day's.
  /// `nil` for anything else and outside the years 1677 to 2262.
  public init?(_ text: some StringProtocol) {
    self.init(utf8: ArraySlice(text.utf8))
  }

  /// Reads the same from bytes.
  init?(utf8 bytes: ArraySlice<UInt8>) {
    var digits = CivilDigits(bytes)
    guard let day = digits.day() else { return nil }
    if digits.isAtEnd {
      guard let time = CivilTime(day: day, nanosecondOfDay: 0) else { return nil }
      self = .local(time)
      return
    }
    guard digits.take("T") || digits.take("t") || digits.take(" "), let clock = digits.clock(),
      let time = CivilTime(day: day, nanosecondOfDay: clock)
    else { return nil }
    if digits.isAtEnd {
      self = .local(time)
    } else if digits.take("Z") || digits.take("z"), digits.isAtEnd {
      self = .instant(Timestamp(nanoseconds: time.nanoseconds), minutesEast: nil)
    } else {
      guard let minutes = digits.offset(), digits.isAtEnd else { return nil }
      let (utc, overflow) = time.nanoseconds.subtractingReportingOverflow(
        Int64(minutes) * 60_000_000_000)
      guard !overflow else { return nil }
      self = .instant(Timestamp(nanoseconds: utc), minutesEast: minutes)
    }
  }

  /// The time as ISO 8601, its fraction only as long as needed.
  public var description: String {
    switch self {
    case .local(let time): return time.description
    case .instant(let time, nil): return RFC3339.format(time)
    case .instant(let time, let minutes?):
      let shift = Duration.seconds(minutes * 60)
      let local = CivilTime(nanoseconds: time.advanced(by: shift).nanoseconds)
      let (hour, minute) = abs(minutes).quotientAndRemainder(dividingBy: 60)
      let sign = minutes < 0 ? "-" : "+"
      return "\(local)\(sign)\(hour < 10 ? "0" : "")\(hour):\(minute < 10 ? "0" : "")\(minute)"
    }
  }
}

extension CivilTime: CustomStringConvertible {
  /// The reading as ISO 8601 without a zone, its fraction only as long as needed.
  public var description: String {
    String(RFC3339.format(Timestamp(nanoseconds: nanoseconds)).dropLast())
  }

  /// A reading from a day counted from 1970-01-01; `nil` outside the years 1677 to 2262.
  package init?(day: Int, nanosecondOfDay: Int64) {
    let (start, overflow) = Int64(day).multipliedReportingOverflow(by: Self.nanosecondsPerDay)
    let (sum, carried) = start.addingReportingOverflow(nanosecondOfDay)
    guard !overflow, !carried else { return nil }
    self.init(nanoseconds: sum)
  }

  /// 86,400 s on a wall clock, whatever happens to the time underneath.
  package static let nanosecondsPerDay: Int64 = 86_400_000_000_000
}

/// A walk over the digits and signs of a date.
private struct CivilDigits {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) {
    rest = bytes
  }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func take(_ sign: Unicode.Scalar) -> Bool {
    guard let byte = rest.first, byte == UInt8(ascii: sign) else { return false }
    rest.removeFirst()
    return true
  }

  /// Days from 1970-01-01 of `yyyy-mm-dd`.
  mutating func day() -> Int? {
    guard let year = number(4), year >= 1, take("-"), let month = number(2),
      (1...12).contains(month), take("-"), let day = number(2), day >= 1,
      day <= Gregorian.length(ofMonth: month, year: year)
    else { return nil }
    return Gregorian.days(year: year, month: month, day: day)
  }

  /// Nanoseconds since midnight of `hh:mm`, `hh:mm:ss` or `hh:mm:ss.f`.
  mutating func clock() -> Int64? {
    guard let hour = number(2), take(":"), let minute = number(2), minute <= 59 else { return nil }
    var second = 0
    var fraction: Int64 = 0
    if take(":") {
      // A leap second is the first of the next minute.
      guard let found = number(2), found <= 60, let part = self.fraction() else { return nil }
      (second, fraction) = (found, part)
    }
    let seconds = hour * 3600 + minute * 60 + second
    guard hour <= 23 || (seconds == 86_400 && hour == 24 && fraction == 0) else { return nil }
    return Int64(seconds) * 1_000_000_000 + fraction
  }

  /// Minutes east of UTC, up to 18 hours.
  mutating func offset() -> Int? {
    let isWest = take("-")
    guard isWest || take("+"), let hours = number(2), hours <= 18 else { return nil }
    var minutes = 0
    if !isAtEnd {
      _ = take(":")
      guard let found = number(2), found <= 59 else { return nil }
      minutes = found
    }
    return isWest ? -(hours * 60 + minutes) : hours * 60 + minutes
  }

  /// Nanoseconds of an optional fraction; `nil` for a point without digits.
  private mutating func fraction() -> Int64? {
    guard take(".") || take(",") else { return 0 }
    guard var value = digit() else { return nil }
    var count = 1
    while let digit = digit() {
      guard count < 9 else { continue }
      value = value * 10 + digit
      count += 1
    }
    for _ in count..<9 { value *= 10 }
    return Int64(value)
  }

  /// Exactly `width` digits.
  private mutating func number(_ width: Int) -> Int? {
    var value = 0
    for _ in 0..<width {
      guard let digit = digit() else { return nil }
      value = value * 10 + digit
    }
    return value
  }

  private mutating func digit() -> Int? {
    guard let byte = rest.first, (0x30...0x39).contains(byte) else { return nil }
    rest.removeFirst()
    return Int(byte - 0x30)
  }
}
