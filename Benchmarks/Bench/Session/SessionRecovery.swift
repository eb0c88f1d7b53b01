import Foundation
import HoldfastTestKit

/// The time from "path restored" to "every answer shown", in round trips of 100 ms.
///
/// It is compared with the minimum that the protocol needs.
enum SessionRecovery {
  static func benchmarks(isFull: Bool) -> [Benchmark] {
    (isFull ? [false, true] : [true]).flatMap { benchmarks(isTLS: $0) }
  }

  private static func benchmarks(isTLS: Bool) -> [Benchmark] {
    let rounds = Rounds { try await play(isTLS: isTLS) }
    let least = isTLS ? 4.0 : 3
    let name = "session-cut\(isTLS ? "" : "-plain")"
    let conditions = isTLS ? "over TLS 1.3, 50 ms each way" : "without TLS, 50 ms each way"
    return [
      Benchmark(
        name: name,
        question: "cut: path restored to 10 answers shown that were made meanwhile, \(conditions); "
          + "the seed waits for 1 to 1.25 s, which are 10 to 13, before a try",
        unit: "round trips", better: .less,
        subject: rounds.contender("holdfast", figure: "whole"), peers: [], rounds: (2, 5)),
      Benchmark(
        name: "\(name)-try",
        question: "cut: first packet of the try to 10 answers shown, \(conditions)",
        unit: "round trips", better: .less,
        subject: rounds.contender("holdfast", figure: "tried"),
        peers: [
          Contender(
            name: "the least: connect, \(isTLS ? "TLS, " : "")upgrade with hello, connect",
            aim: (least + 1) / least
          ) { least }
        ], rounds: (2, 5)),
    ]
  }

  /// The result of one run, in the form that the rig prints.
  private struct Result: Decodable {
    var obstacle: String?
    var whole: Double?
    var tried: Double?
    var lost: Double?
    var twice: Double?
  }

  private static func play(isTLS: Bool) async throws -> Rounds.Figures {
    if let obstacle = NetworkLab.obstacle { throw Unavailable(obstacle) }
    let rig = try Peer([
      "/usr/bin/python3", "Benchmarks/recovery/session.py", Peer.program,
    ]).start(isTLS ? ["--tls"] : [])
    for await line in rig.lines {
      let result = try JSONDecoder().decode(Result.self, from: Data(line.utf8))
      guard let whole = result.whole, let tried = result.tried else {
        throw Unavailable(result.obstacle ?? line)
      }
      let beside = [("lost", result.lost), ("twice", result.twice)].compactMap { pair in
        pair.1.map { (name: pair.0, value: $0) }
      }
      return ["whole": Measurement(whole, beside: beside), "tried": Measurement(tried)]
    }
    throw Unavailable(await rig.diagnostics.reduce("the rig ended without a word") { $1 })
  }
}
