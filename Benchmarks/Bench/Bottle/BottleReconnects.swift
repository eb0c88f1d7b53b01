import HoldfastCore
import HoldfastWorlds

/// The time that a bottle takes to reconnect in the simulated world.
///
/// The hybrid of the requirements, the queued connect alone and scan bursts alone are compared in
/// the same situations.
enum BottleReconnects {
  typealias Situation = BottleReconnect.Situation

  /// A way in which the phone finds its bottle.
  private enum Way: String, CaseIterable {
    case hybrid = "holdfast"
    case passive = "passive only"
    case scan = "scan only"

    func policy() throws -> LinkPolicy {
      switch self {
      case .hybrid: .bottleLink
      case .passive: try BottleReconnect.passiveOnly()
      case .scan: try BottleReconnect.scanOnly()
      }
    }
  }

  /// A source of seeds that are different in each round.
  private actor Seeds {
    private var last: UInt64 = 0

    func next(_ count: UInt64) -> ClosedRange<UInt64> {
      defer { last += count }
      return last + 1...last + count
    }
  }

  static func benchmarks(isFull: Bool) -> [Benchmark] {
    Situation.allCases.map { benchmark($0, count: isFull ? 2_000 : 400) }
  }

  private static func benchmark(_ situation: Situation, count: UInt64) -> Benchmark {
    let seeds = Seeds()
    let rounds = Rounds { try measure(situation, await seeds.next(count)) }
    func contender(_ way: Way) -> Contender {
      rounds.contender(way.rawValue, figure: way.rawValue)
    }
    return Benchmark(
      name: "bottle-\(situation.rawValue)",
      question: "\(question(situation)), simulated; 300 s stand for never",
      unit: "s", better: .less, subject: contender(.hybrid),
      peers: [
        Contender(name: "the seed's longest", aim: 1) { longest(situation) },
        contender(.passive), contender(.scan),
      ], rounds: (3, 5))
  }

  /// Returns the median in seconds, with higher quantiles and the time spent scanning.
  private static func measure(
    _ situation: Situation, _ seeds: ClosedRange<UInt64>
  ) throws -> Rounds.Figures {
    var figures: Rounds.Figures = [:]
    for way in Way.allCases {
      let result = BottleReconnect.played(situation, try way.policy(), seeds: seeds)
      let never = 100 * Double(result.missed) / Double(seeds.count)
      figures[way.rawValue] = Measurement(
        result.quantile(0.5).inSeconds,
        beside: [
          ("p90", result.quantile(0.9).inSeconds), ("p99", result.quantile(0.99).inSeconds),
          ("percent never", never),
          ("seconds of scans", Double(result.scanned) / Double(seeds.count)),
        ])
    }
    return figures
  }

  private static func question(_ situation: Situation) -> String {
    switch situation {
    case .opened: "app opened within 5 s after the bottle woke, to connected: median"
    case .open: "bottle wakes after the app was open for a while, to connected: median"
    case .lost: "bottle drops the connection while the app is open, to connected: median"
    case .suspended: "bottle wakes with drinks while the app is suspended, to connected: median"
    case .ended: "bottle wakes with drinks after the system ended the app, to connected: median"
    }
  }

  /// Returns the longest time that the requirements allow, in seconds. Their option A waits for 5
  /// to 15 s.
  private static func longest(_ situation: Situation) -> Double {
    switch situation {
    case .opened: 5
    case .open: 15
    case .lost: 8
    case .suspended: 60
    case .ended: 120
    }
  }
}
