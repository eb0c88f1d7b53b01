import HoldfastJSON

extension HealthOptions {
  /// The names of all options in a question and in the list of those that an answer used.
  package enum Name: String, Sendable, Hashable, CaseIterable {
    case bySource = "by_source"
    case format
    case compareWith = "compare_with"
    case trend, nearest
    case workoutType = "workout_type"
  }

  /// The names of the members of a question.
  static let names = Name.allCases.map(\.rawValue)

  /// The maximum size of a kind of workout, in bytes. The limit is Holdfast's own.
  package static let maxWorkoutBytes = 64

  /// Reads the options that an answer used. The answer has points, so that it is no table.
  init(applied fields: JSONFields) throws(FieldFault) {
    let applied = Set(try fields.texts("applied", atMost: Self.mostApplied))
    func has(_ name: Name) -> Bool { applied.contains(name.rawValue) }
    self.init(
      bySource: has(.bySource), format: has(.format) ? .points : nil, trend: has(.trend),
      nearest: has(.nearest))
    workoutType = try fields.optionalString(Name.workoutType.rawValue)
    let compared = Name.compareWith.rawValue
    guard fields.has(compared) else { return }
    compareWith = try QuerySpan(try fields.object(compared), in: compared)
  }

  /// Reads the members of a question. `null` counts as absent.
  init(_ fields: JSONFields) throws(FieldFault) {
    func flag(_ name: Name) throws(FieldFault) -> Bool {
      try fields.optionalBool(name.rawValue) ?? false
    }
    self.init(
      bySource: try flag(.bySource), format: try fields.optionalValue(Name.format.rawValue),
      trend: try flag(.trend), nearest: try flag(.nearest))
    let (workout, compared) = (Name.workoutType.rawValue, Name.compareWith.rawValue)
    if let kind = try fields.optionalString(workout), !kind.isEmpty {
      workoutType = try fields.string(workout, atMost: Self.maxWorkoutBytes)
    }
    if fields.has(compared) {
      compareWith = try QuerySpan(try fields.object(compared), in: compared)
    }
  }

  /// Writes the members of a question. Options that are not used are omitted.
  func write(to writer: inout JSONWriter) {
    if bySource { writer.entry(Name.bySource.rawValue, true) }
    if let format { writer.entry(Name.format.rawValue, format.rawValue) }
    if let compareWith {
      writer.key(Name.compareWith.rawValue)
      writer.beginObject()
      writer.span(from: compareWith.start, to: compareWith.end)
      writer.endObject()
    }
    if trend { writer.entry(Name.trend.rawValue, true) }
    if nearest { writer.entry(Name.nearest.rawValue, true) }
    if let workoutType { writer.entry(Name.workoutType.rawValue, workoutType) }
  }

  /// The options that are used, in the order of their names.
  package var used: [Name] {
    Name.allCases.filter { name in
      switch name {
      case .bySource: bySource
      case .format: format != nil
      case .compareWith: compareWith != nil
      case .trend: trend
      case .nearest: nearest
      case .workoutType: workoutType != nil
      }
    }
  }
}

extension QuerySpan {
  /// Reads an object with the start and the end. `name` is the name of the member.
  fileprivate init(_ object: [UInt8], in name: String) throws(FieldFault) {
    let fields = JSONFields(object, keeping: ["start_time", "end_time"])
    guard fields.fault == nil else { throw .wrongType(field: name) }
    self.init(start: try fields.time("start_time"), end: try fields.time("end_time"))
  }
}

extension HealthQuestion {
  /// The options of the question that change the meaning of the answer.
  package var options: HealthOptions {
    switch self {
    case .healthData(let query): query.options
    case .summary(let query): query.options
    case .types: HealthOptions()
    }
  }

  /// Returns the first option of this question that an answer would have to name but does not.
  ///
  /// An app that does not know an option ignores it, and answers another question. The other form
  /// of points and the points of each source are no other answer, and need not be named.
  package func ignoredOption(in answer: HealthObject) -> String? {
    let needed = options.used.filter { $0 != .format && $0 != .bySource }
    guard answer.succeeded, !needed.isEmpty else { return nil }
    let fields = JSONFields(answer.bytes, keeping: ["applied"])
    let applied = (try? fields.texts("applied", atMost: HealthOptions.mostApplied)) ?? []
    return needed.map(\.rawValue).first { !applied.contains($0) }
  }
}

extension HealthOptions {
  /// The maximum number of options that an answer names. The limit is Holdfast's own. It leaves
  /// room for options of later versions.
  static let mostApplied = 64
}
