import HoldfastJSON

/// The points of an answer as rows. What all rows have in common is written once.
package struct HealthTable: Sendable, Hashable, Codable {
  /// A member of a point: its name, and its JSON value.
  struct Member: Sendable, Hashable, Codable {
    var name: String
    var json: [UInt8]
  }

  /// The members that are the same in all rows.
  private(set) var common: [Member] = []
  /// The names of the columns.
  private(set) var columns: [String] = []
  /// The values of each row, as a JSON array.
  private(set) var rows: [[UInt8]] = []
  /// The indices of the rows that cover only a part of their span, from 0. Few rows do.
  private(set) var partialRows: [Int] = []

  /// The members that are written once if they are the same in all rows. Numbers that were measured
  /// are not among them.
  private static let hoisted: Set<String> = [
    "type", "unit", "source_id", "statistic", "merged", "change_of", "workout_type",
    "distance_unit", "energy_unit", "mass_unit", "nights", "naps",
  ]

  /// Creates a table from the members of points.
  init(_ points: [[Member]]) {
    var columns: [String] = []
    var columnIndices: [String: Int] = [:]
    for member in points.joined() where columnIndices[member.name] == nil {
      columnIndices[member.name] = columns.count
      columns.append(member.name)
    }
    for name in columns where Self.hoisted.contains(name) {
      let values = points.map { point in point.first { $0.name == name } }
      guard let first = values.first ?? nil, values.allSatisfy({ $0 == first }) else { continue }
      common.append(first)
    }
    let once = Set(common.map(\.name))
    self.columns = columns.filter { !once.contains($0) && $0 != "partial" }
    partialRows = points.indices.filter { points[$0].contains { $0.name == "partial" } }
    rows = points.map { Self.row($0, self.columns) }
  }

  private static func row(_ members: [Member], _ columns: [String]) -> [UInt8] {
    var writer = JSONWriter(capacity: 60)
    writer.beginArray()
    for name in columns {
      if let member = members.first(where: { $0.name == name }) {
        writer.raw(member.json)
      } else {
        writer.null()
      }
    }
    writer.endArray()
    return writer.bytes
  }

  /// The number of bytes without the rows.
  var headLength: Int {
    var copy = self
    copy.rows = []
    var writer = JSONWriter(capacity: 400)
    copy.write(to: &writer)
    return writer.bytes.count
  }

  /// Writes the members of the table into an open object.
  func write(to writer: inout JSONWriter) {
    writer.key("common")
    writer.beginObject()
    for member in common {
      writer.key(member.name)
      writer.raw(member.json)
    }
    writer.endObject()
    writer.entry("columns", columns)
    writer.key("rows")
    writer.beginArray()
    for row in rows { writer.raw(row) }
    writer.endArray()
    guard !partialRows.isEmpty else { return }
    writer.array("partial_rows") { for index in partialRows { $0.int(index) } }
  }
}

extension HealthPoint {
  /// Returns the members of the point as a row has them. Members of objects are listed by
  /// themselves, and values that were not recorded are left out.
  ///
  /// - Parameters:
  ///   - day: The day to write instead of the times, or `nil` for the times themselves.
  ///   - hasStart: Whether the row has a start.
  ///   - hasEnd: Whether the row has an end, unless it is the same as the start.
  func members(day: String?, hasStart: Bool, hasEnd: Bool) -> [HealthTable.Member] {
    var times: [HealthTable.Member] = []
    if let day {
      times = [.init(name: "date", json: Self.json { $0.string(day) })]
    } else if hasStart {
      times = [.init(name: "date_from", json: Self.json { $0.string(start.description) })]
      if hasEnd, end != start {
        times.append(.init(name: "date_to", json: Self.json { $0.string(end.description) }))
      }
    }
    var reader = JSONReader(Self.json { $0.point(self) })
    let rest = (try? Self.members(&reader, prefix: nil)) ?? []
    // The place of a span says which span it is compared with.
    let known: Set = hasEnd ? [] : ["previous_from", "previous_to"]
    return times + rest.filter { !known.contains($0.name) }
  }

  private static func json(_ write: (inout JSONWriter) -> Void) -> [UInt8] {
    var writer = JSONWriter(capacity: 200)
    write(&writer)
    return writer.bytes
  }

  private static func members(
    _ reader: inout JSONReader, prefix: String?
  ) throws(JSONError) -> [HealthTable.Member] {
    var members: [HealthTable.Member] = []
    try reader.beginObject()
    while let key = try reader.nextKey() {
      let name = reader.text(of: key)
      let kind = try reader.peek()
      let isTime = name == "date_from" || name == "date_to"
      if kind == .object {
        let isPlain = name == "value" || name == "sleep"
        members += try Self.members(&reader, prefix: isPlain ? nil : name)
        continue
      }
      let start = reader.position
      try reader.skipValue()
      guard kind != .null, !isTime || prefix != nil else { continue }
      members.append(
        .init(
          name: prefix.map { $0 + "_" + name } ?? name,
          json: Array(reader.bytes[start..<reader.position])))
    }
    // Without a common unit, each number has its unit beside it or in its name.
    return members.filter { $0.name != "unit" || $0.json != Array("\"noUnit\"".utf8) }
  }
}
