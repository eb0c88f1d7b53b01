import HoldfastCore
import HoldfastJSON
import HoldfastSyncData
import HoldfastTestKit
import Testing

@Suite struct SyncBatchTests {
  private static let start = SyncTime(Timestamp(nanoseconds: 1_768_766_400_000_000_000))
  private static let id = UUID128(high: 0xA, low: 0xB)

  private static let batch = SyncBatch(
    dataType: "HKQuantityTypeIdentifierHeartRate",
    records: [
      SyncRecord(
        recordType: "HKQuantityTypeIdentifierHeartRate", sourceName: "Apple Watch",
        sourceBundle: "com.apple.health", value: 72, unit: "count/min", start: start, end: start,
        metadata: ["b": "2", "a": "1"], uuid: id),
      SyncRecord(
        recordType: "HKCategoryTypeIdentifierSleepAnalysis", sourceName: "Apple Watch", value: 3,
        valueText: .text("AsleepCore"), start: start, end: start),
      SyncRecord(recordType: "x", sourceName: "", valueText: .null, start: start, end: start),
    ],
    workouts: [
      SyncWorkout(
        workoutType: "HKWorkoutActivityTypeRunning", sourceName: "Apple Watch", start: start,
        end: start, durationSeconds: 1834.27, totalDistance: 3.1, totalEnergyBurned: 300,
        statistics: .init(heartRateAvg: 140, heartRateMin: 90.5, heartRateMax: 171), uuid: id)
    ],
    deletedUUIDs: [id], deviceID: "phone", timestamp: start)

  private static func read(_ text: String) throws(FieldFault) -> SyncBatch {
    try SyncBatch.read(Array(text.utf8))
  }

  private static func records(_ members: String) -> String {
    #"{"dataType":"t","records":[{"recordType":"r","sourceName":"s","#
      + #""startTime":"2026-01-18T20:00:00Z","endTime":"2026-01-18T20:00:00Z"\#(members)}]}"#
  }

  @Test func `writes the members of the contract, whole seconds and upper-case UUIDs`() {
    let uuid = "00000000-0000-000A-0000-00000000000B"
    let time = "2026-01-18T20:00:00Z"
    let times = #""startTime":"\#(time)","endTime":"\#(time)""#
    #expect(
      Self.batch.bytes.text
        == #"{"dataType":"HKQuantityTypeIdentifierHeartRate","records":["#
        + #"{"recordType":"HKQuantityTypeIdentifierHeartRate","sourceName":"Apple Watch","#
        + #""sourceBundle":"com.apple.health","value":72,"unit":"count/min",\#(times),"#
        + #""metadata":{"a":"1","b":"2"},"uuid":"\#(uuid)"},"#
        + #"{"recordType":"HKCategoryTypeIdentifierSleepAnalysis","sourceName":"Apple Watch","#
        + #""value":3,"valueText":"AsleepCore",\#(times)},"#
        + #"{"recordType":"x","sourceName":"","valueText":null,\#(times)}],"#
        + #""workouts":[{"workoutType":"HKWorkoutActivityTypeRunning","sourceName":"Apple Watch","#
        + #"\#(times),"durationSeconds":1834.27,"totalDistance":3.1,"totalEnergyBurned":300,"#
        + #""statistics":{"heartRateAvg":140,"heartRateMin":90.5,"heartRateMax":171},"#
        + #""uuid":"\#(uuid)"}],"deletedUUIDs":["\#(uuid)"],"deviceId":"phone","#
        + #""timestamp":"\#(time)"}"#)
  }

  @Test func `records the byte range of each record and workout`() throws {
    let body = Self.batch.bytes
    let reading = try SyncReading.read(body)
    #expect(reading.recordRanges.count == 3)
    #expect(
      Array(body[reading.recordRanges[2]]).text
        == #"{"recordType":"x","sourceName":"","valueText":null,"#
        + #""startTime":"2026-01-18T20:00:00Z","endTime":"2026-01-18T20:00:00Z"}"#)
    #expect(body[reading.workoutRanges[0]].starts(with: #"{"workoutType""#.utf8))
  }

  @Test func `the last of repeated lists counts, with its byte ranges`() throws {
    let list = String(Self.records("").dropFirst(#"{"dataType":"t","#.count).dropLast())
    let twice = try SyncReading.read(Array(#"{"dataType":"t",\#(list),\#(list)}"#.utf8))
    let once = try SyncReading.read(Array(Self.records("").utf8))
    #expect(twice.batch == once.batch)
    let moved = list.utf8.count + 1
    #expect(
      twice.recordRanges
        == once.recordRanges.map { $0.lowerBound + moved..<$0.upperBound + moved })
    let none = try SyncReading.read(Array(#"{"dataType":"t",\#(list),"records":null}"#.utf8))
    #expect(none.recordRanges == [])
  }

  @Test(
    arguments: [
      (-1, "1969-12-31T23:59:59Z"), (0, "1970-01-01T00:00:00Z"),
      (999_999_999, "1970-01-01T00:00:00Z"), (1_000_000_000, "1970-01-01T00:00:01Z"),
    ] as [(Int64, String)])
  func `a time is rounded down to a second`(nanoseconds: Int64, text: String) {
    #expect(SyncTime(Timestamp(nanoseconds: nanoseconds)).text == text)
  }

  @Test func `the earliest time is rounded up, since no earlier second can be written`() {
    let time = SyncTime(Timestamp(nanoseconds: .min))
    #expect(time.text == "1677-09-21T00:12:44Z")
    #expect(time.instant == Timestamp(nanoseconds: -9_223_372_036_000_000_000))
    let next = SyncTime(Timestamp(nanoseconds: -9_223_372_035_000_000_001))
    #expect(next.instant == time.instant)
  }

  @Test func `numbers that are too large keep their sign`() {
    var record = SyncRecord(recordType: "r", sourceName: "s", start: Self.start, end: Self.start)
    for (value, text) in [
      (Double.infinity, #""value":1e999,"#), (-.infinity, #""value":-1e999,"#),
      (0.5, #""value":0.5,"#), (-0.5, #""value":-0.5,"#),
    ] {
      record.value = value
      let batch = SyncBatch(dataType: "t", records: [record], timestamp: nil)
      #expect(batch.bytes.text.contains(text))
    }
  }

  @Test(arguments: [
    "", " ", "[]", "17", "null", "\"x\"", "{", "{}", #"{"dataType":""}"#, #"{"dataType":null}"#,
    #"{"dataType":"t"} x"#, #"{"dataType":7}"#, #"{"dataType":"t","records":{}}"#,
    #"{"dataType":"t","records":[7]}"#, #"{"dataType":"t","records":[null]}"#,
    #"{"dataType":"t","deletedUUIDs":["x"]}"#, #"{"dataType":"t","deletedUUIDs":[null]}"#,
    #"{"dataType":"t","timestamp":"yesterday"}"#, #"{"dataType":"t","timestamp":"2026-01-18"}"#,
    records(#","value":"72""#), records(#","value":true"#), records(#","valueText":1"#),
    records(#","unit":1"#), records(#","uuid":"1""#), records(#","metadata":[]"#),
  ])
  func `refuses text that is not a batch`(text: String) {
    #expect(throws: FieldFault.self) { try Self.read(text) }
  }

  @Test(arguments: ["recordType", "sourceName", "startTime", "endTime"])
  func `names the member that is missing in a record`(member: String) {
    let text = Self.records("").replacing("\"\(member)\"", with: "\"other\"")
    #expect(throws: FieldFault.self) { try Self.read(text) }
    do {
      _ = try Self.read(text)
    } catch {
      #expect("\(error)".hasPrefix("a record without \(member) ends at byte"))
    }
  }

  @Test(
    arguments: [
      (#","value":1e21"#, 1e21, SyncText.absent), (#","value":1e400"#, .infinity, .absent),
      (#","value":-1e400"#, -.infinity, .absent), ("", nil, .absent),
      (#","value":null"#, nil, .absent), (#","value":null,"valueText":null"#, nil, .null),
      (#","valueText":"x","new":{"a":[1]}"#, nil, .text("x")),
      (#","value":1,"value":2"#, 2, .absent),
      (#","uuid":null,"unit":null,"metadata":null"#, nil, .absent),
    ] as [(String, Double?, SyncText)])
  func `accepts unusual values that are legal`(members: String, value: Double?, text: SyncText)
    throws
  {
    let record = try #require(try Self.read(Self.records(members)).records?.first)
    #expect(record.value == value)
    #expect(record.valueText == text)
    let again = SyncBatch(dataType: "t", records: [record], timestamp: nil)
    #expect(try SyncBatch.read(again.bytes) == again)
  }

  @Test func `only the type of a batch is required`() throws {
    #expect(
      try Self.read(
        #"{"dataType":"t","records":null,"workouts":null,"deletedUUIDs":null,"deviceId":null,"#
          + #""timestamp":null}"#)
        == SyncBatch(dataType: "t", timestamp: nil))
  }

  @Test func `metadata that is not text is left out`() throws {
    let record = try Self.read(Self.records(#","metadata":{"a":1,"b":"2","c":{"d":"e"}}"#))
    #expect(record.records?.first?.metadata == ["b": "2"])
  }
}

extension [UInt8] {
  fileprivate var text: String { String(decoding: self, as: UTF8.self) }
}
