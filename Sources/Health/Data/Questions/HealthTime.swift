public import HoldfastCore
package import HoldfastJSON

/// A time in a question or answer. Its form is ISO 8601, with or without a time zone.
public enum HealthTime: Sendable, Hashable, Codable, CustomStringConvertible {
  /// A point in time, with the offset that is written. `nil` is written as `Z`.
  case instant(Timestamp, minutesEast: Int?)
  /// A local time of the user.
  case local(CivilTime)
}

extension HealthTime {
  /// Parses a date, optionally with a time of day, in the extended form of ISO 8601.
  ///
  /// The date and the time are separated by `T` or a space. Seconds, their fraction, and the zone
  /// (`Z`, `+hh:mm`, `+hhmm`, `+hh`) are optional. A date alone represents the start of its day,
  /// and 24:00 represents the start of the next day. Returns `nil` for any other text, and for
  /// times outside the years 1677 to 2262.
  public init?(_ text: some StringProtocol) {
    self.init(utf8: ArraySlice(text.utf8))
  }

  /// Parses a time in the same form from bytes.
  package init?(utf8 bytes: ArraySlice<UInt8>) {
    var digits = TimeDigits(bytes)
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
    } else if digits.take("Z") || digits.take("z") {
      guard digits.isAtEnd else { return nil }
      self = .instant(Timestamp(nanoseconds: time.nanoseconds), minutesEast: nil)
    } else {
      guard let minutes = digits.offset(), digits.isAtEnd else { return nil }
      let (utc, overflow) = time.nanoseconds.subtractingReportingOverflow(
        Int64(minutes) * 60_000_000_000)
      guard !overflow else { return nil }
      self = .instant(Timestamp(nanoseconds: utc), minutesEast: minutes)
    }
  }

  /// The time in ISO 8601. Its fraction is as short as possible.
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

extension HealthTime {
  /// The reason why a text is not a time.
  package enum Fault: Sendable, Hashable {
    /// The day or the time of day does not exist.
    case noSuchDate
    /// The time is outside the years 1677 to 2262.
    case outOfRange
    /// The text does not have this form of ISO 8601.
    case otherForm

    /// Determines the reason why `text` cannot be parsed.
    ///
    /// The checks are made in this order: a day that does not exist, a different form, and a time
    /// of day that does not exist. In all other cases, the time is out of range.
    package init(_ text: String) {
      let years = text.utf8.prefix { Self.digits.contains($0) }
      let rest = text.utf8.dropFirst(years.count)
      var date = TimeDigits(ArraySlice(rest))
      guard years.count >= 4, let year = Int(String(decoding: years.suffix(4), as: UTF8.self)),
        date.take("-"), date.number(2) != nil, date.take("-"), date.number(2) != nil
      else {
        self = .otherForm
        return
      }
      // The calendar repeats every 400 years, and the years 1700 to 2099 are in range.
      let day = ArraySlice("\(1700 + (year + 300) % 400)".utf8) + rest.prefix(6)
      let time = rest.dropFirst(6)
      // A text of this form can be parsed if all digits of its time of day are replaced by zeros.
      let clock = time.prefix { $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") }
      let zeroes = clock.map { Self.digits.contains($0) ? UInt8(ascii: "0") : $0 }
      let form = ArraySlice("2000-01-01".utf8) + zeroes + time.dropFirst(clock.count)
      if HealthTime(utf8: day) == nil {
        self = .noSuchDate
      } else if HealthTime(utf8: form) == nil {
        self = .otherForm
      } else {
        self = HealthTime(utf8: day + time) == nil ? .noSuchDate : .outOfRange
      }
    }

    private static let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
  }
}

extension CivilTime: CustomStringConvertible {
  /// The local time in ISO 8601 without a zone. Its fraction is as short as possible.
  public var description: String {
    String(RFC3339.format(Timestamp(nanoseconds: nanoseconds)).dropLast())
  }

  /// Creates a local time from the number of days since 1970-01-01. Returns `nil` outside the years
  /// 1677 to 2262.
  package init?(day: Int, nanosecondOfDay: Int64) {
    // The first day begins before the range, so an intermediate result needs more than 64 bits.
    let sum = Int128(day) * Int128(Self.nanosecondsPerDay) + Int128(nanosecondOfDay)
    guard let nanoseconds = Int64(exactly: sum) else { return nil }
    self.init(nanoseconds: nanoseconds)
  }

  /// The length of a day of local time: 86,400 s, even on days on which clocks change.
  package static let nanosecondsPerDay: Int64 = 86_400_000_000_000
}

extension TimeDigits {
  /// Parses `hh:mm`, `hh:mm:ss` or `hh:mm:ss.f`. Returns the number of nanoseconds since midnight.
  fileprivate mutating func clock() -> Int64? {
    guard let hour = number(2), take(":"), let minute = number(2), minute <= 59 else { return nil }
    var second = 0
    var fraction: Int64 = 0
    if take(":") {
      // A leap second counts as the first second of the next minute.
      guard let found = number(2), found <= 60, let part = part() else { return nil }
      (second, fraction) = (found, part)
    }
    let seconds = hour * 3600 + minute * 60 + second
    guard hour <= 23 || (seconds == 86_400 && fraction == 0) else { return nil }
    return Int64(seconds) * 1_000_000_000 + fraction
  }

  /// Parses an offset of up to 18 hours. Returns the minutes east of UTC.
  fileprivate mutating func offset() -> Int? {
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

  /// Parses an optional fraction. Returns its nanoseconds, or `nil` if no digits follow the decimal
  /// mark.
  private mutating func part() -> Int64? {
    take(".") || take(",") ? fraction() : 0
  }
}

extension JSONFields {
  /// Reads a time in ISO 8601.
  package func time(_ name: String) throws(FieldFault) -> HealthTime {
    let text = try string(name, atMost: 64)
    guard let time = HealthTime(text) else { throw .badDate(field: name) }
    return time
  }
}
