/// The totals of a workout. Before iOS 16, exports contain them as attributes. Since then, they
/// contain them as statistics.
struct ExportWorkout: Sendable {
  /// The totals read so far.
  var value: WorkoutValue {
    var value = totals
    if !distances.isEmpty { value.distance = distance ?? value.distance }
    return value
  }

  private var totals: WorkoutValue
  /// The distances in meters, by their names in the statistics, such as `Cycling`.
  private var distances: [String: Double] = [:]

  init(_ tag: borrowing ExportTag, _ bytes: Span<UInt8>) {
    totals = WorkoutValue(activity: Self.text(tag[.activity], bytes))
    if let amount = Self.number(tag[.duration], bytes),
      let factor = Self.seconds[Self.text(tag[.durationUnit], bytes)],
      0..<1e9 ~= amount * factor
    {
      totals.duration = .seconds(amount * factor)
    }
    totals.distance = Self.amount(tag[.distance], tag[.distanceUnit], bytes, Self.metres)
    totals.energy = Self.amount(tag[.energy], tag[.energyUnit], bytes, Self.kilocalories)
  }

  /// Adds a `WorkoutStatistics` element of the complete workout.
  mutating func add(_ tag: borrowing ExportTag, _ bytes: Span<UInt8>) {
    let type = Self.text(tag[.type], bytes)
    switch type {
    case "HKQuantityTypeIdentifierActiveEnergyBurned":
      totals.energy = Self.amount(tag[.sum], tag[.unit], bytes, Self.kilocalories) ?? totals.energy
    case "HKQuantityTypeIdentifierStepCount":
      totals.steps = Self.number(tag[.sum], bytes) ?? totals.steps
    case _ where type.hasPrefix(Self.distanceType):
      guard let metres = Self.amount(tag[.sum], tag[.unit], bytes, Self.metres) else { return }
      distances[String(type.dropFirst(Self.distanceType.count))] = metres
    case _: break
    }
  }

  /// The distance of the activity. The statistics of a ride can also include the walk to the
  /// bicycle, and their order is arbitrary.
  private var distance: Double? {
    let prefix = totals.activity.hasPrefix(Self.activityType) ? Self.activityType.count : 0
    let name = String(totals.activity.dropFirst(prefix))
    if name == Self.multisport {
      return distances.sorted { $0.key < $1.key }.reduce(0) { $0 + $1.value }
    }
    guard let own = Self.ownDistances[name] else { return distances.values.max() }
    return distances[own]
  }

  private static let distanceType = "HKQuantityTypeIdentifierDistance"
  private static let activityType = "HKWorkoutActivityType"
  /// The activity whose distance is the sum of its parts.
  private static let multisport = "SwimBikeRun"
  /// The names of the distances of activities that have their own. All other activities use their
  /// longest distance.
  private static let ownDistances = [
    "Walking": "WalkingRunning", "Running": "WalkingRunning", "Hiking": "WalkingRunning",
    "Cycling": "Cycling", "Swimming": "Swimming", "WheelchairWalkPace": "Wheelchair",
    "WheelchairRunPace": "Wheelchair", "CrossCountrySkiing": "CrossCountrySkiing",
    "DownhillSkiing": "DownhillSnowSports", "Snowboarding": "DownhillSnowSports",
    "PaddleSports": "PaddleSports", "Rowing": "Rowing", "SkatingSports": "SkatingSports",
  ]

  private static let seconds: [String: Double] = [
    "s": 1, "sec": 1, "min": 60, "hr": 3_600, "h": 3_600,
  ]
  /// The factors of lengths. They are based on the international foot of 1959.
  private static let metres: [String: Double] = [
    "m": 1, "km": 1_000, "cm": 0.01, "mi": 1_609.344, "ft": 0.304_8, "yd": 0.914_4,
  ]
  /// The factors of energies. HealthKit also writes kilocalories as `Cal`. The thermochemical
  /// calorie is 4.184 J.
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
    return (amount * factor).isFinite ? amount * factor : nil
  }
}
