import HoldfastBottleData
import HoldfastCore
import Testing

/// Tests of the bytes of a bottle's characteristics, as specified in the contract.
@Suite struct BottleFormatTests {
  private static func bytes(_ hex: String) -> [UInt8] {
    Array(hex.utf8).chunked().map { UInt8(String(decoding: $0, as: UTF8.self), radix: 16) ?? 0 }
  }

  private static let record = BottleRecord(
    id: 41, time: 1_768_766_000, amount: 150, level: 455, kind: 1)

  @Test func `writes and reads the state`() throws {
    let state = BottleState(
      time: 1_768_766_400, weight: 412, level: 455, dailyTotal: 1200, battery: 87,
      flags: [.timeIsValid, .isCalibrated, .isStable], unsynced: 3)
    let bytes = Self.bytes("c03b6d699c01c701b00457070300")
    #expect(state.bytes == bytes)
    #expect(try BottleState(bytes) == state)
    #expect(state.measurement == nil)
  }

  @Test func `the state contains a measurement of the scale`() throws {
    var state = BottleState(flags: .hasMeasured)
    state.weight = Int16(bitPattern: 0xC007)
    state.level = 0x0006
    #expect(state.measurement == 442_375)
    state.weight = -1
    state.level = 0xFFFF
    #expect(state.measurement == -1)
  }

  @Test func `writes and reads the configuration`() throws {
    let configuration = BottleConfiguration(
      scale: 412.5, tare: 233, capacity: 830, dailyGoal: 2500)
    let bytes = Self.bytes("0040ce43e90000003e03c409")
    #expect(configuration.bytes == bytes)
    #expect(try BottleConfiguration(bytes) == configuration)
  }

  @Test func `writes and reads START and ACK`() throws {
    let start = BottleSync(count: 3, command: .start, chunkSize: 20)
    #expect(start.bytes == Self.bytes("0000030001001400"))
    #expect(try BottleSync(start.bytes) == start)
    #expect(BottleSync.acknowledgement.bytes == Self.bytes("0000000002000000"))
  }

  @Test func `writes and reads a chunk with a record`() throws {
    let chunk = BottleChunk(index: 0, total: 1, records: [Self.record])
    let bytes = Self.bytes("00000100010029000000303a6d699600c7010100")
    #expect(chunk.bytes == bytes)
    #expect(try BottleChunk(bytes) == chunk)
  }

  static let commands: [(BottleCommand, String)] = [
    (.setTime(1_768_766_400), "10c03b6d69"), (.delete(41), "1229000000"),
    (.ping, "02000000"),
    (.calibrate(empty: 100_000, full: 442_375, scale: 412.5), "04a086010007c006000040ce43"),
    (.tare, "01000000"), (.measure(full: false), "03000000"), (.measure(full: true), "03010000"),
    (.resetDaily, "05000000"), (.clearHistory, "06000000"), (.setDailyTotal(258), "110201"),
    (.startCalibration, "20000000"), (.cancelCalibration, "21000000"),
    (.activitySummary, "30000000"), (.motions(chunk: 2), "31020000"),
    (.backpacks(chunk: 255), "32ff0000"),
  ]

  @Test(arguments: commands)
  func `writes and reads each command`(command: BottleCommand, hex: String) throws {
    #expect(command.bytes == Self.bytes(hex))
    #expect(try BottleCommand(Self.bytes(hex)) == command)
  }

  @Test func `writes and reads settings and a calibration`() throws {
    #expect(BottleSwitches(shakeToEmpty: true).bytes == [1, 0, 0, 0])
    #expect(try BottleSwitches([0xFE, 0, 0, 0]) == BottleSwitches(shakeToEmpty: false))
    let calibration = BottleCalibration(step: .confirmFull, empty: -2, full: 442_375)
    let bytes = Self.bytes("0800feffffff07c006000000")
    #expect(calibration.bytes == bytes)
    #expect(try BottleCalibration(bytes) == calibration)
  }

  @Test func `writes and reads an activity summary and its lists`() throws {
    let summary = BottleActivity(
      motions: 3, backpacks: 1, isInBackpack: true, timeIsValid: true,
      sessionStart: 1_768_766_400, timerWakes: 258)
    let bytes = Self.bytes("03010101c03b6d6902010000")
    #expect(summary.bytes == bytes)
    #expect(try BottleActivity(bytes) == summary)
    let motions = BottleActivityChunk(
      index: 0, total: 1,
      entries: [
        BottleMotion(
          time: 1_768_766_400, seconds: 31, cause: .power, sleptExtended: true, drank: true)
      ])
    #expect(motions.bytes == Self.bytes("00010100c03b6d691f000281"))
    #expect(try BottleActivityChunk<BottleMotion>(motions.bytes) == motions)
    let backpacks = BottleActivityChunk(
      index: 1, total: 2,
      entries: [
        BottleBackpack(start: 1_768_766_400, seconds: 7200, wakes: 120, exit: .active)
      ])
    #expect(backpacks.bytes == Self.bytes("01020100c03b6d69201c000078000100"))
    #expect(try BottleActivityChunk<BottleBackpack>(backpacks.bytes) == backpacks)
  }

  @Test func `20 records fit a chunk, and 21 do not`() {
    for (count, isRead) in [(0, true), (20, true), (21, false)] {
      let chunk = BottleChunk(
        index: 0, total: 1, records: Array(repeating: Self.record, count: count))
      #expect(((try? BottleChunk(chunk.bytes)) == chunk) == isRead, "\(count)")
    }
  }

  @Test func `the value before the first synchronisation is blank`() throws {
    #expect(try BottleChunk(Array(repeating: 0, count: 6)).isBlank)
    #expect(try !BottleChunk(Self.bytes("000001000000")).isBlank)
  }

  @Test(arguments: [
    // The lengths 20, 182, 244 and 514 are MTUs of 23, 185, 247 and 517 minus 3 bytes.
    (0, 1), (20, 1), (33, 1), (34, 2), (182, 12), (244, 17), (285, 19), (286, 20), (514, 20),
  ])
  func `the chunk size is the number of records that fit into a notification`(
    longest: Int, records: Int
  ) {
    #expect(BottleSync.chunkSize(longestValue: longest) == records)
    #expect(
      BottleSync.request(count: 3, longestValue: longest)
        == BottleSync(count: 3, command: .start, chunkSize: UInt16(records)))
  }

  @Test(arguments: [
    (99.9, 2500, false), (100, 2500, true), (800, 2500, true), (800.1, 2500, false),
    (412.5, 999, false), (412.5, 1000, true), (412.5, 4000, true), (412.5, 4001, false),
  ])
  func `a configuration outside the accepted ranges is refused`(
    scale: Double, goal: Int, isTaken: Bool
  ) {
    let configuration = BottleConfiguration(
      scale: Float(scale), tare: 0, dailyGoal: UInt16(goal))
    #expect((configuration.problem == nil) == isTaken)
  }

  @Test(arguments: [
    (BottleCommand.calibrate(empty: 5, full: 6, scale: 100), true),
    (.calibrate(empty: 5, full: 5, scale: 100), false),
    (.calibrate(empty: 5, full: 6, scale: 99.9), false),
    (.calibrate(empty: 5, full: 6, scale: 800.1), false),
    (.setTime(1_577_836_799), false), (.setTime(1_577_836_800), true), (.setTime(.max), true),
    (.tare, true),
  ])
  func `a command outside the accepted ranges is refused`(command: BottleCommand, isTaken: Bool) {
    #expect((command.problem == nil) == isTaken)
  }

  @Test func `a factor that is not a finite number is refused`() {
    for bits in [Float.nan.bitPattern, Float.infinity.bitPattern] {
      var configuration = BottleConfiguration(scale: 0, tare: 0).bytes
      for byte in 0..<4 { configuration[byte] = UInt8(truncatingIfNeeded: bits >> (8 * byte)) }
      #expect(throws: BottleFormatError.self) { try BottleConfiguration(configuration) }
    }
  }

  @Test func `a record from a bottle without a clock has no time`() {
    #expect(Self.record.timestamp == Timestamp(nanoseconds: 1_768_766_000_000_000_000))
    var early = Self.record
    early.time = 1_577_836_799
    #expect(early.timestamp == nil)
    early.time += 1
    #expect(early.timestamp != nil)
  }

  @Test func `each characteristic is found by its id`() {
    for attribute in BottleAttribute.allCases {
      #expect(BottleAttribute(id: attribute.id) == attribute)
    }
    #expect(BottleAttribute.state.id.description == "6f75616b-7661-7465-2d00-000000000001")
    #expect(BottleAttribute.battery.id.description == "00002a19-0000-1000-8000-00805f9b34fb")
    #expect(BottleAttribute(id: BottleAttribute.service) == nil)
  }

  @Test func `unknown codes and steps are refused`() {
    #expect(throws: BottleFormatError.self) { try BottleCommand([0x07, 0, 0, 0]) }
    #expect(throws: BottleFormatError.self) { try BottleCommand([0x03, 2, 0, 0]) }
    #expect(throws: BottleFormatError.self) { try BottleCommand([0x10, 0, 0, 0]) }
    #expect(throws: BottleFormatError.self) { try BottleCommand([]) }
    #expect(throws: BottleFormatError.self) { try BottleSync([0, 0, 0, 0, 3, 0, 0, 0]) }
    #expect(throws: BottleFormatError.self) { try BottleSync([0, 0, 0, 0, 0, 3, 0, 0]) }
    #expect(throws: BottleFormatError.self) {
      try BottleCalibration([11] + Array(repeating: 0, count: 11))
    }
  }
}

extension [UInt8] {
  fileprivate func chunked() -> [[UInt8]] {
    stride(from: 0, to: count - 1, by: 2).map { Array(self[$0..<$0 + 2]) }
  }
}
