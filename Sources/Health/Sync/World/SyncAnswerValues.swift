import HoldfastJSON
import HoldfastWorldKernel

/// The values in a JSON answer, by path, such as `daily.0.steps`.
struct SyncAnswerValues {
  private(set) var shown: [String: SyncExpectation.Shown] = [:]
  private var workouts: [[SyncExpectation.Shown]] = []

  /// Decodes an answer. Returns `nil` if it is not a JSON object.
  init?(_ bytes: [UInt8]) {
    var reader = JSONReader(bytes)
    do throws(JSONError) {
      guard try reader.peek() == .object else { return nil }
      try read("", &reader)
      try reader.finish()
    } catch {
      return nil
    }
    if shown["timeZone"] != nil { takeWorkouts() }
  }

  private mutating func read(_ path: String, _ reader: inout JSONReader) throws(JSONError) {
    let start = path.isEmpty ? "" : path + "."
    switch try reader.peek() {
    case .object:
      try reader.beginObject()
      while let key = try reader.nextKey() { try read(start + reader.text(of: key), &reader) }
    case .array:
      var index = 0
      try reader.beginArray()
      while try reader.nextElement() {
        try read("\(start)\(index)", &reader)
        index += 1
      }
    case .string: shown[path] = .text(try reader.string())
    case .number: shown[path] = .number(try reader.double())
    case .null:
      try reader.null()
      shown[path] = SyncExpectation.Shown.nothing
    case .bool: shown[path] = .text(try reader.bool() ? "true" : "false")
    }
  }

  /// Sorts the workouts by their contents. The order of workouts with the same start is not
  /// defined.
  private mutating func takeWorkouts() {
    var lines: [[SyncExpectation.Shown]] = []
    while shown["workouts.\(lines.count).type"] != nil {
      lines.append(
        Self.names.map { name in
          let value = shown.removeValue(forKey: "workouts.\(lines.count).\(name)") ?? .nothing
          // A local time that occurs twice has a zone suffix. The suffix is dropped.
          if case .text(let text) = value, ["start", "end"].contains(name) {
            return .text(String(text.prefix(19)))
          }
          return value
        })
    }
    Self.put(lines, &shown)
  }

  private static let names = [
    "type", "start", "end", "distanceMeters", "energyKcal", "source",
  ]

  static func put(
    _ lines: [[SyncExpectation.Shown]], _ shown: inout [String: SyncExpectation.Shown]
  ) {
    let sorted = lines.map { (text: "\($0)", line: $0) }.sorted { $0.text < $1.text }
    for (index, line) in sorted.map(\.line).enumerated() {
      for (name, value) in zip(names, line) { shown["workouts.\(index).\(name)"] = value }
    }
  }

  /// Returns the first path whose value differs from the expected value; `nil` if there is none.
  func difference(from other: [String: SyncExpectation.Shown]) -> String? {
    Set(shown.keys).union(other.keys).sorted().first { path in
      guard let one = shown[path], let two = other[path] else { return true }
      return !one.isLike(two)
    }.map {
      "\($0) is \(shown[$0].map { "\($0)" } ?? "absent"),"
        + " and must be \(other[$0].map { "\($0)" } ?? "absent")"
    }
  }
}
