import Foundation
@_spi(Script) import HealthKit
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealthKit
import HoldfastHealthSamples
import HoldfastPorts
import HoldfastSyncData
import HoldfastTestKit
import Testing

/// Tests of observers and pages of changes.
@Suite(.timeLimit(.minutes(60))) struct HealthKitSourceTests {
  private typealias Fixture = HealthFixture
  private static let steps = HealthFixture.steps
  private let script = ScriptedHealth()

  private func observed(_ source: HealthKitSource, _ types: [String]) async -> Mailbox<Fire> {
    let fires = Mailbox<Fire>()
    await source.observe(types) { fires.put(Fire(types: $0, wake: $1)) }
    return fires
  }

  @Test func `the source keeps the contract of its port`() async throws {
    let source = Fixture.source(script)
    try await healthSourceContract(source, type: Self.steps) { count in
      try script.add((0..<count).map { _ in try Fixture.sample() })
    } remove: { uuid in
      try script.delete(#require(UUID(uuidString: uuid.description)))
    }
    await Fixture.until { script.handlers.open == 0 }
    #expect(script.misuses == [])
    #expect(script.observed == [])
    #expect(script.deliveries[Self.steps] == .immediate)
  }

  @Test func `each type has one observer and immediate delivery in the background`() async {
    let source = Fixture.source(script)
    source.prepare(HealthKitTypes.all)
    source.prepare(HealthKitTypes.all)
    _ = await observed(source, HealthKitTypes.all)
    #expect(script.observed == HealthKitTypes.all)
    #expect(script.deliveries.keys.sorted() == HealthKitTypes.all)
    #expect(script.deliveries.values.allSatisfy { $0 == .immediate })
    #expect(source.undelivered.isEmpty)
    await source.stop()
    #expect(script.observed == [])
    // HealthKit wakes the next launch only if delivery stays enabled.
    #expect(script.deliveries.count == HealthKitTypes.all.count)
  }

  @Test func `a wake before the first listener waits and is passed on`() async throws {
    try script.add([Fixture.sample()])
    let source = Fixture.source(script)
    source.prepare([Self.steps])
    await Fixture.until { script.handlers.open == 1 }
    let fires = await observed(source, [Self.steps])
    let first = await fires.next(2)
    #expect(first.map(\.types) == [[Self.steps], [Self.steps]])
    #expect(script.handlers.called == 0)
    for fire in first { fire.wake.giveBack(.done) }
    for fire in first { fire.wake.giveBack(.done) }
    await Fixture.until { script.handlers.open == 0 }
    #expect(script.handlers.called == 1)
    #expect(script.misuses == [])
  }

  @Test func `a wake that nobody gives back is given back when it is released`() async throws {
    let source = Fixture.source(script)
    await source.observe([Self.steps]) { _, _ in }
    try script.add([Fixture.sample()])
    await Fixture.until { script.handlers.called == 1 }
    #expect(script.handlers.open == 0)
  }

  @Test func `stopping gives back wakes that nobody took`() async throws {
    try script.add([Fixture.sample()])
    let source = Fixture.source(script)
    source.prepare([Self.steps])
    await Fixture.until { script.handlers.open == 1 }
    await source.stop()
    await Fixture.until { script.handlers.open == 0 }
    #expect(script.handlers.called == 1)
  }

  @Test func `the late call of a stopped observer is given back and not passed on`() async throws {
    let script = ScriptedHealth(holdsObservers: true)
    try script.add([Fixture.sample()])
    let source = Fixture.source(script)
    let fires = await observed(source, [Self.steps])
    #expect(script.held == 1)
    await source.stop()
    let again = await observed(source, [Self.steps])
    script.release(0)
    await Fixture.until { script.handlers.open == 1 }
    #expect(fires.count == 1)
    #expect(again.count == 1)
    script.release(0)
    _ = await again.next(2)
    await Fixture.until { script.handlers.open == 0 }
    #expect(script.misuses == [])
  }

  @Test func `a type that is no longer observed is no longer delivered`() async throws {
    let source = Fixture.source(script)
    source.prepare([Self.steps, Fixture.heart, "HKQuantityTypeIdentifierUnheardOf"])
    let fires = await observed(source, [Fixture.heart])
    #expect(script.observed == [Fixture.heart])
    #expect(script.deliveries.keys.sorted() == [Fixture.heart])
    try script.add([Fixture.sample()])
    try script.add([Fixture.sample(Fixture.heart, 72, "count/min")])
    #expect(await fires.next(2).map(\.types) == [[Fixture.heart], [Fixture.heart]])
    await source.stop()
  }

  @Test func `a refused delivery is reported with its reason`() async {
    script.refuseDelivery(HKError(.errorAuthorizationDenied))
    let source = Fixture.source(script)
    source.prepare([Self.steps])
    await Fixture.until { !source.undelivered.isEmpty }
    #expect(source.undelivered.keys.sorted() == [Self.steps])
    // The reason of a type that is no longer observed says nothing.
    source.prepare([])
    #expect(source.undelivered.isEmpty)
    await source.stop()
  }

  @Test(arguments: 1...2)
  func `events tell HealthKit's calls, and not the source's own first one`(count: Int) async throws
  {
    let types = Array([Self.steps, Fixture.heart].prefix(count))
    let events = Mailbox<HealthKitEvent>()
    let source = Fixture.source(script) { events.put($0) }
    source.prepare(types)
    #expect(Set(await events.next(count)) == Set(types.map { .delivered(type: $0) }))
    let fires = await observed(source, types)
    #expect(await fires.next()?.types == types)
    #expect(events.count == 0)
    try script.add([Fixture.sample()])
    #expect(await events.next() == .fired(type: Self.steps))
    script.fire([Self.steps], error: HKError(.errorDatabaseInaccessible))
    #expect(await events.next() == .failed(type: Self.steps, reason: "the device is locked"))
    await source.stop()
    #expect(events.count == 0)
  }

  @Test func `an event tells that delivery is refused before it is enabled`() async throws {
    script.refuseDelivery(HKError(.errorAuthorizationDenied))
    let events = Mailbox<HealthKitEvent>()
    let source = Fixture.source(script) { events.put($0) }
    _ = await observed(source, [Self.steps])
    let first = await events.next()
    guard case .undelivered(Self.steps, _)? = first else {
      Issue.record("not a refusal: \(String(describing: first))")
      return
    }
    script.refuseDelivery(nil)
    try await source.ask(for: [Self.steps])
    #expect(await events.next() == .delivered(type: Self.steps))
    await source.stop()
  }
}

extension HealthKitSourceTests {
  @Test func `the samples of a locked device are locked and not empty`() async throws {
    try script.add([Fixture.sample()])
    let source = Fixture.source(script)
    script.lock(true)
    await #expect(throws: HealthSourceFailure.locked(detail: "the device is locked")) {
      try await source.page(Self.steps, from: Fixture.everything, limit: 10)
    }
    script.lock(false)
    #expect(
      try await source.page(Self.steps, from: Fixture.everything, limit: 10).added.count == 1)
  }

  @Test func `an observer wakes the app while the device is locked, and again later`() async throws
  {
    let source = Fixture.source(script)
    let fires = await observed(source, [Self.steps])
    _ = await fires.next()
    script.lock(true)
    script.fire([Self.steps], error: HKError(.errorDatabaseInaccessible))
    let locked = try #require(await fires.next())
    #expect(locked.types == [Self.steps])
    await #expect(throws: HealthSourceFailure.locked(detail: "the device is locked")) {
      try await source.page(Self.steps, from: Fixture.everything, limit: 10)
    }
    locked.wake.giveBack(.later)
    script.lock(false)
    try script.add([Fixture.sample()])
    await fires.next()?.wake.giveBack(.done)
    await Fixture.until { script.handlers.open == 0 }
    #expect(script.handlers.called == 2)
    await source.stop()
  }

  @Test func `changes of other types do not move the anchor of an empty page`() async throws {
    let source = Fixture.source(script)
    try script.add([Fixture.sample()])
    let first = try await source.page(Self.steps, from: Fixture.everything, limit: 10)
    try script.add([Fixture.sample(Fixture.heart, 72, "count/min")])
    let second = try await source.page(Self.steps, from: .after(first.anchor), limit: 10)
    #expect(second == SourcePage(anchor: first.anchor))
  }

  @Test func `all pages keep the start of the first page`() async throws {
    let source = Fixture.source(script)
    let day = Duration.seconds(86_400)
    try script.add([Fixture.sample(Self.steps, 1, "count", Fixture.facts(600))])
    let first = try await source.page(Self.steps, from: .last(day), limit: 10)
    let old = try Fixture.sample(Self.steps, 2, "count", Fixture.facts(86_401))
    let new = try Fixture.sample(Self.steps, 3, "count", Fixture.facts(86_400))
    script.add([old, new])
    script.delete(old.uuid)
    let second = try await source.page(Self.steps, from: .after(first.anchor), limit: 10)
    #expect(second.added.map(\.sample.value) == [.quantity(3)])
    // HealthKit reports deletions without regard to dates.
    #expect(second.deleted.map(\.description) == [old.uuid.uuidString.lowercased()])
    let since = HealthPageStart.since(Fixture.now.advanced(by: .zero - day * 2), orLast: day)
    #expect(try await source.page(Self.steps, from: since, limit: 10).added.count == 2)
    #expect(
      try await source.page(Self.steps, from: .since(Fixture.now, orLast: day), limit: 10).added
        .count == 2)
  }

  @Test(arguments: [[], [1], Array(repeating: 7, count: 30), [1] + Array(repeating: 0, count: 60)])
  func `a foreign anchor counts as none`(bytes: [UInt8]) async throws {
    try script.add([Fixture.sample()])
    let page = try await Fixture.source(script).page(
      Self.steps, from: .after(HealthAnchor(bytes)), limit: 10)
    #expect(page.added.count == 1)
    #expect(page.anchor != HealthAnchor(bytes))
  }

  @Test(arguments: [-1, 0, 1])
  func `a page has at least one change`(limit: Int) async throws {
    try script.add([Fixture.sample(), Fixture.sample()])
    let page = try await Fixture.source(script).page(
      Self.steps, from: Fixture.everything, limit: limit)
    #expect(page.added.count == 1)
  }

  @Test func `a type that cannot be read fails with its name`() async throws {
    let source = Fixture.source(script)
    for type in [
      "nonsense", "HKQuantityTypeIdentifierUnheardOf", "HKCategoryTypeIdentifierUnheardOf",
    ] {
      let failure = await #expect(throws: HealthSourceFailure.self) {
        try await source.page(type, from: Fixture.everything, limit: 1)
      }
      #expect(failure?.description.contains(type) == true)
    }
  }

  @Test func `other errors of HealthKit fail the page`() async throws {
    script.fail([HKError(.errorAuthorizationNotDetermined), HKError(.errorHealthDataRestricted)])
    let source = Fixture.source(script)
    for _ in 0..<2 {
      let failure = await #expect(throws: HealthSourceFailure.self) {
        try await source.page(Self.steps, from: Fixture.everything, limit: 1)
      }
      guard case .failed? = failure else {
        Issue.record("not a failure: \(String(describing: failure))")
        continue
      }
    }
  }
}

/// Tests of the question for permission.
@Suite(.timeLimit(.minutes(60))) struct HealthKitQuestionTests {
  private typealias Fixture = HealthFixture
  private let script = ScriptedHealth()

  @Test func `the question names all types`() async throws {
    try await Fixture.source(script).ask(for: HealthKitTypes.all)
    #expect(script.asked == Set(HealthKitTypes.all))
    #expect(script.misuses == [])
  }

  @Test func `an observer that began before the question works after it`() async throws {
    script.requirePermission()
    let source = Fixture.source(script)
    let fires = Mailbox<Fire>()
    await source.observe([Fixture.steps]) { fires.put(Fire(types: $0, wake: $1)) }
    #expect(await fires.next(2).count == 2)
    #expect(script.observed == [])
    try await source.ask(for: [Fixture.steps])
    #expect(script.observed == [Fixture.steps])
    try script.add([Fixture.sample()])
    #expect(await fires.next()?.types == [Fixture.steps])
    await source.stop()
    await Fixture.until { script.handlers.open == 0 }
  }

  @Test func `delivery that was refused before the question is enabled after it`() async throws {
    let types = [Fixture.heart, Fixture.steps]
    script.refuseDelivery(HKError(.errorAuthorizationNotDetermined))
    let source = Fixture.source(script)
    source.prepare(types)
    await Fixture.until { source.undelivered.count == 2 }
    script.refuseDelivery(nil)
    // The observers run, and a type that is not observed is not delivered.
    try await source.ask(for: types + [Fixture.sleep])
    await Fixture.until { source.undelivered.isEmpty }
    #expect(script.deliveries.keys.sorted() == types)
    #expect(script.observed == types)
    await source.stop()
  }

  @Test func `an empty question is not asked`() async throws {
    try await Fixture.source(script).ask(for: [])
    #expect(script.misuses == [])
  }

  @Test func `a question that cannot be shown fails with its reason`() async throws {
    let source = Fixture.source(script)
    await #expect(throws: HealthSourceFailure.self) { try await source.ask(for: ["unheard of"]) }
    script.refuseQuestion(HKError(.errorDatabaseInaccessible))
    await #expect(throws: HealthSourceFailure.locked(detail: "the device is locked")) {
      try await source.ask(for: [Fixture.steps])
    }
    await ScriptedHealth.$isAvailable.withValue(false) {
      await #expect(throws: HealthSourceFailure.failed(detail: "this device has no health data")) {
        try await source.ask(for: [Fixture.steps])
      }
    }
    #expect(script.asked == [])
  }
}
