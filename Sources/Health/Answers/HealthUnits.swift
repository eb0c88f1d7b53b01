/// Conversions between units of one dimension.
package enum HealthUnits {
  /// Returns a number in another unit; `nil` if nothing is known of one of the units, or they are
  /// of different dimensions.
  package static func convert(_ value: Double, from unit: String, to other: String) -> Double? {
    guard unit != other else { return value }
    // Of the dimensions that share a unit, those of readings come before those of nutrients.
    for dimension in [Dimension.mass, .energy, .count, .beats, .length, .time] {
      guard let from = dimension.scale(from: unit), let into = dimension.scale(from: other) else {
        continue
      }
      return from.factor == into.factor ? value : value * from.factor / into.factor
    }
    return nil
  }
}
