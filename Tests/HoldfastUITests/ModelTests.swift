import Foundation
import Holdfast
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealthSamples
import HoldfastPorts
import HoldfastSession
import HoldfastSessionData
import HoldfastSyncData
import HoldfastTestKit
import Testing

@testable import HoldfastUI

/// Tests of the models of all features except shops, through the API that screens use.
@Suite(.timeLimit(.minutes(60))) @MainActor struct ModelTests {
  private let clock = TestClock()

  @Test func `a prompt is a turn until it is answered, also in the next run`() async throws {
    let scratch = try Scratch()
    let network = FakeNetwork(clock: clock)
    let first = try links(in: scratch, network, clock: clock).conversation()
    let screen = Task { await first.follow() }
    first.prompt("What is left to do?")
    await change(of: first) { $0.phase == .open && $0.turns.first?.state == .queued }
    await first.close()
    await screen.value

    let links = try links(in: scratch, network, clock: clock)
    let second = links.conversation()
    #expect(links.conversation() === second)
    await change(of: second) { $0.phase == .open }
    #expect(second.id == first.id)
    #expect(second.turns.map(\.text) == ["What is left to do?"])
    let again = Task { await second.follow() }
    await change(of: second) { $0.turns.first?.state == .queued }
    #expect(second.turns.count == 1)
    #expect(second.turns.first?.date == first.turns.first?.date)
    await second.close()
    await again.value
  }

  @Test func `only one conversation is open at a time`() async throws {
    let scratch = try Scratch()
    let links = try links(in: scratch, FakeNetwork(clock: clock), clock: clock)
    let first = links.conversation()
    await change(of: first) { $0.phase == .open }
    #expect(links.conversation(first.id) === first)
    let other = "11111111-2222-4333-8444-555555555555"
    let id = try #require(first.id)
    let failure = OpenError.configuration("the conversation \(id) is open; close it first")
    let refused = links.conversation(other)
    await change(of: refused) { $0.phase == .failed(failure) }
    await first.close()
    let second = links.conversation(other)
    second.retry()
    await change(of: second) { $0.phase == .open }
    #expect(second === refused)
    #expect(second.id == other)
    // Closing a closed model again does not close the open model.
    await first.close()
    #expect(links.conversation(other) === second)
    await second.close()
  }

  @Test func `a turn keeps its state and its time when its message arrives`() {
    let key = UUID128(high: 1, low: 2)
    let state = SessionPromptState(key: key, conversation: "c", text: "t", state: .failed)
    var row = TurnRow(state, date: Date(timeIntervalSince1970: 7))
    #expect(row.hasFailed)
    #expect(row.key == key)
    row.update(
      TurnRow(SessionEntry(id: key.description, role: .user, text: "t", conversation: "c")))
    #expect(row == TurnRow(state, date: Date(timeIntervalSince1970: 7)))
    #expect(
      TurnRow(SessionEntry(id: key.description, role: .assistant, text: "t", conversation: "c")).key
        == nil)
  }

  @Test func `a refused relay reports its problem and is off`() async throws {
    let scratch = try Scratch()
    let network = FakeNetwork(clock: clock)
    network.serve(sockets: { await $0.reject(status: 403) })
    let relay = try links(in: scratch, network, clock: clock).healthRelay()
    let screen = Task { await relay.follow() }
    try relay.start()
    await change(of: relay) { $0.problem != nil && $0.connection.failure != nil }
    let refusal = LinkFailure.http(status: 403, retryAfter: nil, detail: "")
    #expect(relay.problem == .connection(refusal))
    #expect(relay.connection.phase == .off)
    #expect(relay.connection.failure == refusal)
    #expect(relay.pair == nil)
    await relay.close()
    await screen.value
  }

  @Test func `a relay keeps its pairing in the secret store of the device`() async throws {
    let scratch = try Scratch()
    let secrets = MemorySecretStore()
    try secrets.write(Secret("token"), scratch.pairing, access: .whileUnlocked)
    let links = try links(in: scratch, FakeNetwork(clock: clock), clock: clock, secrets: secrets)
    let relay = links.healthRelay()
    secrets.setLocked(true)
    #expect(throws: StoreFailure.self) { try relay.start() }
    secrets.setLocked(false)
    try relay.start()
    try relay.stop()
    #expect(try secrets.read(scratch.pairing) == nil)
    await relay.close()
  }

  @Test func `a relay that gave up connects again in the foreground`() async throws {
    let scratch = try Scratch()
    let network = FakeNetwork(clock: clock)
    network.serve(sockets: { await $0.reject(status: 503) })
    let device = FakeLifecycle()
    let links = try links(in: scratch, network, lifecycle: device, clock: clock)
    let relay = links.healthRelay()
    let screen = Task { await relay.follow() }
    try relay.start()
    await passAllAttempts(of: relay)
    #expect(relay.connection.failure == .http(status: 503, retryAfter: nil, detail: ""))
    relay.setLifecycle(.foreground)
    await change(of: relay) { !$0.connection.isExhausted }
    await passAllAttempts(of: relay)
    device.send(.foreground)
    await change(of: relay) { !$0.connection.isExhausted }
    await relay.close()
    await screen.value
  }

  /// Advances the clock to each retry until the relay makes no more.
  private func passAllAttempts(of relay: HealthPairing) async {
    var retryAt: Date?
    while !relay.connection.isExhausted {
      await change(of: relay) { $0.connection.isExhausted || $0.connection.retryAt != retryAt }
      retryAt = relay.connection.retryAt
      if retryAt != nil { clock.advance(by: .seconds(2)) }
    }
  }

  @Test func `refreshing a bottle returns a result, and nil after the end`() async throws {
    let scratch = try Scratch()
    let links = try links(in: scratch, FakeNetwork(clock: clock), clock: clock)
    let bottle = links.bottle(SilentRadio())
    let screen = Task { await bottle.follow() }
    await change(of: bottle) { $0.status.adapter == .off }
    #expect(await bottle.refresh() == .bluetoothOff)
    #expect(await bottle.perform(.command(.ping)) == .notSent(.bluetoothOff))
    #expect(bottle.drinks == [])
    await bottle.close()
    #expect(await bottle.refresh() == nil)
    #expect(bottle.phase == .failed(.closed))
    await screen.value
  }

  /// A source that delivers one sample of steps, once.
  private struct OneSample: HealthSource {
    func observe(
      _ types: [String], _ fired: @escaping @Sendable ([String], Wake) -> Void
    ) async {
      fired(types, Wake(budget: .seconds(10)) { _ in })
    }
    func page(
      _ type: String, from start: HealthPageStart, limit: Int
    ) async throws(HealthSourceFailure) -> SourcePage {
      let anchor = HealthAnchor([1])
      if case .after(anchor) = start { return SourcePage(anchor: anchor) }
      let time = Timestamp(nanoseconds: 1_700_000_000_000_000_000)
      let sample = HealthSample(
        type: type, value: .quantity(7), unit: "count", start: time, end: time, source: "watch")
      return SourcePage(
        added: [SourceSample(uuid: UUID128(high: 0, low: 1), sample: sample)], anchor: anchor)
    }
    func stop() async {}
  }

  @Test func `a sync counts the samples that the server accepted`() async throws {
    let scratch = try Scratch()
    let network = FakeNetwork(clock: clock)
    network.serve(requests: { _ in .success(HTTPAnswer(status: 200, headers: [:], body: [])) })
    // The sync collects the source's notifications for 50 ms, so it needs a real clock.
    let links = try links(in: scratch, network, clock: BootClock())
    let steps = "HKQuantityTypeIdentifierStepCount"
    let sync = links.healthSync(OneSample(), types: [steps])
    let screen = Task { await sync.follow() }
    await change(of: sync) { $0.types.first?.report.synced == 1 }
    #expect(sync.types.map(\.id) == [steps])
    #expect(sync.isComplete)
    #expect(sync.quarantined == [])
    #expect(!sync.needsSignIn)
    #expect(sync.lastSync != nil)
    await sync.close()
    await screen.value
  }

  @Test func `a sync has ended when everything that was sent is accepted`() {
    let sync = SyncProgress.preview()
    func report(_ type: String, pending: Int) -> SyncUpdate {
      .type(
        SyncUpdate.TypeReport(type: type, pending: pending, quarantined: 0, synced: 1, anchor: nil))
    }
    func batch(_ state: SyncUpdate.BatchReport.State) -> SyncUpdate {
      .batch(
        SyncUpdate.BatchReport(type: "a", file: "1", records: 1, deletions: 0, state: state))
    }
    sync.take(report("a", pending: 0))
    #expect(sync.isComplete && sync.lastSync == nil, "nothing was sent")
    for update in [report("a", pending: 1), report("b", pending: 1), batch(.accepted)] {
      sync.take(update)
    }
    sync.take(report("a", pending: 0))
    #expect(sync.lastSync == nil, "the other type is not sent")
    sync.take(report("b", pending: 0))
    #expect(sync.lastSync == Date(PreviewClock().wall))
    sync.lastSync = nil
    for update in [batch(.quarantined), report("a", pending: 0)] { sync.take(update) }
    #expect(sync.lastSync == nil, "a batch that was refused is not a sync")
  }

  @Test func `the user is asked for access to the synced types`() async throws {
    let scratch = try Scratch()
    let links = try links(in: scratch, FakeNetwork(clock: clock), clock: clock)
    #expect(!links.healthSync().canAsk, "the store of imports needs no permission")
    await links.healthSync().close()
    let source = FakeHealthSource()
    links.parts.samples = source
    let types = ["HKQuantityTypeIdentifierStepCount"]
    links.parts.types = types
    let sync = links.healthSync()
    #expect(sync.canAsk)
    try await sync.ask()
    #expect(source.asked == [types])
    await sync.close()
  }

  @Test func `the time of a bottle's next attempt is a date of the ports' clock`() async throws {
    let scratch = try Scratch()
    let clock = TestClock(wall: Timestamp(nanoseconds: 1_000_000_000))
    let links = try links(in: scratch, FakeNetwork(clock: clock), clock: clock)
    let bottle = links.bottle(SilentRadio())
    clock.advance(by: .seconds(10))
    var status = BottleUpdate.Status()
    status.retryAt = clock.now.advanced(by: .seconds(4))
    bottle.show(status)
    #expect(bottle.retryAt == Date(timeIntervalSince1970: 15))
    bottle.show(BottleUpdate.Status())
    #expect(bottle.retryAt == nil)
    await bottle.close()
  }
}
