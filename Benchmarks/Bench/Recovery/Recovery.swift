import HoldfastTestKit

/// From "path restored" to "timeline whole", in round trips of 100 ms, beside the least that the
/// protocol needs and beside clients that people use.
enum Recovery {
  /// What befalls the path, as `Benchmarks/recovery/recovery.py` knows it.
  enum Trouble: String, CaseIterable {
    case cut, handover
    case halfOpen = "half-open"
    case restart, relaunch

    var hasPeers: Bool { self != .relaunch }

    /// What passes by policy before there can be a try.
    var wait: String {
      switch self {
      case .cut, .relaunch: ""
      case .handover: "; the seed lets a new network settle for 2 s, which are 20"
      case .halfOpen: "; 2 s of silence, which are 20, tell that it is dead"
      case .restart: "; tries go on by the schedule, whether the server is back or not"
      }
    }
  }

  static func benchmarks(isFull: Bool) -> [Benchmark] {
    let ways = isFull ? [false, true] : [true]
    return ways.flatMap { isTLS in
      let runs = RecoveryRuns(isTLS: isTLS, allAtOnce: !isFull)
      return Trouble.allCases.flatMap { benchmarks($0, runs, isTLS: isTLS) }
    }
  }

  private static func benchmarks(
    _ trouble: Trouble, _ runs: RecoveryRuns, isTLS: Bool
  ) -> [Benchmark] {
    let name = "recovery-\(trouble.rawValue)\(isTLS ? "" : "-plain")"
    let least = isTLS ? 3.0 : 2
    func contender(_ client: RecoveryRuns.Client, _ figure: RecoveryRuns.Figure) -> Contender {
      let series = runs.series(trouble, client, figure)
      return Contender(name: client.title, measuring: { try await series.next() })
    }
    let peers: [RecoveryRuns.Client] = trouble.hasPeers ? [.websockets, .socketio] : []
    let words = isTLS ? "over TLS 1.3, 50 ms each way" : "without TLS, 50 ms each way"
    return [
      Benchmark(
        name: name,
        question: "\(trouble.rawValue): path restored to timeline whole, \(words)\(trouble.wait)",
        unit: "round trips", better: .less, subject: contender(.holdfast, .whole),
        peers: peers.map { contender($0, .whole) }, rounds: (1, 5)),
      Benchmark(
        name: "\(name)-try",
        question: "\(trouble.rawValue): first packet of the try to timeline whole, \(words)",
        unit: "round trips", better: .less, subject: contender(.holdfast, .tried),
        peers: [
          Contender(
            name: "the least: connect, \(isTLS ? "TLS, " : "")one request",
            aim: (least + 1) / least
          ) { least }
        ] + peers.map { contender($0, .tried) }, rounds: (1, 5)),
    ]
  }
}
