import HoldfastMessageData
import HoldfastServerSockets
import HoldfastTestKit
import Synchronization

/// The ingestion of messages, from the bytes of the frames to messages that are stored and shown.
///
/// Each message is validated, deduplicated and ordered.
enum Ingest {
  static func benchmark(count: Int) -> Benchmark {
    let batches = Mutex<[Int]>([])
    return Benchmark(
      name: "ingest",
      question: "\(count) messages over one socket: parsed, deduplicated, ordered, stored, shown",
      unit: "messages/s",
      subject: Contender(name: "holdfast, as an app has it") {
        try await holdfast(count) { sizes in batches.withLock { $0 = sizes } }
      },
      peers: [
        Contender(name: "SQLite inserts alone, same rows and batches", aim: 0.5) {
          try plain(count, batches: batches.withLock(\.self))
        },
        Contender(name: "Python: websockets, json, sqlite3", aim: 5) {
          try await peer(Peer.python("ingest.py"), count)
        },
        Contender(name: "Node: ws, JSON, sqlite3", aim: 1) {
          try await peer(try Peer.node("ingest.js", sqlite: true), count)
        },
      ], rounds: (5, 7))
  }

  /// Returns the benchmark of inserts alone, which limit the speed of any client that uses SQLite.
  static func limit(count: Int) -> Benchmark {
    Benchmark(
      name: "ingest-limit",
      question: "\(count) inserts alone, by the store's tables and up to 1,000 at once",
      unit: "messages/s",
      subject: Contender(name: "SQLite inserts alone") {
        try plain(count, batches: Array(repeating: 1_000, count: count / 1_000 + 1))
      },
      peers: [
        Contender(name: "Python: websockets, json, sqlite3") {
          try await peer(Peer.python("ingest.py"), count)
        }
      ])
  }

  private static func holdfast(_ count: Int, _ note: ([Int]) -> Void) async throws -> Double {
    let (canned, scratch) = (try CannedShop(count), try Scratch())
    let server = try await canned.streaming()
    let phone = try await Phone.open(server.url, canned.shop, in: scratch.path)
    let end = try await phone.read(count)
    let rate = try await rate(count, server, end)
    note(phone.store.batches)
    await phone.close()
    await server.server.stop()
    return rate
  }

  static func plain(_ count: Int, batches: [Int]) throws -> Double {
    let (canned, scratch) = (try CannedShop(count), try Scratch())
    var database = try PlainInserts(path: scratch("plain.sqlite"))
    let start = ContinuousClock.now
    try database.insert(canned.messages, batches: batches)
    return Double(count) / start.duration(to: .now).inSeconds
  }

  private static func peer(_ peer: Peer, _ count: Int) async throws -> Double {
    let (canned, scratch) = (try CannedShop(count), try Scratch())
    let server = try await canned.streaming()
    let url = "ws://127.0.0.1:\(server.port)/ws/shop/\(canned.shop)"
    let program = try peer.start([url, scratch("peer.sqlite"), canned.shop.text, "\(count)"])
    for await line in program.lines where line == "stored" {
      let rate = try await rate(count, server, .now)
      await server.server.stop()
      return rate
    }
    // The last line of a traceback states the error.
    throw Unavailable(await program.diagnostics.reduce("it ended without a word") { $1 })
  }

  private static func rate(
    _ count: Int, _ server: CannedServer, _ end: ContinuousClock.Instant
  ) async throws -> Double {
    guard let start = await server.opened() else { throw Unavailable("nobody connected") }
    return Double(count) / start.duration(to: end).inSeconds
  }
}

extension Duration {
  var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
}
