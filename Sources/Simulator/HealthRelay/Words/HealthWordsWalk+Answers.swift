import LinkCore
import LinkHealth

// Questions and answers that are tried.
extension HealthWordsWalk {
  mutating func query() -> HealthDataQuery {
    HealthDataQuery(
      valueType: one(HealthValueType.allCases), start: time(), end: time(),
      groupBy: maybe(one(HealthGrouping.allCases)),
      statistic: maybe(one(HealthStatistic.allCases)),
      maxBytes: maybe(one([2_000, 65_536, 8_388_608])))
  }

  mutating func summaryQuery() -> SummaryQuery {
    SummaryQuery(
      start: time(), end: time(),
      metrics: (0..<number(0...2)).map { _ in
        SummaryMetric(
          valueType: one(HealthValueType.allCases), groupBy: maybe(one(HealthGrouping.allCases)),
          statistic: maybe(one(HealthStatistic.allCases)))
      },
      rejected: (0..<number(0...2)).map { _ in
        RejectedMetric(
          place: one([0, 1, 64]), valueType: one(["", "MOOD \""]), reason: reason())
      }, maxBytes: maybe(one([2_000, 8_388_608])))
  }

  private mutating func reason() -> String {
    happens(5) ? one(Self.reasons) : one(["", "No \"data\"."])
  }

  private mutating func figure() -> Double {
    one([0, -0.0, 1, 61.5, -3, 1e21, 1e-7, 5e15, .infinity, .nan])
  }

  private mutating func maybeFigure() -> Double? { happens(2) ? figure() : nil }

  mutating func sleep() -> SleepTimes {
    var sleep = blanks.sleep
    sleep.inBed = maybeFigure()
    sleep.awake = maybeFigure()
    sleep.light = maybeFigure()
    sleep.deep = maybeFigure()
    sleep.rem = maybeFigure()
    sleep.unspecified = maybeFigure()
    (sleep.nights, sleep.naps) = (number(0...3), number(0...3))
    sleep.napMinutes = maybeFigure()
    return sleep
  }

  private mutating func value() -> HealthPointValue {
    switch number(0...3) {
    case 0: return .number(figure())
    case 1: return .text(one(["", "?", "a\"b"]))
    case 2:
      var totals = blanks.workout
      totals.type = one(["RUNNING", "", "A, B"])
      (totals.distance, totals.energy) = (figure(), figure())
      (totals.steps, totals.sessions) = (figure(), one([0, 1, 7, 1 << 53]))
      return .workout(totals)
    case _:
      var totals = blanks.nutrition
      (totals.calories, totals.protein) = (figure(), figure())
      (totals.carbs, totals.fat) = (figure(), figure())
      return .nutrition(totals)
    }
  }

  mutating func point() -> HealthPoint {
    var point = blanks.point
    (point.type, point.value) = (one(["STEPS", "é", String(of: "a", count: 256)]), value())
    (point.unit, point.start, point.end) = (one(["", "count"]), time(), time())
    (point.source, point.statistic) = (maybe("Ada's \"Watch\""), maybe(reason()))
    (point.isMerged, point.isPartial) = (happens(2), happens(2))
    point.sleep = happens(3) ? sleep() : nil
    return point
  }

  private mutating func freshness() -> HealthFreshness? {
    if happens(4) { return nil }
    var fresh = blanks.freshness
    (fresh.zone, fresh.answered) = (one(["Europe/Berlin", "é"]), time())
    fresh.imported = happens(2) ? time() : nil
    fresh.lastSamples = (0..<number(0...2)).map { _ in
      var sample = blanks.sample
      (sample.type, sample.at) = (one(["a", "B\""]), happens(2) ? time() : nil)
      return sample
    }
    return fresh
  }

  mutating func reply() -> HealthReply {
    var reply = blanks.reply
    reply.query = query()
    reply.points = (0..<number(0...2)).map { _ in point() }
    reply.nextStart = happens(2) ? time() : nil
    reply.skipped = one([-1, 0, 1, 2, .max])
    reply.notes = (0..<number(0...2)).map { _ in one(["Left out.", "", "\"\n"]) }
    reply.freshness = freshness()
    return reply
  }

  mutating func summaryReply() -> SummaryReply {
    var reply = blanks.summary
    (reply.start, reply.end) = (time(), time())
    reply.results = (0..<number(0...3)).map { _ in
      var result = blanks.result
      result.valueType = happens(9) ? String(of: "a", count: 1_001) : one(["STEPS", "MOOD", ""])
      result.data = one([
        HealthObject(succeeded: true, bytes: Array(#"{"success":true}"#.utf8)),
        HealthObject.failure(reason()),
        HealthObject(succeeded: false, bytes: Array("{}".utf8)),
        HealthObject(succeeded: false, bytes: Array(#"{"error_message":1}"#.utf8)),
      ])
      return result
    }
    reply.freshness = freshness()
    return reply
  }

  // Forms at bounds: of repeated members the last counts.

  private static func adding(_ value: SessionTree, _ name: String, to tree: SessionTree)
    -> SessionTree
  {
    guard case .object(let members) = tree else { return tree }
    return .object(members + [SessionBranch(name: name, value: value)])
  }

  /// Returns an answer with each of some members at a bound, also those of a point.
  mutating func atBounds() -> [[UInt8]] {
    var reply = blanks.reply
    (reply.points, reply.query) = ([], query())
    let tree = HealthWordsScribe.tree(reply)
    let fresh = Self.adding(.text("2026-01-03"), "answered_at", to: tree)
    let whole = Self.adding(.text("UTC"), "time_zone", to: fresh)
    var all: [SessionTree] = []
    for name in ["time_zone", "last_samples", "notes", "skipped", "health_data"] {
      all.append(Self.adding(one(values(of: name)), name, to: whole))
    }
    for name in ["type", "sleep", one(["value", "merged", "statistic", "date_to"])] {
      let point = Self.adding(one(values(of: name)), name, to: HealthWordsScribe.tree(point()))
      all.append(Self.adding(.list([point]), "health_data", to: whole))
    }
    let type = SessionBranch(name: "workout_type", value: .text("A"))
    let count = SessionBranch(name: "session_count", value: one(values(of: "session_count")))
    let totals = SessionTree.object([type, count])
    let point = Self.adding(totals, "value", to: HealthWordsScribe.tree(point()))
    all.append(Self.adding(.list([point]), "health_data", to: tree))
    let sample = SessionTree.object([SessionBranch(name: "type", value: one(values(of: "type")))])
    all.append(Self.adding(.list([sample]), "last_samples", to: whole))
    return all.map { Array($0.json.utf8) }
  }

  /// Returns a summary without its results, or with one that is no object.
  mutating func withOddResults(_ tree: SessionTree) -> [UInt8] {
    let results = happens(2) ? .null : SessionTree.list([odd()])
    return Array(Self.adding(results, "results", to: tree).json.utf8)
  }

  /// Returns a question for a summary of which many metrics are rejected.
  mutating func rejects(_ tree: SessionTree) -> [UInt8] {
    let counts = one([[0, 64], [1, 63], [1, 64], [64, 0], [64, 1], [0, 1]])
    let metric = SessionTree.number(#"{"value_type":"NOTHING"}"#)
    let metrics = SessionTree.list([SessionTree](repeating: metric, count: counts[0]))
    var lines = [SessionTree](repeating: .number(#"{"place":1}"#), count: counts[1])
    if happens(4) { lines.append(odd()) }
    let some = Self.adding(metrics, "metrics", to: tree)
    return Array(Self.adding(.list(lines), "rejected", to: some).json.utf8)
  }
}
