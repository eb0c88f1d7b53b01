import HoldfastCore
import HoldfastHealthSamples
import HoldfastLinkChecks
import HoldfastSyncServer
import HoldfastWorldKernel

/// The values that a person must be shown. They are computed second by second, independently of the
/// server.
struct SyncExpectation {
  /// A number, a text, or nothing.
  enum Shown: Equatable {
    case number(Double)
    case text(String)
    case nothing

    init(_ number: Double?) { self = number.map { .number($0) } ?? .nothing }

    func isLike(_ other: Shown) -> Bool {
      guard case .number(let one) = self, case .number(let two) = other else {
        return self == other
      }
      return abs(one - two) <= 2e-6 * max(1, abs(one))
    }
  }

  /// A sample in the form in which it is sent, with times in whole seconds.
  struct Sample {
    var type: String
    var value: HealthSampleValue
    var unit: String?
    var start: Int64
    var end: Int64
    var source: String

    init(_ sample: HealthSample) {
      let second: Int64 = 1_000_000_000
      (type, value, unit, source) = (sample.type, sample.value, sample.unit, sample.source)
      start = SyncSamples.floorDivide(sample.start.nanoseconds, second)
      end = SyncSamples.floorDivide(sample.end.nanoseconds, second)
    }

    /// The sample's number in the unit in which it is shown.
    var number: Double {
      guard case .quantity(let number) = value else { return 0 }
      return unit == "kJ" ? number / 4.184 : unit == "s" ? number * 1_000 : number
    }

    /// Whether two workouts of different sources are one: they share half of the shorter one, or
    /// more.
    func isSame(as other: Sample) -> Bool {
      let shared = (start..<end).clamped(to: other.start..<other.end).count
      return shared * 2 >= min(end - start, other.end - other.start)
    }
  }

  let samples: [Sample]
  /// The amounts by type and day.
  ///
  /// A phone's amounts are included only for the seconds that the watch did not measure.
  private var amounts: [String: [Int64: Double]] = [:]
  let zone: SyncZone
  let today: Int64
  /// The time at which the person looks at the data, in seconds on the server's clock.
  private let now: Int64

  init(_ samples: [HealthSample], _ zone: SyncZone, at wall: Timestamp) {
    self.samples = samples.map { Sample($0) }
    self.zone = zone
    now = SyncSamples.floorDivide(wall.nanoseconds, 1_000_000_000)
    today = zone.day(now)
    for type in [Self.kinds[0], Self.kinds[3]] { amounts[type] = amounts(of: type) }
  }

  /// Returns the values shown at a path for a range of days; `nil` if the range is not valid.
  func shown(_ path: SyncPath, _ first: Int64?, _ last: Int64?) -> [String: Shown]? {
    let last = last ?? today
    let first = first ?? last - 29
    guard first <= last, last - first < 3_653, first <= today else { return nil }
    let days = first...last
    var shown = ["timeZone": Shown.text(zone.name)]
    switch path {
    case .steps:
      show(Self.kinds[0], in: days, as: "daily", "steps", &shown)
      show(Self.kinds[3], in: days, as: "energy", "calories", &shown)
      shown["today"] = .number(sums(Self.kinds[0], in: today...today)[today] ?? 0)
    case .heartRate: showRates(days, &shown)
    case .sleep: showNights(days, &shown)
    case .workouts: showWorkouts(days, &shown)
    case .periods: showPeriods(&shown)
    case .sync, .refresh, .upload, .daily, .summary, .types, .dashboard: return nil
    }
    return shown
  }

  static let kinds = SyncSamples.types

  private func show(
    _ type: String, in days: ClosedRange<Int64>, as list: String, _ name: String,
    _ shown: inout [String: Shown]
  ) {
    for (index, day) in sums(type, in: days).sorted(by: { $0.key < $1.key }).enumerated() {
      shown["\(list).\(index).date"] = .text(SyncZone.date(day.key))
      shown["\(list).\(index).\(name)"] = .number(day.value)
    }
  }

  private func sums(_ type: String, in days: ClosedRange<Int64>) -> [Int64: Double] {
    (amounts[type] ?? [:]).filter { days.contains($0.key) }
  }

  private func amounts(of type: String) -> [Int64: Double] {
    let own = samples.filter { $0.type == type }
    var watched: Set<Int64> = []
    for sample in own where sample.source.hasPrefix("Watch") {
      watched.formUnion(sample.start..<sample.end)
    }
    var sums: [Int64: Double] = [:]
    for sample in own {
      let isWatch = sample.source.hasPrefix("Watch")
      let share = sample.number / Double(max(1, sample.end - sample.start))
      for second in sample.start..<sample.end where isWatch || !watched.contains(second) {
        sums[zone.day(second), default: 0] += share
      }
    }
    return sums
  }

  /// Returns the readings of a type by day. A reading that two sources report is included once.
  private func readings(_ type: String, in days: ClosedRange<Int64>) -> [Int64: [Double]] {
    struct Reading: Hashable {
      var at: Int64
      var value: Double
    }
    let own = samples.filter { $0.type == type }
    let all = Set(own.map { Reading(at: $0.start, value: $0.number) })
    let found = all.filter { days.contains(zone.day($0.at)) }
    return Dictionary(grouping: found) { zone.day($0.at) }.mapValues { $0.map(\.value) }
  }

  private static func average(_ values: [Double]) -> Double? {
    values.isEmpty ? nil : values.reduce(0, +) / Double(values.count)
  }

  /// Returns the average heart rate over time.
  ///
  /// A rate is valid until the next rate, but for at most 10 minutes. Rates with the same time are
  /// averaged.
  private func rate(in days: ClosedRange<Int64>) -> Double? {
    let rates = samples.filter { $0.type == Self.kinds[1] && days.contains(zone.day($0.start)) }
    let moments = Dictionary(grouping: rates, by: \.start).sorted { $0.key < $1.key }
    var (sum, length) = (0.0, 0.0)
    for (index, moment) in moments.enumerated() {
      let next = index + 1 < moments.count ? moments[index + 1].key : .max
      var end = min(next, moment.key + 600)
      while !days.contains(zone.day(end - 1)) { end -= 1 }
      let seconds = Double(end - moment.key)
      sum += (Self.average(Array(Set(moment.value.map(\.number)))) ?? 0) * seconds
      length += seconds
    }
    return length == 0 ? nil : sum / length
  }

  private func showRates(_ days: ClosedRange<Int64>, _ shown: inout [String: Shown]) {
    let latest = latestRates
    shown["latestAt"] =
      latest.first.map {
        .text(RFC3339.format(Timestamp(nanoseconds: $0.start * 1_000_000_000)))
      } ?? .nothing
    // If several rates have the same time, any of them may be shown as the last.
    shown["latest"] = Shown(latest.map(\.number).max())
    shown["avg_7d"] = Shown(rate(in: today - 6...today))
    let daily = readings(Self.kinds[1], in: days).sorted { $0.key < $1.key }
    for (index, day) in daily.enumerated() {
      shown["daily.\(index).date"] = .text(SyncZone.date(day.key))
      shown["daily.\(index).avg"] = Shown(rate(in: day.key...day.key))
      shown["daily.\(index).min"] = Shown(day.value.min())
      shown["daily.\(index).max"] = Shown(day.value.max())
    }
  }

  /// The rates at the last time that is not in the future.
  ///
  /// A clock that was ahead may have produced rates in the future. If there are any, only rates of
  /// the last week are considered.
  private var latestRates: [Sample] {
    let rates = samples.filter { $0.type == Self.kinds[1] }
    let isAhead = rates.contains { $0.start > now }
    let past = rates.filter {
      $0.start <= now && (!isAhead || zone.day($0.start) >= today - 6)
    }
    let last = past.map(\.start).max()
    return past.filter { $0.start == last }
  }

  /// Whether there are several latest rates with different values. In that case any of them may be
  /// shown.
  var hasManyLatest: Bool { Set(latestRates.map(\.number)).count > 1 }

  private func showPeriods(_ shown: inout [String: Shown]) {
    for (name, type) in [("steps", Self.kinds[0]), ("energy", Self.kinds[3])] {
      for days in [7, 30, 90, 365] {
        let values = sums(type, in: today - Int64(days)...today - 1).values
        shown["\(name).\(days)d"] = Shown(Self.average(Array(values)))
      }
    }
    let read = [("hrv", Self.kinds[6]), ("rhr", Self.kinds[5]), ("vo2max", Self.kinds[7])]
    for (name, type) in read {
      for days in [7, 30, 90, 365] {
        let values = readings(type, in: today - Int64(days)...today - 1).values.flatMap(\.self)
        shown["\(name).\(days)d"] = Shown(Self.average(values))
      }
    }
  }

  /// Shows the workouts that start in a range of days. Those of the phone that the watch recorded
  /// too are left out. A workout that starts after the days is not read, so it replaces none.
  private func showWorkouts(_ days: ClosedRange<Int64>, _ shown: inout [String: Shown]) {
    let all = samples.filter { $0.type == HealthSample.workoutType }
    let watched = all.filter {
      $0.source.hasPrefix("Watch") && zone.day($0.start) <= days.upperBound
    }
    let lines = all.compactMap { sample -> [Shown]? in
      guard case .workout(let workout) = sample.value, days.contains(zone.day(sample.start)),
        sample.source.hasPrefix("Watch") || !watched.contains(where: { $0.isSame(as: sample) })
      else { return nil }
      return [
        .text("RUNNING"), .text(zone.text(sample.start)), .text(zone.text(sample.end)),
        Shown(workout.distance), Shown(workout.energy), .text(sample.source),
      ]
    }
    SyncAnswerValues.put(lines, &shown)
  }

  private func showNights(_ days: ClosedRange<Int64>, _ shown: inout [String: Shown]) {
    var nights: [Int64: [String: Double]] = [:]
    let slots = samples.filter { $0.type == Self.kinds[4] }.sorted { $0.start < $1.start }
    var run: [Sample] = []
    for slot in slots {
      if let last = run.last, slot.start - last.end > 300 {
        add(run, &nights)
        run = []
      }
      run.append(slot)
    }
    add(run, &nights)
    let shownNights = nights.filter { days.contains($0.key) }.sorted { $0.key < $1.key }
    for (index, night) in shownNights.enumerated() {
      let asleep = night.value["asleep"] ?? night.value["inBed"]
      shown["daily.\(index).date"] = .text(SyncZone.date(night.key))
      shown["daily.\(index).hours"] = Shown(asleep)
      for name in ["inBed", "awake", "core", "deep", "rem"] {
        shown["daily.\(index).\(name)"] = Shown(night.value[name])
      }
      shown["lastNight"] = Shown(asleep)
      shown["lastNightDate"] = .text(SyncZone.date(night.key))
    }
    guard shownNights.isEmpty else { return }
    (shown["lastNight"], shown["lastNightDate"]) = (Shown.nothing, Shown.nothing)
  }

  /// Adds a sleep session to the day on which it starts. A day of sleep begins at 21:00 on the
  /// previous date.
  private func add(_ run: [Sample], _ nights: inout [Int64: [String: Double]]) {
    let names = run.compactMap { sample -> String? in
      guard case .category(let stage) = sample.value else { return nil }
      return String(stage.dropFirst(SyncSamples.stagePrefix.count))
    }
    guard let first = run.first, names.contains(where: { $0 != "Awake" }) else { return }
    let night = zone.day(first.start + 10_800)
    var hours = nights[night] ?? [:]
    let parts = [
      "InBed": "inBed", "Awake": "awake", "AsleepCore": "core", "AsleepDeep": "deep",
      "AsleepREM": "rem",
    ]
    for name in names {
      if let part = parts[name] { hours[part, default: 0] += 0.5 }
      if name.hasPrefix("Asleep") { hours["asleep", default: 0] += 0.5 }
    }
    nights[night] = hours
  }
}
