import HoldfastCore
import HoldfastHealth
import HoldfastHealthSamples

/// A stage of sleep.
struct ReferenceStage {
  var from: Int64
  var upTo: Int64
  /// The name of the stage in answers.
  var type: String
  var source: ReferenceSource
}

/// A session of consecutive stages, with the minutes of each stage.
struct ReferenceSession {
  var from: Int64
  var upTo: Int64
  /// The minutes by stage. `SLEEP_ASLEEP` is sleep without a known stage; `asleep` is all sleep.
  var minutes: [String: Double] = [:]

  static let bed = "SLEEP_IN_BED"
  private static let awake = "SLEEP_AWAKE"

  /// Creates a session. Returns `nil` if the stages contain neither sleep nor time in bed.
  init?(_ stages: [ReferenceStage]) {
    let asleep = stages.filter { $0.type != Self.bed && $0.type != Self.awake }
    let counted = asleep.isEmpty ? stages.filter { $0.type == Self.bed } : asleep
    guard let from = counted.map(\.from).min(), let upTo = counted.map(\.upTo).max() else {
      return nil
    }
    (self.from, self.upTo) = (from, upTo)
    var lengths: [String: Int64] = [:]
    for stage in stages { lengths[stage.type] = 0 }
    if !asleep.isEmpty { lengths["asleep"] = 0 }
    let times = Set(stages.flatMap { [$0.from, $0.upTo] }).sorted()
    for (start, end) in zip(times, times.dropFirst()) {
      let length = end - start
      let active = stages.filter { $0.from <= start && $0.upTo > start }
      if active.contains(where: { $0.type == Self.bed }) { lengths[Self.bed]? += length }
      let counted = active.filter { $0.type != Self.bed }
      guard let best = counted.map(\.source).min(by: { $0.isBefore($1) }) else { continue }
      let types = Set(counted.filter { $0.source.isLike(best) }.map(\.type))
      let names = types.contains(Self.awake) ? [Self.awake] : types.union(["asleep"])
      for type in names { lengths[type]? += length }
    }
    minutes = lengths.mapValues { Double($0) / 60_000_000_000 }
  }

  func isNight(_ clock: ReferenceClock) -> Bool {
    if let known = minutes["asleep"] ?? minutes[Self.bed], known >= 180 { return true }
    let shown = clock.local(from + (upTo - from) / 2)
    let hour = ReferenceClock.floor(shown, ReferenceClock.hour)
    return !(9..<21).contains((hour % 24 + 24) % 24)
  }
}

/// The sleep of one day.
struct ReferenceSleepDay {
  var nights: [ReferenceSession] = []
  var naps: [ReferenceSession] = []

  /// Returns the total minutes of a stage, or `nil` if no session contains the stage.
  static func minutes(_ part: String, _ sessions: [ReferenceSession]) -> Double? {
    let known = sessions.compactMap { $0.minutes[part] }
    return known.isEmpty ? nil : known.reduce(0, +)
  }
}

extension ReferenceAnswers {
  /// Returns the points of sleep, which contain nights, naps and their stages.
  mutating func nights(
    _ window: ReferenceWindow, _ statistic: String
  ) throws(ReferenceRefusal) -> Lines {
    var (lines, stages): (Lines, [ReferenceStage]) = (Lines(), [])
    var to = window.to + window.margin
    for kind in ReferenceType.all(.sleep) {
      try readAll(kind, window, upTo: &to) { sample, _ in
        guard case .category(let name) = sample.value, let type = ReferenceValue.stage(name) else {
          return lines.skipped += 1
        }
        stages.append(
          ReferenceStage(
            from: sample.start.nanoseconds, upTo: max(sample.start, sample.end).nanoseconds,
            type: type, source: ReferenceSource.of(sample)))
      }
    }
    var days: [ReferenceCell: ReferenceSleepDay] = [:]
    add(stages, as: nil, isMerged: true, window, &days)
    for name in Set(stages.map(\.source.name)) where window.query.options.bySource {
      add(stages.filter { $0.source.name == name }, as: name, isMerged: false, window, &days)
    }
    var spans: [ReferenceCell: [(at: Int64, day: ReferenceSleepDay)]] = [:]
    for (cell, day) in days {
      var whole = cell
      whole.span = window.span(cell.span.lower)
      spans[whole, default: []].append((cell.span.lower, day))
    }
    lines.all = spans.keys.sorted(by: Self.isBefore).compactMap { cell in
      let days = (spans[cell] ?? []).sorted { $0.at < $1.at }.map(\.day)
      return line(cell, days, statistic, window)
    }
    return lines
  }

  private func add(
    _ stages: [ReferenceStage], as name: String?, isMerged: Bool, _ window: ReferenceWindow,
    _ days: inout [ReferenceCell: ReferenceSleepDay]
  ) {
    var run: [ReferenceStage] = []
    for (index, stage) in stages.enumerated() {
      run.append(stage)
      let end = run.map(\.upTo).max() ?? 0
      // Stages that are at most five minutes apart form one session.
      let goesOn = index + 1 < stages.count && stages[index + 1].from - end <= 300_000_000_000
      guard !goesOn else { continue }
      defer { run = [] }
      guard let session = ReferenceSession(run), window.has(session.upTo) else { continue }
      let grouping: HealthGrouping = window.query.groupBy == .hour ? .hour : .day
      let cell = ReferenceCell(
        type: 0, name: name, all: isMerged ? "merged" : nil,
        span: window.span(session.upTo, grouping))
      if session.isNight(clock) {
        days[cell, default: ReferenceSleepDay()].nights.append(session)
      } else {
        days[cell, default: ReferenceSleepDay()].naps.append(session)
      }
    }
  }

  /// Returns a statistic of the minutes of several days, or `nil` if there are no days.
  private static func aggregate(_ minutes: [Double], _ statistic: String) -> Double? {
    guard let last = minutes.last else { return nil }
    switch statistic {
    case "average_per_night": return minutes.reduce(0, +) / Double(minutes.count)
    case "min_per_night": return minutes.sorted()[0]
    case "max_per_night": return minutes.sorted()[minutes.count - 1]
    case "latest": return last
    case _: return minutes.reduce(0, +)
    }
  }

  private func line(
    _ cell: ReferenceCell, _ days: [ReferenceSleepDay], _ statistic: String,
    _ window: ReferenceWindow
  ) -> ReferencePoint? {
    var nights = days.map(\.nights).filter { !$0.isEmpty }
    if statistic == "latest" { nights = Array(nights.suffix(1)) }
    let naps = days.flatMap(\.naps)
    func part(_ name: String) -> Double? {
      let all = statistic == "sum" ? days.map { $0.nights + $0.naps } : nights
      return Self.aggregate(all.compactMap { ReferenceSleepDay.minutes(name, $0) }, statistic)
    }
    let isCount = statistic == "count"
    let asleep = isCount ? Double(nights.count) : part("asleep")
    guard let value = asleep ?? part(ReferenceSession.bed) else { return nil }
    let names = ["IN_BED", "AWAKE", "LIGHT", "DEEP", "REM", "ASLEEP"].map { "SLEEP_" + $0 }
    let minutes = names.map { isCount ? nil : part($0).map(ReferenceValue.number) }
    let sleep = JSONText.object([
      "in_bed": minutes[0], "awake": minutes[1], "light": minutes[2], "deep": minutes[3],
      "rem": minutes[4], "unspecified": minutes[5],
      "nights": "\(nights.count)", "naps": "\(naps.count)",
      "nap_minutes": statistic != "sum" || naps.isEmpty
        ? nil : ReferenceValue.number(naps.reduce(0) { $0 + ($1.minutes["asleep"] ?? 0) }),
    ])
    var label = PointLabel(
      type: asleep == nil ? ReferenceSession.bed : "SLEEP_SESSION",
      unit: isCount ? "count" : "minute", from: cell.span.start, to: min(cell.span.end, window.end),
      source: cell.isMerged ? "merged" : cell.name, statistic: statistic, isMerged: cell.isMerged,
      isPartial: window.isPartial(cell.span), sleep: sleep)
    if statistic == "latest", let night = nights.last {
      (label.from, label.to) = (night.map(\.from).min() ?? 0, night.map(\.upTo).max() ?? 0)
    }
    return window.line(label, ReferenceValue.number(value), at: window.restart(cell.span))
  }
}
