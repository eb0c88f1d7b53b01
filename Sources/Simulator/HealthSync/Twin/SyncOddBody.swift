import LinkCore

/// A body as phones of other makes write it, some of which make mistakes.
struct SyncOddBody: RandomWalk {
  private(set) var text = ""
  var chance: Chance

  init(_ chance: inout Chance) {
    self.chance = chance
    text = body()
    chance = self.chance
  }

  private mutating func body() -> String {
    var members: [String] = []
    for name in ["dataType", "records", "workouts", "deletedUUIDs", "deviceId", "timestamp"] {
      let isList = ["records", "workouts", "deletedUUIDs"].contains(name)
      guard name == "dataType" ? !happens(40) : !happens(3) else { continue }
      let isRight = isList && !happens(60)
      members.append("\"\(name)\": " + (isRight ? list(name) : value(name)))
    }
    if happens(4) { members.append("\"odd\":\(value("odd"))") }
    if happens(15) { members.append("\"records\":\(list("records"))") }
    if happens(2) { members.reverse() }
    let body = (happens(9) ? " \n" : "") + "{" + members.joined(separator: ",") + "}"
    return happens(40) ? body + one([" ", "x", "{}", ","]) : body
  }

  /// A value of a member: a wrong one now and then.
  private mutating func value(_ name: String) -> String {
    if happens(60) { return one(["null", "true", "{}", "[]", "\"\"", "1", "\"x\"", "{"]) }
    return one(Self.values[name] ?? ["1", "{\"a\":[1,null,\"b\"]}", "\"\""])
  }

  private mutating func list(_ name: String) -> String {
    if happens(40) { return "null" }
    let all = (0..<chance.next() % 4).map { _ in
      switch name {
      case "records": object(Self.record, required: 4)
      case "workouts": object(Self.workout, required: 5)
      case _: value("uuid")
      }
    }
    return "[ " + all.joined(separator: happens(2) ? " , " : ",") + "]"
  }

  private mutating func object(_ names: [String], required: Int) -> String {
    var members: [String] = []
    for (place, name) in names.enumerated() {
      guard place < required ? !happens(80) : happens(2) else { continue }
      members.append("\"\(name)\":\(value(name))")
    }
    if happens(3) { members.append("\"more\":\(value("more"))") }
    if happens(12), let name = names.first { members.append("\"\(name)\":\(value(name))") }
    if happens(2) { members.reverse() }
    return "{" + members.joined(separator: happens(4) ? " ,\n" : ",") + "}"
  }

  private static let record = [
    "recordType", "sourceName", "startTime", "endTime", "uuid", "value", "valueText", "unit",
    "sourceBundle", "metadata",
  ]

  private static let workout = [
    "workoutType", "sourceName", "startTime", "endTime", "durationSeconds", "uuid",
    "totalDistance", "totalEnergyBurned", "statistics", "metadata", "sourceBundle",
  ]

  private static let values: [String: [String]] = [
    "dataType": ["\"x\"", "\"x\"", "\"HKWorkoutType\"", "\"\"", "\"a\\u0041\\n\""],
    "deviceId": ["\"d\"", "null", "\"\""],
    "timestamp": [
      "\"2026-01-31T08:30:00Z\"", "\"2026-01-31T08:30:01Z\"", "\"2026-01-31T08:30:02+01:00\"",
      "null", "\"2025-01-31T08:30:00Z\"",
    ],
    "recordType": [
      "\"HKQuantityTypeIdentifierStepCount\"", "\"HKQuantityTypeIdentifierStepCount\"",
      "\"HKCategoryTypeIdentifierSleepAnalysis\"", "\"HKCategoryTypeIdentifierMood\"", "\"\"",
    ],
    "sourceName": ["\"Watch\"", "\"Watch\"", "\"a|b\\\"\\u00e9\""],
    "sourceBundle": ["\"com.example\"", "null"],
    "startTime": [
      "\"2026-01-31T08:30:00Z\"", "\"2026-01-31T08:30:00Z\"", "\"2026-01-31 08:30+01:00\"",
      "\"2026-01-31T08:30:00.5Z\"",
    ],
    "endTime": ["\"2026-01-31T09:30:00Z\"", "\"2026-01-30T09:30:00Z\""],
    "uuid": [
      "\"00000000-0000-0000-0000-00000000000A\"", "\"00000000-0000-0000-0000-00000000000b\"",
      "\"00000000-0000-0000-0000-00000000000c\"", "\"00000000-0000-0000-0000-00000000000C\"",
    ],
    "value": [
      "1", "1.0", "2e0", "5", "6", "-1", "0.25", "1e21", "1e-7", "null", "1e999", "-1e999", "-0",
      "123456789012345678901234567890",
    ],
    "valueText": ["\"AsleepDeep\"", "null", "\"\"", "\"a\\\\b\""],
    "unit": ["\"count\"", "null", "\"mL/min·kg\""],
    "metadata": [
      "{}", "null", "{\"b\":\"1\",\"a\":\"2\",\"c\":3}", "{\"a\":1,\"a\":\"x\"}",
      "{\"a\":\"x\",\"a\":null,\"Z\":\"\"}",
    ],
    "workoutType": ["\"HKWorkoutActivityTypeRunning\"", "\"\""],
    "durationSeconds": [
      "60", "60.5", "1e10", "9e9", "8999999999", "-9e9", "1e999", "0",
    ],
    "totalDistance": ["1", "0.5", "null", "1e306", "-1"],
    "totalEnergyBurned": ["100", "null", "1e999", "2.5"],
    "statistics": [
      "{}", "null", "{\"heartRateAvg\":1.5,\"heartRateMin\":null,\"heartRateMax\":3}",
      "{\"heartRateMin\":2,\"x\":{}}", "{\"heartRateMax\":\"3\"}",
    ],
  ]
}
