import Testing

@testable import HoldfastHealth

@Suite struct DimensionTests {
  private static let figures: [(Dimension, unit: String, value: Double, expected: Double)] = [
    (.count, "count", 10_000, 10_000),
    (.beats, "count/min", 72, 72), (.beats, "count/s", 1.2, 72), (.beats, "Hz", 1.1, 66),
    (.breaths, "count/min", 14, 14), (.breaths, "count/s", 0.3, 18), (.breaths, "Hz", 0.25, 15),
    (.interval, "ms", 47, 47), (.interval, "s", 0.047, 47), (.interval, "s", 0.0289, 28.9),
    (.energy, "kcal", 100, 100), (.energy, "Cal", 100, 100), (.energy, "cal", 4_300, 4.3),
    (.energy, "kJ", 418.4, 100), (.energy, "kJ", 4.184, 1), (.energy, "kJ", 1_255.2, 300),
    (.energy, "J", 418_400, 100), (.energy, "J", 29_288, 7),
    (.share, "%", 0.97, 97), (.share, "%", 0.57, 57), (.share, "%", 0.29, 29),
    (.share, "%", 0.07, 7), (.share, "%", 0.955, 95.5), (.share, "%", 1, 100),
    (.pressure, "mmHg", 120, 120), (.pressure, "kPa", 133.322387415, 1_000),
    (.pressure, "kPa", 15.9986864898, 120),
    (.temperature, "degC", 36.6, 36.6), (.temperature, "degF", 98.6, 37),
    (.temperature, "degF", 32, 0), (.temperature, "degF", 97.88, 36.6),
    (.temperature, "degF", -40, -40), (.temperature, "K", 310.15, 37),
    (.temperature, "K", 309.75, 36.6), (.temperature, "K", 273.16, 0.01),
    (.temperature, "K", 0, -273.15),
    (.length, "m", 1.8, 1.8), (.length, "km", 1.1, 1_100), (.length, "km", 4.35, 4_350),
    (.length, "cm", 183, 1.83), (.length, "cm", 57, 0.57), (.length, "mm", 1_830, 1.83),
    (.length, "mi", 3, 4_828.032), (.length, "yd", 3, 2.7432), (.length, "ft", 6, 1.8288),
    (.length, "in", 70, 1.778),
    (.speed, "m/s", 1.2, 1.2), (.speed, "km/hr", 3.6, 1), (.speed, "km/hr", 5.4, 1.5),
    (.speed, "km/h", 9, 2.5), (.speed, "mi/hr", 3, 1.34112), (.speed, "ft/s", 3, 0.9144),
    (.mass, "kg", 80, 80), (.mass, "g", 82_300, 82.3), (.mass, "g", 57, 0.057),
    (.mass, "g", 3e-6, 3e-9), (.mass, "g", 5.5e-6, 5.5e-9),
    (.mass, "lb", 100, 45.359237), (.mass, "lb", 3, 1.36077711), (.mass, "st", 11, 69.85322498),
    (.nutrient, "g", 30, 30), (.nutrient, "kg", 0.0289, 28.9), (.nutrient, "mg", 4_300, 4.3),
    (.nutrient, "kcal", 700, 700), (.nutrient, "Cal", 700, 700), (.nutrient, "kJ", 418.4, 100),
    (.volume, "L", 1.5, 1.5), (.volume, "mL", 330, 0.33), (.volume, "mL", 57, 0.057),
    (.volume, "fl_oz_us", 8, 0.2365882365), (.volume, "fl_oz_imp", 3, 0.0852391875),
    (.glucose, "mg/dL", 95, 95), (.glucose, "g/L", 0.95, 95), (.glucose, "g/L", 0.57, 57),
    (.glucose, "mmol<180.1558800000541>/L", 5, 90.077940000027),
    (.time, "min", 30, 30), (.time, "s", 90, 1.5), (.time, "s", 1_740, 29), (.time, "hr", 0.55, 33),
    (.number, "count", 24.3, 24.3), (.gram, "g", 30, 30), (.gram, "mg", 570, 0.57),
    (.gram, "mcg", 900, 0.0009), (.gram, "kg", 0.0289, 28.9), (.milligram, "mg", 18, 18),
    (.milligram, "mcg", 570, 0.57), (.milligram, "g", 0.0023, 2.3), (.microgram, "mcg", 2.4, 2.4),
    (.microgram, "mg", 0.0289, 28.9), (.microgram, "g", 0.0009, 900), (.power, "W", 210, 210),
    (.power, "kW", 0.21, 210), (.cadence, "count/min", 90, 90), (.cadence, "count/s", 1.5, 90),
    (.oxygenUptake, "mL/min·kg", 41.5, 41.5), (.oxygenUptake, "mL/kg·min", 41.5, 41.5),
    (.oxygenUptake, "mL/(kg*min)", 41.5, 41.5), (.oxygenUptake, "ml/(kg*min)", 41.5, 41.5),
    (.oxygenUptake, "mL/kg*min", 41.5, 41.5), (.oxygenUptake, "mL/min*kg", 41.5, 41.5),
    (.effort, "kcal/hr·kg", 3.5, 3.5), (.effort, "kcal/kg·hr", 3.5, 3.5),
    (.effort, "kcal/(kg*hr)", 3.5, 3.5), (.score, "appleEffortScore", 7, 7),
    (.score, "count", 7, 7),
    (.conductance, "mcS", 5, 5), (.conductance, "S", 0.0000029, 2.9), (.insulin, "IU", 6, 6),
    (.flow, "L/min", 480, 480), (.flow, "L/s", 8, 480), (.flow, "mL/min", 570, 0.57),
    (.sound, "dBASPL", 71.3, 71.3), (.own, "xyz", 3, 3), (.own, "%", 0.57, 57),
  ]

  @Test(arguments: figures)
  func `a round number stays round after unit conversion`(
    dimension: Dimension, unit: String, value: Double, expected: Double
  ) throws {
    let scale = try #require(dimension.scale(from: unit))
    #expect(scale(value) == expected)
  }

  @Test(arguments: ["mmol", "mmol<180.1558800000541>/dL", "mol<180.1558800000541>/L", "mg"])
  func `a glucose unit other than the known concentrations has no scale`(unit: String) {
    #expect(Dimension.glucose.scale(from: unit) == nil)
  }

  @Test(arguments: Dimension.allCases)
  func `each unit has a test case for round numbers`(dimension: Dimension) {
    let shown = Set(Self.figures.filter { $0.0 == dimension }.map(\.unit))
    #expect(dimension.factors.allSatisfy { shown.contains($0.unit) } && !shown.isEmpty)
  }

  @Test(arguments: [
    (0, 0), (1e-300, 1e-303), (-1_500, -1.5), (123_456_789_012_345.6, 123_456_789_012.3456),
    (1e14, 1e11), (1e18, 1e15), (1e300, 1e297), (.infinity, .infinity),
  ])
  func `numbers of any size are converted to 15 digits`(grams: Double, kilograms: Double) throws {
    let scale = try #require(Dimension.mass.scale(from: "g"))
    let found = scale(grams)
    #expect(found == kilograms || abs(found - kilograms) <= abs(kilograms) * 5e-15)
  }

  @Test func `a number already in the reported unit is not changed`() throws {
    let number = 0.123456789012345678
    for unit in ["kg", nil] {
      let scale = try #require(Dimension.mass.scale(from: unit))
      #expect(scale(number) == number)
    }
  }
}
