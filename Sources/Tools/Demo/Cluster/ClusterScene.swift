import HoldfastCore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A fault of a part of the cluster, from which everything recovers by itself.
struct ClusterScene: Sendable {
  typealias Part = @Sendable (isolated ClusterStage) async throws(DemoFailure) -> Void

  let title: String
  /// The fault, whose name is that of the scene.
  let trouble: Trouble
  /// The maximum time without an answer to a post, except for the time for the machine's work.
  let silence: Duration
  /// Begins the fault and ends it.
  let play: Part

  init(_ name: String, _ title: String, silence: Duration, play: @escaping Part) {
    (self.title, self.silence, self.play) = (title, silence, play)
    trouble = Trouble(name, title) { policy, work in
      // A phone that has made too many attempts polls until its next probe.
      .init(
        noticed: nil,
        whole: policy.longestPoll(\.slowProbe) + policy.establish.timeout
          + policy.retry.serverJitter + work)
    }
  }
}

extension ClusterScene {
  /// All scenes, in the order in which they are played. `primary` is the last, because nothing
  /// replaces the standby.
  static let all: [ClusterScene] =
    ClusterStage.names.indices.map(kill) + [rolling, pause, standby, reports, balancer, primary]

  /// The time for which a part that was killed does not run.
  private static let absence = Duration.seconds(0.6)
  /// The pause of a node, whose lease lasts 10 s.
  private static let longPause = Duration.seconds(12)

  private static func kill(_ node: Int) -> ClusterScene {
    let name = ClusterStage.names[node]
    // haproxy waits 1 s before it repeats a connection.
    return ClusterScene(
      "node\(name.uppercased())", "Node \(name) is killed", silence: absence + .seconds(1)
    ) { stage throws(DemoFailure) in
      await stage.nodes[node].kill()
      stage.say(.node, "\(name) dies by kill -9")
      try await stage.pause(absence)
      try await stage.nodes[node].start()
      stage.say(.node, "\(name) runs again")
    }
  }

  private static let rolling = ClusterScene(
    "rolling", "The nodes restart one after another", silence: .seconds(1)
  ) { stage throws(DemoFailure) in
    for (node, name) in zip(stage.nodes, ClusterStage.names) {
      stage.say(.node, "\(name) gets SIGTERM, and spreads the reconnects of its phones")
      if await !node.stop(within: .seconds(20)) { stage.fail("node \(name) did not end by itself") }
      try await node.start()
      try await stage.calm()
    }
    stage.say(.node, "all have restarted")
  }

  private static let pause = ClusterScene(
    "pause", "A node is paused for longer than its lease", silence: Customers.timeout
  ) { stage throws(DemoFailure) in
    await stage.nodes[1].signal(SIGSTOP)
    stage.say(.node, "b is paused for \(longPause.seconds(0)) s, and its lease ends after 10 s")
    try await stage.pause(longPause)
    await stage.nodes[1].signal(SIGCONT)
    stage.say(.node, "b goes on")
  }

  private static let standby = ClusterScene(
    "standby", "The standby is killed", silence: absence + Customers.timeout
  ) { stage throws(DemoFailure) in
    await stage.database.standby.kill()
    stage.say(.database, "the standby dies by kill -9; posts wait, since both must have them")
    try await stage.pause(absence)
    try await stage.database.standby.start()
    stage.say(.database, "the standby is back")
  }

  private static let reports = ClusterScene(
    "reports", "The reports between the nodes are cut", silence: .seconds(1)
  ) { stage throws(DemoFailure) in
    guard let bus = stage.bus else {
      try await stage.database.cutReports()
      stage.say(.database, "ends the connections over which the nodes tell each other of posts")
      return try await stage.pause(absence)
    }
    for (number, server) in bus.servers.enumerated() {
      await server.kill()
      stage.say(.bus, "server \(number + 1) dies by kill -9, and its nodes connect to another one")
      try await stage.pause(absence)
      try await server.start()
    }
    await bus.kill()
    stage.say(.bus, "all three die by kill -9, and each node looks for posts once a second")
    try await stage.pause(.seconds(2))
    if let time = try await stage.arrival(within: .seconds(1)) {
      stage.say(.phone, "without reports, everything arrives after \(time.shown)")
    }
    try await bus.start()
    stage.say(.bus, "all three run again")
  }

  private static let balancer = ClusterScene(
    "balancer", "The balancer restarts", silence: absence + .seconds(1)
  ) { stage throws(DemoFailure) in
    await stage.balancer.kill()
    stage.say(.balancer, "dies by kill -9, and with it every connection")
    try await stage.pause(absence)
    try await stage.balancer.start()
    stage.say(.balancer, "runs again")
  }

  private static let primary = ClusterScene(
    "primary", "The primary is killed, and the standby promoted", silence: Customers.timeout
  ) { stage throws(DemoFailure) in
    stage.say(.database, "the primary dies by kill -9")
    try await stage.database.failOver()
    stage.say(.database, "the standby is the primary now")
  }
}
