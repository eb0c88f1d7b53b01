/// The complete backend with a crowd of clients, compared with two other broadcast servers.
enum BackendCrowd {
  static func benchmarks(isFull: Bool) -> [Benchmark] {
    let sizes = Sizes(isFull: isFull)
    let runs = Dictionary(
      uniqueKeysWithValues: BackendServer.Kind.allCases.map { kind in
        (kind, Rounds { try await play(kind, sizes) })
      })
    let benchmarks = rows(sizes).map { row in
      let contenders = BackendServer.Kind.allCases.compactMap { kind in
        runs[kind]?.contender(kind.title, figure: row.figure)
      }
      return Benchmark(
        name: row.figure, question: row.question, unit: row.unit, better: row.better,
        subject: contenders[0], peers: Array(contenders.dropFirst()), rounds: (2, 3))
    }
    return benchmarks + (isFull ? [mostSockets(from: sizes.sockets, to: 1_000_000)] : [])
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
        figure: "backend-open",
        question: "connect and upgrade, \(sizes.sockets) one after the other",
        unit: "us"),
      Row(
        figure: "backend-memory", question: "memory for one of \(sizes.sockets) idle sockets",
        unit: "bytes"),
      Row(
        figure: "backend-idle",
        question: "a core's time for \(sizes.sockets) idle sockets, each pinged every 5 s",
        unit: "%"),
    ]
  }

  /// The sizes of the measurements.
  private struct Sizes: Sendable {
    let sockets: Int
    let rate: Int
    let seconds: Int

    init(isFull: Bool) {
      (sockets, rate, seconds) = isFull ? (10_000, 50, 5) : (10_000, 20, 2)
    }
  }

  private static func play(
    _ kind: BackendServer.Kind, _ sizes: Sizes
  ) async throws -> Rounds.Figures {
    try await playPosts(kind, sizes).merging(try await playCrowd(kind, sizes)) { $1 }
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
      let delivered = try await load.ask("deliver \(sizes.rate) \(sizes.seconds)", for: 6)
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
      let opened = try await load.ask("open \(sizes.sockets - 20)", for: 3)
      figures["backend-open"] = Measurement(opened[1], beside: [("99th percentile", opened[2])])
      figures["backend-memory"] = Measurement(
        (server.usage.memory - before) / Double(sizes.sockets - 20))
      let used = server.usage.processor
      // This lasts one ping interval, so that each socket is pinged once.
      let pings = try await load.ask("idle 5", for: 1)
      figures["backend-idle"] = Measurement(
        (server.usage.processor - used) / 5 * 100, beside: [("pings answered", pings[0])])
    }
    return figures
  }

  static func with(
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
