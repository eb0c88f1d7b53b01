import HoldfastEngineBench

/// The number of inputs that a machine handles per second without any environment.
///
/// `scripts/instructions` measures their cost in instructions, which is the same on any machine.
enum Engine {
  static func benchmarks(isFull: Bool) -> [Benchmark] {
    EngineScenario.allCases.map { scenario in
      Benchmark(
        name: "engine-\(scenario.rawValue)", question: question(scenario), unit: "inputs/s",
        subject: Contender(name: "holdfast") {
          try rate(scenario, count(scenario) * (isFull ? 10 : 1))
        },
        peers: [], rounds: (5, 9))
    }
  }

  private static func rate(_ scenario: EngineScenario, _ count: Int) throws -> Double {
    let start = ContinuousClock.now
    let inputs = scenario.play(count)
    guard inputs > 0 else { throw Unavailable("the scenario did not begin") }
    return Double(inputs) / start.duration(to: .now).inSeconds
  }

  private static func question(_ scenario: EngineScenario) -> String {
    switch scenario {
    case .heard: "a connected link hears bytes"
    case .reconnect: "a link loses its socket, waits, opens again, and stands"
    case .message: "a stream takes, stores and shows messages"
    case .knownPage: "a stream is given pages of 100 messages that it knows"
    case .readPage: "pages of 10 messages are read from their JSON"
    case .writePage: "pages of 10 messages are written as JSON"
    }
  }

  /// Returns the number of repetitions that take about a tenth of a second.
  private static func count(_ scenario: EngineScenario) -> Int {
    switch scenario {
    case .heard: 500_000
    case .reconnect: 20_000
    case .message: 10_000
    case .knownPage: 2_000
    case .readPage, .writePage: 5_000
    }
  }
}
