import Foundation
import Holdfast
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealthSync
import HoldfastPorts
import HoldfastSyncData
import HoldfastTestKit
import HoldfastUploads
import Synchronization
import Testing

/// Tests of the wakes that an app passes to a sync, and of the list that a launch reads.
@Suite(.timeLimit(.minutes(60))) struct SyncWakeCallTests {
  private static let file = "health-sync/batch_1.json"

  @Test func `a launch finds the types of the last run without opening the queue`() async throws {
    let scratch = try Scratch()
    #expect(SampleSync.preparedTypes(in: scratch.path) == [])
    for types in [["a", "b"], ["b"], []] {
      let rig = try await Rig(scratch, types: types)
      await rig.sync.waitUntil { $0.state == .done(quarantined: 0) }
      #expect(SampleSync.preparedTypes(in: scratch.path) == types)
      await rig.sync.close()
      #expect(SampleSync.preparedTypes(in: scratch.path) == types)
    }
    try scratch.write(Array("a\n\nb\n".utf8), to: "health-sync-types")
    #expect(SampleSync.preparedTypes(in: scratch.path) == ["a", "b"])
    #expect(SampleSync.preparedTypes(in: "/proc/nonexistent") == [])
  }

  @Test(arguments: [WakeCause.task("refresh"), .push, .health(types: ["a"])])
  func `a wake is given back when the source was read`(cause: WakeCause) async throws {
    let rig = try await Rig(try Scratch(), types: ["a"])
    await rig.sync.waitUntil { $0.state == .done(quarantined: 0) }
    let before = rig.source.reads
    let (wake, results) = Self.wake()
    rig.sync.wake(cause, wake)
    #expect(await results.first == .done)
    #expect(rig.source.reads > before)
    await rig.sync.close()
  }

  @Test func `a wake for uploads is given back when their batches have left the queue`()
    async throws
  {
    let scratch = try Scratch()
    let uploads = FakeUploadQueue(running: [Self.file]) { _ in nil }
    // The upload ends before the app has opened the sync.
    await uploads.end(Self.file, .accepted)
    let rig = try await Rig(scratch, types: [], uploads, files: [Self.file])
    let (wake, results) = Self.wake()
    rig.sync.wake(.uploads(session: "health"), wake)
    #expect(await results.first == .done)
    #expect(try await rig.queue.stored().batches == [])
    await rig.sync.close()
  }

  @Test(arguments: [
    UploadOutcome.accepted, .failed(.http(status: 400, retryAfter: nil, detail: "no")),
  ])
  func `an upload that ended before the sync was open is not sent again`(
    outcome: UploadOutcome
  ) async throws {
    let scratch = try Scratch()
    let uploads = FakeUploadQueue(running: [Self.file]) { _ in nil }
    await uploads.end(Self.file, outcome)
    let rig = try await Rig(scratch, types: [], uploads, files: [Self.file])
    await rig.sync.waitUntil { $0.state == .done(quarantined: outcome == .accepted ? 0 : 1) }
    #expect(uploads.enqueued == [])
    #expect(try await rig.queue.stored().batches.count == (outcome == .accepted ? 0 : 1))
    await rig.sync.close()
  }

  @Test func `a wake for uploads is given back in time if their ends are never delivered`()
    async throws
  {
    let uploads = KeepingUploads()
    let rig = try await Rig(try Scratch(), types: [], uploads)
    let (wake, results) = Self.wake(budget: .milliseconds(20))
    rig.sync.wake(.uploads(session: "health"), wake)
    #expect(await results.first == .later)
    await rig.sync.close()
    #expect(await uploads.isExpired)
  }

  @Test func `uploads learn that the time is taken back`() async throws {
    let uploads = KeepingUploads()
    let rig = try await Rig(try Scratch(), types: [], uploads)
    let (wake, results) = Self.wake()
    rig.sync.wake(.uploads(session: "health"), wake)
    await uploads.received()
    wake.expire()
    #expect(await uploads.isExpired)
    wake.giveBack(.later)
    #expect(await results.first == .later)
    await rig.sync.close()
  }

  @Test func `every wake is given back at the close, and at once after it`() async throws {
    let uploads = KeepingUploads()
    let rig = try await Rig(try Scratch(), types: ["a"], uploads)
    let (held, heldResults) = Self.wake()
    rig.sync.wake(.uploads(session: "health"), held)
    await uploads.received()
    await rig.sync.close()
    #expect(await heldResults.first == .later)
    for cause in [WakeCause.task("refresh"), .push, .health(types: ["a"])] {
      let (late, lateResults) = Self.wake()
      rig.sync.wake(cause, late)
      #expect(await lateResults.first == .later)
    }
  }

  private static func wake(
    budget: Duration = .seconds(30)
  ) -> (Wake, AsyncStream<WakeResult>) {
    let (results, continuation) = AsyncStream.makeStream(of: WakeResult.self)
    let wake = Wake(budget: budget) {
      continuation.yield($0)
      continuation.finish()
    }
    return (wake, results)
  }

  /// A sync with its source and its queue.
  private struct Rig {
    let sync: SampleSync
    let source = CountingSource()
    let queue: MemorySyncQueueStore

    init(
      _ scratch: Scratch, types: [String], _ uploads: (any UploadQueue)? = nil,
      files: [String] = []
    ) async throws {
      try FileManager.default.createDirectory(
        atPath: scratch("health-sync"), withIntermediateDirectories: true)
      for file in files { try scratch.write(Array("{}".utf8), to: file) }
      let batches = files.map {
        QueuedBatch(
          file: $0, type: "a", position: QueuedBatch.distance, records: 1, deletions: 0, bytes: 2)
      }
      queue = MemorySyncQueueStore(
        StoredSyncQueue(
          asked: [], types: [], batches: batches, stamp: Timestamp(nanoseconds: 0)))
      var configuration = SyncConfiguration(
        "https://health.example", source: source, storage: .store(queue), directory: scratch.path
      ) { "hush-hush-hush-hush" }
      configuration.types = types
      configuration.ports = DevicePorts(
        network: FakeNetwork(clock: BootClock()), reachability: FakeReachability())
      configuration.uploads = uploads ?? FakeUploadQueue { _ in .accepted }
      sync = try await SampleSync(configuration)
    }
  }
}

extension AsyncStream<WakeResult> {
  /// The first result; `nil` if there is none.
  fileprivate var first: WakeResult? {
    get async {
      for await result in self { return result }
      return nil
    }
  }
}

/// A source without samples that counts its reads.
private final class CountingSource: HealthSource {
  private let count = Mutex(0)
  private let source = FakeHealthSource()

  var reads: Int { count.withLock(\.self) }

  func observe(
    _ types: [String], _ fired: @escaping @Sendable ([String], Wake) -> Void
  ) async { await source.observe(types, fired) }

  func page(
    _ type: String, from start: HealthPageStart, limit: Int
  ) async throws(HealthSourceFailure) -> SourcePage {
    count.withLock { $0 += 1 }
    return try await source.page(type, from: start, limit: limit)
  }

  func stop() async { await source.stop() }
}

/// An upload queue that keeps a wake until its time ends or the queue is stopped.
private actor KeepingUploads: UploadQueue {
  private var wake: Wake?
  private let expiry = Mutex(false)
  private let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)

  var isExpired: Bool { expiry.withLock(\.self) }

  /// Returns when a wake has arrived.
  func received() async { for await _ in arrivals { return } }

  func woken(_ wake: Wake) {
    self.wake = wake
    wake.onExpiry { [self] in expiry.withLock { $0 = true } }
    arrival.yield()
  }

  func events(_ deliver: @escaping @Sendable (UploadEvent) async -> Void) {}
  func running() -> Set<String> { [] }
  func enqueue(_ uploads: [FileUpload]) {}
  func identify() -> SyncIdentity { SyncIdentity(SyncOwner(server: "https://health.example")) }
  func renewSecret() -> Bool { false }
  func refresh() -> LinkFailure? { nil }

  func stop() {
    wake?.giveBack(.later)
    wake = nil
  }
}
