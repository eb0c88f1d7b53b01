import HoldfastHealth

// The optional parts of a question.
extension MCPArguments {
  /// The names of the options of a question for one value type.
  static let optionNames = HealthOptions.Name.allCases.map(\.rawValue)
  /// The names of the options of a question for several value types.
  static let summaryOptionNames =
    [HealthOptions.Name.bySource, .format, .compareWith, .trend].map(\.rawValue)
  /// The names of the options that are true or false.
  static let flagNames: Set<String> = [
    HealthOptions.Name.bySource.rawValue, HealthOptions.Name.trend.rawValue,
    HealthOptions.Name.nearest.rawValue,
  ]

  /// Returns the options.
  func options() throws(Fault) -> HealthOptions {
    HealthOptions(
      bySource: try flag(.bySource),
      format: try value(
        HealthOptions.Name.format.rawValue, HealthFormat.allCases.map { $0.rawValue.lowercased() }),
      compareWith: try comparedSpan(), trend: try flag(.trend), nearest: try flag(.nearest),
      workoutType: try workoutType())
  }

  private func flag(_ option: HealthOptions.Name) throws(Fault) -> Bool {
    let name = option.rawValue
    let fault = Fault("\(name) must be true or false")
    guard !isUnusable(name) else { throw fault }
    switch try optional(name)?.lowercased() {
    case nil, "false", "0": return false
    case "true", "1": return true
    case _: throw fault
    }
  }

  private func workoutType() throws(Fault) -> String? {
    let name = HealthOptions.Name.workoutType.rawValue
    guard let text = try optional(name) else { return nil }
    guard text.utf8.count <= HealthOptions.maxWorkoutBytes else {
      throw Fault("\(name) must be a kind of workout, such as RUNNING")
    }
    return text
  }

  /// Returns the span of a comparison: an object with `start_time` and `end_time`, or in a URL two
  /// times with a slash between them (ISO 8601).
  private func comparedSpan() throws(Fault) -> QuerySpan? {
    let name = HealthOptions.Name.compareWith.rawValue
    let fault = Fault(
      "\(name) must be an object with start_time and end_time, such as "
        + "{\"start_time\":\"2026-02-01\",\"end_time\":\"2026-03-01\"}")
    if let span = comparison {
      do throws(Fault) {
        try span.allowOnly(["start_time", "end_time"], besides: [])
        let (start, end) = try span.span()
        return QuerySpan(start: start, end: end)
      } catch {
        throw Fault("\(name): \(error.message)")
      }
    }
    guard !isUnusable(name) else { throw fault }
    guard let text = try optional(name) else { return nil }
    let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2 else { throw fault }
    return QuerySpan(
      start: try Self.time(parts[0], "\(name): start_time"),
      end: try Self.time(parts[1], "\(name): end_time"))
  }
}
