import HoldfastHealth
import HoldfastJSON

extension HealthObject {
  /// Returns the fault in the structure of an answer (contracts 1.4, 1.5), or `nil` if there is
  /// none.
  ///
  /// A successful answer must contain its points or results. All other members are optional, since
  /// phones differ in the members that they omit. If a member is present and an assistant reads it
  /// as a number, a list or a reason, it must have that type. A point must have the members that
  /// the tool descriptions promise.
  func shapeFault(as kind: HealthQuestion.Kind) -> String? {
    var shape = AnswerShape(kind: kind)
    var reader = JSONReader(bytes)
    do {
      try shape.read(&reader)
    } catch {
      return error.detail
    }
    return shape.fault
  }
}

/// A check of an answer's members, which stores the first fault that it finds.
private struct AnswerShape {
  private enum Element { case point, result }

  let kind: HealthQuestion.Kind
  private(set) var fault: String?
  private var count: Int64?
  private var points: Int64?
  private var hasSucceeded = false
  /// Whether the points or results are present.
  private var isWhole = false

  init(kind: HealthQuestion.Kind) {
    self.kind = kind
  }

  mutating func read(_ reader: inout JSONReader) throws(JSONError) {
    try reader.beginObject()
    while let key = try reader.nextKey() {
      let name = reader.text(of: key)
      let isNull = try reader.peek() == .null
      switch name {
      case _ where isNull: try reader.skipValue()
      case "success" where try reader.peek() == .bool: hasSucceeded = try reader.bool()
      case "count": try readCount(&reader)
      case listName:
        isWhole = true
        let found = try elements(name, &reader, kind == .healthData ? .point : .result)
        if kind == .healthData { points = found }
      case "is_aggregated", "truncated": try skip(name, .bool, "true or false", &reader)
      case "error_message", "value_type", "statistic_type", "group_by", "start_time", "end_time":
        try skip(name, .string, "a text", &reader)
      case _: try reader.skipValue()
      }
    }
    if let count, let points, count != points {
      note("count is \(count), but there are \(points) points")
    }
    if hasSucceeded, !isWhole { note("it has no \(listName)") }
  }

  /// The name of the member that contains the requested data.
  private var listName: String {
    switch kind {
    case .healthData: "health_data"
    case .summary: "results"
    }
  }

  private mutating func readCount(_ reader: inout JSONReader) throws(JSONError) {
    guard try reader.peek() == .number else {
      try reader.skipValue()
      return note("count is no number of points")
    }
    guard let number = try reader.intIfWhole(), number >= 0 else {
      return note("count is no number of points")
    }
    count = number
  }

  /// Reads a point: its type, its value, and its interval.
  private mutating func point(_ reader: inout JSONReader) throws(JSONError) {
    var missing: Set = ["type", "value", "date_from", "date_to"]
    try reader.beginObject()
    while let key = try reader.nextKey() {
      let name = reader.text(of: key)
      missing.remove(name)
      switch name {
      case "type", "date_from", "date_to":
        try skip("\(name) of a point", .string, "a text", &reader)
      case _: try reader.skipValue()
      }
    }
    if let name = missing.min() { note("a point has no \(name)") }
  }

  /// Reads the result of one metric. Its data have the form of an answer.
  private mutating func result(_ reader: inout JSONReader) throws(JSONError) {
    var (hasSucceeded, hasPoints) = (false, false)
    try reader.beginObject()
    while let key = try reader.nextKey() {
      switch (reader.text(of: key), try reader.peek()) {
      case ("success", .bool): hasSucceeded = try reader.bool()
      case ("data", .object):
        var data = AnswerShape(kind: .healthData)
        try data.read(&reader)
        hasPoints = data.isWhole
        if let fault = data.fault { note("data of a result: \(fault)") }
      case _: try reader.skipValue()
      }
    }
    if hasSucceeded, !hasPoints { note("a result has no data") }
  }

  /// Reads a list of objects and returns their number.
  private mutating func elements(
    _ name: String, _ reader: inout JSONReader, _ element: Element
  ) throws(JSONError) -> Int64? {
    guard try reader.peek() == .array else {
      try reader.skipValue()
      note("\(name) is not a list")
      return nil
    }
    var count: Int64 = 0
    try reader.beginArray()
    while try reader.nextElement() {
      count += 1
      guard try reader.peek() == .object else {
        note("\(name) contains an element that is not an object")
        try reader.skipValue()
        continue
      }
      switch element {
      case .point: try point(&reader)
      case .result: try result(&reader)
      }
    }
    return count
  }

  private mutating func skip(
    _ name: String, _ wanted: JSONReader.Kind, _ description: String, _ reader: inout JSONReader
  ) throws(JSONError) {
    if try reader.peek() != wanted { note("\(name) is not \(description)") }
    try reader.skipValue()
  }

  private mutating func note(_ fault: String) {
    self.fault = self.fault ?? fault
  }
}
