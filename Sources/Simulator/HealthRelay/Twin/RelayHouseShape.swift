import LinkHealth
import LinkJSON

/// The shape of answers, told a second time (contracts 1.4 and 1.5).
enum RelayHouseShape {
  private typealias Members = [SessionBranch]

  /// Returns the first fault of an answer; `nil` if there is none.
  static func fault(_ bytes: [UInt8], _ kind: HealthQuestion.Kind) -> String? {
    guard case .object(let members)? = SessionTree(bytes) else { return detail(bytes) }
    return fault(members, kind)
  }

  /// Why a text is no object.
  private static func detail(_ bytes: [UInt8]) -> String? {
    var reader = JSONReader(bytes)
    do throws(JSONError) {
      try reader.beginObject()
      while try reader.nextKey() != nil { try reader.skipValue() }
      return nil
    } catch {
      return error.detail
    }
  }

  private static func fault(_ members: Members, _ kind: HealthQuestion.Kind) -> String? {
    let texts = [
      "error_message", "value_type", "statistic_type", "group_by", "start_time", "end_time",
    ]
    var faults: [String] = []
    var (told, points): (Int?, Int?) = (nil, nil)
    for member in members where member.value != .null {
      let name = member.name
      if name == "count" {
        if let number = whole(member.value) {
          told = number
        } else {
          faults.append("count is no number of points")
        }
      } else if name == "is_aggregated" || name == "truncated" {
        if case .flag = member.value { continue }
        faults.append("\(name) is not true or false")
      } else if texts.contains(name) {
        if case .text = member.value { continue }
        faults.append("\(name) is not a text")
      } else if name == "health_data", kind == .healthData {
        faults += list(member) { point($0) }
        if case .list(let all) = member.value { points = all.count } else { points = nil }
      } else if name == "results", kind == .summary {
        faults += list(member) { result($0) }
      }
    }
    if let told, let points, told != points {
      faults.append("count is \(told), but there are \(points) points")
    }
    return faults.first
  }

  /// A whole number that is not below zero.
  private static func whole(_ value: SessionTree) -> Int? {
    guard case .number(let digits) = value, let number = Int(digits), number >= 0 else {
      return nil
    }
    return number
  }

  private static func list(_ member: SessionBranch, _ faults: (Members) -> [String]) -> [String] {
    guard case .list(let all) = member.value else { return ["\(member.name) is no list"] }
    return all.flatMap { element in
      guard case .object(let members) = element else {
        return ["\(member.name) holds something that is no object"]
      }
      return faults(members)
    }
  }

  private static func point(_ members: Members) -> [String] {
    var faults: [String] = []
    for member in members where ["type", "date_from", "date_to"].contains(member.name) {
      if case .text = member.value { continue }
      faults.append("\(member.name) of a point is not a text")
    }
    for name in ["date_from", "date_to", "type", "value"]
    where !members.contains(where: { $0.name == name }) {
      faults.append("a point has no \(name)")
    }
    return faults
  }

  private static func result(_ members: Members) -> [String] {
    members.compactMap { member in
      guard member.name == "data", case .object(let data) = member.value else { return nil }
      return fault(data, .healthData).map { "data of a result: \($0)" }
    }
  }
}
