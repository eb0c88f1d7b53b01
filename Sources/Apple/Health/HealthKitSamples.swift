#if canImport(HealthKit)
  import Foundation
  import HealthKit
  import HoldfastCore
  import HoldfastHealthSamples

  /// A reader that turns HealthKit's samples into samples of this package.
  ///
  /// The result has the form that an export of the same sample has: whole seconds, at most six
  /// significant digits, and the names of categories and activities. An exported sample without a
  /// creation date, which HealthKit does not tell, then has the same key as the live one.
  struct HealthKitSamples: Sendable {
    let units: HealthKitUnits

    /// Returns the sample.
    ///
    /// - Throws: `.other` if a quantity does not fit its unit. The sample is not left out, because
    ///   nobody would notice that it is missing.
    func sample(_ sample: HKSample) throws(HealthKitFailure) -> HealthSample {
      let type = sample.sampleType.identifier
      var unit: String?
      let value: HealthSampleValue
      switch sample {
      case let quantity as HKQuantitySample:
        guard let spelling = units.unit(of: type) else { throw .unknown(type) }
        guard let number = quantity.quantity.number(in: spelling) else {
          throw .other(detail: "samples of \(type) have no value in \(spelling)")
        }
        (value, unit) = (.quantity(number.exported), spelling)
      case let category as HKCategorySample:
        value = .category(HealthKitNames.category(category.value, of: type))
      case let workout as HKWorkout: value = .workout(WorkoutValue(workout))
      case _: throw .unknown(type)
      }
      let zone = sample.metadata?[HKMetadataKeyTimeZone] as? String
      return HealthSample(
        type: type, value: value, unit: unit, start: Timestamp(second: sample.startDate),
        end: Timestamp(second: sample.endDate), source: sample.sourceRevision.source.name.printable,
        device: sample.device?.exported, zone: zone.flatMap { $0.isEmpty ? nil : $0.printable })
    }
  }

  extension HKQuantity {
    /// Returns the number in a unit, or `nil` if the unit is not compatible. HealthKit would raise
    /// an exception, which ends the app.
    fileprivate func number(in spelling: String) -> Double? {
      let unit = HKUnit(from: spelling)
      return self.is(compatibleWith: unit) ? doubleValue(for: unit) : nil
    }
  }

  extension Double {
    /// The number as an export contains it: with at most six significant digits.
    fileprivate var exported: Double {
      // Larger numbers would lose whole units.
      guard abs(self) < 1e6 else { return self }
      return Double(String(format: "%.6g", self)) ?? self
    }
  }

  extension String {
    /// The text without the control characters that the reader of exports removes.
    var printable: String {
      guard unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F }) else {
        return self
      }
      var text = ""
      text.unicodeScalars.append(
        contentsOf: unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F })
      return text
    }
  }

  extension HKDevice {
    /// The description in the form of an export, without the address in memory.
    fileprivate var exported: String? {
      let parts = [
        ("name", name), ("manufacturer", manufacturer), ("model", model),
        ("hardware", hardwareVersion), ("firmware", firmwareVersion),
        ("software", softwareVersion),
      ]
      let known = parts.compactMap { name, value in value.map { "\(name):\($0.printable)" } }
      return known.isEmpty ? nil : known.joined(separator: ", ")
    }
  }

  extension Timestamp {
    /// Creates the whole second in which a date lies. Exports have no fractions.
    init(second date: Date) {
      let seconds = date.timeIntervalSince1970.rounded(.down)
      // Every number outside these bounds is far beyond the years of a timestamp.
      self.init(seconds: Int64(max(-1e15, min(seconds, 1e15))), nanoseconds: 0)
    }

    /// The time as a date.
    var date: Date { Date(timeIntervalSince1970: Double(nanoseconds) / 1e9) }
  }

  extension WorkoutValue {
    /// Creates the totals of a workout, by the rules that also apply to an exported workout.
    fileprivate init(_ workout: HKWorkout) {
      self.init(activity: HealthKitNames.activity(workout.workoutActivityType.rawValue))
      if (0..<1e9).contains(workout.duration) { duration = .seconds(workout.duration) }
      var distances: [String: Double] = [:]
      for (type, statistics) in workout.allStatistics {
        let name = type.identifier.dropFirst(HealthKitTypes.quantityPrefix.count)
        switch name {
        case "ActiveEnergyBurned": energy = statistics.sumQuantity()?.number(in: "kcal")
        case "StepCount": steps = statistics.sumQuantity()?.number(in: "count")
        case _ where name.hasPrefix("Distance"):
          distances[String(name.dropFirst("Distance".count))] =
            statistics.sumQuantity()?.number(in: "m")
        case _: break
        }
      }
      distance = Self.distance(distances, of: activity)
    }

    /// Returns the distance of an activity. A ride can also include the walk to the bicycle.
    private static func distance(_ distances: [String: Double], of activity: String) -> Double? {
      let name = String(activity.dropFirst("HKWorkoutActivityType".count))
      if name == "SwimBikeRun" {
        return distances.isEmpty
          ? nil : distances.sorted { $0.key < $1.key }.reduce(0) { $0 + $1.value }
      }
      guard let own = ownDistances[name] else { return distances.values.max() }
      return distances[own]
    }

    /// The distances of activities that have their own.
    private static let ownDistances = [
      "Walking": "WalkingRunning", "Running": "WalkingRunning", "Hiking": "WalkingRunning",
      "Cycling": "Cycling", "Swimming": "Swimming", "WheelchairWalkPace": "Wheelchair",
      "WheelchairRunPace": "Wheelchair", "CrossCountrySkiing": "CrossCountrySkiing",
      "DownhillSkiing": "DownhillSnowSports", "Snowboarding": "DownhillSnowSports",
      "PaddleSports": "PaddleSports", "Rowing": "Rowing", "SkatingSports": "SkatingSports",
    ]
  }
#endif
