import Foundation
import HoldfastTestKit

/// Runs of the rig, each of which measures all clients at once; kept until every row has its figure.
actor RecoveryRuns {
  enum Client: String {
    case holdfast, websockets, socketio

    var title: String {
      switch self {
      case .holdfast: "holdfast"
      case .websockets: "Python websockets, its reconnecting iterator"
      case .socketio: "python-socketio, client and server"
      }
    }
  }

  enum Figure {
    /// From the restored path on.
    case whole
    /// From the first packet of the try on.
    case tried
  }

  /// One client in one run, as the rig prints it.
  private struct Result: Decodable, Sendable {
    var client: String
    var obstacle: String?
    var whole: Double?
    var tried: Double?
    var missed: Double?
    var lost: Double?
    var twice: Double?
  }

  private let isTLS: Bool
  private let allAtOnce: Bool
  private var runs: [Recovery.Trouble: [Task<[Result], any Error>]] = [:]

  init(isTLS: Bool, allAtOnce: Bool) {
    (self.isTLS, self.allAtOnce) = (isTLS, allAtOnce)
  }

  /// Figures of one row, round after round.
  nonisolated func series(_ trouble: Recovery.Trouble, _ client: Client, _ figure: Figure) -> Series
  {
    Series(runs: self, trouble: trouble, client: client, figure: figure)
  }

  actor Series {
    private let runs: RecoveryRuns
    private let trouble: Recovery.Trouble
    private let client: Client
    private let figure: Figure
    private var round = 0

    init(runs: RecoveryRuns, trouble: Recovery.Trouble, client: Client, figure: Figure) {
      (self.runs, self.trouble, self.client, self.figure) = (runs, trouble, client, figure)
    }

    func next() async throws -> Measurement {
      defer { round += 1 }
      return try await runs.measurement(trouble, round, client, figure)
    }
  }

  private func measurement(
    _ trouble: Recovery.Trouble, _ round: Int, _ client: Client, _ figure: Figure
  ) async throws -> Measurement {
    let results = try await run(trouble, round).value
    guard let result = results.first(where: { $0.client == client.rawValue }) else {
      throw Unavailable("the rig did not run to its end")
    }
    guard let value = figure == .whole ? result.whole : result.tried else {
      throw Unavailable(result.obstacle ?? "no packet of a try was seen")
    }
    guard figure == .whole else { return Measurement(value) }
    let counts = [("lost", result.lost), ("shown twice", result.twice)]
    return Measurement(value, beside: counts.compactMap { name, count in count.map { (name, $0) } })
  }

  /// The run of a round; nothing but waiting fills them, so in a quick run all troubles go together.
  private func run(_ trouble: Recovery.Trouble, _ round: Int) -> Task<[Result], any Error> {
    while (runs[trouble]?.count ?? 0) <= round {
      for other in allAtOnce ? Recovery.Trouble.allCases : [trouble] {
        let isTLS = isTLS
        runs[other, default: []].append(Task { try await Self.play(other, isTLS: isTLS) })
      }
    }
    // The loop above leaves at least this many.
    return runs[trouble, default: []][round]
  }

  private static func play(_ trouble: Recovery.Trouble, isTLS: Bool) async throws -> [Result] {
    if let obstacle = NetworkLab.obstacle { throw Unavailable(obstacle) }
    let words = [
      try Peer.pinnedPython(), "Benchmarks/recovery/recovery.py", Peer.program, trouble.rawValue,
    ]
    let rig = try Peer(words).start(isTLS ? ["--tls"] : [])
    var results: [Result] = []
    for await line in rig.lines {
      results.append(try JSONDecoder().decode(Result.self, from: Data(line.utf8)))
    }
    if results.isEmpty {
      throw Unavailable(await rig.diagnostics.reduce("the rig ended without a word") { $1 })
    }
    return results
  }
}
