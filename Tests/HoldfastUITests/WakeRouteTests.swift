import Foundation
import Holdfast
import HoldfastBottleData
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealthSamples
import HoldfastMessageData
import HoldfastPorts
import HoldfastSyncData
import HoldfastTestKit
import Synchronization
import Testing

@testable import HoldfastUI

/// Tests of the routes from wakes, pushes and restored connections to the features.
@Suite(.timeLimit(.minutes(60))) @MainActor struct WakeRouteTests {
  private let clock = TestClock()
  private let scratch: Scratch
  private let network: FakeNetwork

  init() throws {
    scratch = try Scratch()
    network = FakeNetwork(clock: clock)
  }

  private func links(
    _ time: any BackgroundTime = UnlimitedTime(), secrets: MemorySecretStore = MemorySecretStore()
  ) throws -> HoldfastLinks {
    HoldfastLinks(
      server: try #require(URL(string: "https://server.example")),
      directory: URL(filePath: scratch.path),
      ports: DevicePorts(
        network: network, reachability: FakeReachability(), clock: clock, secrets: secrets),
      backgroundTime: time
    ) { "token" }
  }

  /// Returns the secrets of a phone that is paired.
  private func paired(
    _ access: SecretAccess = .afterFirstUnlock
  ) throws -> MemorySecretStore {
    let secrets = MemorySecretStore()
    try secrets.write(Secret("resume-token"), scratch.pairing, access: access)
    return secrets
  }

  // MARK: Scheduled tasks

  /// Returns the links of a phone that is paired. The server has forgotten the pairing.
  private func pairedLinks() throws -> HoldfastLinks {
    network.serve(requests: { _ in .success(HTTPAnswer(status: 401, headers: [:], body: [])) })
    return try links(secrets: paired())
  }

  @Test func `each run schedules the next wake in 1 to 2 hours, and says why it could not`()
    async throws
  {
    let links = try pairedLinks()
    let wakes = ScriptedWakes()
    links.start(wakes: wakes)
    #expect(wakes.scheduled.map(\.identifier) == [HoldfastLinks.refreshTask])
    #expect(await wakes.deliver(.task(HoldfastLinks.refreshTask)) == .done)
    #expect(await wakes.deliver(.task("another")) == .done)
    #expect(wakes.scheduled.count == 2)
    for _ in 0..<50 { _ = await wakes.deliver(.task(HoldfastLinks.refreshTask)) }
    let hours = wakes.scheduled.map { $0.after / .seconds(3_600) }
    #expect(hours.count == 52)
    #expect(hours.allSatisfy { (1...2).contains($0) })
    #expect(Set(hours).count > 10, "the time is random, so that servers are not called at once")
    #expect(wakes.scheduled.allSatisfy { !$0.isLong && $0.needsNetwork })

    let refusal = WakeFailure.unavailable(identifier: HoldfastLinks.refreshTask)
    wakes.refuse(refusal)
    _ = await wakes.deliver(.task(HoldfastLinks.refreshTask))
    #expect(links.wakeFailure == refusal)
    wakes.refuse(nil)
    _ = await wakes.deliver(.task(HoldfastLinks.refreshTask))
    #expect(links.wakeFailure == nil)
  }

  @Test func `a task of the app's own name is scheduled again, and no other`() async throws {
    let links = try pairedLinks()
    let wakes = ScriptedWakes()
    links.start(wakes: wakes, task: "com.example.refresh")
    _ = await wakes.deliver(.task(HoldfastLinks.refreshTask))
    _ = await wakes.deliver(.task("com.example.refresh"))
    #expect(
      wakes.scheduled.map(\.identifier) == ["com.example.refresh", "com.example.refresh"])
  }

  @Test func `without work, no wake is scheduled, and a sign-out cancels it`() async throws {
    let links = try links()
    let wakes = ScriptedWakes()
    links.start(wakes: wakes)
    #expect(await wakes.deliver(.task(HoldfastLinks.refreshTask)) == .done)
    #expect(wakes.scheduled == [])
    let shop = links.shop(try #require(ShopID("bakery")))
    await change(of: shop) { $0.phase == .open }
    #expect(wakes.scheduled == [], "a shop has no work in the background")
    let sync = links.healthSync(GatedSource())
    await change(of: sync) { $0.phase == .open }
    #expect(wakes.scheduled.count == 1)
    try await links.signOut()
    #expect(wakes.cancelled == [HoldfastLinks.refreshTask])
    #expect(await wakes.deliver(.task(HoldfastLinks.refreshTask)) == .done)
    #expect(wakes.scheduled.count == 1)
  }

  @Test func `before the first unlock, a pairing may have work`() throws {
    let secrets = try paired(.whileUnlocked)
    secrets.setLocked(true)
    let wakes = ScriptedWakes()
    let links = try links(secrets: secrets)
    links.start(wakes: wakes)
    #expect(wakes.scheduled.count == 1)
  }

  @Test func `a task reaches the sync, the paired assistants and the bottle`() async throws {
    let calls = Mailbox<String>()
    network.serve(requests: { call in
      calls.put(call.url)
      return .success(HTTPAnswer(status: 401, headers: [:], body: []))
    })
    let links = try links(secrets: paired())
    (links.parts.samples, links.parts.radio) = (GatedSource(), SilentRadio())
    await change(of: links.healthSync()) { $0.phase == .open }
    await links.healthSync().close()
    await change(of: links.bottle()) { $0.phase == .open }
    await links.bottle().close()
    #expect(links.models.isEmpty)
    let results = Mailbox<WakeResult>()
    links.wake(.task("t"), Wake(budget: .seconds(20)) { results.put($0) })
    #expect(Set(links.models.keys) == ["bottle", "sync"])
    while try await calls.next(within: .seconds(600)) != "https://server.example/relay/lease" {}
    await change(of: links.bottle()) { $0.phase == .open }
    await change(of: links.healthSync()) { $0.phase == .open }
    await links.bottle().close()
    await links.healthSync().close()
    #expect(await results.next() != nil)
    #expect(results.count == 0)
  }

  @Test func `wakes of links that were released are given back`() async throws {
    let wakes = ScriptedWakes()
    var links: HoldfastLinks? = try links()
    links?.start(wakes: wakes)
    links = nil
    #expect(await wakes.deliver(.push) == .later)
  }

  // MARK: Tokens for pushes

  @Test func `a token of the device is registered with the token of the pairing`() async throws {
    let calls = Mailbox<HTTPCall>()
    network.serve(requests: { call in
      calls.put(call)
      return .success(HTTPAnswer(status: 204, headers: [:], body: []))
    })
    let router = LaunchRouter()
    router.links = try links(secrets: paired())
    router.pushEnvironment = .sandbox
    router.pushTopic = "com.example.app"
    router.finishLaunching()
    router.registered(deviceToken: [0x0A, 0x00, 0xFF])
    let call = try await calls.next(within: .seconds(600))
    #expect(call.url == "https://server.example/relay/push")
    #expect(call.headers.contains { $0.value == "Bearer resume-token" })
    let text = String(decoding: call.body, as: UTF8.self)
    for part in ["0a00ff", "com.example.app", "sandbox"] { #expect(text.contains(part)) }
    #expect(router.links?.pushFailure == nil)
  }

  @Test func `a failed registration says why, and a later one clears this`() async throws {
    let statuses = Mailbox<Int>()
    for status in [401, 204] { statuses.put(status) }
    network.serve(requests: { _ in
      .success(HTTPAnswer(status: await statuses.next() ?? 500, headers: [:], body: []))
    })
    let router = LaunchRouter()
    let links = try links(secrets: paired())
    router.links = links
    router.registrationFailed(CocoaError(.featureUnsupported))
    guard case .local? = links.pushFailure else {
      Issue.record("the failure is \(String(describing: links.pushFailure))")
      return
    }
    router.registered(deviceToken: [1])
    await change(of: links) {
      if case .http(401, _, _)? = $0.pushFailure { true } else { false }
    }
    router.registered(deviceToken: [2])
    await change(of: links) { $0.pushFailure == nil }
  }

  @Test func `without a pairing, an address waits for one`() async throws {
    let calls = Mailbox<HTTPCall>()
    network.serve(requests: { call in
      calls.put(call)
      return .success(HTTPAnswer(status: 204, headers: [:], body: []))
    })
    let secrets = MemorySecretStore()
    let router = LaunchRouter()
    let links = try links(secrets: secrets)
    router.registered(deviceToken: [1])
    router.links = links
    router.registered(deviceToken: [])
    router.registered(deviceToken: [7])
    #expect(calls.count == 0)
    try secrets.write(Secret("resume-token"), scratch.pairing, access: .afterFirstUnlock)
    links.registerPush()
    let text = String(decoding: try await calls.next(within: .seconds(600)).body, as: UTF8.self)
    #expect(text.contains("\"07\""))
    #expect(calls.count == 0)
  }

  @Test func `an address that arrives before the first unlock is registered after it`()
    async throws
  {
    let (secrets, device) = (try paired(.whileUnlocked), FakeLifecycle())
    secrets.setLocked(true)
    let router = LaunchRouter()
    router.links = try HoldfastUITests.links(
      in: scratch, network, lifecycle: device, clock: clock, secrets: secrets)
    router.registered(deviceToken: [7])
    #expect(network.exchanges.count == 0)
    secrets.setLocked(false)
    device.send(.protectedData(available: true))
    let exchange = try await network.nextExchange()
    #expect(exchange.request.url.hasSuffix("/relay/push"))
    exchange.respond(status: 204)
  }

  @Test func `a topic that no address can have is reported`() throws {
    let router = LaunchRouter()
    router.links = try links()
    router.pushTopic = "two words"
    router.registered(deviceToken: [7])
    #expect(router.links?.pushFailure != nil)
    router.pushTopic = "com.example.app"
    router.registered(deviceToken: [7])
    #expect(router.links?.pushFailure == nil)
  }

  // MARK: The bottle of an earlier run

  @Test func `a bottle of an earlier run is opened, if there is a radio`() async throws {
    let first = try links()
    first.resumeBottle()
    #expect(first.models.isEmpty)
    let radio = SilentRadio()
    first.parts.radio = radio
    first.resumeBottle()
    #expect(first.models.isEmpty, "there was no bottle")
    await change(of: first.bottle()) { $0.phase == .open }
    await first.bottle().close()

    let second = try links()
    second.resumeBottle()
    #expect(second.models.isEmpty)
    second.parts.radio = radio
    second.resumeBottle()
    let bottle = second.bottle()
    await change(of: bottle) { $0.phase == .open }
    #expect(radio.listeners == 2)
    second.resumeBottle()
    #expect(second.bottle() === bottle)
    await bottle.close()
  }

  @Test func `a restored connection is used once the drinks can be opened`() async throws {
    let other = try await HoldfastPlatform.drinkStore(in: scratch("bottle"))
    let links = try links()
    let radio = SilentRadio()
    links.parts.radio = radio
    links.resumeBottle()
    let bottle = links.bottle()
    await change(of: bottle) { $0.phase.error != nil }
    #expect(radio.listeners == 0, "the radio keeps its events until there is a listener")
    await other.close()
    links.resumeBottle()
    await change(of: bottle) { $0.phase == .open }
    #expect(radio.listeners == 1)
    await bottle.close()
  }

  // MARK: Expiry

  @Test func `time that expires cancels a pull, calls the handler once and keeps no time`()
    async throws
  {
    let time = FakeBackgroundTime()
    let router = LaunchRouter()
    router.links = try links(time, secrets: paired())
    router.finishLaunching()
    let results = Mailbox<WakeResult>()
    router.receivePush { results.put($0) }
    // The pull waits for an answer of the server.
    _ = try await network.nextExchange()
    #expect(time.openGrants == 1)
    time.expire()
    #expect(time.openGrants == 0)
    #expect(await results.next() == .later)
    time.expire()
    #expect(results.count == 0)
  }

  @Test func `a budget that ends gives the wake back, and the time`() async throws {
    let time = FakeBackgroundTime()
    let router = LaunchRouter()
    router.links = try links(time, secrets: paired())
    router.finishLaunching()
    let results = Mailbox<WakeResult>()
    router.receivePush { results.put($0) }
    _ = try await network.nextExchange()
    clock.advance(by: LaunchRouter.budget)
    #expect(await results.next() == .later)
    await time.allGivenBack()
    #expect(results.count == 0)
  }

  @Test func `time that is refused leaves the budget`() async throws {
    let time = FakeBackgroundTime()
    time.setGranting(false)
    let router = LaunchRouter()
    router.links = try links(time)
    router.finishLaunching()
    let results = Mailbox<WakeResult>()
    router.receivePush { results.put($0) }
    #expect(await results.next() == .done)
    router.uploadsEnded(session: "s") { results.put(.done) }
    #expect(await results.next() == .done)
    #expect(results.count == 0)
  }

  @Test func `a model that opens too late leaves the wake to the end of its budget`() async throws {
    let links = try links()
    let sync = links.healthSync(GatedSource())
    await change(of: sync) { $0.phase == .open }
    await sync.close()
    // The model is not reopened here: its folder says that the sync is used.
    let other = try await HoldfastPlatform.syncQueue(in: scratch("sync"))
    let results = Mailbox<WakeResult>()
    links.wake(.task("t"), Wake(budget: .seconds(20)) { results.put($0) })
    #expect(await results.next() == .later)
    await other.close()
    links.wake(.task("t"), Wake(budget: .seconds(20)) { results.put($0) })
    let again = links.healthSync()
    await change(of: again) { $0.phase == .open }
    await again.close()
    #expect(await results.next() != nil)
    #expect(results.count == 0)
  }
}

/// A source of wakes whose tasks a test delivers.
final class ScriptedWakes: WakeSource {
  private struct State {
    var handler: (@Sendable (WakeCause, Wake) -> Void)?
    var scheduled: [WakeTask] = []
    var cancelled: [String] = []
    var failure: WakeFailure?
  }

  private let state = Mutex(State())

  /// All scheduled tasks, in order.
  var scheduled: [WakeTask] { state.withLock(\.scheduled) }

  func refuse(_ failure: WakeFailure?) { state.withLock { $0.failure = failure } }

  func register(_ handler: @escaping @Sendable (WakeCause, Wake) -> Void) {
    state.withLock { $0.handler = handler }
  }

  func schedule(_ task: WakeTask) throws(WakeFailure) {
    let failure = state.withLock { state in
      if state.failure == nil { state.scheduled.append(task) }
      return state.failure
    }
    if let failure { throw failure }
  }

  func cancel(_ identifier: String) { state.withLock { $0.cancelled.append(identifier) } }

  /// The identifiers of all cancelled tasks, in order.
  var cancelled: [String] { state.withLock(\.cancelled) }

  /// Delivers a wake and returns its result; `nil` if it was given back twice.
  func deliver(_ cause: WakeCause) async -> WakeResult? {
    let results = Mailbox<WakeResult>()
    state.withLock(\.handler)?(cause, Wake(budget: .seconds(20)) { results.put($0) })
    let first = await results.next()
    return results.count == 0 ? first : nil
  }
}

/// A radio without any peripheral.
final class SilentRadio: Central {
  private let count = Mutex(0)
  private let state: AdapterState

  init(_ state: AdapterState = .off) { self.state = state }

  /// The number of calls of `events`.
  var listeners: Int { count.withLock(\.self) }

  func events(_ deliver: @escaping @Sendable (CentralEvent) -> Void) {
    count.withLock { $0 += 1 }
    deliver(.adapter(state))
  }
  func scan(for services: [GATTID]) {}
  func stopScan() {}
  func connect(_ id: PeripheralID, attempt: AttemptID, isQueued: Bool, after rest: Duration) {}
  func cancel(_ attempt: AttemptID) {}
  func discover(
    _ service: GATTID, _ characteristics: [GATTID], of attempt: AttemptID
  ) async throws(LinkFailure) {}
  func notify(_ characteristic: GATTID, of attempt: AttemptID) async throws(LinkFailure) {}
  func read(
    _ characteristic: GATTID, of attempt: AttemptID
  ) async throws(LinkFailure) -> [UInt8] { [] }
  func write(
    _ bytes: [UInt8], to characteristic: GATTID, of attempt: AttemptID
  ) async throws(LinkFailure) {}
  func longestValue(of attempt: AttemptID) async -> Int { 20 }
  func close() async {}
}

/// A source without samples.
struct GatedSource: HealthSource {
  func observe(
    _ types: [String], _ fired: @escaping @Sendable ([String], Wake) -> Void
  ) async {}
  func page(
    _ type: String, from start: HealthPageStart, limit: Int
  ) async throws(HealthSourceFailure) -> SourcePage { SourcePage(anchor: HealthAnchor([1])) }
  func stop() async {}
}
