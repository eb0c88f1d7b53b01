import Foundation
@_spi(Script) import HealthKit
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealthKit
import HoldfastHealthSamples
import HoldfastPorts
import HoldfastTestKit
import Testing

/// Tests with random orders of callbacks, launches, locks and errors.
@Suite struct HealthKitRandomTests {
  @Test(.timeLimit(.minutes(60)))
  func `a thousand random runs call each handler once and omit no change`() async throws {
    for seed in 0..<1_000 {
      var run = RandomRun(seed: UInt64(seed))
      for _ in 0..<40 { try await run.step() }
      try await run.end()
      try #require(run.problems == [], "seed \(seed)")
    }
  }
}

/// A random run of an app that reads what its observers report.
private struct RandomRun {
  private typealias Fixture = HealthFixture
  private static let types = [HealthFixture.steps, HealthFixture.heart]

  private var random: RandomSource
  private let script = ScriptedHealth(holdsObservers: true)
  private var source: HealthKitSource
  private var fires = Mailbox<Fire>()
  private var isObserving = false
  /// The listeners of earlier launches, with the number of calls at their end.
  private var ended: [(fires: Mailbox<Fire>, count: Int)] = []
  private var kept: [Wake] = []
  private var anchors: [String: HealthAnchor] = [:]
  private var known: [String: Set<UUID128>] = [:]
  /// The types that an observer reported and that were not read to the end.
  private var changed: Set<String> = []
  private(set) var problems: [String] = []

  init(seed: UInt64) {
    random = RandomSource(seed: seed)
    source = HealthFixture.source(script)
    source.prepare(Self.types)
  }

  private mutating func below(_ limit: Int) -> Int { Int(random.next() % UInt64(limit)) }

  mutating func step() async throws {
    switch below(12) {
    case 0...2: try add()
    case 3: delete()
    case 4: script.lock(below(3) == 0)
    case 5:
      let errors: [HKError?] = [
        nil, HKError(.errorDatabaseInaccessible), HKError(.unknownError),
        HKError(.errorAuthorizationNotDetermined),
      ]
      script.fire([Self.types[below(2)]], error: errors[below(4)])
    case 6...8: if script.held > 0 { script.release(below(script.held)) }
    case 9: if below(3) == 0 { await relaunch() } else { await observe() }
    case 10:
      await takeFires()
      if below(4) == 0 { script.fail([HKError(.unknownError)]) }
      for type in changed { await read(type) }
    case _: if !kept.isEmpty { kept.remove(at: below(kept.count)).giveBack(.done) }
    }
  }

  private mutating func add() throws {
    let isHeart = below(2) == 0
    let samples = try (0...below(3)).map { _ in
      try Fixture.sample(
        Self.types[isHeart ? 1 : 0], 70, isHeart ? "count/min" : "count",
        Fixture.facts(Double(below(1_000))))
    }
    script.add(samples)
  }

  private mutating func delete() {
    let uuids = script.uuids(of: Self.types[below(2)]).sorted { $0.uuidString < $1.uuidString }
    if !uuids.isEmpty { script.delete(uuids[below(uuids.count)]) }
  }

  private mutating func observe() async {
    guard !isObserving else { return }
    isObserving = true
    await source.observe(Self.types) { [fires] in fires.put(Fire(types: $0, wake: $1)) }
  }

  private mutating func relaunch() async {
    await takeFires()
    await source.stop()
    await takeFires()
    ended.append((fires, fires.count))
    (fires, isObserving) = (Mailbox(), false)
    source = Fixture.source(script)
    source.prepare(Self.types)
    // A launch cannot know what an earlier one was told and did not read.
    changed = []
  }

  private mutating func takeFires() async {
    for fire in fires.takeAll() {
      changed.formUnion(fire.types)
      // The others are given back when they are released.
      if below(2) == 0 { kept.append(fire.wake) }
    }
  }

  private mutating func read(_ type: String) async {
    do {
      while true {
        let anchor = anchors[type]
        let page = try await source.page(
          type, from: anchor.map { .after($0) } ?? Fixture.everything, limit: 1 + below(4))
        known[type, default: []].formUnion(page.added.map(\.uuid))
        known[type, default: []].subtract(page.deleted)
        anchors[type] = page.anchor
        if page.anchor == anchor { break }
      }
      changed.remove(type)
    } catch {
      // The type stays in the list.
    }
  }

  /// Lets everything that waits happen, and compares what was read with what there is.
  mutating func end() async throws {
    script.lock(false)
    await observe()
    while script.held > 0 || script.handlers.open > 0 {
      if script.held > 0 { script.release(below(script.held)) }
      await takeFires()
      kept = []
      await Task.yield()
    }
    await takeFires()
    // At most as many errors as steps are left.
    for _ in 0..<50 { for type in changed { await read(type) } }
    await source.stop()
    for type in Self.types {
      let there = Set(script.uuids(of: type).map { $0.uuidString.lowercased() })
      if Set((known[type] ?? []).map(\.description)) != there {
        problems.append("changes of \(type) were omitted")
      }
    }
    if ended.contains(where: { $0.fires.count != $0.count }) {
      problems.append("an observer fired after its source was stopped")
    }
    problems += script.misuses
  }
}
