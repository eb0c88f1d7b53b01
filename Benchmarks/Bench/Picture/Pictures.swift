/// The page that shows traces, with a generated trace of 100,000 facts, in Chromium.
enum Pictures {
  /// Returns the benchmarks of the page: how long it takes to open, and to draw a frame.
  static func benchmarks() -> [Benchmark] {
    let rounds = Rounds {
      let browser = Peer([try Peer.pinnedPython(), "Benchmarks/picture/speed.py"])
      return try await Rounds.figures(of: browser.start([]), labels)
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

  /// The names of additional figures in the table.
  private static let labels = [
    "p99": "99th percentile", "most": "longest", "task": "longest task", "lost": "frames lost",
  ]
}
