public import HoldfastCore
public import HoldfastHealth
public import HoldfastHealthSamples
import HoldfastJSON
import HoldfastSyncData

/// A report about synced samples that is under construction.
///
/// It requests pages of samples, reads them, and writes JSON at the end:
///
///     wanted ──▶ take(page) ──▶ wanted … ──▶ nil, then outcome
///
/// Days are those of the user's time zone, and samples of overlapping sources are counted once.
/// Sums and nights are computed like those of HealthRelay's answers. Averages are computed from the
/// readings of all sources.
public struct SyncReport: Sendable {
  /// One part of the report.
  enum Part: Sendable {
    case points(HealthAnswering)
    case readings(HealthReadings)
    case days(HealthDays)
  }

  let path: SyncPath
  let zone: ZoneRules
  let now: Timestamp
  let stored: [HealthTypeSummary]
  /// The time of the user's newest batch, as far as known.
  let lastSync: Timestamp?
  /// The number of the user's unfinished uploads.
  let unfinished: Int
  var parts: [Part] = []
  /// The human-readable reason why the report is refused.
  private var refusal: String?

  /// Creates a report.
  ///
  /// - Parameters:
  ///   - stored: The stored samples of the user, summarized by type.
  ///   - lastSync: The time of the user's newest batch, for a summary.
  public init(
    _ path: SyncPath, _ span: SyncSpan, zone: ZoneRules, now: Timestamp,
    stored: [HealthTypeSummary], lastSync: Timestamp? = nil
  ) {
    (self.path, self.zone, self.now) = (path, zone, now)
    (self.stored, self.lastSync, unfinished) = (stored, lastSync, span.unfinished ?? 0)
    guard path != .summary, path != .types else { return }
    let today = SyncDay(CivilTime(nanoseconds: zone.local(at: now).nanoseconds))
    let last = span.last.map { SyncDay($0) } ?? today
    let first = span.first.map { SyncDay($0) } ?? last.moved(by: -29)
    guard first <= last, last.number - first.number < Int64(SyncSpan.mostDays) else {
      refusal = "to is a day from that of from on, and at most \(SyncSpan.mostDays) days later."
      return
    }
    guard first <= today else {
      refusal = "from is in the future."
      return
    }
    if let type = span.type {
      parts = [
        .days(
          HealthDays(
            type, from: zone.instant(of: first.midnight),
            to: zone.instant(of: last.moved(by: 1).midnight), zone: zone,
            newest: stored.first { $0.type == type }?.last))
      ]
    }
    plan(first, last, today: today)
  }

  /// The query of the next page to read, or `nil` when the report is complete.
  public var wanted: HealthSampleQuery? {
    for part in parts {
      switch part {
      case .points(let answering): if case .read(let query) = answering.step { return query }
      case .readings(let readings): if let query = readings.wanted { return query }
      case .days(let days): if let query = days.wanted { return query }
      }
    }
    return nil
  }

  /// Adds the page that `wanted` requested.
  public mutating func take(_ page: HealthSamplePage) {
    for index in parts.indices {
      switch parts[index] {
      case .points(var answering):
        guard case .read = answering.step else { continue }
        answering.take(page)
        parts[index] = .points(answering)
      case .readings(var readings):
        guard readings.wanted != nil else { continue }
        readings.take(page)
        parts[index] = .readings(readings)
      case .days(var days):
        guard days.wanted != nil else { continue }
        days.take(page)
        parts[index] = .days(days)
      }
      return
    }
  }

  /// The result, once `wanted` is `nil`.
  public var outcome: SyncOutcome {
    if let refusal { return .refused(reason: refusal) }
    if path == .types { return .reported(types) }
    do throws(FieldFault) {
      return .reported(try object())
    } catch {
      return .refused(reason: error.description)
    }
  }

  /// The answer that assistants receive to the question which types are stored.
  private var types: [UInt8] {
    var answering = HealthAnswering(
      .types, zone: zone, now: now, limits: .exact, stored: StoredHealth(lastImport: lastSync))
    answering.take(stored)
    guard case .done(let object) = answering.step else { return [] }
    return object.bytes
  }

  // MARK: - Queries

  private mutating func plan(_ first: SyncDay, _ last: SyncDay, today: SyncDay) {
    switch path {
    case .sync, .refresh, .upload, .daily, .summary, .types, .dashboard: break
    case .steps:
      parts = [
        points(.steps, first, last, .day, .sum), points(.calories, first, last, .day, .sum),
        points(.steps, today, today, .day, .sum),
      ]
    case .heartRate:
      let type = SyncType.heartRate
      let latest = stored.first { $0.type == type }?.last ?? now
      // If the time of the latest reading is in the future, the latest of the past week is used.
      let week = zone.instant(of: today.moved(by: -6).midnight)
      parts = [
        readings(type, first, last), readings(type, today.moved(by: -6), today),
        .readings(
          HealthReadings(
            type, from: latest > now ? week : latest,
            to: min(latest, now).advanced(by: .nanoseconds(1)), zone: zone)),
      ]
    case .sleep: parts = [points(.sleep, first, last, .day, .average)]
    case .workouts: parts = [points(.workout, first, last)]
    case .periods:
      let (first, last) = (today.moved(by: -SyncPeriod.longest), today.moved(by: -1))
      parts = [
        points(.steps, first, last, .day, .sum), points(.calories, first, last, .day, .sum),
        readings(SyncType.variability, first, last), readings(SyncType.resting, first, last),
        readings(SyncType.oxygenUptake, first, last),
      ]
    }
  }

  private func points(
    _ type: HealthValueType, _ first: SyncDay, _ last: SyncDay,
    _ grouping: HealthGrouping? = nil, _ statistic: HealthStatistic? = nil
  ) -> Part {
    let query = HealthDataQuery(
      valueType: type, start: .local(first.midnight), end: .local(last.moved(by: 1).midnight),
      groupBy: grouping, statistic: statistic, maxBytes: HealthObject.maxBytes)
    return .points(
      HealthAnswering(
        .healthData(query), zone: zone, now: now, limits: .exact))
  }

  private func readings(_ type: String, _ first: SyncDay, _ last: SyncDay) -> Part {
    .readings(
      HealthReadings(
        type, from: zone.instant(of: first.midnight),
        to: zone.instant(of: last.moved(by: 1).midnight), zone: zone))
  }
}

/// HealthKit's identifiers of the types that reports read.
enum SyncType {
  static let heartRate = "HKQuantityTypeIdentifierHeartRate"
  static let variability = "HKQuantityTypeIdentifierHeartRateVariabilitySDNN"
  static let resting = "HKQuantityTypeIdentifierRestingHeartRate"
  static let oxygenUptake = "HKQuantityTypeIdentifierVO2Max"
}

/// The periods that a report compares, as numbers of days before today.
enum SyncPeriod {
  static let days = [7, 30, 90, 365]
  static let longest = 365
}

/// A day of a user's calendar.
struct SyncDay: Sendable, Hashable, Comparable {
  /// The number of days since 1970-01-01.
  var number: Int64

  /// Creates the day of a local time.
  init(_ time: CivilTime) {
    number = Gregorian.floorDivide(time.nanoseconds, by: CivilTime.nanosecondsPerDay).0
  }

  /// The start of the day, or the nearest time that can be represented.
  var midnight: CivilTime {
    let (nanoseconds, overflow) = number.multipliedReportingOverflow(
      by: CivilTime.nanosecondsPerDay)
    return CivilTime(nanoseconds: overflow ? (number < 0 ? .min : .max) : nanoseconds)
  }

  /// The date in the form `2026-01-31`.
  var text: String { String(midnight.description.prefix(10)) }

  func moved(by days: Int) -> SyncDay {
    var day = self
    day.number += Int64(days)
    return day
  }

  static func < (left: SyncDay, right: SyncDay) -> Bool { left.number < right.number }
}

extension SyncReport {
  /// Returns the body of the report.
  func object() throws(FieldFault) -> [UInt8] {
    var replies: [HealthReply] = []
    var readings: [HealthReadings] = []
    var days: HealthDays?
    for part in parts {
      switch part {
      case .readings(let found): readings.append(found)
      case .days(let found): days = found
      case .points(let answering):
        guard case .done(let object) = answering.step else { continue }
        if let reason = object.reason { throw .malformed(detail: reason) }
        let reply = try HealthReply.read(object.bytes)
        // Only a reply about workouts may have a position at which a next reply continues.
        guard reply.nextStart == nil || path == .workouts else {
          throw .malformed(detail: "more days than an answer can hold; ask for a shorter time")
        }
        replies.append(reply)
      }
    }
    var writer = JSONWriter(capacity: 4_096)
    writer.object {
      switch path {
      case .sync, .refresh, .upload, .types, .dashboard: break
      case .daily: if let days { $0.daily(days) }
      case .summary: summary(&$0)
      case .steps: $0.steps(replies)
      case .heartRate: $0.heartRate(readings)
      case .sleep: $0.sleep(replies)
      case .workouts: $0.workouts(replies)
      case .periods: periods(replies, readings, &$0)
      }
      $0.entry("timeZone", zone.name ?? "UTC")
    }
    return writer.bytes
  }

  private func periods(
    _ replies: [HealthReply], _ readings: [HealthReadings], _ writer: inout JSONWriter
  ) {
    let today = SyncDay(zone.local(at: now))
    for (name, reply) in zip(["steps", "energy"], replies) {
      writer.object(name) {
        for days in SyncPeriod.days {
          let first = today.moved(by: -days).text
          let values = reply.merged.filter { $0.date >= first }.map(\.value)
          let sum = values.reduce(0, +)
          $0.figure("\(days)d", values.isEmpty ? nil : sum / Double(values.count))
        }
      }
    }
    for (name, found) in zip(["hrv", "rhr", "vo2max"], readings) {
      writer.object(name) {
        for days in SyncPeriod.days {
          let first = today.moved(by: -days)
          let values = found.days.filter { SyncDay($0.day) >= first }.map(\.figures)
          let count = values.reduce(0) { $0 + $1.count }
          let sum = values.reduce(0.0) { $0 + ($1.average ?? 0) * Double($1.count) }
          $0.figure("\(days)d", count == 0 ? nil : sum / Double(count))
        }
      }
    }
  }
}

extension HealthReply {
  /// The values that combine all sources, by date.
  fileprivate var merged: [(date: String, value: Double, point: HealthPoint)] {
    points.compactMap { point in
      guard point.isMerged, case .number(let value) = point.value else { return nil }
      return (String(point.start.description.prefix(10)), value, point)
    }
  }
}

extension JSONWriter {
  /// Writes a number rounded to six decimal places, or `null` if it is missing or not finite.
  mutating func figure(_ name: String, _ value: Double?) {
    key(name)
    guard let value, value.isFinite else { return null() }
    let rounded = abs(value) < 1e9 ? (value * 1e6).rounded() / 1e6 : value
    raw(SyncNumber.text(rounded))
  }

  fileprivate mutating func steps(_ replies: [HealthReply]) {
    for (name, member, reply) in [("daily", "steps", 0), ("energy", "calories", 1)] {
      array(name) { list in
        for day in replies[reply].merged {
          list.object {
            $0.entry("date", day.date)
            $0.figure(member, day.value)
          }
        }
      }
    }
    figure("today", replies[2].merged.first?.value ?? 0)
  }

  fileprivate mutating func heartRate(_ readings: [HealthReadings]) {
    figure("latest", readings[2].latest?.value)
    entry("latestAt", readings[2].latest.map { RFC3339.format($0.at) })
    figure("avg_7d", readings[1].figures.average)
    array("daily") { list in
      for day in readings[0].days {
        list.object {
          $0.entry("date", SyncDay(day.day).text)
          $0.figure("avg", day.figures.average)
          $0.figure("min", day.figures.least)
          $0.figure("max", day.figures.greatest)
        }
      }
    }
  }

  fileprivate mutating func sleep(_ replies: [HealthReply]) {
    let nights = replies[0].merged
    array("daily") { list in
      for night in nights {
        list.object {
          $0.entry("date", night.date)
          $0.figure("hours", night.value / 60)
          let times = night.point.sleep
          $0.figure("inBed", times?.inBed.map { $0 / 60 })
          $0.figure("awake", times?.awake.map { $0 / 60 })
          $0.figure("core", times?.light.map { $0 / 60 })
          $0.figure("deep", times?.deep.map { $0 / 60 })
          $0.figure("rem", times?.rem.map { $0 / 60 })
        }
      }
    }
    figure("lastNight", nights.last.map { $0.value / 60 })
    entry("lastNightDate", nights.last?.date)
  }

  fileprivate mutating func workouts(_ replies: [HealthReply]) {
    array("workouts") { list in
      for point in replies[0].points {
        guard case .workout(let totals) = point.value else { continue }
        list.object {
          $0.entry("type", totals.type)
          $0.entry("start", point.start.description)
          $0.entry("end", point.end.description)
          $0.figure("distanceMeters", totals.distance)
          $0.figure("energyKcal", totals.energy)
          $0.entry("source", point.source)
        }
      }
    }
    if let next = replies[0].nextStart { entry("nextStart", next.description) }
  }
}
