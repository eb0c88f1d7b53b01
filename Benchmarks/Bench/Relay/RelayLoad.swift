/// Questions of eight assistants to one phone through a backend, and the backend's memory when many
/// clients register and sign in.
enum RelayLoad {
  static func benchmarks() -> [Benchmark] {
    let rounds = Rounds {
      let load = Peer([try Peer.pinnedPython(), "Benchmarks/relay/relay.py"])
      return try await Rounds.figures(
        of: load.start([Peer.holdfast, Peer.loadGenerator, sdk]), labels)
    }
    return [questions(rounds), registrations(rounds), signIns(rounds)]
  }

  private static func questions(_ rounds: Rounds) -> Benchmark {
    Benchmark(
      name: "relay-questions",
      question: "eight assistants ask one phone for the steps of each day of a week, at once",
      unit: "questions/s",
      subject: rounds.contender("holdfast, sign-in with OAuth", figure: "oauth"),
      peers: [
        Contender(name: "what was asked for", aim: 1) { 400 },
        rounds.contender("holdfast with a login by code", aim: 0.9, figure: "code"),
        rounds.contender("Python SDK of MCP, the same answer from memory", figure: "sdk"),
      ], rounds: (2, 5))
  }

  private static func registrations(_ rounds: Rounds) -> Benchmark {
    Benchmark(
      name: "relay-registrations",
      question: "the growth of the backend's memory when 10,000 clients register",
      unit: "bytes", better: .less,
      subject: rounds.contender("holdfast", figure: "registrations"),
      peers: [Contender(name: "100 bytes for each", aim: 1) { 1_000_000 }], rounds: (2, 5))
  }

  private static func signIns(_ rounds: Rounds) -> Benchmark {
    Benchmark(
      name: "relay-grants",
      question: "the same when 1,000 assistants of 125 phones sign in with OAuth, and stay",
      unit: "bytes", better: .less,
      subject: rounds.contender("holdfast", figure: "grants"),
      peers: [Contender(name: "10 kB for each", aim: 1) { 10_000_000 }], rounds: (2, 5))
  }

  /// The Python in which `scripts/peers` installs the SDK.
  private static let sdk = ".build/mcp-sdk/2/bin/python"

  /// The names of additional figures in the table.
  private static let labels = [
    "median": "median ms", "p99": "99th percentile", "backend": "us of the backend's processor",
    "phone": "of the phone's", "before": "resident MB before", "after": "after",
    "speed": "each second",
  ]
}
