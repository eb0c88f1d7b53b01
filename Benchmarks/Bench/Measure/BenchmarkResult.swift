/// The result of a benchmark.
struct BenchmarkResult: Sendable {
  var benchmark: Benchmark
  var subject: Figures
  var peers: [Figures]

  /// Returns the ratios of the subject's figures to a peer's figures. Each ratio is from one round.
  func ratios(to peer: Figures) -> [Double] {
    zip(subject.values, peer.values).map { $0 / $1 }
  }

  /// Returns whether the median ratio meets the aim, or `nil` if there is no aim or there are no
  /// figures.
  func reaches(_ peer: Figures) -> Bool? {
    guard let aim = peer.aim, !peer.values.isEmpty, !subject.values.isEmpty else { return nil }
    let ratio = Statistics.median(ratios(to: peer))
    return benchmark.better == .more ? ratio >= aim : ratio <= aim
  }
}

extension Benchmark {
  /// Runs the given number of rounds, in each of which all contenders are measured in turn.
  func run(rounds: Int, note: (String) -> Void) async -> BenchmarkResult {
    var all = ([subject] + peers).map { Figures(name: $0.name, aim: $0.aim) }
    for round in 1...rounds {
      for (index, contender) in ([subject] + peers).enumerated() where all[index].obstacle == nil {
        note("\(name): round \(round) of \(rounds), \(contender.name)")
        do {
          all[index].add(try await contender.measure())
        } catch {
          all[index].fail("\(error)")
        }
      }
    }
    return BenchmarkResult(benchmark: self, subject: all[0], peers: Array(all.dropFirst()))
  }
}
