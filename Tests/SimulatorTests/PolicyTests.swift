import HoldfastSimulator
import Testing

@Test func `the app's policy keeps its promises`() async throws {
  let policy = try LinkPolicy.socket.setting([("liveness.ping", "1m"), ("retry.windows", "6/1m")])
  let report = await Simulation.sockets(policy: policy).run(seeds: 1...200)
  #expect(report.isClean, "\(report)")
  #expect((report.counts.attemptsPerHour ?? 0) < 60)
}
