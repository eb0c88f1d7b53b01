import HoldfastTestKit

/// The time from "path restored" to "timeline complete", in round trips of 100 ms.
///
/// It is compared with the minimum that the protocol needs and with other clients.
enum Recovery {
  /// A fault of the path. The raw value is its name in `Benchmarks/recovery/recovery.py`.
  enum Trouble: String, CaseIterable {
    case cut, handover
    case halfOpen = "half-open"
    case restart, relaunch

    var hasPeers: Bool { self != .relaunch }

    /// A text about the time that the policy waits before an attempt starts.
    var wait: String {
      switch self {
      case .cut, .relaunch: ""
      case .handover: "; the seed lets a new network settle for 2 s, which are 20"
      case .halfOpen: "; 2 s of silence, which are 20, tell that it is dead"
      case .restart: "; a refusal means polling, first after 1 to 5 s, which are 10 to 50"
      }
    }
  }

  static func benchmarks(isFull: Bool) -> [Benchmark] {
    let ways = isFull ? [false, true] : [true]
    return ways.flatMap { isTLS in
      let all = rounds(Trouble.allCases, isTLS: isTLS)
      return Trouble.allCases.flatMap { trouble in
        benchmarks(trouble, isFull ? rounds([trouble], isTLS: isTLS) : all, isTLS: isTLS)
      }
    }
  }

  /// Returns rounds that run several faults concurrently, since a run consists almost entirely of
  /// waiting.
  private static func rounds(_ troubles: [Trouble], isTLS: Bool) -> Rounds {
    Rounds {
      try await withThrowingTaskGroup(of: Rounds.Figures.self) { group in
        for trouble in troubles {
          group.addTask { try await RecoveryRig(trouble: trouble, isTLS: isTLS).play() }
        }
        return try await group.reduce(into: [:]) { $0.merge($1) { $1 } }
      }
    }
  }

  private static func benchmarks(
    _ trouble: Trouble, _ rounds: Rounds, isTLS: Bool
  ) -> [Benchmark] {
    let name = "recovery-\(trouble.rawValue)\(isTLS ? "" : "-plain")"
    let least = isTLS ? 3.0 : 2
    func contender(_ client: RecoveryRig.Client, tried: Bool) -> Contender {
      rounds.contender(
        client.title, figure: RecoveryRig.figure(trouble, client, tried: tried))
    }
    let peers: [RecoveryRig.Client] = trouble.hasPeers ? [.websockets, .socketio] : []
    let conditions = isTLS ? "over TLS 1.3, 50 ms each way" : "without TLS, 50 ms each way"
    return [
      Benchmark(
        name: name,
        question:
          "\(trouble.rawValue): path restored to timeline whole, \(conditions)\(trouble.wait)",
        unit: "round trips", better: .less, subject: contender(.holdfast, tried: false),
        peers: peers.map { contender($0, tried: false) }, rounds: (2, 5)),
      Benchmark(
        name: "\(name)-try",
        question: "\(trouble.rawValue): first packet of the try to timeline whole, \(conditions)",
        unit: "round trips", better: .less, subject: contender(.holdfast, tried: true),
        peers: [
          Contender(
            name: "the least: connect, \(isTLS ? "TLS, " : "")one request",
            aim: (least + 1) / least
          ) { least }
        ] + peers.map { contender($0, tried: true) }, rounds: (2, 5)),
    ]
  }
}
