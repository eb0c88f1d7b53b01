import HoldfastCore
import HoldfastPorts
import HoldfastTestKit
@_spi(Script) import Network
import Testing

@testable import HoldfastAppleNetwork

/// Tests of the reachability monitor. The stand-in's path is shared by all monitors.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct PathTests {
  let wifi = NWInterface(.wifi, "en0")
  let cell = NWInterface(.cellular, "pdp_ip0", index: 2)
  let router = NWEndpoint.hostPort(host: "192.168.1.1", port: 0)

  @Test func `satisfies the contract of a reachability monitor`() async throws {
    NWPathMonitor.update(NWPath(.satisfied, [wifi]))
    var paths = [NWPath(.unsatisfied), NWPath(.satisfied, [cell], isExpensive: true)]
    try await reachabilityMonitorContract(PathReachability()) {
      NWPathMonitor.update(paths.removeFirst())
    }
    #expect(NWPathMonitor.takeMisuses() == [])
    while NWPathMonitor.running > 0 { await Task.yield() }
  }

  @Test func `an update that changes nothing is not reported`() async {
    NWPathMonitor.update(NWPath(.satisfied, [wifi], gateways: [router]))
    var changes = PathReachability().changes().makeAsyncIterator()
    let first = await changes.next()
    // A second interface becomes available, and traffic still takes the first one.
    NWPathMonitor.update(NWPath(.satisfied, [wifi, cell], gateways: [router]))
    NWPathMonitor.update(NWPath(.satisfied, [wifi], gateways: [router]))
    NWPathMonitor.update(NWPath(.unsatisfied))
    #expect(first == .reachable(path: PathID("en0 192.168.1.1:0")))
    #expect(await changes.next() == .unreachable)
  }

  @Test func `a change that is undone at once is reported twice`() async {
    NWPathMonitor.update(NWPath(.satisfied, [wifi]))
    var changes = PathReachability().changes().makeAsyncIterator()
    #expect(await changes.next() == .reachable(path: PathID("en0")))
    NWPathMonitor.update(NWPath(.unsatisfied))
    NWPathMonitor.update(NWPath(.satisfied, [wifi]))
    #expect(await changes.next() == .unreachable)
    #expect(await changes.next() == .reachable(path: PathID("en0")))
  }

  @Test func `a monitor ends with its stream`() async {
    do {
      var changes = PathReachability().changes().makeAsyncIterator()
      _ = await changes.next()
      #expect(NWPathMonitor.running > 0)
    }
    while NWPathMonitor.running > 0 { await Task.yield() }
  }

  @Test func `the same interface with another gateway is another path`() {
    let other = NWEndpoint.hostPort(host: "10.0.0.1", port: 0)
    #expect(
      Reachability(NWPath(.satisfied, [wifi], gateways: [router]))
        != Reachability(NWPath(.satisfied, [wifi], gateways: [other])))
  }

  @Test func `traits are those of the path`() {
    let cases: [(NWPath, PathTraits)] = [
      (NWPath(.satisfied, [wifi]), []), (NWPath(.satisfied, [cell]), .cellular),
      (NWPath(.satisfied, [wifi, cell]), []),
      (NWPath(.satisfied, [wifi], isExpensive: true), .expensive),
      (NWPath(.satisfied, [wifi], isConstrained: true), .constrained),
      (NWPath(.requiresConnection, [wifi]), .onDemand),
    ]
    for (path, traits) in cases { #expect(Reachability(path).traits == traits) }
    #expect(
      Reachability(NWPath(.requiresConnection))
        == .reachable(
          path: PathID("unknown"), traits: .onDemand))
    #expect(Reachability(NWPath(.unsatisfied, [wifi])) == .unreachable)
  }
}
