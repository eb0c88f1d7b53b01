import Foundation
import Holdfast
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealthSamples
import HoldfastMessageData
import HoldfastPorts
import HoldfastRelayData
import HoldfastSyncData
import HoldfastTestKit
import Synchronization
import Testing

@testable import HoldfastUI

/// Tests of what a sign-out removes, and of uploads that outlive a model.
@Suite(.timeLimit(.minutes(60))) @MainActor struct SignOutTests {
  private static let steps = "HKQuantityTypeIdentifierStepCount"
  private let scratch: Scratch
  private let secrets = MemorySecretStore()
  private let network = FakeNetwork(clock: BootClock())

  init() throws { scratch = try Scratch() }

  /// Returns the links of an app. A sync collects changes for 50 ms, so it needs a real clock.
  private func links(
    _ source: FakeHealthSource, _ uploads: any UploadQueue, clock: any LinkClock = BootClock()
  ) throws -> HoldfastLinks {
    let links = try HoldfastUITests.links(in: scratch, network, clock: clock, secrets: secrets)
    links.parts.samples = source
    links.parts.uploads = uploads
    links.parts.types = [Self.steps]
    return links
  }

  private func sample(_ number: UInt64) -> SourceSample {
    let time = Timestamp(nanoseconds: 1_700_000_000_000_000_000 + Int64(number) * 60_000_000_000)
    return SourceSample(
      uuid: UUID128(high: 0, low: number),
      sample: HealthSample(
        type: Self.steps, value: .quantity(7), unit: "count", start: time, end: time,
        source: "watch"))
  }

  @Test func `a sign-out removes tokens, stores and keychain, and cancels the system's uploads`()
    async throws
  {
    try secrets.write(Secret("resume-token"), scratch.pairing, access: .afterFirstUnlock)
    let (source, queue) = (FakeHealthSource(), CancellableQueue())
    source.add([sample(1)])
    let links = try links(source, queue)
    let sync = links.healthSync()
    let shop = links.shop(try #require(ShopID("bakery")))
    await change(of: sync) { $0.phase == .open }
    await change(of: shop) { $0.phase == .open }
    _ = try await queue.enqueued.next(within: .seconds(600))
    #expect(await !queue.running().isEmpty)
    let (waiting, results) = wake()
    links.wake(.health(types: [Self.steps]), waiting)
    network.serve(requests: { _ in .success(HTTPAnswer(status: 401, headers: [:], body: [])) })

    try await links.signOut()
    #expect(await queue.running() == [])
    #expect(queue.calls == ["events", "stop", "cancelAll"])
    #expect(try secrets.read(scratch.pairing) == nil)
    #expect(source.prepared == [[Self.steps], []], "the delivery of health data ends")
    for folder in HoldfastLinks.Folder.allCases {
      #expect(!FileManager.default.fileExists(atPath: links.folder(folder)), "\(folder)")
    }
    #expect(links.models.isEmpty)
    #expect(await results.next() != nil)
    #expect(sync.phase == .failed(.closed))
  }

  @Test func `after a sign-out no wake opens the sync again, until a screen does`() async throws {
    let (source, queue) = (FakeHealthSource(), CancellableQueue())
    let links = try links(source, queue)
    let sync = links.healthSync()
    await change(of: sync) { $0.phase == .open }
    let leaving = Task { try await links.signOut() }
    for cause in [WakeCause.task("t"), .push, .uploads(session: "s"), .health(types: ["a"])] {
      let (wake, results) = wake()
      links.wake(cause, wake)
      #expect(await results.next() != nil)
    }
    try await leaving.value
    for cause in [WakeCause.task("t"), .push, .uploads(session: "s"), .health(types: ["a"])] {
      let (wake, results) = wake()
      links.wake(cause, wake)
      #expect(await results.next() == .done)
    }
    #expect(!FileManager.default.fileExists(atPath: links.folder(.sync)))
    links.resumeSync()
    #expect(links.models.isEmpty)
    let next = links.healthSync()
    await change(of: next) { $0.phase == .open }
    await next.close()
    links.resumeSync()
    let resumed = links.healthSync()
    await change(of: resumed) { $0.phase == .open }
    #expect(source.prepared.last == [Self.steps])
    await resumed.close()
  }

  @Test func `a sign-out ends the pull in progress and the pairings at the server`() async throws {
    try secrets.write(Secret("resume-token"), scratch.pairing, access: .afterFirstUnlock)
    let links = try links(FakeHealthSource(), CancellableQueue(), clock: TestClock())
    let (push, results) = wake()
    links.wake(.push, push)
    _ = try await network.nextExchange()
    let leaving = Task { try await links.signOut() }
    #expect(await results.next() == .later)
    let exchange = try await network.nextExchange()
    #expect(exchange.request.url == "https://server.example/relay/assistants")
    #expect(exchange.request.headers.contains { $0.value == "Bearer resume-token" })
    #expect(String(decoding: exchange.request.body, as: UTF8.self) == #"{"end":"all"}"#)
    #expect(try secrets.read(scratch.pairing) != nil, "the server gets it first")
    exchange.respond(status: 200, body: Array(#"{"limit":4,"assistants":[]}"#.utf8))
    try await leaving.value
    #expect(try secrets.read(scratch.pairing) == nil)
  }

  @Test func `a sign-out waits at most 5 s for the server`() async throws {
    try secrets.write(Secret("resume-token"), scratch.pairing, access: .afterFirstUnlock)
    let clock = TestClock()
    let links = try HoldfastUITests.links(in: scratch, network, clock: clock, secrets: secrets)
    let leaving = Task { try await links.signOut() }
    _ = try await network.nextExchange()
    let end = clock.now.advanced(by: .seconds(5))
    try await clock.someoneWaits(for: end, within: .seconds(600))
    clock.advance(by: .seconds(5))
    try await leaving.value
    #expect(try secrets.read(scratch.pairing) == nil)
  }

  @Test func `the device's address for pushes is registered with the next user's pairing`()
    async throws
  {
    let links = try links(FakeHealthSource(), CancellableQueue())
    links.pushAddress = APNsAddress(token: "07", topic: nil, environment: .sandbox).map {
      .apns($0)
    }
    links.pushFailure = .refused
    try await links.signOut()
    #expect(links.pushAddress != nil && links.pushFailure == nil)
    try secrets.write(Secret("next-token"), scratch.pairing, access: .afterFirstUnlock)
    links.registerPush()
    let exchange = try await network.nextExchange()
    #expect(exchange.request.headers.contains { $0.value == "Bearer next-token" })
    exchange.respond(status: 204)
  }

  @Test func `a relay that is started during a sign-out does not resume the old pairing`()
    async throws
  {
    try secrets.write(Secret("resume-token"), scratch.pairing, access: .afterFirstUnlock)
    let links = try links(FakeHealthSource(), CancellableQueue())
    let leaving = Task { try await links.signOut() }
    let exchange = try await network.nextExchange()
    let relay = links.healthRelay()
    try relay.start()
    exchange.respond(status: 401)
    try await leaving.value
    await change(of: relay) { $0.phase == .open }
    #expect(await relay.opening.feature?.resumeToken == nil)
    await relay.close()
  }

  @Test func `a relay whose token cannot be read when it opens does not pair anew`() async throws {
    try secrets.write(Secret("resume-token"), scratch.pairing, access: .whileUnlocked)
    let relay = try links(FakeHealthSource(), CancellableQueue()).healthRelay()
    try relay.start()
    secrets.setLocked(true)
    await change(of: relay) { $0.phase == .open && $0.connection.failure != nil }
    #expect(network.sockets.count == 0)
    await relay.close()
  }

  @Test func `a model requested during a sign-out is opened after it`() async throws {
    let links = try links(FakeHealthSource(), CancellableQueue())
    let id = try #require(ShopID("bakery"))
    let first = links.shop(id)
    await change(of: first) { $0.phase == .open }
    let leaving = Task { try await links.signOut() }
    let again = Task { try await links.signOut() }
    await change(of: first) { $0.phase == .failed(.closed) }
    let second = links.shop(id)
    try await leaving.value
    try await again.value
    await change(of: second) { $0.phase == .open }
    #expect(FileManager.default.fileExists(atPath: links.folder(.shops)))
    await second.close()
  }

  @Test func `a keychain that is locked fails a sign-out, and the rest is removed`() async throws {
    let links = try links(FakeHealthSource(), CancellableQueue())
    try secrets.write(Secret("resume-token"), scratch.pairing, access: .whileUnlocked)
    let locked = LockedSecrets()
    let other = HoldfastLinks(
      server: links.server, directory: links.directory,
      ports: DevicePorts(network: network, reachability: FakeReachability(), secrets: locked)
    ) { "token" }
    let shop = other.shop(try #require(ShopID("bakery")))
    await change(of: shop) { $0.phase == .open }
    await #expect(throws: StoreFailure.self) { try await other.signOut() }
    #expect(!FileManager.default.fileExists(atPath: other.folder(.shops)))
  }

  @Test func `a sync that is opened again receives the ends of uploads that went on`() async throws
  {
    let (source, queue) = (FakeHealthSource(), CancellableQueue())
    source.add([sample(1), sample(2)])
    let links = try links(source, queue)
    let first = links.healthSync()
    let upload = try await queue.enqueued.next(within: .seconds(600))
    await first.close()
    // The system goes on, and the upload ends while no sync is open.
    await queue.queue.end(upload.file, .accepted)
    let second = links.healthSync()
    #expect(second !== first)
    let screen = Task { await second.follow() }
    await change(of: second) { $0.types.first?.report.synced == 2 }
    #expect(queue.calls == ["events", "stop", "events"])
    #expect(queue.enqueued.count == 0, "nothing is uploaded twice")
    source.add([sample(3)])
    let later = try await queue.enqueued.next(within: .seconds(600))
    await queue.queue.end(later.file, .accepted)
    await change(of: second) { $0.types.first?.report.synced == 3 }
    await second.close()
    await screen.value
  }

  private func wake() -> (Wake, Mailbox<WakeResult>) {
    let results = Mailbox<WakeResult>()
    return (Wake(budget: .seconds(20)) { results.put($0) }, results)
  }
}

/// A queue whose uploads run until a test ends or cancels them.
final class CancellableQueue: UploadQueue {
  let queue = FakeUploadQueue { _ in nil }
  /// The uploads, in order.
  let enqueued = Mailbox<FileUpload>()
  private let state = Mutex([String]())

  /// The calls that begin and end the delivery, in order.
  var calls: [String] { state.withLock(\.self) }

  func events(_ deliver: @escaping @Sendable (UploadEvent) async -> Void) async {
    state.withLock { $0.append("events") }
    await queue.events(deliver)
  }

  func running() async -> Set<String> { await queue.running() }

  func enqueue(_ uploads: [FileUpload]) async {
    await queue.enqueue(uploads)
    for upload in uploads { enqueued.put(upload) }
  }

  func identify() async throws(LinkFailure) -> SyncIdentity { try await queue.identify() }
  func renewSecret() async -> Bool { false }
  func refresh() async -> LinkFailure? { nil }
  func woken(_ wake: Wake) async { await queue.woken(wake) }

  func stop() async {
    // A feature may stop its queue more than once.
    state.withLock { if $0.last != "stop" { $0.append("stop") } }
    await queue.stop()
  }

  func cancelAll() async {
    state.withLock { $0.append("cancelAll") }
    for file in await queue.running() {
      await queue.end(file, .failed(.local(detail: "cancelled")))
    }
  }
}

/// A store of secrets that cannot be written.
private struct LockedSecrets: SecretStore {
  func read(_ name: SecretName) throws(StoreFailure) -> Secret? { nil }
  func write(
    _ secret: Secret?, _ name: SecretName, access: SecretAccess
  ) throws(StoreFailure) { throw .locked(detail: "the device is locked") }
}
