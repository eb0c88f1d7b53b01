/// Server sockets under load, compared with common servers and with a minimal C server.
///
/// The minimum comes from a few lines of C that make the same system calls.
enum Transport {
  static func benchmarks(isFull: Bool) -> [Benchmark] {
    let sizes = Sizes(isFull: isFull)
    let runs = Dictionary(
      uniqueKeysWithValues: CrowdServer.Kind.allCases.map { kind in
        (kind, Rounds { try await play(kind, sizes) })
      })
    return rows.map { row in
      let kinds = CrowdServer.Kind.allCases.filter { $0.isWhole || row.least != nil }
      let contenders = kinds.compactMap { kind in
        runs[kind]?.contender(
          kind.title, aim: kind == .least ? row.least : nil, figure: row.figure)
      }
      return Benchmark(
        name: row.figure, question: row.question, unit: row.unit, better: row.better,
        subject: contenders[0], peers: Array(contenders.dropFirst()),
        rounds: (3, 5))
    }
  }

  private struct Row {
    var figure: String
    var question: String
    var unit: String
    var better = Benchmark.Better.less
    /// The required ratio to the minimal server, or `nil` for a feature that the minimal server
    /// lacks.
    var least: Double?
  }

  private static let rows = [
    Row(
      figure: "fan-out", question: "messages of 300 bytes to 1,000 sockets, one after the other",
      unit: "messages/s", better: .more, least: 0.9),
    Row(
      figure: "echo", question: "round trip of 300 bytes, median",
      unit: "us", least: 1.25),
    Row(
      figure: "echo-in-crowd", question: "the same while 5,000 others are connected",
      unit: "us", least: 1.25),
    Row(
      figure: "accept-plain", question: "TCP connect and WebSocket upgrade, median",
      unit: "us", least: 1.5),
    Row(
      figure: "accept-tls", question: "the same with a full TLS 1.3 handshake",
      unit: "us", least: 1.1),
    Row(
      figure: "accept-resumed", question: "the same with a resumed TLS 1.3 session",
      unit: "us", least: 1.2),
    Row(
      figure: "socket-memory", question: "server memory for each idle socket",
      unit: "bytes"),
    Row(
      figure: "socket-memory-tls", question: "the same over TLS",
      unit: "bytes", least: 1.1),
    Row(
      figure: "socket-memory-deflate",
      question: "the same with permessage-deflate, after one message each way",
      unit: "bytes"),
    Row(
      figure: "idle-crowd",
      question: "a core's time for 1,000 idle sockets, each pinged every second",
      unit: "%"),
  ]

  /// The sizes of the measurements.
  private struct Sizes: Sendable {
    let sockets: Int
    let fans: Int
    let echoes: Int
    let secured: Int
    let idleSeconds: Int

    init(isFull: Bool) {
      (sockets, fans, echoes) = isFull ? (5000, 200, 5000) : (5000, 50, 1000)
      (secured, idleSeconds) = isFull ? (1000, 10) : (300, 2)
    }
  }

  private static func play(_ kind: CrowdServer.Kind, _ sizes: Sizes) async throws -> Rounds.Figures
  {
    var figures = try await playPlain(kind, sizes)
    let certificate = try await Certificate()
    for (options, figure) in [
      (["--tls"], "accept-tls"), (["--tls", "--resume"], "accept-resumed"),
    ] {
      try await with(kind, .tls(certificate), options) { server, load in
        _ = try await load.ask("open 20")
        let before = server.usage.memory
        let opened = try await load.ask("open \(sizes.secured)", for: 3)
        figures[figure] = Measurement(opened[1])
        guard figure == "accept-tls" else { return }
        figures["socket-memory-tls"] = Measurement(
          (server.usage.memory - before) / Double(sizes.secured))
      }
    }
    guard kind.isWhole else { return figures }
    try await with(kind, .deflate, ["--deflate"]) { server, load in
      _ = try await load.ask("open 20")
      let before = server.usage.memory
      _ = try await load.ask("open \(sizes.secured)")
      figures["socket-memory-deflate"] = Measurement(
        (server.usage.memory - before) / Double(sizes.secured))
    }
    return figures
  }

  private static func playPlain(
    _ kind: CrowdServer.Kind, _ sizes: Sizes
  ) async throws -> Rounds.Figures {
    var figures: Rounds.Figures = [:]
    try await with(kind, .plain, []) { server, load in
      _ = try await load.ask("open 20")
      _ = try await load.ask("echo 200")
      let echo = try await load.ask("echo \(sizes.echoes)", for: 2)
      figures["echo"] = Measurement(echo[0], beside: [("99th percentile", echo[1])])
      let before = server.usage.memory
      let opened = try await load.ask("open 980", for: 3)
      figures["accept-plain"] = Measurement(opened[1])
      figures["socket-memory"] = Measurement((server.usage.memory - before) / 980)
      let fan = try await load.ask("fan \(sizes.fans)", for: 2)
      figures["fan-out"] = Measurement(fan[0] / fan[1])
      _ = try await load.ask("open \(sizes.sockets - 1000)")
      let crowded = try await load.ask("echo \(sizes.echoes)", for: 2)
      figures["echo-in-crowd"] = Measurement(crowded[0], beside: [("99th percentile", crowded[1])])
    }
    guard kind.isWhole else { return figures }
    try await with(kind, .plain, [], pings: true) { server, load in
      _ = try await load.ask("open 1000")
      _ = try await load.ask("idle 1")
      let before = server.usage.processor
      let pings = try await load.ask("idle \(sizes.idleSeconds)", for: 1)
      let used = server.usage.processor - before
      figures["idle-crowd"] = Measurement(
        used / Double(sizes.idleSeconds) * 100, beside: [("pings answered", pings[0])])
    }
    return figures
  }

  private static func with(
    _ kind: CrowdServer.Kind, _ mode: CrowdServer.Mode, _ options: [String], pings: Bool = false,
    _ body: (CrowdServer, LoadGenerator) async throws -> Void
  ) async throws {
    let server = try await CrowdServer.start(kind, mode, pings: pings)
    let load = try LoadGenerator(port: server.port, options)
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
