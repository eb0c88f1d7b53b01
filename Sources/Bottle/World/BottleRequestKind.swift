import HoldfastBottleData
import HoldfastBottleLink
import HoldfastWorldKernel

/// A user's request to a bottle, and the bytes to write for it.
enum BottleRequestKind: String, CaseIterable, Sendable {
  case tare, ping, reset, settings
  case clear, shaking, total, summary, motions, backpacks
  case calibration, cancellation, empty, full
  case leastScale, mostScale, smallScale, bigScale, flatScale
  case configuration, leastGoal, mostGoal, smallGoal, bigGoal, faintScale
  case clock, earlyClock

  /// The request that is passed to the app.
  var request: BottleRequest {
    switch self {
    case .tare: .command(.tare)
    case .ping: .command(.ping)
    case .reset: .command(.resetDaily)
    case .settings: .settings(BottleSwitches(shakeToEmpty: false))
    case .clear: .command(.clearHistory)
    case .shaking: .settings(BottleSwitches(shakeToEmpty: true))
    case .total: .command(.setDailyTotal(1200))
    case .summary: .command(.activitySummary)
    case .motions: .command(.motions(chunk: 3))
    case .backpacks: .command(.backpacks(chunk: 1))
    case .calibration: .command(.startCalibration)
    case .cancellation: .command(.cancelCalibration)
    case .empty: .command(.measure(full: false))
    case .full: .command(.measure(full: true))
    case .leastScale: .command(.calibrate(empty: -5, full: -4, scale: 100))
    case .mostScale: .command(.calibrate(empty: 100_000, full: 760_000, scale: 800))
    case .smallScale: .command(.calibrate(empty: 0, full: 1, scale: 99))
    case .bigScale: .command(.calibrate(empty: 0, full: 1, scale: 801))
    case .flatScale: .command(.calibrate(empty: 7, full: 7, scale: 400))
    case .configuration: .configuration(BottleConfiguration(scale: 400, tare: -120, capacity: 750))
    case .leastGoal: .configuration(BottleConfiguration(scale: 100, tare: 0, dailyGoal: 1000))
    case .mostGoal: .configuration(BottleConfiguration(scale: 800, tare: 9, dailyGoal: 4000))
    case .smallGoal: .configuration(BottleConfiguration(scale: 400, tare: 0, dailyGoal: 999))
    case .bigGoal: .configuration(BottleConfiguration(scale: 400, tare: 0, dailyGoal: 4001))
    case .faintScale: .configuration(BottleConfiguration(scale: 99, tare: 0))
    case .clock: .command(.setTime(1_577_836_800))
    case .earlyClock: .command(.setTime(1_577_836_799))
    }
  }

  /// The attribute and the bytes to write; `nil` if the app must reject the request.
  var written: (attribute: BottleAttribute, bytes: [UInt8])? {
    switch self {
    case .tare: (.command, [0x01, 0, 0, 0])
    case .ping: (.command, [0x02, 0, 0, 0])
    case .reset: (.command, [0x05, 0, 0, 0])
    case .settings: (.settings, [0, 0, 0, 0])
    case .clear: (.command, [0x06, 0, 0, 0])
    case .shaking: (.settings, [1, 0, 0, 0])
    case .total: (.command, [0x11, 0xB0, 0x04])
    case .summary: (.command, [0x30, 0, 0, 0])
    case .motions: (.command, [0x31, 3, 0, 0])
    case .backpacks: (.command, [0x32, 1, 0, 0])
    case .calibration: (.command, [0x20, 0, 0, 0])
    case .cancellation: (.command, [0x21, 0, 0, 0])
    case .empty: (.command, [0x03, 0, 0, 0])
    case .full: (.command, [0x03, 1, 0, 0])
    case .leastScale:
      (.command, [0x04, 0xFB, 0xFF, 0xFF, 0xFF, 0xFC, 0xFF, 0xFF, 0xFF, 0, 0, 0xC8, 0x42])
    case .mostScale:
      (.command, [0x04, 0xA0, 0x86, 0x01, 0, 0xC0, 0x98, 0x0B, 0, 0, 0, 0x48, 0x44])
    case .configuration:
      (.configuration, [0, 0, 0xC8, 0x43, 0x88, 0xFF, 0xFF, 0xFF, 0xEE, 0x02, 0xC4, 0x09])
    case .leastGoal:
      (.configuration, [0, 0, 0xC8, 0x42, 0, 0, 0, 0, 0x3E, 0x03, 0xE8, 0x03])
    case .mostGoal:
      (.configuration, [0, 0, 0x48, 0x44, 9, 0, 0, 0, 0x3E, 0x03, 0xA0, 0x0F])
    case .clock: (.command, [0x10, 0, 0xE1, 0x0B, 0x5E])
    case .smallScale, .bigScale, .flatScale, .smallGoal, .bigGoal, .faintScale, .earlyClock: nil
    }
  }

  /// Returns whether the app must reject a request.
  static func isRefused(_ request: BottleRequest) -> Bool {
    allCases.contains { $0.written == nil && $0.request == request }
  }

  /// Returns the attribute and the bytes to write for a request; `nil` if this world has no such
  /// request or the app must reject it.
  static func written(_ request: BottleRequest) -> (attribute: BottleAttribute, bytes: [UInt8])? {
    if case .command(.delete(let id)) = request {
      return (.command, [0x12] + LittleEndian.bytes(id, 4))
    }
    return allCases.first { $0.request == request }?.written
  }
}
