import HoldfastCore
import Testing

@testable import HoldfastHealthSamples
@testable import HoldfastTestKit

/// Tests that generated exports are the same for the same plan, and similar to real exports.
@Suite struct ExportGeneratorTests {
  @Test func `the same plan writes the same bytes, another seed does not`() {
    #expect(Export.generated(seed: 4) == Export.generated(seed: 4))
    #expect(Export.generated(seed: 4) != Export.generated(seed: 5))
  }

  @Test func `a newer export holds all samples of the older`() throws {
    let older = try Export(Export.generated(days: 3))
    let newer = try Export(Export.generated(days: 4))
    let keys = Set(newer.samples.map(\.key))
    #expect(older.samples.allSatisfy { keys.contains($0.key) })
    #expect(newer.samples.count > older.samples.count)
  }

  @Test func `a newer export of a given size has the same density as the older one`() {
    func plan(_ firstDay: Int) -> HealthExportGenerator.Plan {
      HealthExportGenerator.Plan(seed: 3, firstDay: firstDay, days: 30).sized(3_000_000)
    }
    for day in [1, 30, 180] { #expect(plan(20_000).density == plan(20_000 + day).density) }
  }

  @Test func `a generated export contains the elements of real exports`() throws {
    let export = try Export(Export.generated(days: 30))
    #expect(export.counts.isWhole)
    #expect(export.counts.samples.count >= 22)
    #expect(export.counts.samples[HealthSample.workoutType] ?? 0 > 5)
    let reasons: Set<HealthExportSkip> = [
      .correlation, .metadata, .heartbeat, .workoutDetail, .route, .activitySummary,
    ]
    #expect(Set(export.skipped.keys) == reasons)
    let steps = export.samples.filter { $0.type == "HKQuantityTypeIdentifierStepCount" }
    #expect(Set(steps.map(\.source)).count == 2)
    let sleep = export.samples.filter { $0.type == "HKCategoryTypeIdentifierSleepAnalysis" }
    #expect(Set(sleep.map(\.value)).count == 5)
    #expect(sleep.allSatisfy { $0.zone == "Europe/Zurich" })
    #expect(Set(export.samples.compactMap(\.unit)).contains("mmol<180.1558800000541>/L"))
  }

  @Test(arguments: [
    ("2026-03-29T00:59:59Z", 3_600), ("2026-03-29T01:00:00Z", 7_200),
    ("2026-10-25T00:59:59Z", 7_200), ("2026-10-25T01:00:00Z", 3_600),
    ("2024-03-31T01:00:00Z", 7_200), ("2023-10-29T01:00:00Z", 3_600),
  ])
  func `summer time in Zurich begins and ends on the last Sundays`(_ text: String, _ offset: Int) {
    let second = Int(Export.time(text).nanoseconds / 1_000_000_000)
    #expect(GeneratedDay.offset(at: second) == offset)
  }

  @Test(arguments: [2_000_000, 8_000_000])
  func `a generated export is within 25 percent of the requested size`(_ size: Int) {
    let plan = HealthExportGenerator.Plan(seed: 1, firstDay: 20_000, days: 20).sized(size)
    var generator = HealthExportGenerator(plan)
    var count = 0
    while let chunk = generator.next() { count += chunk.count }
    #expect(abs(Double(count) / Double(size) - 1) < 0.25, "\(count)")
  }

  @Test func `a plan without days generates an export without samples`() throws {
    let export = try Export(Export.generated(days: 0))
    #expect(export.samples.isEmpty)
    #expect(export.counts.isWhole)
  }
}
