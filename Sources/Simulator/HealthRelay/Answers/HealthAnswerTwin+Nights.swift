import LinkCore
import LinkHealth

/// A stage of sleep.
struct AnswerStage {
  var from: Int64
  var upTo: Int64
  /// As it is told.
  var type: String
  var source: AnswerSource
}

/// Stages that are near each other, and the minutes of each kind.
struct AnswerSession {
  var from: Int64
  var upTo: Int64
  /// By the names of stages; `SLEEP_ASLEEP` is without one, and `asleep` is all of them.
  var minutes: [String: Double] = [:]

  static let bed = "SLEEP_IN_BED"
  private static let awake = "SLEEP_AWAKE"

  /// Puts stages together; `nil` if nobody slept or lay in bed.
  init?(_ stages: [AnswerStage]) {
    let asleep = stages.filter { $0.type != Self.bed && $0.type != Self.awake }
    let telling = asleep.isEmpty ? stages.filter { $0.type == Self.bed } : asleep
    guard let from = telling.map(\.from).min(), let upTo = telling.map(\.upTo).max() else {
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
      let telling = active.filter { $0.type != Self.bed }
      guard let best = telling.map(\.source).min(by: { $0.isBefore($1) }) else { continue }
      let types = Set(telling.filter { $0.source.isLike(best) }.map(\.type))
      let counted = types.contains(Self.awake) ? [Self.awake] : types.union(["asleep"])
      for type in counted { lengths[type]? += length }
    }
    minutes = lengths.mapValues { Double($0) / 60_000_000_000 }
  }

  func isNight(_ clock: AnswerClock) -> Bool {
    if let known = minutes["asleep"] ?? minutes[Self.bed], known >= 180 { return true }
    let shown = clock.shown(from + (upTo - from) / 2)
    let hour = AnswerClock.whole(shown, AnswerClock.hour)
    return !(9..<21).contains((hour % 24 + 24) % 24)
  }
}

/// The sleep of one day.
struct AnswerDay {
  var nights: [AnswerSession] = []
  var naps: [AnswerSession] = []

  /// Returns the minutes of a part in some of its sessions.
  static func minutes(_ part: String, _ sessions: [AnswerSession]) -> Double? {
    let known = sessions.compactMap { $0.minutes[part] }
    return known.isEmpty ? nil : known.reduce(0, +)
  }
}

extension HealthAnswerTwin {
  /// Returns the points of sleep: nights, naps and their parts.
  mutating func nights(
    _ frame: AnswerFrame, _ word: String
  ) throws(AnswerReason) -> Lines {
    var (lines, stages): (Lines, [AnswerStage]) = (Lines(), [])
    var to = frame.to + frame.margin
    for kind in AnswerKind.all(.sleep) {
      try readAll(kind, frame, upTo: &to) { sample, _ in
        guard case .category(let name) = sample.value, let type = AnswerValue.stage(name) else {
          return lines.skipped += 1
        }
        stages.append(
          AnswerStage(
            from: sample.start.nanoseconds, upTo: max(sample.start, sample.end).nanoseconds,
            type: type, source: AnswerSource.of(sample)))
      }
    }
    var days: [AnswerCell: AnswerDay] = [:]
    add(stages, as: nil, isMerged: true, frame, &days)
    for name in Set(stages.map(\.source.name)) {
      add(stages.filter { $0.source.name == name }, as: name, isMerged: false, frame, &days)
    }
    var spans: [AnswerCell: [(at: Int64, day: AnswerDay)]] = [:]
    for (cell, day) in days {
      var whole = cell
      whole.span = frame.span(cell.span.lower)
      spans[whole, default: []].append((cell.span.lower, day))
    }
    lines.all = spans.keys.sorted(by: Self.isBefore).compactMap { cell in
      let days = (spans[cell] ?? []).sorted { $0.at < $1.at }.map(\.day)
      return line(cell, days, word, frame)
    }
    return lines
  }

  private func add(
    _ stages: [AnswerStage], as name: String?, isMerged: Bool, _ frame: AnswerFrame,
    _ days: inout [AnswerCell: AnswerDay]
  ) {
    var run: [AnswerStage] = []
    for (place, stage) in stages.enumerated() {
      run.append(stage)
      let end = run.map(\.upTo).max() ?? 0
      // Five minutes bridge two stages.
      let goesOn = place + 1 < stages.count && stages[place + 1].from - end <= 300_000_000_000
      guard !goesOn else { continue }
      defer { run = [] }
      guard let session = AnswerSession(run), frame.has(session.upTo) else { continue }
      let grouping: HealthGrouping = frame.query.groupBy == .hour ? .hour : .day
      let cell = AnswerCell(
        type: 0, name: name, isMerged: isMerged, span: frame.span(session.upTo, grouping))
      if session.isNight(clock) {
        days[cell, default: AnswerDay()].nights.append(session)
      } else {
        days[cell, default: AnswerDay()].naps.append(session)
      }
    }
  }

  private func line(
    _ cell: AnswerCell, _ days: [AnswerDay], _ word: String, _ frame: AnswerFrame
  ) -> AnswerLine? {
    var nights = days.map(\.nights).filter { !$0.isEmpty }
    if word == "latest" { nights = Array(nights.suffix(1)) }
    let naps = days.flatMap(\.naps)
    func part(_ name: String) -> Double? {
      let all = word == "sum" ? days.map { $0.nights + $0.naps } : nights
      let known = all.compactMap { AnswerDay.minutes(name, $0) }
      guard let last = known.last else { return nil }
      switch word {
      case "average_per_night": return known.reduce(0, +) / Double(known.count)
      case "min_per_night": return known.sorted()[0]
      case "max_per_night": return known.sorted()[known.count - 1]
      case "latest": return last
      case _: return known.reduce(0, +)
      }
    }
    let isCount = word == "count"
    let asleep = isCount ? Double(nights.count) : part("asleep")
    guard let value = asleep ?? part(AnswerSession.bed) else { return nil }
    let naptime = naps.reduce(0) { $0 + ($1.minutes["asleep"] ?? 0) }
    let names = ["IN_BED", "AWAKE", "LIGHT", "DEEP", "REM", "ASLEEP"].map { "SLEEP_" + $0 }
    let told = names.map { isCount ? nil : part($0).map { "\($0)" } }
    let sleep = JSONTexts.object([
      "in_bed": told[0], "awake": told[1], "light": told[2], "deep": told[3], "rem": told[4],
      "unspecified": told[5], "nights": "\(nights.count)", "naps": "\(naps.count)",
      "nap_minutes": word == "sum" && !naps.isEmpty ? "\(naptime)" : nil,
    ])
    var label = AnswerLabel(
      type: asleep == nil ? AnswerSession.bed : "SLEEP_SESSION",
      unit: isCount ? "count" : "minute", from: cell.span.start, to: min(cell.span.end, frame.end),
      source: cell.isMerged ? "merged" : cell.name, word: word, isMerged: cell.isMerged,
      isPartial: frame.isPartial(cell.span), sleep: sleep)
    if word == "latest", let night = nights.last {
      (label.from, label.to) = (night.map(\.from).min() ?? 0, night.map(\.upTo).max() ?? 0)
    }
    return frame.line(label, AnswerValue.number(value), at: frame.restart(cell.span))
  }
}
