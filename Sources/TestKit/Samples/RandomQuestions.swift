package import HoldfastCore
package import HoldfastHealth

// These functions draw questions about health data.
extension RandomSource {
  private mutating func healthTime() -> HealthTime {
    // This time is far enough from the limits for any UTC offset.
    let nanoseconds = Int64.random(in: -2_000_000_000...7_000_000_000, using: &self) * 1_000_000_000
    let time = nanoseconds + one([0, 1, 500_000_000])
    return flag()
      ? .local(CivilTime(nanoseconds: time))
      : .instant(
        Timestamp(nanoseconds: time),
        minutesEast: maybe { Int.random(in: -840...840, using: &$0) })
  }

  private mutating func metric() -> SummaryMetric {
    SummaryMetric(
      valueType: one(HealthValueType.allCases),
      groupBy: maybe { $0.one(HealthGrouping.allCases) },
      statistic: maybe { $0.one(HealthStatistic.allCases) })
  }

  /// Draws a question for one value type, with each option or without it.
  package mutating func healthQuery() -> HealthDataQuery {
    let metric = metric()
    return HealthDataQuery(
      valueType: metric.valueType, start: healthTime(), end: healthTime(),
      groupBy: metric.groupBy, statistic: metric.statistic,
      maxBytes: maybe { $0.one([2_000, 65_536, HealthObject.maxBytes]) }, options: options())
  }

  private mutating func summaryOptions() -> HealthOptions {
    var options = options()
    (options.nearest, options.workoutType) = (false, nil)
    return options
  }

  private mutating func options() -> HealthOptions {
    HealthOptions(
      bySource: flag(), format: maybe { $0.one(HealthFormat.allCases) },
      compareWith: maybe { QuerySpan(start: $0.healthTime(), end: $0.healthTime()) },
      trend: flag(), nearest: flag(), workoutType: maybe { $0.one(["RUNNING", "é"]) })
  }

  /// Draws a question for several value types.
  ///
  /// - Parameter withRejected: Whether it may have metrics that were rejected.
  package mutating func summaryQuery(withRejected: Bool = true) -> SummaryQuery {
    let rejected = few { generator in
      RejectedMetric(
        index: generator.one([0, 1, 64]), valueType: generator.text(upTo: 2),
        reason: generator.text(upTo: 3)
      )
    }
    return SummaryQuery(
      start: healthTime(), end: healthTime(), metrics: few { $0.metric() },
      rejected: withRejected ? rejected : [], maxBytes: maybe { $0.one([2_000, 65_536]) },
      options: summaryOptions())
  }
}
