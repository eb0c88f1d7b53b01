import HoldfastJSON

/// The comparison of a point with the point of the same place in another span.
public struct HealthComparison: Sendable, Hashable, Codable {
  /// The value in the other span, or `nil` if it has no data there.
  public var previous: HealthPointValue?
  /// The start of the other point, or `nil` if there is none.
  public var previousStart: HealthTime?
  /// The end of the other point, or `nil` if there is none.
  public var previousEnd: HealthTime?
  /// Whether the span of the other point is incomplete.
  public var isPreviousPartial = false
  /// The parts of the time asleep in the other span.
  public var previousSleep: SleepTimes?
  /// The statistic of the numbers whose difference is `change`, such as `sum`.
  public var basis: String
  /// The numbers a day and those of the other span, if these are compared instead of the values.
  public var perDay: [HealthNumber] = []
  /// The numbers a day of the other span.
  public var previousPerDay: [HealthNumber] = []
  /// The differences: this point less the other. It is empty if the points cannot be compared.
  public var change: [HealthNumber] = []
  /// The differences of the parts of the time asleep.
  public var sleepChange: [HealthNumber] = []
  /// The differences in percent of the other point, where that has a meaning.
  public var percent: [HealthNumber] = []
}

/// A number of a point. It has a name if the point has several.
public struct HealthNumber: Sendable, Hashable, Codable {
  /// The name, such as `total_distance`. It is empty if the point has a single number.
  public var name: String
  /// The number.
  public var value: Double
}

/// The straight line that fits the points of one type best (least squares).
public struct HealthTrend: Sendable, Hashable, Codable {
  /// The type of the points.
  public var type: String
  /// The source of the points.
  public var source: String?
  /// The kind of workout of the points.
  public var workoutType: String?
  /// The name of the number, if the points have several.
  public var number: String?
  /// The statistic of the number, such as `sum`, or `perDay` for a sum divided by the days.
  public var statistic: String
  /// The calendar span of each point.
  public var grouping: HealthGrouping
  /// The unit of the number.
  public var unit: String
  /// The change of the number in a week.
  public var perWeek: Double
  /// The change of the number from the middle of the first span to the middle of the last.
  public var change: Double
  /// The start of the first point.
  public var start: HealthTime
  /// The end of the last point.
  public var end: HealthTime
  /// The number of points, with those that count as zero.
  public var points: Int

  /// The name of a sum or a count that is divided by the days of its span.
  public static let perDay = "per_day"
}

extension HealthComparison {
  func write(to writer: inout JSONWriter) {
    writer.key("previous")
    switch previous {
    case nil: writer.null()
    case .text(let text): writer.string(text)
    case .number(let number): writer.writeNumber(number)
    // The point itself has the kind of workout and the units.
    case .workout, .nutrition: writer.numbers(previous?.numbers ?? [])
    }
    if let previousStart { writer.entry("previous_from", previousStart.description) }
    if let previousEnd { writer.entry("previous_to", previousEnd.description) }
    guard previous != nil else { return }
    if isPreviousPartial { writer.entry("previous_partial", true) }
    previousSleep?.write(to: &writer, as: "previous_sleep")
    guard !change.isEmpty else { return }
    if !perDay.isEmpty {
      writer.numbers("per_day", perDay)
      writer.numbers("previous_per_day", previousPerDay)
    }
    writer.entry("change_of", basis)
    writer.numbers("change", change)
    if !percent.isEmpty { writer.numbers("change_percent", percent) }
    if !sleepChange.isEmpty { writer.numbers("sleep_change", sleepChange) }
  }
}

extension [HealthTrend] {
  /// The number of bytes that the trends add to an answer.
  var length: Int {
    var writer = JSONWriter(capacity: 200)
    write(to: &writer)
    return writer.bytes.count
  }

  /// Writes the trends as a member of an answer, if there are any.
  func write(to writer: inout JSONWriter) {
    guard !isEmpty else { return }
    writer.key("trend")
    writer.beginArray()
    for trend in self {
      writer.beginObject()
      writer.entry("type", trend.type)
      if let number = trend.number { writer.entry("number", number) }
      if let kind = trend.workoutType { writer.entry("workout_type", kind) }
      writer.entry("source_id", trend.source)
      writer.entry("statistic", trend.statistic)
      writer.entry("group_by", trend.grouping.rawValue.lowercased())
      writer.writeNumber("slope_per_week", trend.perWeek)
      writer.writeNumber("change_over_span", trend.change)
      writer.entry("unit", trend.unit)
      writer.entry("date_from", trend.start.description)
      writer.entry("date_to", trend.end.description)
      writer.entry("points", trend.points)
      writer.endObject()
    }
    writer.endArray()
  }
}

extension HealthOptions {
  /// The names of the members that `writeApplied` writes.
  static let appliedNames = ["applied", Name.compareWith.rawValue, Name.workoutType.rawValue]

  /// Writes the names of the used options, the span of a comparison and the kind of workout.
  func writeApplied(to writer: inout JSONWriter) {
    guard !used.isEmpty else { return }
    writer.entry("applied", used.map(\.rawValue))
    if let workoutType { writer.entry(Name.workoutType.rawValue, workoutType) }
    guard let compareWith else { return }
    writer.key("compare_with")
    writer.beginObject()
    writer.span(from: compareWith.start, to: compareWith.end)
    writer.endObject()
  }
}

extension JSONWriter {
  /// Writes a single number as a number, and several as an object.
  fileprivate mutating func numbers(_ name: String, _ numbers: [HealthNumber]) {
    if let only = numbers.first, only.name.isEmpty { return writeNumber(name, only.value) }
    key(name)
    self.numbers(numbers)
  }

  fileprivate mutating func numbers(_ numbers: [HealthNumber]) {
    beginObject()
    for number in numbers { writeNumber(number.name, number.value) }
    endObject()
  }
}
