import Foundation
import Holdfast
import HoldfastCore
import HoldfastSession
import HoldfastTestKit

/// Round trips of prompts and responses through one session.
///
/// They are compared with a session in memory and with a plain WebSocket.
enum SessionEcho {
  private static let text = String(repeating: "e", count: 300)
  /// The number of initial round trips that are not measured.
  private static let warmUp = 50

  static func benchmarks(isFull: Bool) -> [Benchmark] {
    [
      benchmark(
        "session-echo",
        "300 bytes from a prompt to its response shown, one after the other, median",
        Load(count: isFull ? 2_000 : 500, conversations: 1)),
      benchmark(
        "session-echo-16", "the same with 16 conversations at once",
        Load(count: isFull ? 8_000 : 2_000, conversations: 16)),
    ]
  }

  /// The amount of work of a benchmark.
  private struct Load: Sendable {
    var count: Int
    /// The number of concurrent prompts, each in its own conversation.
    var conversations: Int
  }

  private static func benchmark(_ name: String, _ question: String, _ load: Load) -> Benchmark {
    Benchmark(
      name: name, question: question, unit: "us", better: .less,
      subject: Contender(name: "holdfast, each step synced at both ends and acknowledged") {
        try await measure(load, inMemory: false)
      },
      peers: [
        Contender(name: "in memory: holdfast, no store at either end") {
          try await measure(load, inMemory: true)
        },
        Contender(name: "Python websockets, client and server, without either") {
          try await python(load)
        },
      ], rounds: (3, 5))
  }

  private static func measure(_ load: Load, inMemory: Bool) async throws -> Measurement {
    let scratch = try Scratch()
    let host = try await SessionHost.start(
      scratch("server"), inMemory ? ["--in-memory"] : [])
    let session = try await HeldSession(
      SessionConfiguration(
        host.url, storage: inMemory ? .memory : .directory(scratch("phone")),
        tokens: .fixed(try host.key)))
    let measurement = await measure(load, session)
    await session.close()
    await host.end()
    return measurement
  }

  private static func measure(_ load: Load, _ session: HeldSession) async -> Measurement {
    var generator = SystemRandomNumberGenerator()
    var begun: [String: ContinuousClock.Instant] = [:]
    for _ in 0..<load.conversations {
      let conversation = UUID128.random(using: &generator).description
      begun[conversation] = .now
      session.prompt(text, in: conversation)
    }
    var times: [Double] = []
    var answered = 0
    var start = ContinuousClock.now
    for await update in session {
      guard case .message(let entry, _, let news) = update else { continue }
      let now = ContinuousClock.now
      session.markShown(through: news)
      if answered >= warmUp, let begin = begun[entry.conversation] {
        times.append(begin.duration(to: now).inSeconds * 1e6)
      }
      answered += 1
      if answered == warmUp { start = .now }
      if times.count == load.count { break }
      begun[entry.conversation] = .now
      session.prompt(text, in: entry.conversation)
    }
    let seconds = start.duration(to: .now).inSeconds
    return measurement(
      Statistics.median(times), Statistics.quantile(0.99, of: times),
      rate: Double(times.count) / seconds)
  }

  private static func python(_ load: Load) async throws -> Measurement {
    let server = try await CrowdServer.start(.python, .plain)
    let client = try Peer.pinned("echo.py").start([
      "ws://127.0.0.1:\(server.port)/", "\(load.count)", "\(load.conversations)",
    ])
    var figures: [Double] = []
    for await line in client.lines {
      figures = line.split(separator: " ").compactMap { Double($0) }
    }
    await server.end()
    guard figures.count == 3 else {
      throw Unavailable(await client.diagnostics.reduce("it ended without a word") { $1 })
    }
    return measurement(figures[0], figures[1], rate: figures[2])
  }

  private static func measurement(
    _ median: Double, _ slowest: Double, rate: Double
  ) -> Measurement {
    Measurement(median, beside: [("99th percentile", slowest), ("round trips/s", rate)])
  }
}
