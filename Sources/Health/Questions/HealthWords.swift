/// A value type that an assistant can request. It includes one or more types of sample.
public enum HealthValueType: String, Sendable, Hashable, Codable, CaseIterable {
  case steps = "STEPS"
  case heartRate = "HEART_RATE"
  case heartRateVariability = "HRV"
  case calories = "CALORIES"
  case bloodOxygen = "BLOOD_OXYGEN"
  case bloodPressure = "BLOOD_PRESSURE"
  case bodyTemperature = "BODY_TEMPERATURE"
  case bodyMetrics = "BODY_METRICS"
  case glucose = "GLUCOSE"
  case exerciseTime = "EXERCISE_TIME"
  case respiratoryRate = "RESPIRATORY_RATE"
  case walkingSpeed = "WALKING_SPEED"
  case sleep = "SLEEP"
  case mindfulness = "MINDFULNESS"
  case workout = "WORKOUT"
  case distance = "DISTANCE"
}

/// The calendar span of one aggregated point, in the user's time zone.
public enum HealthGrouping: String, Sendable, Hashable, Codable, CaseIterable {
  case hour = "HOUR"
  case day = "DAY"
  /// A week from Monday to Sunday (ISO 8601).
  case week = "WEEK"
  case month = "MONTH"
  /// The complete requested interval, as one span.
  case total = "TOTAL"
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
