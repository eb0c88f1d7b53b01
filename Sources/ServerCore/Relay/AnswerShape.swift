import LinkHealth
import LinkJSON

extension HealthObject {
  /// Returns what is wrong with the shape of an answer (contracts 1.4, 1.5); `nil` if nothing is.
  ///
  /// Only members that are there are looked at, since phones differ in what they leave out; what an
  /// assistant would read as a number, a list or a reason must be one.
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

/// What is found in an answer, member by member.
private struct AnswerShape {
  let kind: HealthQuestion.Kind
  private(set) var fault: String?
  private var count: Int64?
  private var points: Int64?

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
      case "count": try readCount(&reader)
      case "health_data" where kind == .healthData: points = try elements(name, &reader)
      case "results" where kind == .summary: _ = try elements(name, &reader)
      case "is_aggregated", "truncated": try skip(name, .bool, "true or false", &reader)
      case "error_message", "value_type", "statistic_type", "group_by", "start_time", "end_time":
        try skip(name, .string, "a text", &reader)
      case _: try reader.skipValue()
      }
    }
    if let count, let points, count != points {
      note("count is \(count), but there are \(points) points")
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

  /// Counts the elements of a list of objects.
  private mutating func elements(
    _ name: String, _ reader: inout JSONReader
  ) throws(JSONError) -> Int64? {
    guard try reader.peek() == .array else {
      try reader.skipValue()
      note("\(name) is no list")
      return nil
    }
    var count: Int64 = 0
    try reader.beginArray()
    while try reader.nextElement() {
      if try reader.peek() != .object { note("\(name) holds something that is no object") }
      try reader.skipValue()
      count += 1
    }
    return count
  }

  private mutating func skip(
    _ name: String, _ wanted: JSONReader.Kind, _ words: String, _ reader: inout JSONReader
  ) throws(JSONError) {
    if try reader.peek() != wanted { note("\(name) is not \(words)") }
    try reader.skipValue()
  }

  private mutating func note(_ fault: String) {
    self.fault = self.fault ?? fault
  }
}
