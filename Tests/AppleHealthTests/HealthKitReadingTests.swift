import Foundation
@_spi(Script) import HealthKit
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealthSamples
import HoldfastPorts
import HoldfastTestKit
import Testing

@testable import HoldfastHealthKit

/// Tests of reading, by comparison with a store in memory that has the same samples.
@Suite(.timeLimit(.minutes(60))) struct HealthKitReadingTests {
  private typealias Fixture = HealthFixture
  private static let types = [
    HealthFixture.steps, HealthFixture.heart, HealthFixture.sleep, HealthFixture.workout,
  ]

  /// Adds random samples. Many begin in the same second, and some are equal.
  private static func fill(
    _ script: ScriptedHealth, _ store: MemoryHealthStore, _ random: inout RandomSource
  ) async throws {
    let mapping = HealthKitSamples(units: HealthKitUnits())
    for _ in 0..<(random.next() % 60) {
      let facts = HealthFixture.facts(
        Double(random.next() % 40) / 4, lasting: Double(random.next() % 12) / 4,
        source: random.next() % 2 == 0 ? "Phone" : "Watch")
      let number = Double(random.next() % 3)
      let sample: HKSample =
        switch random.next() % 4 {
        case 0: try HealthFixture.sample(HealthFixture.steps, number, "count", facts)
        case 1: try HealthFixture.sample(HealthFixture.heart, number, "count/min", facts)
        case 2:
          HKCategorySample(
            try HealthFixture.category(of: HealthFixture.sleep), Int(number), facts)
        case _: HKWorkout(.running, lasting: 60, [:], facts)
        }
      script.add([sample])
      try await store.add([mapping.sample(sample)])
    }
  }

  @Test func `pages are those of a store with the same samples, for 300 seeds`() async throws {
    for seed in 0..<300 {
      var random = RandomSource(seed: UInt64(seed))
      let (script, store) = (ScriptedHealth(), MemoryHealthStore())
      try await Self.fill(script, store, &random)
      let reading = Fixture.reading(script)
      for _ in 0..<6 {
        func time() -> Timestamp {
          let quarters = Double(random.next() % 60) / 4
          return Fixture.now.advanced(by: .seconds(2) - .seconds(quarters))
        }
        var query = HealthSampleQuery(
          types: Self.types.shuffled(using: &random) + ["none", Fixture.steps], from: time(),
          to: time(), limit: [0, 1, 2, 3, 7, 100, .max][Int(random.next() % 7)])
        while true {
          let (found, wanted) = (try await reading.samples(query), try await store.samples(query))
          try #require(found == wanted, "seed \(seed)")
          guard let next = found.next else { break }
          query.after = next
        }
      }
      try #require(script.misuses == [])
    }
  }

  @Test func `a summary is that of a store`() async throws {
    for seed in 0..<50 {
      var random = RandomSource(seed: UInt64(seed))
      let (script, store) = (ScriptedHealth(), MemoryHealthStore())
      try await Self.fill(script, store, &random)
      let reading = Fixture.reading(script)
      #expect(try await reading.summary() == (try await store.summary()))
      var stored = try await store.stored()
      stored.lastImport = Fixture.now
      #expect(try await reading.stored() == stored)
    }
  }

  @Test(arguments: [999, 1_000, 1_001])
  func `a summary counts at most a thousand samples`(number: Int) async throws {
    let script = ScriptedHealth()
    try script.add(
      (0..<number).map { number in
        try Fixture.sample(
          Fixture.steps, Double(number), "count",
          Fixture.facts(Double(10_000 - number), source: number == 3 ? "Watch" : "Phone\u{7}"))
      })
    let summary = try await Fixture.reading(script).summary()
    #expect(
      summary == [
        HealthTypeSummary(
          type: Fixture.steps, count: number > 1_000 ? nil : number,
          first: Fixture.now.advanced(by: .seconds(-10_000)),
          last: Fixture.now.advanced(by: .seconds(number - 10_001)), sources: ["Phone", "Watch"])
      ])
  }

  @Test func `a type with a sample that cannot be read is listed without a number`() async throws {
    let script = ScriptedHealth()
    try script.add([Fixture.sample(Fixture.heart, 70, "kg"), Fixture.sample()])
    #expect(try await Fixture.reading(script).summary().map(\.count) == [nil, 1])
    #expect(script.misuses == [])
  }

  @Test func `a type that the system does not have has no samples`() async throws {
    let script = ScriptedHealth()
    try script.add([Fixture.sample(), Fixture.sample(Fixture.heart, 72, "count/min")])
    let source = Fixture.source(script)
    let types = [Fixture.steps, Fixture.heart]
    try await ScriptedHealth.$lacks.withValue([Fixture.steps]) {
      #expect(try await Fixture.reading(script).summary().map(\.type) == [Fixture.heart])
      try await source.ask(for: types)
      #expect(script.asked == [Fixture.heart])
      let page = try await source.page(Fixture.steps, from: Fixture.everything, limit: 10)
      #expect(page.added == [])
      let again = try await source.page(Fixture.steps, from: .after(page.anchor), limit: 10)
      #expect(again == page)
    }
    // After an update, the system has it.
    try await source.ask(for: types)
    let page = try await source.page(
      Fixture.steps, from: .after(HealthAnchor([0])), limit: 10)
    #expect(page.added.count == 1)
  }

  @Test func `more samples in one second than a page holds are all read`() async throws {
    let (script, store) = (ScriptedHealth(), MemoryHealthStore())
    let mapping = HealthKitSamples(units: HealthKitUnits())
    for number in 0..<100 {
      let sample = try Fixture.sample(
        Fixture.steps, Double(number), "count", Fixture.facts(Double(number) / 1_000 + 0.5))
      script.add([sample])
      try await store.add([mapping.sample(sample)])
    }
    let reading = Fixture.reading(script)
    var query = HealthSampleQuery(
      types: [Fixture.steps], from: Timestamp(nanoseconds: .min), to: Timestamp(nanoseconds: .max),
      limit: 7)
    var count = 0
    repeat {
      let page = try await reading.samples(query)
      #expect(try await store.samples(query) == page)
      count += page.samples.count
      query.after = page.next
    } while query.after != nil
    #expect(count == 100)
  }

  @Test func `a locked device fails each call`() async throws {
    let script = ScriptedHealth()
    try script.add([Fixture.sample()])
    let reading = Fixture.reading(script, types: [Fixture.steps])
    try await reading.check()
    script.lock(true)
    let locked = StoreFailure.locked(detail: "the device is locked")
    let query = HealthSampleQuery(
      types: [Fixture.steps], from: Timestamp(nanoseconds: 0), to: Fixture.now)
    await #expect(throws: locked) { try await reading.check() }
    await #expect(throws: locked) { try await reading.summary() }
    await #expect(throws: locked) { try await reading.stored() }
    await #expect(throws: locked) { try await reading.samples(query) }
    script.lock(false)
    #expect(try await reading.samples(query).samples.count == 1)
  }

  @Test func `types that the user was not asked about have no samples`() async throws {
    let script = ScriptedHealth()
    try script.add([Fixture.sample(), Fixture.sample(Fixture.heart, 72, "count/min")])
    script.requirePermission()
    try await Fixture.source(script).ask(for: [Fixture.heart])
    let reading = Fixture.reading(script)
    #expect(try await reading.summary().map(\.type) == [Fixture.heart])
    let query = HealthSampleQuery(
      types: [Fixture.steps, Fixture.heart], from: Timestamp(nanoseconds: 0), to: Fixture.now)
    #expect(try await reading.samples(query).samples.map(\.type) == [Fixture.heart])
  }

  @Test func `errors of HealthKit are failures of the store`() async throws {
    let script = ScriptedHealth()
    let reading = Fixture.reading(script, types: [Fixture.steps])
    script.fail([HKError(.errorNoData), HKError(.errorHealthDataRestricted)])
    try await reading.check()
    await #expect(throws: StoreFailure.self) { try await reading.check() }
    await ScriptedHealth.$isAvailable.withValue(false) {
      await #expect(throws: StoreFailure.self) { try await reading.check() }
    }
    try await reading.check()
  }

  @Test func `a closed reader fails`() async throws {
    let reading = Fixture.reading(ScriptedHealth(), types: [Fixture.steps])
    await reading.close()
    await reading.close()
    await #expect(throws: StoreFailure.self) { try await reading.summary() }
    await #expect(throws: StoreFailure.self) { try await reading.check() }
    await #expect(throws: StoreFailure.self) { try await reading.stored() }
    let empty = Fixture.reading(ScriptedHealth(), types: [])
    try await empty.check()
    await empty.close()
    await #expect(throws: StoreFailure.self) { try await empty.check() }
  }
}
