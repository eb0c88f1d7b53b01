import Foundation

/// The whole backend with a crowd before it, beside two servers that hand messages to many.
enum BackendCrowd {
  static func benchmarks(isFull: Bool) -> [Benchmark] {
    let sizes = Sizes(isFull: isFull)
    let runs = Dictionary(
      uniqueKeysWithValues: BackendServer.Kind.allCases.map { kind in
        (kind, Rounds { try await play(kind, sizes) })
      })
    return rows(sizes).map { row in
      let contenders = BackendServer.Kind.allCases.compactMap { kind in
        runs[kind]?.contender(kind.title, figure: row.figure)
      }
      return Benchmark(
        name: row.figure, question: row.question, unit: row.unit, better: row.better,
        subject: contenders[0], peers: Array(contenders.dropFirst()), rounds: (2, 3))
    }
  }

  private struct Row {
    var figure: String
    var question: String
    var unit: String
    var better = Benchmark.Better.less
  }

  private static func rows(_ sizes: Sizes) -> [Row] {
    [
      Row(
        figure: "backend-accepted", question: "messages of one shop taken from 64 posters at once",
        unit: "messages/s", better: .more),
      Row(
        figure: "backend-accepted-shops",
        question: "the same with a shop for each poster; the others know one channel",
        unit: "messages/s", better: .more),
      Row(
        figure: "backend-delivery",
        question: "post to each of 1,000 sockets, \(sizes.rate) posts a second, median",
        unit: "ms"),
      Row(figure: "backend-delivery-p99", question: "the same, 99th percentile", unit: "ms"),
      Row(
        figure: "backend-open", question: "connect and upgrade, \(sizes.crowd) one after the other",
        unit: "us"),
      Row(
        figure: "backend-memory", question: "memory for one of \(sizes.crowd) idle sockets",
        unit: "bytes"),
      Row(
        figure: "backend-idle",
        question: "a core's time for \(sizes.crowd) idle sockets, each pinged every 5 s",
        unit: "%"),
    ]
      + (sizes.most == 0
        ? []
        : [
          Row(
            figure: "backend-most",
            question:
              "idle sockets held at once, each pinged every minute, until something ends it",
            unit: "sockets", better: .more)
        ])
  }

  /// How much of it.
  private struct Sizes: Sendable {
    let crowd: Int
    let rate: Int
    let seconds: Int
    /// How many sockets are tried at most; 0 where it is not tried.
    let most: Int

    init(isFull: Bool) {
      (crowd, rate, seconds, most) = isFull ? (10_000, 50, 5, 1_000_000) : (10_000, 20, 2, 0)
    }
  }

  private static func play(
    _ kind: BackendServer.Kind, _ sizes: Sizes
  ) async throws -> Rounds.Figures {
    var figures = try await playPosts(kind, sizes).merging(try await playCrowd(kind, sizes)) { $1 }
    if sizes.most > 0 { figures["backend-most"] = try await most(kind, of: sizes.most) }
    return figures
  }

  private static func playPosts(
    _ kind: BackendServer.Kind, _ sizes: Sizes
  ) async throws -> Rounds.Figures {
    var figures: Rounds.Figures = [:]
    try await with(kind) { _, load in
      let accepted = try await load.ask("accept 64 \(sizes.seconds)", for: 1)
      figures["backend-accepted"] = Measurement(accepted[0])
      figures["backend-accepted-shops"] = Measurement(accepted[0])
      _ = try await load.ask("open 1000")
      let delivered = try await load.ask("deliver \(sizes.rate) \(sizes.seconds)", for: 4)
      let beside = [("not seen", delivered[1] - delivered[0])]
      figures["backend-delivery"] = Measurement(delivered[2] / 1000, beside: beside)
      figures["backend-delivery-p99"] = Measurement(delivered[3] / 1000)
    }
    guard kind == .holdfast else { return figures }
    try await with(kind, ["--shops", "64"]) { _, load in
      let accepted = try await load.ask("accept 64 \(sizes.seconds)", for: 1)
      figures["backend-accepted-shops"] = Measurement(accepted[0])
    }
    return figures
  }

  private static func playCrowd(
    _ kind: BackendServer.Kind, _ sizes: Sizes
  ) async throws -> Rounds.Figures {
    var figures: Rounds.Figures = [:]
    try await with(kind) { server, load in
      _ = try await load.ask("open 20")
      let before = server.usage.memory
      let opened = try await load.ask("open \(sizes.crowd - 20)", for: 3)
      figures["backend-open"] = Measurement(opened[1], beside: [("99th percentile", opened[2])])
      figures["backend-memory"] = Measurement(
        (server.usage.memory - before) / Double(sizes.crowd - 20))
      let used = server.usage.processor
      // As long as pings are apart, so that each socket has had one.
      let pings = try await load.ask("idle 5", for: 1)
      figures["backend-idle"] = Measurement(
        (server.usage.processor - used) / 5 * 100, beside: [("pings answered", pings[0])])
    }
    return figures
  }

  /// Doubles the crowd, then the last doubling by thousands, until something ends it.
  private static func most(_ kind: BackendServer.Kind, of bound: Int) async throws -> Measurement {
    var most = Measurement(0)
    try await with(kind, pinging: 60) { server, load in
      do {
        while most.value < Double(bound) {
          let before = server.usage.processor
          // Pings are answered meanwhile, and what they cost at this size is measured.
          let pings = try await load.ask("idle 2", for: 1)
          let usage = server.usage
          let held = most.value
          most = Measurement(
            held,
            beside: [
              ("megabytes of memory", usage.memory / 1e6),
              ("% of a core", (usage.processor - before) / 2 * 100),
              ("pings answered a second", pings[0] / 2),
            ])
          try await double(&most, by: load, to: bound)
        }
        most.remark = "ended by the benchmark's own bound"
      } catch {
        most.remark = "ended by: \(error)"
      }
    }
    return most
  }

  /// Opens as many as there are, by thousands.
  private static func double(
    _ most: inout Measurement, by load: LoadGenerator, to bound: Int
  ) async throws {
    let end = min(max(most.value * 2, 1000), Double(bound))
    while most.value < end {
      guard try freeMemory() > 1e9 else { throw Unavailable("less than 1 GB of memory is left") }
      _ = try await load.ask("open 1000")
      most.value += 1000
      _ = try await load.ask("idle 0.01")
    }
  }

  /// What programs may still have, as Linux guesses it (proc(5), `MemAvailable`).
  private static func freeMemory() throws -> Double {
    let text = try String(contentsOfFile: "/proc/meminfo", encoding: .utf8)
    let line = text.split(separator: "\n").first { $0.hasPrefix("MemAvailable:") }
    let kilobytes = line?.split(separator: " ").dropFirst().first.flatMap { Double($0) }
    guard let kilobytes else { throw Unavailable("/proc/meminfo names no memory") }
    return kilobytes * 1024
  }

  private static func with(
    _ kind: BackendServer.Kind, _ more: [String] = [], pinging seconds: Int = 5,
    _ body: (BackendServer, LoadGenerator) async throws -> Void
  ) async throws {
    let server = try await BackendServer.start(kind, pinging: seconds)
    let load = try LoadGenerator(port: server.port, server.options + more)
    do {
      try await body(server, load)
    } catch {
      await load.end()
      await server.end()
      throw error
    }
    await load.end()
    await server.end()
  }
}
