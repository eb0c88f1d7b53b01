import HoldfastTestKit

/// The page that shows traces, with a generated trace of 100,000 facts, in Chromium.
enum Pictures {
  /// Returns the benchmarks of the page: how long it takes to open, and to draw a frame.
  static func benchmarks() -> [Benchmark] {
    let rounds = Rounds {
      let browser = Peer([try Peer.pinnedPython(), "Benchmarks/picture/speed.py"])
      return try await figures(browser.start([]))
    }
    return [opening(rounds), frames(rounds)]
      + ["zoom", "pan", "hover"].map { drawing($0, rounds) }
  }

  private static func opening(_ rounds: Rounds) -> Benchmark {
    Benchmark(
      name: "picture-open", question: "from the request of a page to the first frame of its trace",
      unit: "ms", better: .less,
      subject: rounds.contender("holdfast", figure: "open"),
      peers: [
        Contender(name: "what was asked for", aim: 1) { 300 },
        rounds.contender("JSON.parse: the same lines unpacked and parsed", figure: "parse"),
      ], rounds: (3, 7))
  }

  private static func frames(_ rounds: Rounds) -> Benchmark {
    Benchmark(
      name: "picture-frames", question: "the time from one frame to the next in all movements",
      unit: "ms", better: .less,
      subject: rounds.contender("holdfast", figure: "frame"),
      peers: [rounds.contender("an empty canvas", aim: 1.01, figure: "empty")],
      rounds: (3, 7))
  }

  private static func drawing(_ movement: String, _ rounds: Rounds) -> Benchmark {
    Benchmark(
      name: "picture-\(movement)",
      question: "drawing one frame, everything in sight and then ten minutes: \(movement)",
      unit: "ms", better: .less,
      subject: rounds.contender("holdfast", figure: movement),
      peers: [Contender(name: "what was asked for", aim: 1) { 8 }], rounds: (3, 7))
  }

  /// Returns the figures of a run, each with those whose names continue its name after a dot.
  private static func figures(_ program: LabProcess) async throws -> Rounds.Figures {
    var figures: Rounds.Figures = [:]
    for await line in program.lines {
      let words = line.split(separator: " ")
      guard words.count == 2, let value = Double(words[1]) else { continue }
      let name = words[0].split(separator: ".").map(String.init)
      if name.count == 1 {
        figures[name[0]] = Measurement(value)
      } else {
        figures[name[0]]?.beside.append((labels[name[1]] ?? name[1], value))
      }
    }
    guard !figures.isEmpty else {
      throw Unavailable(await program.diagnostics.reduce("it ended without a word") { $1 })
    }
    return figures
  }

  /// The names of additional figures in the table.
  private static let labels = [
    "p99": "99th percentile", "most": "longest", "task": "longest task", "lost": "frames lost",
  ]
}
