import LinkCore

/// Moments, lengths of time and dates of all forms, read, written and counted a second time.
struct TimeWalk: TwinWalk {
  var chance: Chance
  var stray: String?

  init(_ chance: Chance) { self.chance = chance }

  /// Tries so many values of each kind; returns the first difference.
  mutating func walk(_ times: Int) -> String? {
    for _ in 0..<times where stray == nil {
      tryText()
      tryMoment()
      tryDay()
      tryDigits()
      tryDuration()
      tryChance()
    }
    return stray
  }

  // Texts.

  private mutating func text() -> String {
    let year = one([0, 1, 4, 100, 1677, 1678, 1900, 1969, 1970, 1972, 2000, 2024, 2262, 9_999])
    let month = happens(12) ? one([0, 13, 99]) : number(1...12)
    let day = happens(2) ? one([1, 28, 29, 30, 31]) : number(0...32)
    let (hour, minute) = (one([0, 9, 23, 23, 24]), one([0, 30, 59, 59, 60]))
    let clock = [hour, minute, one([0, 30, 59, 60, 60, 61])]
    let date = [month, day].map { TimeAccount.pad($0, 2) }
    let parts = ["", "", ".5", ".000000001", ".999999999", ".1234567891", ".000", "."]
    let ends = ["Z", "Z", "z", "+00:00", "-00:01", "+01:30", "-23:59", "+24:00", "-01:60", ""]
    return TimeAccount.pad(year, 4) + "-" + date.joined(separator: "-") + one(["T", "t", "T", " "])
      + clock.map { TimeAccount.pad($0, 2) }.joined(separator: ":") + one(parts) + one(ends)
  }

  private static let edges = [
    "1677-09-21T00:12:43.145224192Z", "1677-09-21T00:12:43.145224191Z",
    "1677-09-21T00:12:43.2Z", "1677-09-21T00:12:44Z", "1677-09-21T00:12:43Z",
    "2262-04-11T23:47:16.854775807Z", "2262-04-11T23:47:16.854775808Z",
    "2262-04-11T23:47:16Z", "2262-04-11T23:47:17Z", "1969-12-31T23:59:59.999999999Z",
    "1970-01-01T00:00:00Z", "1970-01-01T00:00:01Z", "1969-12-31T23:59:59Z",
    "2016-12-31T23:59:60Z", "2016-12-31T18:59:60-05:00", "2017-01-01T00:59:60+01:00",
    "2016-12-31T23:59:60.25+00:00", "2016-12-31T22:59:60Z", "1969-12-31T23:59:60Z",
    "2024-02-29T12:00:00+12:00", "2024-02-29T11:59:59+12:00", "2023-02-29T00:00:00Z",
  ]

  private mutating func tryText() {
    read(text())
    var letters = Array(happens(3) ? text() : one(Self.edges))
    read(String(letters))
    let place = number(0...letters.count - 1)
    switch number(0...3) {
    case 0: letters[place] = one(Array("0123456789:-+TZ./x é"))
    case 1: letters.remove(at: place)
    case 2: letters.insert(one(Array("0159:- Z")), at: place)
    case _: letters = Array(letters[..<place])
    }
    read(String(letters))
  }

  private mutating func read(_ text: String) {
    let bytes = Array("[\(text)]".utf8)
    compareReading([RFC3339.parse(text), RFC3339.parse(bytes.dropFirst().dropLast())], of: text)
  }

  /// Compares what a text and its bytes are read as.
  mutating func compareReading(_ found: [Timestamp?], of text: String) {
    let must = TimeReading.time(text)
    compare("\(text), read,", found, [must, must])
  }

  // Moments.

  private mutating func nanoseconds() -> Int64 {
    let limits: [Int64] = [.min, .min + 1, -1, 0, 1, .max - 1, .max]
    switch number(0...4) {
    case 0: return one(limits)
    case 1: return Int64(number(-2_000...2_000)) * 86_400_000_000_000 + one([-1, 0, 1])
    case 2:
      return Int64(number(-9_000...9_000)) * 1_000_000_000 + one([0, 1, 120_000, 500_000_000])
    case _: return Int64(truncatingIfNeeded: chance.next())
    }
  }

  private mutating func tryMoment() {
    let (one, other) = (nanoseconds(), nanoseconds())
    let stamp = Timestamp(nanoseconds: one)
    let text = RFC3339.format(stamp)
    compareText(text, RFC3339.parse(text), of: stamp)
    let (left, right) = (Instant(nanoseconds: one), Instant(nanoseconds: other))
    let late = Timestamp(nanoseconds: other)
    let apart =
      Duration(
        secondsComponent: 0, attosecondsComponent: 0) + .nanoseconds(other) - .nanoseconds(one)
    compare("from \(one) to \(other)", left.duration(to: right), apart)
    compare("from \(one) to \(other)", stamp.duration(to: late), apart)
    compare("whether \(one) is before \(other)", left < right, one < other)
    compare("whether \(one) is before \(other)", stamp < late, one < other)
    let (here, there) = (CivilTime(nanoseconds: one), CivilTime(nanoseconds: other))
    compare("whether \(one) is before \(other)", here < there, one < other)
    compare("whether \(one) is before itself", here < here || left < left || stamp < stamp, false)
    compareSum(left.advanced(by: .nanoseconds(other)).nanoseconds, one, other)
    compareSum(stamp.advanced(by: .nanoseconds(other)).nanoseconds, one, other)
    let half = Double(number(-20...20)) / 2
    compare("second \(half)", Instant.second(half).nanoseconds, Int64(half * 2) * 500_000_000)
    compare("the beginning", Instant.zero.nanoseconds, 0)
  }

  /// Compares how a moment is written, and what that is read as.
  mutating func compareText(_ found: String, _ again: Timestamp?, of stamp: Timestamp) {
    compare("the text of \(stamp)", found, TimeAccount.text(stamp))
    compare("\(stamp), read again,", again, stamp)
  }

  /// Sums stay inside of the range.
  mutating func compareSum(_ found: Int64, _ one: Int64, _ other: Int64) {
    let sum = Int128(one) + Int128(other)
    let must = Int64(min(max(sum, Int128(Int64.min)), Int128(Int64.max)))
    compare("\(one) + \(other)", found, must)
  }

  // Days.

  private mutating func tryDay() {
    let year =
      happens(2) ? one([1, 4, 100, 400, 1900, 1970, 2000, 2100, 9_999]) : number(1...9_999)
    let month = happens(3) ? one([1, 2, 3, 12]) : number(1...12)
    let length = TimeAccount.length(month, year)
    compareLength(Gregorian.length(ofMonth: month, year: year), of: month, year)
    let day = happens(2) ? one([1, length]) : number(1...length)
    let date = Gregorian.civil(dayNumber: TimeAccount.days(year, month, day))
    compareDay(
      Gregorian.days(year: year, month: month, day: day), [date.year, date.month, date.day],
      of: [year, month, day])
    let value = Int64(number(-30...30))
    let divisor = Int64(number(1...7))
    let (quotient, rest) = Gregorian.floorDivide(value, by: divisor)
    compare("\(value) / \(divisor)", quotient * divisor + rest, value)
    compare("whether the rest of \(value) / \(divisor) is one", (0..<divisor).contains(rest), true)
  }

  mutating func compareLength(_ found: Int, of month: Int, _ year: Int) {
    compare("the length of \(year)-\(month)", found, TimeAccount.length(month, year))
  }

  /// Compares the number of a day, and the date of that number.
  mutating func compareDay(_ number: Int, _ date: [Int], of day: [Int]) {
    compare("the days to \(day)", number, TimeAccount.days(day[0], day[1], day[2]))
    compare("the date of \(day)", date, day)
  }

  private mutating func tryDigits() {
    let letters = (0..<number(0...14)).map { _ in one(Array("0123456789012345-.:9")) }
    let day = one(["2024-02-29-", "0001-02-28.", "0000-01-31", "1900-02-29"])
    let text = happens(2) ? day + String(letters) : String(letters)
    var digits = TimeDigits(ArraySlice(text.utf8))
    var reading = TimeReading(text)
    let what = "what is taken of \(text)"
    for _ in 0..<4 where stray == nil {
      switch number(0...3) {
      case 0: compare(what, digits.take("-"), reading.sign("-") != nil)
      case 1:
        let width = number(1...3)
        let number = reading.digits(width)
        // How much is taken of what is no number is not said.
        compare(what, digits.number(width), number)
        if number == nil { return }
      case 2:
        let day = reading.day()
        compare(what, digits.day(), day)
        if day == nil { return }
      case _:
        let fraction = reading.fraction()
        compare(what, digits.fraction(), fraction.map { Int64($0) })
        if fraction == nil { return }
      }
      compare("whether \(text) is at its end", digits.isAtEnd, reading.isAtEnd)
    }
  }

  // Lengths and chance.

  private mutating func tryDuration() {
    let seconds = one([Int64.min, -9_223_372_037, -1, 0, 1, 9_223_372_036, 9_223_372_037, .max])
    let part = one([0, 1, 999_999_999, 1_000_000_000, 854_775_807_000_000_000] as [Int64])
    let rest = seconds < 0 ? -part : part
    let duration = Duration(secondsComponent: seconds, attosecondsComponent: rest)
    compareNanoseconds(duration.nanoseconds, of: seconds, rest)
  }

  /// Compares the nanoseconds of so many seconds and attoseconds.
  mutating func compareNanoseconds(_ found: Int64, of seconds: Int64, _ rest: Int64) {
    let exact = Int128(seconds) * 1_000_000_000 + Int128(rest) / 1_000_000_000
    compare(
      "the nanoseconds of \(seconds) s and \(rest) as", found,
      exact > Int128(Int64.max) ? .max : exact < Int128(Int64.min) ? .min : Int64(exact))
  }

  /// The sequence of SplitMix64, as its authors write it.
  private mutating func tryChance() {
    let seed = chance.next()
    var sequence = Chance(seed: seed)
    for draw in 1...3 as ClosedRange<UInt64> {
      var mixed = seed &+ draw &* 11_400_714_819_323_198_485
      for (shift, factor) in [(30, 13_787_848_793_156_543_929), (27, 10_723_151_780_598_845_931)]
        as [(UInt64, UInt64)]
      {
        mixed = (mixed ^ mixed / (1 << shift)) &* factor
      }
      mixed ^= mixed / (1 << 31)
      let part = Double(mixed / 2_048) / 9_007_199_254_740_992
      switch (draw + seed) % 3 {
      case 0: compare("draw \(draw) of \(seed)", sequence.next(), mixed)
      case 1: compare("share \(draw) of \(seed)", sequence.unit(), part)
      case _:
        compare(
          "wait \(draw) of \(seed)", sequence.duration(below: .seconds(8)), .seconds(8) * part)
      }
    }
  }
}
