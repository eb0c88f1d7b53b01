import LinkCore
import LinkHealth

// What is tried.
extension HealthWordsWalk {
  static let names = [
    "success", "health_data", "value_type", "start_time", "end_time", "group_by", "statistic",
    "statistic_type", "next_start_time", "skipped", "notes", "time_zone", "answered_at",
    "last_import", "last_samples", "type", "at", "max_bytes", "metrics", "rejected", "place",
    "error_message", "results", "data", "value", "unit", "date_from", "date_to", "source_id",
    "merged", "partial", "sleep", "odd", "nights", "workout_type", "session_count",
  ]

  mutating func values(of name: String) -> [SessionTree] {
    switch name {
    case "start_time", "end_time", "next_start_time", "answered_at", "last_import", "at",
      "date_from", "date_to":
      times()
    case "value_type": Self.words(HealthWordsTable.types) + Self.bounded
    case "group_by": Self.words(HealthWordsTable.groups)
    case "statistic", "statistic_type": Self.words(HealthWordsTable.statistics)
    case "max_bytes": Self.numbers(2_000, 8_388_608)
    case "place": Self.numbers(0, 64)
    case "skipped", "nights", "naps": Self.numbers(0, .max)
    case "type", "time_zone": Self.texts(256)
    case "error_message", "unit", "source_id": Self.bounded
    case "success", "merged", "partial": [.flag(true), .flag(false), .flag(true)]
    case "metrics": crowd(#"{"value_type":"STEPS"}"#, 64)
    case "rejected": crowd(#"{"place":1}"#, 64)
    case "results": crowd(#"{"value_type":"","success":false}"#, 64)
    case "last_samples": crowd(#"{"type":"a"}"#, 64)
    case "notes": crowd(#""n""#, 16) + [.list(Self.bounded)]
    case "health_data": [.list([HealthWordsScribe.tree(point())]), .list([]), .list([odd()])]
    case "value": [.text("?"), .number("1e400")] + Self.figures + Self.totals
    case "data": [.object([]), .list([])]
    case "sleep": [.object([]), HealthWordsScribe.tree(sleep())]
    case "session_count": Self.figures + Self.sessions
    case _: Self.figures
    }
  }

  private static let figures = ["0", "-0.0", "1", "1.5", "-3", "2e3", "1e400"].map {
    SessionTree.number($0)
  }
  private static let sessions = [
    "-1", "0.9", "9007199254740991", "9007199254740992", "9007199254740994", "1e300",
  ].map { SessionTree.number($0) }
  private static let totals: [SessionTree] = [
    .object([]), .object([SessionBranch(name: "workout_type", value: .text(""))]),
    .object([SessionBranch(name: "workout_type", value: .null)]),
    .object([SessionBranch(name: "fat", value: .number("7"))]),
  ]
  static let reasons = [
    "", "No \"data\".", String(of: "a", count: 1_000), String(of: "a", count: 1_001),
    String(repeating: "é", count: 500), String(repeating: "é", count: 501),
    String(repeating: "é", count: 1_002),
  ]
  private static let bounded = reasons.map { SessionTree.text($0) }

  private static func words(_ all: [String]) -> [SessionTree] {
    let odd = [
      all[0].lowercased(), String(all[1].prefix(1) + all[1].lowercased().dropFirst()), "",
      all[0] + "S", "x",
    ]
    return (all + odd).map { .text($0) }
  }

  private static func texts(_ most: Int) -> [SessionTree] {
    ["a\"", "é", String(of: "a", count: most), String(of: "a", count: most + 1), ""].map {
      .text($0)
    }
  }

  private static func numbers(_ least: Int, _ most: Int) -> [SessionTree] {
    [least - 1, least, most, most == .max ? most : most + 1].map { RelayWireScribe.whole($0) }
      + [.number("1.0"), .number("9223372036854775808")]
  }

  /// Returns lists: one with 1, as many elements as it may have, or one more, and odd ones.
  private mutating func crowd(_ element: String, _ most: Int) -> [SessionTree] {
    let count = one([1, most, most + 1])
    let many = [SessionTree](repeating: .number(element), count: count)
    return [.list(many), .list([odd()]), .list([])]
  }

  /// Returns what is no object.
  mutating func odd() -> SessionTree { one([.number("5"), .text("x"), .null, .list([])]) }

  private mutating func times() -> [SessionTree] {
    let long = "2026-01-03T00:00:00."
    let zeros = [44, 45].map { long + String(of: "0", count: $0) }
    return ([timeText(), timeText(), one(Self.edges), one(Self.wrongTimes)] + zeros).map {
      .text($0)
    }
  }

  // Times.

  static let edges = [
    "1677-09-21", "1677-09-21T00:12:43.145224191", "1677-09-21T00:12:43.145224192",
    "1677-09-21T00:12:43,2Z", "1677-09-21T00:12", "1677-09-21T12:00+11:47",
    "1677-09-21T12:00+11:48",
    "1677-09-20T24:00", "1677-09-21T24:00-18", "1677-09-22", "1677-09-22T00:00+18:00",
    "2262-04-11T23:47:16.854775807+00",
    "2262-04-11T23:47:16.854775808Z", "2262-04-11T23:47:16.854775807",
    "2262-04-11", "2262-04-12", "2262-04-11T23:47:17", "2262-04-11T23:47:16-01:00",
    "2262-04-11T23:47:16+01:00",
    "2262-04-11T23:47:15.9-0001",
    "2262-04-11T24:00", "2262-04-10T24:00", "1969-12-31T23:59:60Z", "2026-01-03T24:00:00-18:59",
  ]
  static let wrongTimes = [
    "2026-02-29", "2024-02-29 noon", "1900-02-29T10:00", "2000-02-29", "2026-02-30",
    "2026-04-31T10:00", "2026-01-03T25:00", "2026-01-03T24:01", "2026-01-03T10:60", "1600-01-01",
    "0000-01-01", "20260-01-03", "20260-02-29", "20260-02-30", "9999-12-31", "2026-01-3",
    "2026/01-03", "2026-01/03", "2026/01/03", "20260103", "026-01-03", "yesterday", "",
    "2026-01-03x", "2026-01-03T1:00", "2026-00-10", "2026-13-01", "2026-12-00", "2026-12-32",
    "2026-01-03 10-00", "2026-01-03T24:00:00.5", "2026-01-03T10:00:61",
    "20245-02-29", "2100-02-29", "2026-01-03T1530", "2026-01-03T15:30:0002:00",
    "2026-01-03T15:30+19:00", "2026-01-03T15:30-19", "2026-01-03T15:30+02:60",
    "2026-01-03T15:30-0299", "2026-01-03T15:30Zx", "2026-01-03T29:99", "2026-01-03T15:30+02:00x",
    "2026-01-03T15:30zz", "2026-01-03T15:30Z+01:00", "2026-01-03T15:30z-02", "2026-ab-cd",
    "2026-01-03T15:30:00x", "2026-01-03T25:00x", "2026-01-03T25:00+19", "2263-01-01T24:00Z",
    "2263-01-01T24:01Z", "20260-01-03T10:60", "20260-01-03 noon",
  ]

  /// Returns a text that is a time, or wrong in one part.
  mutating func timeText() -> String {
    let year = one(["1678", "1900", "1969", "1970", "1972", "2000", "2024", "2100", "2261"])
    let month = number(1...12)
    let day = one([1, 28, number(1...28), 29, 30, 31])
    var parts = [
      year, "-", TimeAccount.pad(month, 2), "-", TimeAccount.pad(day, 2),
      one(["T", "T", "t", " "]), one(["00", "09", "12", "23"]), one([":00", ":30", ":59"]),
      one(["", ":00", ":59", ":60"]),
    ]
    let fractions = ["", ".5", ",25", ".000000001", ".999999999", ".1234567899", ".000"]
    parts.append(parts[8].isEmpty ? "" : one(fractions))
    let ends = ["", "Z", "z", "+00:00", "-00:01", "+0130", "-18", "+18:59", "-18:59"]
    parts.append(one(ends))
    if happens(8) { return parts[..<5].joined() }
    if happens(8) { parts[6...8] = ["24", ":00", one(["", ":00"])] }
    if happens(2) {
      let wrong = [
        ["0001", "1600", "2263", "x000", ""], ["", "/"], ["00", "13", "1"], ["", "/"],
        ["00", "32", "1"], ["", "x"], ["24", "25", "1", "-1"], [":60", ":1", "30", ""],
        [":61", ":1", ":"], [".", ",", "x"],
        ["+19:00", "-19", "+02:60", "+", "-1", "Zx", "+01:", "Z+01", "z-0100"],
      ]
      let place = number(0...10)
      parts[place] = one(wrong[place])
    }
    return parts.joined()
  }

  mutating func time() -> HealthTime {
    let second = Int64(number(-9_000_000_000...9_000_000_000))
    var moment = second * 1_000_000_000 + one([0, 0, 1, 500_000_000, 999_999_999])
    if happens(4) { moment = Int64(number(-200...200)) * 86_400_000_000_000 + one([-1, 0, 1]) }
    switch number(0...3) {
    case 0: return .local(CivilTime(nanoseconds: moment))
    case 1: return .instant(Timestamp(nanoseconds: moment), minutesEast: nil)
    case _:
      let east = one([-1_139, -600, -599, -61, -60, -59, -10, -9, -1, 0, 1, 9, 10, 59, 60, 1_139])
      return .instant(Timestamp(nanoseconds: moment), minutesEast: east)
    }
  }
}
