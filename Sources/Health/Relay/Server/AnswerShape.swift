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
  let kind: HealthQuestion.Kind
  private(set) var fault: String?
  private var count: Int64?
  private var points: Int64?
  /// The number of the columns of a table, and that of the values of each row.
  private var columns: Int64?
  private var rowLength: Int64?
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
      case kind.words.data:
        isWhole = true
        let found = try elements(name, &reader)
        if kind != .summary { points = found }
      case "columns" where kind == .healthData:
        columns = try texts(&reader)
      case "rows" where kind == .healthData:
        isWhole = true
        points = try rows(&reader)
      case "is_aggregated", "truncated": try skip(name, .bool, "true or false", &reader)
      case "error_message", "value_type", "statistic_type", "group_by", "start_time", "end_time":
        try skip(name, .string, "a text", &reader)
      case _: try reader.skipValue()
      }
    }
    if let count, let points, count != points {
      note("count is \(count), but there are \(points) points")
    }
    if rowLength != nil, rowLength != columns { note("a row has not a value for each column") }
    if hasSucceeded, !isWhole { note("it has no \(kind.words.data)") }
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

  /// Reads the names of the columns of a table and returns their number.
  private mutating func texts(_ reader: inout JSONReader) throws(JSONError) -> Int64 {
    guard try reader.peek() == .array else {
      try reader.skipValue()
      note("columns is not a list")
      return 0
    }
    var count: Int64 = 0
    try reader.beginArray()
    while try reader.nextElement() {
      count += 1
      try skip("a name of columns", .string, "a text", &reader)
    }
    return count
  }

  /// Reads the rows of a table and returns their number.
  private mutating func rows(_ reader: inout JSONReader) throws(JSONError) -> Int64? {
    guard try reader.peek() == .array else {
      try reader.skipValue()
      note("rows is not a list")
      return nil
    }
    var count: Int64 = 0
    try reader.beginArray()
    while try reader.nextElement() {
      count += 1
      guard try reader.peek() == .array else {
        note("rows contains an element that is not a list")
        try reader.skipValue()
        continue
      }
      var length: Int64 = 0
      try reader.beginArray()
      while try reader.nextElement() {
        length += 1
        try reader.skipValue()
      }
      if length != rowLength ?? length { note("a row has not a value for each column") }
      rowLength = length
    }
    return count
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

  /// Reads a stored type: its word.
  private mutating func type(_ reader: inout JSONReader) throws(JSONError) {
    var hasWord = false
    try reader.beginObject()
    while let key = try reader.nextKey() {
      guard reader.text(of: key) == "value_type" else {
        try reader.skipValue()
        continue
      }
      hasWord = true
      try skip("value_type of a type", .string, "a text", &reader)
    }
    if !hasWord { note("a type has no value_type") }
  }

  /// Reads a list of objects and returns their number.
  private mutating func elements(
    _ name: String, _ reader: inout JSONReader
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
      switch kind {
      case .healthData: try point(&reader)
      case .summary: try result(&reader)
      case .types: try type(&reader)
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
