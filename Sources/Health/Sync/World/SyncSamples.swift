import HoldfastCore
import HoldfastHealth
import HoldfastHealthSamples
import HoldfastLinkChecks
import HoldfastSyncChecks
import HoldfastWorldKernel

/// A generator for the samples of a person with two devices and many types, over several weeks.
enum SyncSamples {
  static let types = [
    "HKQuantityTypeIdentifierStepCount", "HKQuantityTypeIdentifierHeartRate",
    HealthSample.workoutType, "HKQuantityTypeIdentifierActiveEnergyBurned",
    "HKCategoryTypeIdentifierSleepAnalysis", "HKQuantityTypeIdentifierRestingHeartRate",
    "HKQuantityTypeIdentifierHeartRateVariabilitySDNN", "HKQuantityTypeIdentifierVO2Max",
  ]

  /// The sleep stage of each half hour of a night, starting at 22:00.
  static let stages = [
    "InBed", "AsleepCore", "AsleepDeep", "Awake", "AsleepREM", "AsleepCore",
    "AsleepUnspecified", "AsleepCore",
  ]
  static let stagePrefix = "HKCategoryValueSleepAnalysis"

  /// Returns a sample of a type that is derived from a number.
  ///
  /// - Parameter zone: The person's time zone.
  static func make(
    _ type: String, at time: Timestamp, of phone: Int, in zone: SyncZone, _ word: UInt64
  ) -> HealthSample {
    let second: Int64 = 1_000_000_000
    let now = floorDivide(time.nanoseconds, second)
    let age = Int64(word >> 8 % 25) * 86_400 + Int64(word >> 16 % 1_440) * 60
    var start = now - age
    var length = 60 + Int64(word >> 40 % 1_800)
    var source = word >> 32 % 3 == 0 ? "Phone \(phone)" : "Watch \(phone)"
    let value: HealthSampleValue
    var unit: String?
    switch types.firstIndex(of: type) {
    case 0: (value, unit) = (.quantity(Double(word % 200)), "count")
    case 2:
      let energy = word % 2 == 0 ? Double(word % 500) : nil
      value = .workout(
        WorkoutValue(
          activity: "HKWorkoutActivityTypeRunning", duration: .seconds(length),
          distance: Double(word % 9_000), energy: energy))
    case 3: (value, unit) = (.quantity(Double(word % 300)), word % 2 == 0 ? "kcal" : "kJ")
    case 4:
      let slot = Int(word >> 8 % 8)
      let night = floorDivide(now + zone.first, 86_400) - Int64(word >> 16 % 25)
      start = night * 86_400 - 7_200 + Int64(slot) * 1_800 - zone.first
      (length, source) = (1_800, "Watch \(phone)")
      value = .category(stagePrefix + stages[slot])
    case let index:
      length = 0
      value = .quantity(Double(40 + word % 120))
      unit = index == 6 ? word % 2 == 0 ? "ms" : "s" : index == 7 ? "mL/min·kg" : "count/min"
    }
    return HealthSample(
      type: type, value: value, unit: unit, start: Timestamp(nanoseconds: start * second),
      end: Timestamp(nanoseconds: (start + length) * second), source: source)
  }

  static func floorDivide(_ number: Int64, _ divisor: Int64) -> Int64 {
    number >= 0 ? number / divisor : -((divisor - 1 - number) / divisor)
  }
}

/// A person's time zone. It has one UTC offset until a change and another from then on, in seconds.
struct SyncZone {
  var name: String
  var first: Int64
  var change: Int64
  var second: Int64

  /// Creates the time zone of a phone's user in a run. Its clocks change at 03:00, ten days before
  /// the run.
  init(_ phone: Int, seed: UInt64) {
    let number = Int(seed % 7) + phone * 3
    let offsets: [Int64] = [0, 3_600, -18_000, 19_800, -39_600, 46_800, 7_200]
    first = offsets[number % 7]
    second = first + [0, 3_600, -3_600][number % 3]
    let today = SyncSamples.floorDivide(
      Kernel<SyncFeature>.wallBase.nanoseconds / 1_000_000_000 + first, 86_400)
    change = (today - 10) * 86_400 + 10_800 - first
    name = "Zone/\(number)"
  }

  /// The rules of the zone in the form that the server uses.
  var rules: ZoneRules {
    ZoneRules(
      initialSecondsEast: Int(first),
      transitions: [
        ZoneRules.Transition(
          at: Timestamp(nanoseconds: change * 1_000_000_000), secondsEast: Int(second))
      ], name: name)
  }

  /// Converts a Unix time to local time, in seconds.
  func local(_ second: Int64) -> Int64 { second + (second < change ? first : self.second) }

  /// Returns the local day of a Unix time, in days since 1970-01-01.
  func day(_ second: Int64) -> Int64 { SyncSamples.floorDivide(local(second), 86_400) }

  /// Formats a day as a date, such as `2026-01-31`.
  static func date(_ day: Int64) -> String {
    var (rest, year, month) = (day, 1970, 0)
    func isLeap(_ year: Int) -> Bool {
      year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    }
    while rest >= (isLeap(year) ? 366 : 365) {
      rest -= isLeap(year) ? 366 : 365
      year += 1
    }
    var months: [Int64] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    if isLeap(year) { months[1] = 29 }
    while rest >= months[month] {
      rest -= months[month]
      month += 1
    }
    return "\(year)-\(two(Int64(month) + 1))-\(two(rest + 1))"
  }

  /// Formats a Unix time as a local date and time, such as `2026-01-31T08:30:00`.
  func text(_ second: Int64) -> String {
    let rest = local(second) - day(second) * 86_400
    let (hour, minute) = (rest / 3_600, rest / 60 % 60)
    return Self.date(day(second)) + "T\(Self.two(hour)):\(Self.two(minute)):\(Self.two(rest % 60))"
  }

  private static func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
