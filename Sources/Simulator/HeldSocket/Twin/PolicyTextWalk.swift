import LinkCore

/// The words of policies of all forms, and the waits of schedules, told a second time.
struct PolicyTextWalk: TwinWalk {
  var chance: Chance
  var stray: String?

  init(_ chance: Chance) { self.chance = chance }

  /// Tries so many words of each kind; returns the first difference.
  mutating func walk(_ times: Int) -> String? {
    compare("the range of durations", Duration.written.text, PolicyText.range)
    for _ in 0..<times where stray == nil {
      for _ in 0..<4 { tryDuration() }
      tryScheduleText()
      tryWaits()
    }
    return stray
  }

  private mutating func duration() -> Duration {
    let small = one([0, 1, 2, 5, 90, 999, 1_000, 3_600])
    switch number(0...6) {
    case 0: return .nanoseconds(small)
    case 1: return .microseconds(small)
    case 2: return .milliseconds(small)
    case 3: return .seconds(small * 60)
    case 4: return .seconds(small * 3_600)
    case 5: return .nanoseconds(Int64(chance.next() % 36_000_000_000_000_000))
    case _: return .seconds(small)
    }
  }

  private mutating func tryDuration() {
    let duration = duration()
    compareText(duration.text, of: duration)
    compare("\(duration.text), read,", Duration(text: duration.text), duration)
    let unit = one(["ns", "us", "ms", "s", "m", "h", "", "d", "S", " s", "ss"])
    let whole = one([
      "0", "1", "12", "007", "9999", "10000", "600000", "2562047", "153722867", "36000000",
      "36000001", "", "-1", "+1",
      "1,",
      "36000000000000000", "36000000000000001", "18446744074", "9223372036854775807",
      "9223372036854775808", "1e3",
    ])
    let part = one([
      "", "", ".5", ".25", ".0", ".", ".000", ".001", ".5.5", ".9", ".1234567", ".123456789",
      ".1234567890", ".000000001", ".999999999",
    ])
    let text = whole + part + unit
    compareReading(Duration(text: text), of: text)
    let (from, to) = (Duration.zero, duration)
    compare("a range", (from...to).text, "0s to " + PolicyText.text(duration))
  }

  private mutating func schedule() -> Schedule {
    if happens(3) { return .list((0..<number(0...3)).map { _ in duration() }) }
    let first: Duration = one([
      .zero, .milliseconds(100), .seconds(1), .seconds(3), .nanoseconds(7),
    ])
    return .exponential(
      first: first, factor: one([1, 1, 2, 2, 3, 10, 1_000]),
      cap: one([.seconds(3), .seconds(30), first, .seconds(36_000_000), .seconds(9_000_000_000)]),
      jitter: one([0, 0.25, 0.5, 1, 0.1]), floor: one([.zero, .milliseconds(500), .seconds(2)]),
      attempts: one([nil, nil, 1, 3, 20, 1_000]))
  }

  private mutating func tryScheduleText() {
    let schedule = schedule()
    let text = PolicyText.text(schedule)
    compare("the text of \(schedule)", schedule.text, text)
    compareReading(Schedule(text: text), of: text)
    var words = text.split(separator: " ").map { String($0) }
    let place = number(0...words.count - 1)
    switch number(0...3) {
    case 0: words.remove(at: place)
    case 1: words.append("x3")
    case 2:
      words[place] = one([
        "1s", "1s*2", "1s**2", "*1s*2", "1s*2*", "1s*1000", "1s*1001", "1s*0", "1s*-1", "1s*",
        "max", "min", "Max", "+-0",
        "+-1", "+-1.5", "+-0.5", "-+0.5", "+-", "+-x", "x0", "x1", "x1000", "x1001", "xunlimited",
        "unlimited", "x", "none", "1s,", ",1s", "1s,2s", "1s,,2s", "10000h", "10001h", "",
      ])
    case _:
      words = [
        "1s*2", "max", "30s", "+-0.25", "min", "1s", one(["x20", "xunlimited", "x1001", "20"]),
      ]
    }
    let odd = words.joined(separator: " ")
    compareReading(Schedule(text: odd), of: odd)
  }

  mutating func compareText(_ found: String, of duration: Duration) {
    compare("the text of \(duration)", found, PolicyText.text(duration))
  }

  mutating func compareReading(_ found: Duration?, of text: String) {
    compare("\(text), read,", found, PolicyText.duration(text))
  }

  mutating func compareReading(_ found: Schedule?, of text: String) {
    compare("\(text), read,", found, PolicyText.schedule(text))
  }

  mutating func compareBounds(
    _ found: ClosedRange<Duration>?, of schedule: Schedule, before index: Int
  ) {
    let must = ScheduleAccount(schedule).range(index)
    compare("the bounds of try \(index) of \(schedule)", found, must)
  }

  private mutating func tryWaits() {
    let schedule = schedule()
    let account = ScheduleAccount(schedule)
    let index = one([0, 0, 1, 2, 3, 4, 19, 20, 64, 999, 1_000, 1_000_000])
    let what = "try \(index) of \(schedule)"
    let attempts: Int? =
      switch schedule {
      case .list(let waits): waits.count
      case .exponential(_, _, _, _, _, let attempts): attempts
      }
    compare("the tries of \(schedule)", schedule.attempts, attempts)
    compareBounds(schedule.bounds(before: index), of: schedule, before: index)
    let draws = chance
    var (left, right) = (draws, draws)
    let must = account.wait(index, &right)
    compare("the wait before \(what)", schedule.wait(before: index, chance: &left), must)
    compare("what \(what) draws", left, right)
    let wish: Duration? = one([nil, .zero, .seconds(1), .seconds(40)])
    left = draws
    compare(
      "the wait before \(what)", schedule.wait(before: index, atLeast: wish, chance: &left),
      must.map { $0 < wish ?? .zero ? wish ?? .zero : $0 })
    let least = account.range(index)?.lowerBound
    compare(
      "the shortest wait before \(what)", schedule.shortestWait(before: index, atLeast: wish),
      least.map { $0 < wish ?? .zero ? wish ?? .zero : $0 })
  }
}
