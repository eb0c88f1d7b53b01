import HoldfastCore

/// The sleep, exercise, meals and composite measurements of a day.
extension GeneratedSection {
  private static let category = "HKCategoryTypeIdentifier"
  private static let quantity = "HKQuantityTypeIdentifier"

  /// Writes the night before this day. The phone records the time in bed, and the watch the sleep
  /// stages.
  static func sleep(
    _ day: GeneratedDay, _ generator: inout RandomSource, _ writer: inout ExportWriter
  ) {
    asleep("InBed", .phone, day.lastRest, day.rise, &writer)
    let stages = ["AsleepCore", "AsleepDeep", "AsleepCore", "AsleepREM", "Awake"]
    var time = day.lastRest + 600 + Int(generator.unit() * 900)
    var stage = 0
    while time < day.rise {
      let end = min(day.rise, time + 300 + Int(generator.unit() * 2_400))
      asleep(stages[stage % stages.count], .watch, time, end, &writer)
      (time, stage) = (end, stage + 1)
    }
  }

  private static func asleep(
    _ stage: String, _ source: GeneratedSource, _ start: Int, _ end: Int,
    _ writer: inout ExportWriter
  ) {
    writer.record(
      category + "SleepAnalysis", .init(source: source, start: start, end: end),
      value: "HKCategoryValueSleepAnalysis\(stage)", isOpen: true)
    writer.metadata("HKTimeZone", "Europe/Zurich")
    writer.close("Record")
  }

  static func mindfulness(
    _ day: GeneratedDay, _ generator: inout RandomSource, _ writer: inout ExportWriter
  ) {
    guard generator.unit() < 0.3 else { return }
    let start = day.rest - 3_600 + Int(generator.unit() * 1_800)
    writer.record(
      category + "MindfulSession",
      .init(source: .calm, start: start, end: start + 300 + Int(generator.unit() * 600)),
      value: "HKCategoryValueNotApplicable")
  }

  static func standing(_ day: GeneratedDay, _ writer: inout ExportWriter) {
    for start in stride(from: day.rise / 3_600 * 3_600, to: day.rest - 3_600, by: 3_600) {
      writer.record(
        category + "AppleStandHour", .init(source: .watch, start: start, end: start + 3_600),
        value: "HKCategoryValueAppleStandHour\(start / 3_600 % 4 == 0 ? "Idle" : "Stood")")
    }
  }

  /// Writes the cardio fitness that a watch estimates after a walk or a run.
  static func fitness(
    _ day: GeneratedDay, _ generator: inout RandomSource, _ writer: inout ExportWriter
  ) {
    guard day.number % 3 == 0, let activity = day.activities.first, activity.kind != .ride else {
      return
    }
    writer.record(
      quantity + "VO2Max", .init(source: .watch, start: activity.end, end: activity.end),
      unit: "mL/min·kg", value: "\(38 + Double(Int(generator.unit() * 80)) / 10)", isOpen: true)
    writer.metadata("HKVO2MaxTestType", "2")
    writer.close("Record")
  }

  /// Writes the bleeding of a cycle of 28 days, recorded once a day.
  static func flow(_ day: GeneratedDay, _ writer: inout ExportWriter) {
    let amounts = ["Medium", "Heavy", "Medium", "Light", "Light"]
    let number = day.number % 28
    guard amounts.indices.contains(number) else { return }
    let noon = GeneratedDay.second(of: day.number, hour: 12)
    writer.record(
      category + "MenstrualFlow", .init(source: .phone, start: noon, end: noon),
      value: "HKCategoryValueVaginalBleeding\(amounts[number])", isOpen: true)
    writer.metadata("HKMenstrualCycleStart", number == 0 ? "1" : "0")
    writer.close("Record")
  }

  static func headache(
    _ day: GeneratedDay, _ generator: inout RandomSource, _ writer: inout ExportWriter
  ) {
    guard generator.unit() < 0.06 else { return }
    let start = day.rise + 3_600 + Int(generator.unit() * 30_000)
    let severity = ["Mild", "Mild", "Moderate", "Severe"][Int(generator.unit() * 4)]
    writer.record(
      category + "Headache",
      .init(source: .phone, start: start, end: start + 1_800 + Int(generator.unit() * 9_000)),
      value: "HKCategoryValueSeverity\(severity)")
  }

  /// Returns the frame of a blood pressure measurement, or `nil` except on two days a week.
  ///
  /// Both values and their correlation share the frame.
  private static func pressureFrame(_ day: GeneratedDay) -> ExportWriter.Frame? {
    guard day.number % 7 == 1 || day.number % 7 == 4 else { return nil }
    return .init(source: .cuff, start: day.rise + 1_800, end: day.rise + 1_800)
  }

  static func pressurePart(
    _ day: GeneratedDay, _ part: String, _ indent: String, _ writer: inout ExportWriter
  ) {
    guard let frame = pressureFrame(day) else { return }
    var generator = day.generator(part == "Systolic" ? 101 : 102)
    let value = (part == "Systolic" ? 112 : 70) + Int(generator.unit() * 16)
    writer.record(
      quantity + "BloodPressure\(part)", frame, unit: "mmHg", value: "\(value)", indent: indent)
  }

  static func pressure(_ day: GeneratedDay, _ writer: inout ExportWriter) {
    guard let frame = pressureFrame(day) else { return }
    writer.text(" <Correlation type=\"HKCorrelationTypeIdentifierBloodPressure\"")
    writer.frame(frame)
    writer.text(">\n")
    pressurePart(day, "Systolic", "  ", &writer)
    pressurePart(day, "Diastolic", "  ", &writer)
    writer.close("Correlation")
  }

  static func meal(_ day: GeneratedDay, _ indent: String, _ writer: inout ExportWriter) {
    var generator = day.generator(103)
    let noon = GeneratedDay.second(of: day.number, hour: 12.5)
    writer.record(
      quantity + "DietaryCarbohydrates", .init(source: .meals, start: noon, end: noon), unit: "g",
      value: "\(30 + Int(generator.unit() * 60))", isOpen: true, indent: indent)
    writer.metadata("HKFoodType", "14\" pizza & salad", indent: indent + " ")
    writer.close("Record", indent: indent)
  }

  static func food(_ day: GeneratedDay, _ writer: inout ExportWriter) {
    let noon = GeneratedDay.second(of: day.number, hour: 12.5)
    writer.text(" <Correlation type=\"HKCorrelationTypeIdentifierFood\"")
    writer.frame(.init(source: .meals, start: noon, end: noon))
    writer.text(">\n")
    writer.metadata("HKFoodType", "14\" pizza & salad")
    meal(day, "  ", &writer)
    writer.close("Correlation")
  }

  static func workouts(_ day: GeneratedDay, _ writer: inout ExportWriter) {
    for activity in day.activities {
      let minutes = Double(activity.end - activity.start) / 60
      let (name, speed, distance) =
        switch activity.kind {
        case .walk: ("Walking", 0.09, "DistanceWalkingRunning")
        case .run: ("Running", 0.16, "DistanceWalkingRunning")
        case .ride: ("Cycling", 0.4, "DistanceCycling")
        }
      let frame = ExportWriter.Frame(source: .watch, start: activity.start, end: activity.end)
      writer.text(" <Workout workoutActivityType=\"HKWorkoutActivityType\(name)\"")
      writer.text(" duration=\"\(minutes)\" durationUnit=\"min\"")
      writer.frame(frame)
      writer.text(">\n")
      writer.metadata("HKTimeZone", "Europe/Zurich")
      writer.text("  <WorkoutEvent type=\"HKWorkoutEventTypeSegment\"")
      writer.date("date", activity.start)
      writer.text("/>\n")
      statistics(distance, "\(minutes * speed)", "km", activity, &writer)
      statistics("ActiveEnergyBurned", "\(minutes * 8.5)", "kcal", activity, &writer)
      if activity.kind != .ride {
        statistics("StepCount", "\(Int(minutes * 110))", "count", activity, &writer)
      }
      writer.text("  <WorkoutRoute sourceName=\"RunLog\">\n   <FileReference")
      writer.attribute("path", "/workout-routes/route_\(ExportWriter.day(day.number)).gpx")
      writer.text("/>\n  </WorkoutRoute>\n")
      writer.close("Workout")
    }
  }

  private static func statistics(
    _ type: String, _ sum: String, _ unit: String, _ activity: GeneratedDay.Activity,
    _ writer: inout ExportWriter
  ) {
    writer.text("  <WorkoutStatistics type=\"\(quantity)\(type)\"")
    writer.date("startDate", activity.start)
    writer.date("endDate", activity.end)
    writer.text(" sum=\"\(sum)\" unit=\"\(unit)\"/>\n")
  }

  static func summary(
    _ day: GeneratedDay, _ generator: inout RandomSource, _ writer: inout ExportWriter
  ) {
    writer.text(" <ActivitySummary dateComponents=\"\(ExportWriter.day(day.number))\"")
    writer.text(" activeEnergyBurned=\"\(300 + Int(generator.unit() * 400))\"")
    writer.text(" activeEnergyBurnedGoal=\"500\" activeEnergyBurnedUnit=\"kcal\"")
    writer.text(" appleExerciseTime=\"\(Int(generator.unit() * 90))\" appleStandHours=\"12\"/>\n")
  }
}
