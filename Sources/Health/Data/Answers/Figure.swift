/// The way in which the values of a type combine: HealthKit's `HKQuantityAggregationStyle`.
enum Aggregation: Sendable, Hashable {
  /// Amounts that can be added: steps, energy, distance, water, minutes, workouts.
  case cumulative
  /// Readings that cannot be added: heart rate, pressure, oxygen, speed, glucose, weight.
  case discrete
  /// Sessions of sleep, which are combined by night.
  case nightly
  /// Events, which are counted. Their lengths can be added.
  case events
}

/// The kind of number in a point of a statistic. Its raw value is the name in the point.
enum Figure: String, Sendable, Hashable, CaseIterable {
  case sum, average, min, max, count, latest
  /// An average in which each value is weighted by the time to the next one.
  case averageOverTime = "average_over_time"
  /// The average of the daily sums of all days that have data.
  case averagePerDay = "average_per_day"
  case minPerDay = "min_per_day"
  case maxPerDay = "max_per_day"
  /// The average of all nights. Naps are excluded.
  case averagePerNight = "average_per_night"
  case minPerNight = "min_per_night"
  case maxPerNight = "max_per_night"
  /// The workout with the least distance or, if none has a distance, the least duration.
  case shortest
  /// The workout with the greatest distance or, if none has a distance, the greatest duration.
  case longest

  /// Whether the figure is computed from whole days or nights, so that it does not exist for an
  /// hour.
  var needsDays: Bool {
    switch self {
    case .sum, .average, .averageOverTime, .min, .max, .count, .latest, .shortest, .longest: false
    case .averagePerDay, .minPerDay, .maxPerDay, .averagePerNight, .minPerNight, .maxPerNight: true
    }
  }

  /// Whether a day that is not whole would lower the figure.
  var needsWholeDays: Bool { self == .averagePerDay || self == .minPerDay }

  /// Whether the figure is the value of one sample, so that its point has the times of the sample.
  var isOfOneSample: Bool { self == .latest || self == .shortest || self == .longest }

  /// Whether the figure is a sum or is computed from sums. Overlapping sources then have a merged
  /// value.
  var isAdded: Bool { self == .sum || needsDays }

  /// The statistic that requests the figure.
  var statistic: HealthStatistic {
    switch self {
    case .sum: .sum
    case .average, .averageOverTime, .averagePerDay, .averagePerNight: .average
    case .min, .minPerDay, .minPerNight, .shortest: .min
    case .max, .maxPerDay, .maxPerNight, .longest: .max
    case .count: .count
    case .latest: .latest
    }
  }

  /// Returns the combined value of several days, or `nil` if no day has data.
  func combine(_ days: [(value: Double, isKnown: Bool)]) -> Double? {
    let known = days.lazy.filter(\.isKnown).map(\.value)
    let count = known.count
    guard count > 0 else { return nil }
    switch self {
    case .sum, .count: return known.reduce(0, +)
    case .average, .averageOverTime, .averagePerDay, .averagePerNight:
      return known.reduce(0, +) / Double(count)
    case .min, .minPerDay, .minPerNight: return known.min()
    case .max, .maxPerDay, .maxPerNight: return known.max()
    case .latest, .shortest, .longest: return known.last
    }
  }
}

extension HealthKind {
  /// Returns the figure of a statistic for this type. Without a statistic, the figure is the sum
  /// for cumulative types and the average for other types. For sleep by the hour, it is the sum.
  /// For amounts on weekdays or at hours of the day, it is the average of the days.
  ///
  /// - Throws: An error that explains why there is no such figure and what to request instead.
  func figure(
    _ statistic: HealthStatistic?, by grouping: HealthGrouping
  ) throws(AnswerRefusal) -> Figure {
    let figure = figure(statistic ?? usualStatistic(by: grouping))
    guard let figure else {
      throw aggregation == .events ? .onlyCounted(types: [type]) : .cannotAdd(types: [type])
    }
    guard !figure.needsDays || grouping != .hour else {
      throw .needsDays(types: [type], figure.statistic)
    }
    if grouping == .hourOfDay, aggregation == .nightly || figure.needsDays,
      figure != .averagePerDay
    {
      let isSleep = aggregation == .nightly
      throw .option(isSleep ? .sleepHasNoHours : .daysHaveNoHours(type: type))
    }
    return figure
  }

  private func usualStatistic(by grouping: HealthGrouping) -> HealthStatistic {
    switch aggregation {
    // The number of Mondays depends on the span, so sums of Mondays cannot be compared.
    case .cumulative: grouping.isRecurring && !isSession ? .average : .sum
    case .discrete: .average
    case .nightly: grouping == .hour ? .sum : .average
    case .events: .count
    }
  }

  private func figure(_ statistic: HealthStatistic) -> Figure? {
    switch statistic {
    case .sum: aggregation == .discrete ? nil : .sum
    case .average:
      figure(
        isHeld ? .averageOverTime : .average, perDay: .averagePerDay, perNight: .averagePerNight)
    case .min:
      measure == .workout
        ? .shortest : figure(.min, perDay: .minPerDay, perNight: .minPerNight)
    case .max:
      measure == .workout ? .longest : figure(.max, perDay: .maxPerDay, perNight: .maxPerNight)
    case .count: .count
    case .latest: .latest
    }
  }

  private func figure(_ plain: Figure, perDay: Figure, perNight: Figure) -> Figure? {
    switch aggregation {
    case .events: nil
    case .discrete: plain
    case .cumulative: perDay
    case .nightly: perNight
    }
  }
}

extension HealthKind {
  /// Whether the samples are sessions, which are counted as a whole.
  var isSession: Bool { measure == .minutes || measure == .workout }
}

/// A namespace for conversions between units of the same dimension.
package enum HealthUnits {
  /// Converts a number to another unit. Returns `nil` if a unit is unknown or the dimensions
  /// differ.
  package static func convert(_ value: Double, from unit: String, to other: String) -> Double? {
    guard unit != other else { return value }
    for dimension in dimensions {
      guard let from = dimension.scale(from: unit), let into = dimension.scale(from: other) else {
        continue
      }
      if from == into { return value }
      guard from.offset == 0, into.offset == 0 else { return into.inverse(from(value)) }
      return from.factor == into.factor ? value : value * from.factor / into.factor
    }
    return nil
  }

  /// The dimensions of units that are converted. If dimensions share a unit, those of readings take
  /// precedence over those of nutrients.
  private static let dimensions: [Dimension] = [
    .mass, .energy, .count, .beats, .length, .time, .interval, .temperature, .pressure, .speed,
    .volume, .glucose, .gram, .power, .oxygenUptake, .effort, .conductance, .flow,
  ]
}
