import Foundation
import Holdfast
import HoldfastBackend
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealthSamples
import HoldfastHealthSync
import HoldfastPorts
import HoldfastSQLiteStores
import HoldfastSyncData
import HoldfastTestKit

/// Health sync from a phone's store to a backend's store.
///
/// It is compared with plain upload loops and with inserting the rows alone.
enum SyncBenchmarks {
  static func benchmarks(count: Int) -> [Benchmark] {
    [sync(count), ingest(count), size(count)]
  }

  private static func sync(_ count: Int) -> Benchmark {
    Benchmark(
      name: "sync",
      question: "\(count) samples of a phone's store, until a backend has stored and answered all",
      unit: "samples/s",
      subject: Contender(name: "holdfast, read, queued and sent") {
        try await phone(count).speed
      },
      peers: [
        Contender(name: "a plain loop with libcurl, batches prepared") {
          try await loop(count).speed
        }
      ], rounds: (3, 5))
  }

  private static func ingest(_ count: Int) -> Benchmark {
    Benchmark(
      name: "sync-ingest",
      question: "the same batches posted to the backend, each stored and synced before its answer",
      unit: "samples/s",
      subject: Contender(name: "holdfast, four plain loops at once") {
        try await loops(count).speed
      },
      peers: [
        Contender(name: "SQLite inserts alone", aim: 0.8) { try inserts(count) }
      ], rounds: (3, 5))
  }

  private static func size(_ count: Int) -> Benchmark {
    Benchmark(
      name: "sync-bytes",
      question: "bytes that the phone sends for a sample, with the heads of all requests",
      unit: "bytes", better: .less,
      subject: Contender(name: "holdfast, compressed") { try await phone(count).bytes },
      peers: [
        Contender(name: "a plain loop with libcurl") { try await loop(count).bytes }
      ], rounds: (2, 2))
  }

  // MARK: Phones and plain loops

  private typealias Figures = (speed: Double, bytes: Double)

  /// Measures a phone whose store has all samples, none of which has been sent.
  private static func phone(_ count: Int) async throws -> Figures {
    let scratch = try Scratch()
    let health = try await SQLiteHealthStore.open(in: scratch("phone"))
    _ = try await health.add(SyncLoad.samples(count))
    let queue = try await SQLiteSyncQueueStore.open(in: scratch("phone"))
    let figures = try await withBackend(scratch, count) { url, secret in
      var configuration = SyncConfiguration(
        url, source: StoredHealthSource(health), storage: .store(queue),
        directory: scratch("phone")
      ) { secret }
      configuration.types = [SyncLoad.type]
      let sync = try await SampleSync(configuration)
      let updates = Task { for await _ in sync {} }
      await sync.waitUntil { $0.state != .working }
      let state = await sync.snapshot.state
      await sync.close()
      await updates.value
      guard state == .done(quarantined: 0) else { throw Unavailable("the sync is \(state)") }
    }
    await queue.close()
    await health.close()
    return figures
  }

  private static func loop(_ count: Int) async throws -> Figures {
    let scratch = try Scratch()
    let batches = SyncLoad.batches(count)
    return try await withBackend(scratch, count) { url, secret in
      try await post(batches, to: url, secret)
    }
  }

  /// Measures a backend that is kept as busy as several phones would keep it.
  private static func loops(_ count: Int) async throws -> Figures {
    let scratch = try Scratch()
    let batches = SyncLoad.batches(count)
    return try await withBackend(scratch, count, isCounted: false) { url, secret in
      try await withThrowingTaskGroup { group in
        for first in 0..<4 {
          let part = stride(from: first, to: batches.count, by: 4).map { batches[$0] }
          group.addTask { try await post(part, to: url, secret) }
        }
        try await group.waitForAll()
      }
    }
  }

  /// Posts batches one after the other.
  private static func post(_ batches: [[UInt8]], to url: String, _ secret: String) async throws {
    let http = try HoldfastPlatform.network(proxy: "")
    for body in batches {
      let answer = try await http.send(
        HTTPCall(
          method: "POST", url: url + "/api/sync",
          headers: [
            ("Authorization", "Bearer \(secret)"), ("Content-Type", "application/json"),
          ], body: body, timeout: .seconds(30), maxBodyBytes: 65_536))
      guard answer.status == 200 else { throw Unavailable("a batch got \(answer.status)") }
    }
  }

  /// Measures `body` with a backend, behind a proxy that counts bytes if `isCounted` is true.
  private static func withBackend(
    _ scratch: Scratch, _ count: Int, isCounted: Bool = true,
    _ body: (_ url: String, _ secret: String) async throws -> Void
  ) async throws -> Figures {
    let secret = "a-secret-of-the-benchmark"
    try scratch.write(Array("me \(secret) Etc/UTC\n".utf8), to: "secrets")
    var configuration = BackendConfiguration(dataDirectory: scratch("server"))
    configuration.syncSecretFile = scratch("secrets")
    let backend = Backend(configuration)
    let address = try await backend.start()
    let proxy = try FaultProxy(upstream: address.port)
    let start = ContinuousClock.now
    do {
      try await body("http://127.0.0.1:\(isCounted ? proxy.port : address.port)", secret)
    } catch {
      await backend.kill()
      throw error
    }
    let time = start.duration(to: .now).inSeconds
    let bytes = await proxy.traffic.bytesUp
    await backend.kill()
    let store = try await SQLiteSyncStore.open(in: scratch("server"))
    let held = try await store.summary(of: "me").reduce(0) { $0 + ($1.count ?? 0) }
    await store.close()
    guard held == count else { throw Unavailable("the backend has \(held) of \(count) samples") }
    return (Double(count) / time, Double(bytes) / Double(count))
  }

  private static func inserts(_ count: Int) throws -> Double {
    let scratch = try Scratch()
    let deliveries = try SyncLoad.batches(count).map { body in
      let reading = try SyncReading.read(body) as SyncReading
      var number: UInt64 = 0
      return SyncDelivery(of: reading, user: "me") { _ in
        // These hashes are spread over the whole index, like SHA-256 hashes.
        number += 1
        var dice = SplitDice(number &+ UInt64(body.count) &* 977)
        return SyncHash(words: SIMD4(dice.next(), dice.next(), dice.next(), dice.next()))
      }
    }
    var rows = try PlainSyncInserts(path: scratch("plain.sqlite"))
    let start = ContinuousClock.now
    for delivery in deliveries { try rows.insert(delivery) }
    return Double(count) / start.duration(to: .now).inSeconds
  }
}

/// The samples that every contender sends.
enum SyncLoad {
  static let type = "HKQuantityTypeIdentifierHeartRate"

  /// Returns heart rates of the last days, with one sample every ten seconds.
  static func samples(_ count: Int) -> [HealthSample] {
    let now = BootClock().wall.nanoseconds / 1_000_000_000
    return (0..<count).map { index in
      let start = Timestamp(nanoseconds: (now - Int64(10 * (count - index))) * 1_000_000_000)
      return HealthSample(
        type: type, value: .quantity(Double(60 + index % 83)), unit: "count/min", start: start,
        end: start, source: "Apple Watch")
    }
  }

  /// Returns the same samples as the batches that a phone sends.
  static func batches(_ count: Int) -> [[UInt8]] {
    let samples = samples(count).enumerated().map { index, sample in
      var dice = SplitDice(UInt64(index))
      return SourceSample(
        uuid: UUID128(high: dice.next(), low: dice.next()), sample: sample)
    }
    let page = SourcePage(added: samples, anchor: HealthAnchor([]))
    return SyncPacking(deviceID: "bench").batches(of: type, page, made: BootClock().wall)
      .map(\.bytes)
  }
}

/// A generator of pseudo-random numbers (splitmix64).
struct SplitDice {
  private var state: UInt64

  init(_ seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var word = state
    word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
    return word ^ word >> 31
  }
}
