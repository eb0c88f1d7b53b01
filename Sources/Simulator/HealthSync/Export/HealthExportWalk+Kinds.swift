import LinkHealth

// Small exports of one kind of things.
extension HealthExportWalk {
  /// Tries what a file may end with, and what is left out of it.
  mutating func tryEnds() {
    let ends: [(String, String?)] = [
      ("<", "cutOff"), ("< ", "malformed"), ("</", "cutOff"), ("</HealthData", "cutOff"),
      ("<!", "cutOff"), ("<!nothin", "cutOff"), ("<!nothing", "malformed"), ("<!--", nil),
      ("<!-- --", nil), ("<![CDATA[", nil), ("<![CDATA[]]", nil), ("<!DOCTYPE", nil),
      ("<!DOCTYP", "cutOff"), ("<!DOCTYPE a [<!]", "cutOff"), ("<!DOCTYPE a []", "cutOff"),
      ("<!DOCTYPE a [<!--", "cutOff"), ("<!DOCTYPE a [<!ab", nil), ("<?", nil), ("<??", nil),
      ("<a", "cutOff"), ("<a ", "cutOff"), ("<a/", "cutOff"), ("<a b", "cutOff"),
      ("<a b=", "cutOff"), ("<a b= ", "cutOff"), ("<a b=\"", "cutOff"), ("<a b=\"'>", "cutOff"),
      ("<a b='\"", "cutOff"), ("<a b=c", "malformed"), ("<a b=\"c\"", "cutOff"), (">", nil),
    ]
    for _ in 0..<4 {
      draft = ExportDraft()
      drawRoot()
      if happens(2) { drawRecord() }
      let (end, reason) = one(ends)
      draft.add(reason.map(ExportThing.broken) ?? .skipped(shown: 0), end)
      compareDraft("an export with an odd end")
    }
  }

  /// Tries workouts with parts and figures, nearly all of which can be read.
  mutating func tryWorkouts() {
    draft = ExportDraft()
    drawRoot()
    for _ in 0..<2 {
      let amounts = ["3", "7.5", "999999999", "1000000000", "16666667", "277778", "1"]
      let attributes =
        Self.attributes("s") + [
          ("workoutActivityType", ExportWritten("a")),
          ("duration", ExportWritten(one(amounts))),
          ("durationUnit", ExportWritten(one(["s", "sec", "min", "hr", "h"]))),
          ("totalDistance", ExportWritten("3")),
          ("totalDistanceUnit", ExportWritten(one(["m", "km", "cm", "mi", "ft", "yd"]))),
          ("totalEnergyBurned", ExportWritten("3")),
          ("totalEnergyBurnedUnit", ExportWritten(one(["kcal", "Cal", "cal", "kJ", "J"]))),
        ]
      add(ExportStart(name: "Workout", attributes: attributes))
      for _ in 0..<number(0...7) {
        switch number(0...4) {
        case 0: add(ExportStart(name: "WorkoutActivity", isEmpty: happens(3)))
        case 1: end("WorkoutActivity")
        case _: drawSum()
        }
      }
      if happens(2) { end("Workout") }
      if happens(4) { drawSum() }
    }
    compareDraft("workouts")
  }

  private mutating func drawSum() {
    let (type, units) = one([
      ("ActiveEnergyBurned", ["kcal", "Cal", "cal", "kJ", "J", "m"]),
      ("StepCount", ["count", ""]),
      ("DistanceCycling", ["m", "km", "cm", "mi", "ft", "yd", "J"]),
    ])
    let attributes: [Attribute] = [
      ("type", ExportWritten("HKQuantityTypeIdentifier" + type)),
      ("sum", ExportWritten("\(number(1...99))")), ("unit", ExportWritten(one(units))),
    ]
    add(ExportStart(name: "WorkoutStatistics", attributes: attributes, isEmpty: happens(2)))
  }

  /// Tries one element of each name, in any order.
  mutating func tryElements() {
    draft = ExportDraft()
    drawRoot()
    for name in Self.elements.shuffled(using: &chance) {
      draft.add(.start(ExportStart(name: name, isEmpty: true)), "<\(name)/>")
    }
    compareDraft("elements")
  }

  /// Tries a record that has no end before something else, then a zone.
  mutating func tryOpen() {
    draft = ExportDraft()
    drawRoot()
    for _ in 0..<2 {
      let isWorkout = happens(2)
      let more = [("type", "t"), ("value", "1"), ("workoutActivityType", "a")]
      add(
        ExportStart(
          name: isWorkout ? "Workout" : "Record",
          attributes: Self.attributes("s") + more.map { ($0.0, ExportWritten($0.1)) },
          isEmpty: happens(3)))
      switch number(0...5) {
      case 0: end(one(["HealthData", "HealthData", "Record", "Workout", "Correlation"]))
      case 1: add(ExportStart(name: "Correlation", isEmpty: happens(2)))
      case 2: add(ExportStart(name: one(["Record", "Workout"]), isEmpty: happens(2)))
      case 3: element(one(Self.elements))
      case _: break
      }
      drawZone(ExportWritten("UTC"))
      if isWorkout { drawSum() }
    }
    compareDraft("open samples")
  }
}
