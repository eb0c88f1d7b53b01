import Foundation
import HoldfastTestKit

/// A benchmark in which 1,000 real clients return to a server that was killed and restarts after 10
/// s.
///
/// `HoldfastBench herd` simulates a million clients.
enum Storm {
  private static let clients = 1_000
  private static let outage = Duration.seconds(10)

  /// A retry rule.
  private enum Rule: CaseIterable {
    case ours, fixed, doubling

    /// The options that change the policy of sessions. The naive rules are those of the simulation.
    var settings: [String] {
      switch self {
      case .ours: []
      case .fixed: Self.naive("1s*1 max 1s")
      case .doubling: Self.naive("1s*2 max 128s")
      }
    }

    private static func naive(_ schedule: String) -> [String] {
      [
        "retry.first=\(schedule) +-0.0 min 1s xunlimited",
        "retry.reconnect=\(schedule) +-0.0 min 1s xunlimited", "retry.serverJitter=1ms",
        "retry.windows=100/1m",
      ].flatMap { ["--set", $0] }
    }

    var title: String {
      switch self {
      case .ours: "holdfast"
      case .fixed: "naive every 1 s, without jitter"
      case .doubling: "naive doubling from 1 s, without jitter"
      }
    }
  }

  static func benchmark() -> Benchmark {
    let rounds = Rounds { try await play() }
    func contender(_ rule: Rule) -> Contender { rounds.contender(rule.title, figure: rule.title) }
    return Benchmark(
      name: "session-storm",
      question: "most connects within a second, 1,000 clients, after a server was away for 10 s",
      unit: "connects/s", better: .less, subject: contender(.ours),
      peers: [
        // The waits are 2^n s ± 25 %: clients that failed between 5.5 s and 8.8 s wait for 8 s ± 2
        // s. By chance, slightly more clients may arrive within one second.
        Contender(name: "the policy's promise: 8 s of waiting, spread over 4 s", aim: 1.2) {
          Double(clients) / 4
        }, contender(.fixed), contender(.doubling),
      ], rounds: (1, 3))
  }

  /// Runs all rules concurrently, each with its own server, since a run consists mostly of waiting.
  private static func play() async throws -> Rounds.Figures {
    try await withThrowingTaskGroup(of: (String, Measurement).self) { group in
      for rule in Rule.allCases { group.addTask { (rule.title, try await play(rule)) } }
      return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
    }
  }

  private static func play(_ rule: Rule) async throws -> Measurement {
    let scratch = try Scratch()
    let first = try await SessionHost.start(scratch("server"))
    let fleet = try Peer.ours("fleet").start(
      [first.url, "--key-file", first.keyFile, "--count", "\(clients)"] + rule.settings)
    defer { fleet.signal(SIGKILL) }
    _ = try await connects(fleet)
    await first.end()
    try await Task.sleep(for: outage)
    let second = try await SessionHost.start(scratch("server"), ["--port", first.port])
    let restored = Double(Monotonic.nanoseconds) / 1e9
    let times = try await connects(fleet).map { $0 - restored }
    await second.end()
    return Measurement(
      Double(peak(of: times)), beside: [("seconds until all were back", times.last ?? 0)])
  }

  /// Returns the times at which the clients connected, in seconds and in ascending order.
  private static func connects(_ fleet: LabProcess) async throws -> [Double] {
    var times: [Double] = []
    for await line in fleet.lines {
      let fields = line.split(separator: " ")
      guard fields.last == "connected", let time = fields.first.flatMap({ Double($0) }) else {
        continue
      }
      times.append(time / 1e9)
      if times.count == clients { return times.sorted() }
    }
    throw Unavailable(await fleet.diagnostics.reduce("the fleet ended") { $1 })
  }

  /// Returns the largest number of times that lie within one second.
  static func peak(of times: [Double]) -> Int {
    var (first, most) = (0, 0)
    for last in times.indices {
      while times[last] - times[first] >= 1 { first += 1 }
      most = max(most, last - first + 1)
    }
    return most
  }
}
