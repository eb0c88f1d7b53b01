/// Gathers the totals of a workout: from its attributes before iOS 16, from its statistics since.
struct ExportWorkout: Sendable {
  private(set) var value: WorkoutValue

  init(_ tag: borrowing ExportTag, _ bytes: Span<UInt8>) {
    value = WorkoutValue(activity: Self.text(tag[.activity], bytes))
    if let amount = Self.number(tag[.duration], bytes),
      let factor = Self.seconds[Self.text(tag[.durationUnit], bytes)],
      0..<1e9 ~= amount * factor
    {
      value.duration = .seconds(amount * factor)
    }
    value.distance = Self.amount(tag[.distance], tag[.distanceUnit], bytes, Self.metres)
    value.energy = Self.amount(tag[.energy], tag[.energyUnit], bytes, Self.kilocalories)
  }

  /// Takes `WorkoutStatistics` of the whole workout.
  mutating func add(_ tag: borrowing ExportTag, _ bytes: Span<UInt8>) {
    let type = Self.text(tag[.type], bytes)
    switch type {
    case "HKQuantityTypeIdentifierActiveEnergyBurned":
      value.energy = Self.amount(tag[.sum], tag[.unit], bytes, Self.kilocalories) ?? value.energy
    case "HKQuantityTypeIdentifierStepCount":
      value.steps = Self.number(tag[.sum], bytes) ?? value.steps
    case _ where type.hasPrefix("HKQuantityTypeIdentifierDistance"):
      value.distance = Self.amount(tag[.sum], tag[.unit], bytes, Self.metres) ?? value.distance
    case _: break
    }
  }

  private static let seconds: [String: Double] = [
    "s": 1, "sec": 1, "min": 60, "hr": 3_600, "h": 3_600,
  ]
  /// The international foot of 1959 and what follows from it.
  private static let metres: [String: Double] = [
    "m": 1, "km": 1_000, "cm": 0.01, "mi": 1_609.344, "ft": 0.304_8, "yd": 0.914_4,
  ]
  /// HealthKit writes kilocalories as `Cal` as well; the thermochemical calorie is 4.184 J.
  private static let kilocalories: [String: Double] = [
    "kcal": 1, "Cal": 1, "cal": 0.001, "kJ": 1 / 4.184, "J": 1 / 4_184,
  ]

  private static func text(_ range: Range<Int>?, _ bytes: Span<UInt8>) -> String {
    range.map { ExportText(bytes, $0).text } ?? ""
  }

  private static func number(_ range: Range<Int>?, _ bytes: Span<UInt8>) -> Double? {
    range.flatMap { ExportNumber.read(bytes, $0) }
  }

  private static func amount(
    _ range: Range<Int>?, _ unit: Range<Int>?, _ bytes: Span<UInt8>, _ factors: [String: Double]
  ) -> Double? {
    guard let amount = number(range, bytes), let factor = factors[text(unit, bytes)] else {
      return nil
    }
    return amount * factor
  }
}
