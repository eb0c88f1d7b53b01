// Small exports that consist mainly of one kind of part.
extension RandomExport {
  /// The ends of files, with the reasons why they are skipped.
  private static let ends: [(String, String?)] = [
    ("<", "cutOff"), ("< ", "malformed"), ("</", "cutOff"), ("</HealthData", "cutOff"),
    ("<!", "cutOff"), ("<!nothin", "cutOff"), ("<!nothing", "malformed"), ("<!--", nil),
    ("<!-- --", nil), ("<![CDATA[", nil), ("<![CDATA[]]", nil), ("<!DOCTYPE", nil),
    ("<!DOCTYP", "cutOff"), ("<!DOCTYPE a [<!]", "cutOff"), ("<!DOCTYPE a []", "cutOff"),
    ("<!DOCTYPE a [<!--", "cutOff"), ("<!DOCTYPE a [<!ab", nil), ("<?", nil), ("<??", nil),
    ("<a", "cutOff"), ("<a ", "cutOff"), ("<a/", "cutOff"), ("<a b", "cutOff"),
    ("<a b=", "cutOff"), ("<a b= ", "cutOff"), ("<a b=\"", "cutOff"), ("<a b=\"'>", "cutOff"),
    ("<a b='\"", "cutOff"), ("<a b=c", "malformed"), ("<a b=\"c\"", "cutOff"), (">", nil),
  ]

  mutating func drawOddEnd() {
    drawRoot()
    if happens(2) { drawRecord() }
    let (end, reason) = one(Self.ends)
    draft.add(reason.map(WrittenPart.broken) ?? .skipped(shown: 0), end)
  }

  /// Draws workouts with parts and statistics. Nearly all of them can be read.
  mutating func drawWorkouts() {
    drawRoot()
    for _ in 0..<2 {
      let amounts = ["3", "7.5", "999999999", "1000000000", "16666667", "277778", "1"]
      let attributes =
        Self.attributes("s") + [
          ("workoutActivityType", WrittenValue("a")),
          ("duration", WrittenValue(one(amounts))),
          ("durationUnit", WrittenValue(one(["s", "sec", "min", "hr", "h"]))),
          ("totalDistance", WrittenValue("3")),
          ("totalDistanceUnit", WrittenValue(one(["m", "km", "cm", "mi", "ft", "yd"]))),
          ("totalEnergyBurned", WrittenValue("3")),
          ("totalEnergyBurnedUnit", WrittenValue(one(["kcal", "Cal", "cal", "kJ", "J"]))),
        ]
      add(WrittenTag(name: "Workout", attributes: attributes))
      for _ in 0..<number(0...7) {
        switch number(0...4) {
        case 0: add(WrittenTag(name: "WorkoutActivity", isEmpty: happens(3)))
        case 1: end("WorkoutActivity")
        case _: drawSum()
        }
      }
      if happens(2) { end("Workout") }
      if happens(4) { drawSum() }
    }
  }

  private mutating func drawSum() {
    let (type, units) = one([
      ("ActiveEnergyBurned", ["kcal", "Cal", "cal", "kJ", "J", "m"]),
      ("StepCount", ["count", ""]),
      ("DistanceCycling", ["m", "km", "cm", "mi", "ft", "yd", "J"]),
    ])
    let attributes: [Attribute] = [
      ("type", WrittenValue("HKQuantityTypeIdentifier" + type)),
      ("sum", WrittenValue("\(number(1...99))")), ("unit", WrittenValue(one(units))),
    ]
    add(WrittenTag(name: "WorkoutStatistics", attributes: attributes, isEmpty: happens(2)))
  }

  /// Draws one element with each name, in random order.
  mutating func drawElements() {
    drawRoot()
    for name in Self.elements.shuffled(using: &generator) {
      draft.add(.start(WrittenTag(name: name, isEmpty: true)), "<\(name)/>")
    }
  }

  /// Draws samples without an end tag, each followed by another part and a time zone.
  mutating func drawOpenSamples() {
    drawRoot()
    for _ in 0..<2 {
      let isWorkout = happens(2)
      let more = [("type", "t"), ("value", "1"), ("workoutActivityType", "a")]
      add(
        WrittenTag(
          name: isWorkout ? "Workout" : "Record",
          attributes: Self.attributes("s") + more.map { ($0.0, WrittenValue($0.1)) },
          isEmpty: happens(3)))
      switch number(0...5) {
      case 0: end(one(["HealthData", "HealthData", "Record", "Workout", "Correlation"]))
      case 1: add(WrittenTag(name: "Correlation", isEmpty: happens(2)))
      case 2: add(WrittenTag(name: one(["Record", "Workout"]), isEmpty: happens(2)))
      case 3: element(one(Self.elements))
      case _: break
      }
      drawZone(WrittenValue("UTC"))
      if isWorkout { drawSum() }
    }
  }
}
