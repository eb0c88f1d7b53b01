/// The calendar span of one aggregated point, or the part of all days that it covers, in the user's
/// time zone.
public enum HealthGrouping: String, Sendable, Hashable, Codable, CaseIterable {
  case hour = "HOUR"
  case day = "DAY"
  /// A week from Monday to Sunday (ISO 8601).
  case week = "WEEK"
  case month = "MONTH"
  case year = "YEAR"
  /// The complete requested interval, as one span.
  case total = "TOTAL"
  /// Seven points: all Mondays of the interval together, all Tuesdays, and so on.
  case weekday = "WEEKDAY"
  /// Two points: Monday to Friday, and the weekend.
  case weekpart = "WEEKPART"
  /// 24 points: the time from 00:00 to 01:00 of all days together, and so on.
  case hourOfDay = "HOUR_OF_DAY"
}

/// The way in which the samples of one span are combined into one number.
public enum HealthStatistic: String, Sendable, Hashable, Codable, CaseIterable {
  case sum = "SUM"
  case average = "AVERAGE"
  case min = "MIN"
  case max = "MAX"
  /// The number of samples, sessions or nights.
  case count = "COUNT"
  /// The last value, with its own time.
  case latest = "LATEST"
}
