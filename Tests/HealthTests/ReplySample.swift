import HoldfastCore

@testable import HoldfastHealth

/// A sample reply with points of every kind, and the times of its question.
enum ReplySample {
  /// The local time 2026-01-03T15:30:00. `utc` and `zoned` denote 15:30:00 in UTC.
  static let local = HealthTime.local(CivilTime(nanoseconds: time.nanoseconds))
  static let utc = HealthTime.instant(time, minutesEast: nil)
  static let zoned = HealthTime.instant(time, minutesEast: -210)
  private static let time = Timestamp(nanoseconds: 1_767_454_200_000_000_000)

  static let query = HealthDataQuery(
    valueType: .heartRate, start: local, end: utc, groupBy: .week, statistic: .average)

  static let reply = HealthReply(
    query: query,
    points: [
      HealthPoint(
        type: "HEART_RATE", value: .number(61.5), unit: "beatsPerMinute", start: local, end: utc,
        source: "Ada's Watch"),
      HealthPoint(
        type: "WORKOUT",
        value: .workout(
          WorkoutTotals(
            type: "RUNNING", distance: 5_000, energy: 300, steps: 6_200, sessions: 1,
            duration: 31.5, heartRate: 142)),
        unit: "noUnit", start: local, end: zoned, source: nil),
      HealthPoint(
        type: "NUTRITION",
        value: .nutrition(NutritionTotals(calories: 1, protein: 2, carbs: 3, fat: 4)),
        unit: "noUnit", start: local, end: local, source: "merged", statistic: "sum",
        isMerged: true, isPartial: true),
      HealthPoint(
        type: "SLEEP_SESSION", value: .number(400), unit: "minute", start: local, end: local,
        source: "x", statistic: "average_per_night",
        sleep: SleepTimes(
          inBed: 480, awake: 20, light: 200, deep: 80, rem: 110, unspecified: 10, nights: 7,
          naps: 2, napMinutes: 45.5)),
      HealthPoint(
        type: "SLEEP_REM", value: .text("?"), unit: "", start: utc, end: utc, source: "x"),
      HealthPoint(
        type: "WORKOUT", value: .number(3), unit: "count", start: local, end: utc, source: "x",
        statistic: "count", workoutType: "YOGA"),
    ], nextStart: local, skipped: 2,
    notes: ["Left out: a type."],
    freshness: HealthFreshness(
      zone: "Europe/Berlin", answered: zoned, imported: utc,
      lastSamples: [
        HealthFreshness.LastSample(type: "HEART_RATE", at: local),
        HealthFreshness.LastSample(type: "RESTING_HEART_RATE", at: nil),
      ]))
}
