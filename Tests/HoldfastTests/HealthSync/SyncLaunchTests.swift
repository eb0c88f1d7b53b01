import Foundation
import Holdfast
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealthSamples
import HoldfastHealthSync
import HoldfastPorts
import HoldfastSyncData
import HoldfastTestKit
import Testing

/// Tests of uploads in an app that the system launches in the background.
@Suite(.timeLimit(.minutes(60))) struct SyncLaunchTests {
  private static let file = "health-sync/batch_1.json"

  @Test func `a launch in Low Power Mode sends nothing until the app is in front`() async throws {
    let lifecycle = FakeLifecycle(known: [.background, .lowPower(true)])
    let scratch = try Scratch()
    let sync = try await Self.sync(scratch, lifecycle)
    sync.retryNow()
    await sync.waitUntil { _ in true }
    #expect(await sync.snapshot.sending == [])
    #expect(await !sync.snapshot.canWork)
    lifecycle.send(.foreground)
    await sync.waitUntil { !$0.sending.isEmpty }
    #expect(await sync.snapshot.sending == [Self.file])
    await sync.close()
  }

  @Test func `an app reports the conditions itself if no monitor does`() async throws {
    let scratch = try Scratch()
    let sync = try await Self.sync(scratch, FakeLifecycle(known: [.background, .lowPower(true)]))
    sync.retryNow()
    await sync.waitUntil { _ in true }
    #expect(await sync.snapshot.sending == [])
    sync.setConditions(SyncConditions())
    await sync.waitUntil { !$0.sending.isEmpty }
    await sync.close()
  }

  @Test func `a launch in front, or without Low Power Mode, sends immediately`() async throws {
    for known in [[], [.background], [.lowPower(true)]] as [[LifecycleEvent]] {
      let scratch = try Scratch()
      let sync = try await Self.sync(scratch, FakeLifecycle(known: known))
      sync.retryNow()
      await sync.waitUntil { !$0.sending.isEmpty }
      #expect(await sync.snapshot.sending == [Self.file])
      await sync.close()
    }
  }

  @Test func `a system upload queue receives all batches at once, and running uploads are adopted`()
    async throws
  {
    let scratch = try Scratch()
    let files = (1...3).map { "health-sync/batch_\($0).json" }
    let system = FakeUploadQueue(running: [files[0]]) { _ in nil }
    let sync = try await Self.sync(scratch, FakeLifecycle(known: []), files, system)
    sync.retryNow()
    await sync.waitUntil { $0.sending.count == 3 }
    #expect(system.enqueued.map(\.file) == Array(files.dropFirst()))
    for file in files { await system.end(file, .accepted) }
    await sync.waitUntil { $0.state == .done(quarantined: 0) }
    await sync.close()
  }

  @Test func `a sync opens the queue of its directory, and closes it at its end`() async throws {
    let scratch = try Scratch()
    let sync = try await SampleSync(Self.configuration("https://a", .directory(scratch.path)))
    await #expect(throws: StoreFailure.self) {
      try await HoldfastPlatform.syncQueue(in: scratch.path)
    }
    await sync.close()
    await (try HoldfastPlatform.syncQueue(in: scratch.path)).close()
  }

  @Test func `a second sync of a directory changes neither the queue nor the journal of the first`()
    async throws
  {
    let scratch = try Scratch()
    var configuration = Self.configuration("https://a", .directory(URL(filePath: scratch.path)))
    configuration.journal = scratch("sync.jsonl")
    let sync = try await SampleSync(configuration)
    let error = await #expect(throws: OpenError.self) { try await SampleSync(configuration) }
    guard case .store(.locked) = error else {
      Issue.record("another error: \(String(describing: error))")
      return
    }
    await sync.close()
    #expect(!FileManager.default.fileExists(atPath: scratch("sync.jsonl.old1")))
  }

  @Test func `a sync whose journal cannot be created closes the queue that it opened`()
    async throws
  {
    let scratch = try Scratch()
    var configuration = Self.configuration("https://a", .directory(scratch.path))
    configuration.journal = scratch("missing/sync.jsonl")
    let error = await #expect(throws: OpenError.self) { try await SampleSync(configuration) }
    guard case .journal = error else {
      Issue.record("another error: \(String(describing: error))")
      return
    }
    await (try HoldfastPlatform.syncQueue(in: scratch.path)).close()
  }

  @Test func `a wrong URL, or files without a directory, are refused at once`() async throws {
    for server in ["a", "ftp://a", "https://a#b"] {
      let configuration = Self.configuration(server, .memory, in: "/nowhere")
      await Self.expectRefusal(of: configuration)
    }
    await Self.expectRefusal(of: Self.configuration("https://a", .memory))
    await Self.expectRefusal(of: Self.configuration("http://192.0.2.1", .memory, in: "/nowhere"))
  }

  private static func expectRefusal(of configuration: SyncConfiguration) async {
    let error = await #expect(throws: OpenError.self) { try await SampleSync(configuration) }
    guard case .configuration = error else {
      Issue.record("another error: \(String(describing: error))")
      return
    }
  }

  private static func configuration(
    _ server: String, _ storage: StorageLocation<any SyncQueueStore>, in directory: String? = nil
  ) -> SyncConfiguration {
    var configuration = SyncConfiguration(
      server, source: NoSource(), storage: storage, directory: directory
    ) { "hush-hush-hush-hush" }
    configuration.types = []
    configuration.ports = DevicePorts(
      network: FakeNetwork(clock: BootClock()), reachability: FakeReachability())
    return configuration
  }

  /// Creates a sync with the batches of an earlier process. Its uploads never end by themselves.
  private static func sync(
    _ scratch: Scratch, _ lifecycle: FakeLifecycle, _ files: [String] = [file],
    _ uploads: (any UploadQueue)? = nil
  ) async throws -> SampleSync {
    try FileManager.default.createDirectory(
      atPath: scratch("health-sync"), withIntermediateDirectories: true)
    var batches: [QueuedBatch] = []
    for file in files {
      try scratch.write(Array("{}".utf8), to: file)
      let place = QueuedBatch.distance * UInt64(batches.count + 1)
      batches.append(
        QueuedBatch(file: file, type: "a", position: place, records: 1, deletions: 0, bytes: 2))
    }
    let stored = StoredSyncQueue(
      asked: [], types: [], batches: batches, stamp: Timestamp(nanoseconds: 0))
    var configuration = configuration(
      "https://health.example", .store(MemoryStore(stored)), in: scratch.path)
    configuration.uploads = uploads ?? FakeUploadQueue { _ in nil }
    configuration.ports.lifecycle = lifecycle
    return try await SampleSync(configuration)
  }
}

/// A source without samples.
private struct NoSource: HealthSource {
  func observe(
    _ types: [String], _ fired: @escaping @Sendable ([String], Wake) -> Void
  ) {}

  func page(
    _ type: String, from start: HealthPageStart, limit: Int
  ) throws(HealthSourceFailure) -> SourcePage {
    SourcePage(anchor: HealthAnchor([]))
  }

  func stop() {}
}
