import LinkCore
import LinkJSON

extension SyncBatch {
  /// The batch as the body of a request.
  public var bytes: [UInt8] {
    var writer = JSONWriter()
    writer.object {
      $0.entry("dataType", dataType)
      if let records {
        $0.array("records") { for record in records { record.write(to: &$0) } }
      }
      if let workouts {
        $0.array("workouts") { for workout in workouts { workout.write(to: &$0) } }
      }
      $0.array("deletedUUIDs") { for uuid in deletedUUIDs { $0.string(uuid.upperCase) } }
      $0.entry("deviceId", deviceID)
      $0.optional("timestamp", timestamp?.text)
    }
    return writer.bytes
  }
}

extension SyncRecord {
  fileprivate func write(to writer: inout JSONWriter) {
    writer.object {
      $0.entry("recordType", recordType)
      $0.entry("sourceName", sourceName)
      $0.optional("sourceBundle", sourceBundle)
      $0.number("value", value)
      switch valueText {
      case .absent: break
      case .null: $0.entry("valueText", String?.none)
      case .text(let text): $0.entry("valueText", text)
      }
      $0.optional("unit", unit)
      $0.entry("startTime", start.text)
      $0.entry("endTime", end.text)
      $0.metadata(metadata)
      $0.optional("uuid", uuid?.upperCase)
    }
  }
}

extension SyncWorkout {
  fileprivate func write(to writer: inout JSONWriter) {
    writer.object {
      $0.entry("workoutType", workoutType)
      $0.entry("sourceName", sourceName)
      $0.optional("sourceBundle", sourceBundle)
      $0.entry("startTime", start.text)
      $0.entry("endTime", end.text)
      $0.number("durationSeconds", durationSeconds)
      $0.number("totalDistance", totalDistance)
      $0.number("totalEnergyBurned", totalEnergyBurned)
      if let statistics {
        $0.object("statistics") {
          $0.number("heartRateAvg", statistics.heartRateAvg)
          $0.number("heartRateMin", statistics.heartRateMin)
          $0.number("heartRateMax", statistics.heartRateMax)
        }
      }
      $0.metadata(metadata)
      $0.optional("uuid", uuid?.upperCase)
    }
  }
}

extension UUID128 {
  /// The form in which HealthKit writes a UUID.
  var upperCase: String { description.uppercased() }
}

extension JSONWriter {
  fileprivate mutating func optional(_ name: String, _ text: String?) {
    if let text { entry(name, text) }
  }

  /// Writes a number as JavaScript does. JSON has no infinite ones, and a number that is too large
  /// is read as one.
  fileprivate mutating func number(_ name: String, _ value: Double?) {
    guard let value, !value.isNaN else { return }
    key(name)
    let large = value.sign == .minus ? "-1e999" : "1e999"
    raw(value.isInfinite ? Array(large.utf8) : SyncNumber.text(value))
  }

  fileprivate mutating func metadata(_ metadata: [String: String]?) {
    guard let metadata else { return }
    object("metadata") {
      for (key, value) in metadata.sorted(by: { $0.key < $1.key }) { $0.entry(key, value) }
    }
  }
}
