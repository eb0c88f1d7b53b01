import Foundation
import Holdfast
import HoldfastTestKit
import LinkCore
import LinkRuntime
import LinkWire
import ServerSockets
import Synchronization

/// What was missed while away: from the socket that tells of it to the last message shown.
enum CatchUp {
  static func time(count: Int) -> Benchmark {
    let batches = Mutex<[Int]>([])
    return Benchmark(
      name: "catch-up",
      question: "\(count) missed messages: fetched by pages, parsed, ordered, stored, shown",
      unit: "messages/s",
      subject: Contender(name: "holdfast, as an app has it") {
        let run = try await missed(count)
        batches.withLock { $0 = run.batches }
        return run.rate
      },
      peers: [
        Contender(name: "the same pages by the same client, thrown away") {
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
      question: "what \(count) missed messages add to the memory at its peak",
      unit: "MB", better: .less,
      subject: Contender(name: "\(count) messages") { try await missed(count).growth },
      peers: [
        Contender(name: "a quarter of them", aim: 2) { try await missed(count / 4).growth }
      ])
  }

  private static func missed(_ count: Int) async throws -> (
    rate: Double, growth: Double, batches: [Int]
  ) {
    let (canned, scratch) = (try CannedShop(count), try Scratch())
    let server = try await canned.paged()
    let before = try Memory.reset()
    let phone = try await Phone.open(server.url, canned.shop, in: scratch.path)
    let end = try await phone.read(count)
    let peak = try Memory.peak()
    guard let start = await server.opened() else { throw Unavailable("nobody connected") }
    await phone.close()
    await server.server.stop()
    let rate = Double(count) / start.duration(to: end).inSeconds
    // Less is not told apart from what the heap had free before.
    return (rate, max(peak - before, 2), phone.store.batches)
  }

  /// The least that the protocol needs: one page after the other, since each names the next.
  private static func fetched(_ count: Int) async throws -> Double {
    let canned = try CannedShop(count)
    let server = try await canned.paged()
    let network = try Platform.network(proxy: "")
    let path = ShopRoute.paginated(canned.shop).path
    let start = ContinuousClock.now
    for offset in stride(from: 0, to: count, by: 100) {
      let position = Position(epoch: CannedShop.epoch, offset: UInt64(offset))
      let answer = try await network.send(
        HTTPRequest(
          method: "GET", url: server.url + path,
          query: PageQuery.after(position, limit: 100).parameters, timeout: .seconds(9),
          maxBodyBytes: 8 << 20))
      guard answer.status == 200, answer.body.count > 10_000 else {
        throw Unavailable("a page was not there")
      }
    }
    let rate = Double(count) / start.duration(to: .now).inSeconds
    await server.server.stop()
    return rate
  }
}

/// What the kernel counts of this process.
enum Memory {
  /// Forgets the peak; the present size in MB.
  static func reset() throws -> Double {
    do {
      try "5".write(toFile: "/proc/self/clear_refs", atomically: false, encoding: .utf8)
    } catch {
      throw Unavailable("this system does not count peaks of memory")
    }
    return try field("VmRSS")
  }

  /// The largest size since then, in MB.
  static func peak() throws -> Double { try field("VmHWM") }

  private static func field(_ name: String) throws -> Double {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix("\(name):") }),
      let kilobytes = Double(line.split { !$0.isNumber }.first ?? "")
    else { throw Unavailable("this system does not tell \(name)") }
    return kilobytes / 1024
  }
}
