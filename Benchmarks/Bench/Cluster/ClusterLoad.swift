/// Posts to one, two and three nodes over PostgreSQL, delivery at another node, and a failover.
enum ClusterLoad {
  static func benchmarks() -> [Benchmark] {
    let rounds = Rounds {
      let load = Peer(["/usr/bin/python3", "Benchmarks/cluster/cluster.py"])
      return try await Rounds.figures(of: load.start([Peer.holdfast, Peer.loadGenerator]), labels)
    }
    return (1...3).map { posts(to: $0, rounds) } + [hints(rounds), failover(rounds)]
  }

  private static func posts(to nodes: Int, _ rounds: Rounds) -> Benchmark {
    let alone = nodes == 1
    var peers = [
      rounds.contender(
        "SQLite, one backend with 32 posters", aim: alone ? 0.8 : nil, figure: "files"),
      rounds.contender(
        "plain inserts, ten rows a transaction, on \(nodes) connection\(alone ? "" : "s")",
        figure: "plain\(nodes)"),
      jetStream(rounds),
    ]
    if !alone { peers.insert(rounds.contender("one node", figure: "nodes1"), at: 0) }
    return Benchmark(
      name: "cluster-posts\(alone ? "" : "-\(nodes)")",
      question: "posts to 100 shops, synced before the answer, from 32 posters at "
        + (alone ? "one node" : "each of \(nodes) nodes"),
      unit: "posts/s",
      subject: rounds.contender("holdfast over PostgreSQL", figure: "nodes\(nodes)"), peers: peers,
      rounds: (3, 5))
  }

  private static func jetStream(_ rounds: Rounds) -> Contender {
    let measured = rounds.contender(
      "NATS JetStream, 32 publishers, synced every 2 minutes", figure: "stream")
    return Contender(
      name: measured.name,
      measuring: {
        try BackendServer.requireNATS()
        return try await measured.measure()
      })
  }

  private static func hints(_ rounds: Rounds) -> Benchmark {
    Benchmark(
      name: "cluster-hint",
      question: "the answer to a post to its arrival at a socket of another node, 99th percentile",
      unit: "ms", better: .less,
      subject: rounds.contender("holdfast over PostgreSQL", figure: "there"),
      peers: [
        Contender(name: "what was asked for", aim: 1) { 5 },
        rounds.contender("a socket of the same node", figure: "here"),
      ], rounds: (3, 5))
  }

  private static func failover(_ rounds: Rounds) -> Benchmark {
    Benchmark(
      name: "cluster-failover",
      question: "the longest time without an answered post, when the primary is killed and its "
        + "synchronous standby promoted at once",
      unit: "s", better: .less,
      subject: rounds.contender("holdfast over PostgreSQL", figure: "failover"),
      peers: [Contender(name: "what was asked for", aim: 1) { 2 }], rounds: (3, 5))
  }

  /// The names of additional figures in the table.
  private static let labels = [
    "batch": "posts a commit", "median": "median", "post": "median from the post",
    "postMost": "99th percentile from the post", "unseen": "not seen",
    "one": "longest of one client", "promoted": "kill to promoted", "accepted": "answered",
    "refused": "refused", "lost": "lost",
  ]
}
