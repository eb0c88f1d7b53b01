import HoldfastCore

/// The name of a number of a point that has several, with what is known about the number.
enum PointNumber: String, CaseIterable {
  case distance = "total_distance"
  case energy = "total_energy_burned"
  case steps = "total_steps"
  case sessions = "session_count"
  case duration = "duration_minutes"
  case heartRate = "average_heart_rate"
  case calories
  case protein
  case carbs
  case fat

  /// Whether the numbers of several points can be added. The heart rate during workouts cannot.
  var isAdded: Bool { self != .heartRate }

  /// The unit of the number.
  var unit: String {
    switch self {
    case .distance: Dimension.length.unit
    case .energy, .calories: Dimension.energy.unit
    case .steps, .sessions: Dimension.count.unit
    case .duration: Dimension.time.unit
    case .heartRate: Dimension.beats.unit
    case .protein, .carbs, .fat: Dimension.gram.unit
    }
  }
}

extension WorkoutTotals {
  /// The numbers with their names.
  var numbers: [(PointNumber, Double?)] {
    [
      (.distance, distance), (.energy, energy), (.steps, steps), (.sessions, Double(sessions)),
      (.duration, duration), (.heartRate, heartRate),
    ]
  }
}

extension NutritionTotals {
  /// The numbers with their names.
  var numbers: [(PointNumber, Double?)] {
    [(.calories, calories), (.protein, protein), (.carbs, carbs), (.fat, fat)]
  }
}
