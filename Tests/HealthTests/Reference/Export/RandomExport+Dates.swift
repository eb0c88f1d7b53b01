import HoldfastCore

// Dates near the bounds of years, months, days, hours and offsets.
extension RandomExport {
  /// Days that differ from the first one in a single digit, and days at the bounds of months and
  /// years.
  private static let days: [Int] = [
    (2017, 11, 7), (2017, 11, 7), (2017, 11, 17), (2017, 11, 27), (2017, 11, 8), (2017, 12, 7),
    (2017, 1, 7), (2018, 11, 7), (2027, 11, 7), (2117, 11, 7), (2217, 11, 7), (1917, 11, 7),
    (1970, 1, 1), (1969, 12, 31), (2000, 2, 29), (2024, 2, 29), (2024, 3, 1), (2023, 2, 28),
    (2100, 2, 28), (1900, 3, 1), (2026, 12, 31), (2026, 4, 30), (2026, 5, 31), (2026, 6, 30),
    (1678, 1, 1), (1678, 1, 2), (2261, 12, 31), (2262, 1, 1), (1677, 12, 31), (2026, 9, 30),
  ].map { CalendarDays.days($0.0, $0.1, $0.2) * 86_400 }

  private static let times = [0, 0, 1, 59, 60, 3_599, 3_600, 35_999, 43_200, 86_340, 86_399]
  private static let offsets = [
    0, 0, 60, 120, -30, -60, 345, 540, 600, -630, 840, -720, 59, -59, 1_079, 1_080, -1_080, 1_020,
  ]

  private static let noOffsets = [
    "", "+", "Z0", "z", "+0:00", "+/200", "+02x00", "x02:00", "+2:000", "+020", "+02000", "+0200Z",
    "+02:0", "02:00", "0200", " Z Z", "+ ", ".5", ".", ".5+", "+02::00", "*02:00", " 0200", "-",
  ]

  /// Draws a moment in seconds since 1970.
  mutating func seconds() -> Int { one(Self.days) + one(Self.times) }

  /// Draws a text for a moment. About one in `once` texts is not a valid date.
  mutating func date(_ seconds: Int, flawed once: UInt64 = 12) -> WrittenValue {
    var date = ExportDate(minutesEast: one(Self.offsets))
    if date.minutesEast == 0 { date.isWest = happens(2) }
    date.fields = Self.fields(seconds + date.minutesEast * 60)
    var moment = seconds
    if date.fields[5] == 59, happens(3) {
      date.fields[5] = 60
      moment += 1
    }
    var isDate = 1678...2_261 ~= date.fields[0]
    if happens(once), happens(2) {
      invalidate(&date)
      isDate = false
    }
    var fraction = 0
    var text = happens(2) ? date.text : unusual(&date, &fraction)
    if text == date.text, happens(once), isDate {
      text = broken(text)
      isDate = false
    }
    isDate = isDate && text.count <= 40
    var written = WrittenValue(text)
    let nanoseconds = Int64(moment) * 1_000_000_000 + Int64(fraction)
    written.moment = isDate ? Timestamp(nanoseconds: nanoseconds) : nil
    return written
  }

  /// Returns the year, month, day, hour, minute and second of a moment in seconds since 1970.
  private static func fields(_ seconds: Int) -> [Int] {
    let second = (seconds % 86_400 + 86_400) % 86_400
    let day = CalendarDays.date((seconds - second) / 86_400)
    return day + [second / 3_600, second / 60 % 60, second % 60]
  }

  /// Sets one field of a date to an impossible value.
  private mutating func invalidate(_ date: inout ExportDate) {
    let month = CalendarDays.length(date.fields[1], date.fields[0])
    switch number(0...10) {
    case 0: date.fields[1] = one([0, 13])
    case 1: date.fields[2] = 0
    case 2, 3: date.fields[2] = month + 1
    case 4: date.fields[3] = one([24, 24, 24, 25])
    case 5: date.fields[4] = one([60, 60, 60, 61])
    case 6: date.fields[5] = one([61, 61, 61, 62])
    case 7: date.zone = one([(2, 60), (2, 60), (5, 65), (0, 99)])
    case 8: date.zone = one([(18, 1), (18, 1), (19, 0), (18, 59)])
    case 9: date.fields = one([[0, 0, 0, 0, 0, 0], [1677, 12, 31, 23, 59, 59]])
    case _: date.fields[0] = one([2_262, 1_677, 9_999])
    }
  }

  /// Returns a date in a form that current versions of iOS do not write.
  private mutating func unusual(_ date: inout ExportDate, _ fraction: inout Int) -> String {
    let day = one(["-", "", ":", "--", " "])
    let time = one([":", "", "-", " "])
    let fields = date.padded
    var text = fields[0] + day + fields[1] + day + fields[2] + one([" ", "T", "", "T "])
    text += fields[3] + time + fields[4] + time + fields[5]
    if happens(2) {
      let digits = (0..<number(0...13)).map { _ in String(number(0...9)) }
      text += "." + digits.joined()
      fraction = Int((digits + Array(repeating: "0", count: 9)).prefix(9).joined()) ?? 0
    }
    let zone =
      date.zone.0 == 0 && date.zone.1 == 0 && happens(2) ? "Z" : date.offset(one([":", ""]))
    text += one(["", " ", "  "]) + zone
    // A date has at most 40 characters.
    let room = one([0, 0, 0, 25 - text.count, 40 - text.count, 41 - text.count])
    return text + String(of: " ", count: max(0, room))
  }

  /// Damages a byte, the length or the offset of a date.
  private mutating func broken(_ text: String) -> String {
    var bytes = Array(text.utf8)
    switch number(0...8) {
    case 0: bytes.removeLast()
    case 1: bytes.insert(UInt8(ascii: "-"), at: 0)
    case 2: bytes[one([4, 7, 10, 13, 16])] = one([0x2F, 0, 0x78, 0x30])
    case 3: bytes[19] = one([0x78, 0, 0x3A, 0x30])
    case 4: bytes[20] = one([0x2A, 0x2C, 0x20, 0x78, 0, 0x2F])
    case 5: bytes[one([0, 3, 5, 6, 8, 9, 11, 12, 14, 15, 17, 18])] = one([0x4F, 0x3A, 0x2F, 0x3B])
    case 6: return text.prefix(19) + one(Self.noOffsets)
    case _:
      let position = one([0, 1, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15, 17, 18, 21, 22, 23, 24])
      // A byte with the value 5, for example, is not the digit "5".
      bytes[position] = one([bytes[position] - 0x30, 0x3A, 0x2F])
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// The fields of a date.
private struct ExportDate {
  var minutesEast: Int
  var isWest: Bool
  /// The hours and minutes of the offset.
  var zone: (Int, Int)
  /// The year, month, day, hour, minute and second.
  var fields: [Int] = []

  init(minutesEast: Int) {
    self.minutesEast = minutesEast
    isWest = minutesEast < 0
    zone = (abs(minutesEast) / 60, abs(minutesEast) % 60)
  }

  private static func padded(_ number: Int, _ count: Int) -> String {
    let digits = String(number)
    return String(of: "0", count: max(0, count - digits.count)) + digits
  }

  var padded: [String] {
    fields.enumerated().map { Self.padded($1, $0 == 0 ? 4 : 2) }
  }

  func offset(_ separator: String) -> String {
    (isWest ? "-" : "+") + Self.padded(zone.0, 2) + separator + Self.padded(zone.1, 2)
  }

  /// The date in the form that iOS writes.
  var text: String {
    let fields = padded
    let (day, time) = (fields[..<3].joined(separator: "-"), fields[3...].joined(separator: ":"))
    return "\(day) \(time) \(offset(""))"
  }
}
