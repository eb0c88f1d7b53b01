import Foundation
import Holdfast
import HoldfastCore
import HoldfastMessageData
import HoldfastPorts
import HoldfastServerSockets
import HoldfastTestKit
import Synchronization

/// The catch-up of missed messages, from the socket that reports them to the last message shown.
enum CatchUp {
  static func time(count: Int) -> Benchmark {
    let batches = Mutex<[Int]>([])
    return Benchmark(
      name: "catch-up",
      question: "\(count) missed messages: fetched page by page, parsed, ordered, stored, shown",
      unit: "messages/s",
      subject: Contender(name: "holdfast, as an app has it") {
        let run = try await missed(count)
        batches.withLock { $0 = run.batches }
        return run.rate
      },
      peers: [
        Contender(name: "fetching alone: the same pages by the same client") {
          try await fetched(count)
        },
        Contender(name: "SQLite inserts alone, same rows and batches", aim: 0.5) {
          try Ingest.plain(count, batches: batches.withLock(\.self))
        },
      ])
  }

  static func memory(count: Int) -> Benchmark {
    Benchmark(
      name: "catch-up-memory",
      question: "the peak of a process that reads \(count) missed messages and did nothing before",
      unit: "MB", better: .less,
      subject: Contender(name: "\(count) messages") { try await peak(count) },
      peers: [
        Contender(name: "a quarter of them", aim: 1.25) { try await peak(count / 4) }
      ], rounds: (3, 5))
  }

  /// Returns the peak memory, in MB, of a process that reads messages which this process serves.
  private static func peak(_ count: Int) async throws -> Double {
    let (canned, scratch) = (try CannedShop(count), try Scratch())
    let server = try await canned.paged()
    let peak = try await Peer.ours("missed").figure([server.url, "\(count)", scratch.path])
    await server.server.stop()
    return peak
  }

  private static func missed(_ count: Int) async throws -> (rate: Double, batches: [Int]) {
    let (canned, scratch) = (try CannedShop(count), try Scratch())
    let server = try await canned.paged()
    let phone = try await Phone.open(server.url, canned.shop, in: scratch.path)
    let end = try await phone.read(count)
    guard let start = await server.opened() else { throw Unavailable("no client connected") }
    await phone.close()
    await server.server.stop()
    let rate = Double(count) / start.duration(to: end).inSeconds
    return (rate, phone.store.batches)
  }

  /// Returns the rate of fetching alone.
  ///
  /// The protocol requires that pages be requested one after another, since each page names the
  /// next.
  private static func fetched(_ count: Int) async throws -> Double {
    let canned = try CannedShop(count)
    let server = try await canned.paged()
    let network = try HoldfastPlatform.network(proxy: "")
    let path = ShopRoute.paginated(canned.shop).path
    let start = ContinuousClock.now
    for offset in stride(from: 0, to: count, by: 100) {
      let position = ShopPosition(epoch: CannedShop.epoch, offset: UInt64(offset))
      let answer = try await network.send(
        HTTPCall(
          method: "GET", url: server.url + path,
          query: PageQuery.after(position, limit: 100).parameters, timeout: .seconds(9),
          maxBodyBytes: 8 << 20))
      guard answer.status == 200, answer.body.count > 10_000 else {
        throw Unavailable("a page is missing or too short")
      }
    }
    let rate = Double(count) / start.duration(to: .now).inSeconds
    await server.server.stop()
    return rate
  }
}
