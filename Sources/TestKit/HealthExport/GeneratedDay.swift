import HoldfastCore

/// One day in the life of the person of a generated export.
///
/// The seed and the day's number determine all of its data, regardless of the exported period.
struct GeneratedDay {
  struct Activity {
    var start: Int
    var end: Int
    var kind: Kind

    enum Kind: Int, CaseIterable {
      case walk, run, ride
    }
  }

  /// The number of days since 1970-01-01, in local time.
  let number: Int
  /// The time when the person gets up, in seconds since 1970-01-01. `rest` is the time when they go
  /// to bed.
  let rise: Int
  let rest: Int
  /// The time when the person went to bed on the previous evening.
  let lastRest: Int
  let activities: [Activity]
  private let seed: UInt64

  init(_ number: Int, seed: UInt64) {
    self.number = number
    self.seed = seed
    var generator = Self.generator(seed, number, 0)
    rise = Self.second(of: number, hour: 6.25 + 1.5 * generator.unit())
    rest = Self.rest(number, seed)
    lastRest = Self.rest(number - 1, seed)
    var activities: [Activity] = []
    if generator.unit() < 0.45 {
      let start = rise + 3_600 + Int(generator.unit() * 32_000)
      let kind = Activity.Kind.allCases[Int(generator.unit() * 3)]
      activities.append(
        Activity(start: start, end: start + 900 + Int(generator.unit() * 3_600), kind: kind))
    }
    self.activities = activities
  }

  /// Returns a random source for one purpose on this day.
  func generator(_ purpose: Int) -> RandomSource { Self.generator(seed, number, purpose) }

  /// Returns the activity in progress at a time, if any.
  func activity(at second: Int) -> Activity? {
    activities.first { $0.start <= second && second < $0.end }
  }

  private static func rest(_ number: Int, _ seed: UInt64) -> Int {
    var generator = generator(seed, number, 1)
    return second(of: number, hour: 22.25 + 1.5 * generator.unit())
  }

  private static func generator(_ seed: UInt64, _ number: Int, _ purpose: Int) -> RandomSource {
    var first = RandomSource(
      seed: seed ^ UInt64(bitPattern: Int64(number)) &* 0xD129_0DDC_35B7_9E31)
    return RandomSource(seed: first.next() &+ UInt64(purpose) &* 0x9E6C_63D0_876A_46BD)
  }

  /// Returns the time, in seconds since 1970-01-01, of an hour of a day in Zurich.
  static func second(of number: Int, hour: Double) -> Int {
    let local = number * 86_400 + Int(hour * 3_600)
    return local - offset(at: local - 3_600)
  }

  /// Returns Zurich's offset from UTC at a time, in seconds.
  ///
  /// Summer time lasts from the last Sunday of March to the last Sunday of October, 01:00 UTC
  /// (Directive 2000/84/EC).
  static func offset(at second: Int) -> Int {
    let year = Gregorian.civil(dayNumber: second / 86_400).year
    let begin = lastSunday(of: 3, year) * 86_400 + 3_600
    let end = lastSunday(of: 10, year) * 86_400 + 3_600
    return begin <= second && second < end ? 7_200 : 3_600
  }

  private static func lastSunday(of month: Int, _ year: Int) -> Int {
    let last = Gregorian.days(year: year, month: month, day: 31)
    // 1970-01-01 was a Thursday.
    return last - (last + 4) % 7
  }
}
