public import LinkCore
package import LinkJSON

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

extension HealthTime {
  /// The reason for which a text is no time.
  package enum Fault: Sendable, Hashable {
    /// A day or a time of day that no calendar or clock shows.
    case noSuchDate
    /// Outside the years 1677 to 2262.
    case outOfRange
    /// Not of this form of ISO 8601.
    case otherForm

    /// Finds out why `text` could not be read.
    package init(_ text: String) {
      let years = text.utf8.prefix { (0x30...0x39).contains($0) }.count
      let rest = String(decoding: text.utf8.dropFirst(years).prefix(6), as: UTF8.self)
      // The month and the day in a year that has all of them.
      var digits = TimeDigits(ArraySlice("2000\(rest)".utf8))
      let isDay = digits.day() != nil
      let isShaped = rest.utf8.count == 6 && rest.hasPrefix("-") && rest.dropFirst(3).hasPrefix("-")
      guard years >= 4, isShaped else {
        self = .otherForm
        return
      }
      // Cut short in a year of more digits, so that it is no day.
      let day = String(decoding: text.utf8.prefix(10), as: UTF8.self)
      if !isDay || (day.hasSuffix("-02-29") && !Self.isLeap(day)) {
        self = .noSuchDate
      } else if HealthTime(day) == nil {
        self = .outOfRange
      } else {
        let time = text.utf8.dropFirst(11).map { (0x30...0x39).contains($0) ? UInt8(0x30) : $0 }
        self = time.starts(with: "00:00".utf8) ? .noSuchDate : .otherForm
      }
    }

    private static func isLeap(_ day: String) -> Bool {
      Int(day.prefix(4)).map { Gregorian.length(ofMonth: 2, year: $0) == 29 } ?? false
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

extension TimeDigits {
  /// Nanoseconds since midnight of `hh:mm`, `hh:mm:ss` or `hh:mm:ss.f`.
  fileprivate mutating func clock() -> Int64? {
    guard let hour = number(2), take(":"), let minute = number(2), minute <= 59 else { return nil }
    var second = 0
    var fraction: Int64 = 0
    if take(":") {
      // A leap second is the first of the next minute.
      guard let found = number(2), found <= 60, let part = part() else { return nil }
      (second, fraction) = (found, part)
    }
    let seconds = hour * 3600 + minute * 60 + second
    guard hour <= 23 || (seconds == 86_400 && fraction == 0) else { return nil }
    return Int64(seconds) * 1_000_000_000 + fraction
  }

  /// Minutes east of UTC, up to 18 hours.
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

  /// Nanoseconds of an optional fraction; `nil` for a point without digits.
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
