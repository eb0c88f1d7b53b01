import HoldfastBottleData
import HoldfastCore
import Testing

/// Tests of the defaults, bits, limits and refusals of a bottle's values.
@Suite struct BottleValueTests {
  @Test func `omitted values have their defaults`() {
    #expect(
      BottleConfiguration(scale: 1, tare: 2)
        == BottleConfiguration(scale: 1, tare: 2, capacity: 830, dailyGoal: 2500))
    #expect(
      BottleRecord(id: 1, time: 2, amount: 3, level: 4)
        == BottleRecord(id: 1, time: 2, amount: 3, level: 4, kind: 0, flags: []))
    #expect(
      BottleState()
        == BottleState(
          time: 0, weight: 0, level: 0, dailyTotal: 0, battery: 100, flags: [], unsynced: 0))
    #expect(
      BottleCalibration(step: .idle)
        == BottleCalibration(step: .idle, hasFailed: false, empty: 0, full: 0))
    #expect(
      BottleActivity(motions: 1, backpacks: 2)
        == BottleActivity(
          motions: 1, backpacks: 2, isInBackpack: false, timeIsValid: false, sessionStart: 0,
          timerWakes: 0))
    #expect(
      BottleSync()
        == BottleSync(start: 0, count: 0, command: .query, status: .idle, chunkSize: 0))
    #expect(
      BottleBackpack(start: 1, seconds: 2, wakes: 3, exit: .power)
        == BottleBackpack(start: 1, seconds: 2, wakes: 3, exit: .power, flags: 0))
  }

  @Test func `each flag has its own bit`() {
    let ofState: [BottleState.Flags] = [
      .timeIsValid, .isCalibrated, .isStable, .isMeasuring, .hasMeasured, .batteryIsLow,
    ]
    #expect(ofState.map(\.rawValue) == [1, 2, 4, 8, 16, 32])
    let ofRecord: [BottleRecord.Flags] = [.isSynced, .beginsDay, .isDeleted]
    #expect(ofRecord.map(\.rawValue) == [1, 2, 4])
  }

  @Test(
    arguments: [
      (
        BottleSync(start: 258, count: 3, command: .query, status: .complete, chunkSize: 20),
        [2, 1, 3, 0, 0, 2, 20, 0]
      ),
      (BottleSync(command: .start, status: .inProgress), [0, 0, 0, 0, 1, 1, 0, 0]),
    ] as [(BottleSync, [UInt8])])
  func `each field of the sync control has its position`(control: BottleSync, bytes: [UInt8]) throws
  {
    #expect(control.bytes == bytes)
    #expect(try BottleSync(bytes) == control)
  }

  @Test func `a record keeps unknown values, and a refill keeps its sign`() throws {
    let record = BottleRecord(
      id: 0x0403_0201, time: 0x0807_0605, amount: -2, level: 0x0A09, kind: 7,
      flags: BottleRecord.Flags(rawValue: 0xF5))
    let chunk = BottleChunk(index: 258, total: 772, records: [record])
    let bytes: [UInt8] = [
      2, 1, 4, 3, 1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0xFE, 0xFF, 9, 10, 7, 0xF5,
    ]
    #expect(chunk.bytes == bytes)
    #expect(try BottleChunk(bytes) == chunk)
  }

  @Test func `an invalid chunk is refused with the reason`() {
    func problem(_ bytes: [UInt8]) -> String? {
      do throws(BottleFormatError) {
        _ = try BottleChunk(bytes)
        return nil
      } catch {
        return error.description
      }
    }
    #expect(problem([0, 0, 1, 0, 0]) == "chunk: 5 bytes instead of 6")
    #expect(problem([0, 0, 1, 0, 1, 0]) == "chunk: 6 bytes for 1 records")
    #expect(problem([0, 0, 1, 0, 0, 0, 9]) == "chunk: 7 bytes for 0 records")
    let long = [0, 0, 1, 0, 21, 0] + [UInt8](repeating: 0, count: 21 * 14)
    #expect(problem(long) == "chunk: 21 records, more than 20")
    #expect(problem([0, 0, 1, 0, 0, 9]) == nil, "the last byte means nothing")
  }

  @Test(arguments: [(10, true), (11, false)])
  func `a chunk has up to 10 motions`(count: Int, isRead: Bool) {
    let motion = BottleMotion(
      time: 9, seconds: 2, cause: .timer, sleptExtended: false, drank: true)
    let chunk = BottleActivityChunk(
      index: 1, total: 3, entries: Array(repeating: motion, count: count))
    #expect(chunk.bytes.count == 4 + 8 * count)
    #expect(((try? BottleActivityChunk<BottleMotion>(chunk.bytes)) == chunk) == isRead)
    for wrong in [Array(chunk.bytes.dropLast()), chunk.bytes + [0]] {
      #expect(throws: BottleFormatError.self) { try BottleActivityChunk<BottleMotion>(wrong) }
    }
  }

  @Test(arguments: [(5, true), (6, false)])
  func `a chunk has up to 5 backpack sessions`(count: Int, isRead: Bool) {
    let backpack = BottleBackpack(
      start: 9, seconds: 70_000, wakes: 258, exit: .motion, flags: 0xA5)
    let chunk = BottleActivityChunk(
      index: 0, total: 1, entries: Array(repeating: backpack, count: count))
    #expect(chunk.bytes.count == 4 + 12 * count)
    #expect(((try? BottleActivityChunk<BottleBackpack>(chunk.bytes)) == chunk) == isRead)
  }

  @Test func `a motion has a cause, a sleep mode and a drink flag`() throws {
    for (sleep, extended, drank) in [
      (0x00, false, false), (0x01, true, false), (0x02, false, false), (0x80, false, true),
      (0x81, true, true), (0x83, false, true),
    ] as [(UInt8, Bool, Bool)] {
      let motion = try BottleMotion([1, 0, 0, 0, 2, 0, 0, sleep])
      #expect(
        motion
          == BottleMotion(
            time: 1, seconds: 2, cause: .motion, sleptExtended: extended, drank: drank))
    }
    #expect(BottleMotion.Cause.allCases.map(\.rawValue) == [0, 1, 2])
    #expect(BottleBackpack.Exit.allCases.map(\.rawValue) == [0, 1, 2])
    for wrong in [[1, 0, 0, 0, 2, 0, 3, 0], [1, 0, 0, 0, 2, 0, 0]] as [[UInt8]] {
      #expect(throws: BottleFormatError.self) { try BottleMotion(wrong) }
    }
    let exit: [UInt8] = [1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 3, 0]
    #expect(throws: BottleFormatError.self) { try BottleBackpack(exit) }
    let known: [UInt8] = [1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 2, 9]
    #expect(
      try BottleBackpack(known)
        == BottleBackpack(start: 1, seconds: 2, wakes: 3, exit: .power, flags: 9))
  }

  @Test func `unused bits are ignored`() throws {
    #expect(try BottleSwitches([3, 0, 0, 0]) == BottleSwitches(shakeToEmpty: true))
    #expect(try BottleSwitches([2, 0, 0, 0]) == BottleSwitches(shakeToEmpty: false))
    var calibration = BottleCalibration(step: .error, hasFailed: true, empty: 1, full: 2).bytes
    #expect(calibration[1] == 1)
    calibration[1] = 0xFF
    #expect(try BottleCalibration(calibration).hasFailed)
    calibration[1] = 0xFE
    #expect(try !BottleCalibration(calibration).hasFailed)
    var activity = BottleActivity(motions: 1, backpacks: 1).bytes
    (activity[2], activity[3]) = (2, 0xFE)
    let read = try BottleActivity(activity)
    #expect((read.isInBackpack, read.timeIsValid) == (true, false))
    activity[3] = 3
    #expect(try BottleActivity(activity).timeIsValid)
  }

  @Test(arguments: BottleCalibration.Step.allCases)
  func `each step of a calibration has its number`(step: BottleCalibration.Step) throws {
    #expect(Int(step.rawValue) == BottleCalibration.Step.allCases.firstIndex(of: step))
    #expect(BottleCalibration.Step.allCases.count == 11)
    #expect(try BottleCalibration(BottleCalibration(step: step).bytes).step == step)
  }

  @Test func `a value that would be rejected is reported with the accepted range`() {
    #expect(
      BottleConfiguration(scale: 99, tare: 0).problem == "the scale factor must be 100 to 800")
    #expect(
      BottleConfiguration(scale: 100, tare: 0, dailyGoal: 999).problem
        == "the daily goal must be 1000 to 4000 ml")
    #expect(
      BottleCommand.calibrate(empty: 1, full: 2, scale: 801).problem
        == "the scale factor must be 100 to 800")
    #expect(
      BottleCommand.calibrate(empty: 2, full: 1, scale: 800).problem
        == "the raw value of the full bottle must exceed that of the empty")
    #expect(BottleCommand.setTime(0).problem == "the time must be from 2020 to 2106")
  }

  @Test(
    arguments: [
      ([], "command: 0 bytes instead of 1"), ([0x01, 0, 0], "command: 3 bytes instead of 4"),
      ([0x04], "command: 1 byte instead of 13"), ([0x10, 0], "command: 2 bytes instead of 5"),
      ([0x12, 0, 0, 0, 0, 0], "command: 6 bytes instead of 5"),
      ([0x11, 0], "command: 2 bytes instead of 3"),
      ([0x33, 0, 0, 0], "command: an unknown code 51"),
      ([0x03, 2, 0, 0], "command: an unknown code 3"),
      (
        [0x04, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x7F],
        "command: a factor that is not a finite number"
      ),
    ] as [([UInt8], String)])
  func `a command that cannot be read is refused with the reason`(bytes: [UInt8], problem: String) {
    do throws(BottleFormatError) {
      _ = try BottleCommand(bytes)
      Issue.record("the command was read")
    } catch {
      #expect(error.description == problem)
    }
  }

  @Test func `each characteristic has its number`() {
    #expect(BottleAttribute.allCases.map(\.rawValue) == [1, 2, 3, 4, 5, 6, 7, 8, 0x19])
    #expect(
      BottleAttribute.calibration.id.description == "6f75616b-7661-7465-2d00-000000000008")
    #expect(BottleAttribute.service.description == "6f75616b-7661-7465-2d00-000000000000")
    #expect(
      BottleAttribute.batteryService.description == "0000180f-0000-1000-8000-00805f9b34fb")
    #expect(
      BottleAttribute.required
        == [.state, .configuration, .syncControl, .drinks, .command, .settings])
    #expect(
      BottleAttribute.notifying == [.state, .drinks, .activity, .calibration, .battery])
  }

  @Test func `fields that are not set are zero`() throws {
    #expect(
      BottleActivity(motions: 0, backpacks: 0).bytes == Array(repeating: 0, count: 12))
    #expect(
      BottleMotion(time: 0, seconds: 0, cause: .motion, sleptExtended: false, drank: false).bytes
        == Array(repeating: 0, count: 8))
    let empty = BottleActivityChunk<BottleMotion>(index: 0, total: 0, entries: [])
    #expect(try BottleActivityChunk<BottleMotion>([0, 0, 0, 0]) == empty)
    #expect(throws: BottleFormatError.self) {
      try BottleActivityChunk<BottleMotion>([0, 0, 0])
    }
  }
}
