import LinkCore
import LinkHealth

/// Times of questions and answers as their documents say, read and written a second time.
enum HealthWordsTimes {
  private static let minute = 60_000_000_000

  /// Reads a date, or a date and a time; `nil` for what is neither.
  static func time(_ text: String) -> HealthTime? {
    var rest = TimeReading(text)
    guard let day = rest.day() else { return nil }
    if rest.isAtEnd { return local(day, 0).map { .local($0) } }
    guard rest.sign("Tt ") != nil, let clock = clock(&rest), let civil = local(day, clock) else {
      return nil
    }
    if rest.isAtEnd { return .local(civil) }
    if rest.sign("Zz") != nil {
      let time = Timestamp(nanoseconds: civil.nanoseconds)
      return rest.isAtEnd ? .instant(time, minutesEast: nil) : nil
    }
    guard let east = east(&rest), rest.isAtEnd else { return nil }
    let utc = Int128(civil.nanoseconds) - Int128(east * minute)
    return Int64(exactly: utc).map { .instant(Timestamp(nanoseconds: $0), minutesEast: east) }
  }

  private static func local(_ day: Int, _ clock: Int) -> CivilTime? {
    let all = Int128(day) * 24 * 60 * Int128(minute) + Int128(clock)
    return Int64(exactly: all).map { CivilTime(nanoseconds: $0) }
  }

  /// Reads a time of day as nanoseconds since midnight.
  private static func clock(_ rest: inout TimeReading) -> Int? {
    parts(&rest).flatMap { nanoseconds($0) }
  }

  /// Reads an hour, a minute, a second and a part of one, whatever they are.
  private static func parts(_ rest: inout TimeReading) -> [Int]? {
    guard let hour = rest.digits(2), rest.sign(":") != nil, let minutes = rest.digits(2) else {
      return nil
    }
    if rest.sign(":") == nil { return [hour, minutes, 0, 0] }
    guard let second = rest.digits(2) else { return nil }
    if rest.sign(".,") == nil { return [hour, minutes, second, 0] }
    return rest.fraction().map { [hour, minutes, second, $0] }
  }

  private static func nanoseconds(_ parts: [Int]) -> Int? {
    guard parts[0] < 25, parts[1] < 60, parts[2] < 61 else { return nil }
    if parts[0] == 24, parts.dropFirst().contains(where: { $0 > 0 }) { return nil }
    return (parts[0] * 60 + parts[1]) * minute + parts[2] * 1_000_000_000 + parts[3]
  }

  private static func east(_ rest: inout TimeReading) -> Int? {
    guard let side = rest.sign("+-"), let hours = rest.digits(2), hours < 19 else { return nil }
    var minutes = 0
    if !rest.isAtEnd {
      if rest.sign(":") != nil, rest.isAtEnd { return nil }
      guard let found = rest.digits(2), found < 60 else { return nil }
      minutes = found
    }
    return (hours * 60 + minutes) * (side == "-" ? -1 : 1)
  }

  // Writing.

  static func text(_ time: CivilTime) -> String {
    String(TimeAccount.text(Timestamp(nanoseconds: time.nanoseconds)).dropLast())
  }

  static func text(_ time: HealthTime) -> String {
    switch time {
    case .local(let civil): return text(civil)
    case .instant(let moment, let east):
      guard let east else { return TimeAccount.text(moment) }
      let (hours, minutes) = (abs(east) / 60, abs(east) % 60)
      let civil = CivilTime(nanoseconds: moment.nanoseconds + Int64(east * minute))
      return text(civil) + (east < 0 ? "-" : "+") + TimeAccount.pad(hours, 2) + ":"
        + TimeAccount.pad(minutes, 2)
    }
  }

  // Faults.

  /// Returns why a text is no time: for its day, or its form, or its clock, or its year.
  static func fault(_ text: String) -> HealthTime.Fault {
    let letters = Array(text)
    let years = letters.prefix { "0123456789".contains($0) }.count
    let date = String(letters.dropFirst(years).prefix(6))
    let shape = String(date.map { "0123456789".contains($0) ? "0" : $0 })
    guard years > 3, shape == "-00-00", let year = Int(String(letters.prefix(years))),
      let month = Int(date.dropFirst().prefix(2)), let day = Int(date.suffix(2))
    else { return .otherForm }
    if month < 1 || month > 12 || day < 1 || day > TimeAccount.length(month, year) {
      return .noSuchDate
    }
    var rest = TimeReading(String(letters.dropFirst(years + 6)))
    if rest.isAtEnd { return .outOfRange }
    guard rest.sign("Tt ") != nil, let parts = parts(&rest), isZone(&rest) else {
      return .otherForm
    }
    return nanoseconds(parts) == nil ? .noSuchDate : .outOfRange
  }

  /// Returns whether all that is left is a zone, or nothing.
  private static func isZone(_ rest: inout TimeReading) -> Bool {
    if rest.isAtEnd { return true }
    return (rest.sign("Zz") != nil || east(&rest) != nil) && rest.isAtEnd
  }
}
