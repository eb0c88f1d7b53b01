import LinkCore
import LinkHealth
import LinkJSON
import LinkWire

extension SyncReport {
  /// The body of the answer.
  func object() throws(FieldFault) -> [UInt8] {
    var replies: [HealthReply] = []
    var readings: [HealthReadings] = []
    for part in parts {
      switch part {
      case .readings(let found): readings.append(found)
      case .points(let answering):
        guard case .done(let object) = answering.step else { continue }
        if let reason = object.reason { throw .malformed(detail: reason) }
        let reply = try HealthReply.read(object.bytes)
        // Only workouts say where to ask on.
        guard reply.nextStart == nil || path == .workouts else {
          throw .malformed(detail: "more days than an answer can hold; ask for a shorter time")
        }
        replies.append(reply)
      }
    }
    var writer = JSONWriter(capacity: 4_096)
    writer.object {
      switch path {
      case .sync, .refresh, .upload, .dashboard: break
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
  /// The values that are made of all sources, by date.
  fileprivate var merged: [(date: String, value: Double, point: HealthPoint)] {
    points.compactMap { point in
      guard point.isMerged, case .number(let value) = point.value else { return nil }
      return (String(point.start.description.prefix(10)), value, point)
    }
  }
}

extension JSONWriter {
  /// Writes a number that is rounded to millionths, as JavaScript does; `null` for none.
  fileprivate mutating func figure(_ name: String, _ value: Double?) {
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
