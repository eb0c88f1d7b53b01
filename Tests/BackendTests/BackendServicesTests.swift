import HoldfastCore
import HoldfastFeaturePorts
import HoldfastMessageServer
import HoldfastPorts
import HoldfastProtocols
import HoldfastServerParts
import HoldfastServerSockets
import HoldfastTestKit
import Synchronization
import Testing

@testable import HoldfastBackend

/// Tests of how the backend routes events to services, and how it combines their health and
/// metrics.
@Suite(.timeLimit(.minutes(60))) struct BackendServicesTests {
  @Test func `the health reports a failing relay store until the store recovers`()
    async throws
  {
    let store = MemoryRelayStore()
    try await BackendRig.run(relay: store) { rig in
      let client = try rig.client()
      #expect(try await client.ask("GET", "/healthz").body == #"{"status":"ok"}"#)
      await store.failNext(1_000, with: .full(detail: "/srv/secret.sqlite"))
      // The server closes the socket of a phone that it cannot store, so by then the write has
      // failed.
      let phone = try rig.client()
      let answer = try await phone.upgrade(
        "/ws/phone", "Holdfast-Device: \(UUID128(high: 1, low: 1))\r\n")
      #expect(answer.status == 101)
      #expect(try await phone.close() == .close(1013, "try again later"))
      let failing = try await client.ask("GET", "/healthz")
      #expect(failing.status == 503)
      #expect(
        failing.body == #"{"status":"failing","reason":"the disk of the relay's store is full"}"#)
      await store.failNext(0, with: .full(detail: ""))
      _ = try await RelayPhoneClient.open(rig, device: UUID128(high: 2, low: 2))
      #expect(try await client.ask("GET", "/healthz").body == #"{"status":"ok"}"#)
    }
  }

  @Test(arguments: ["the store", "the relay's store"])
  func `the health reports a damaged store even if nothing is stored`(name: String)
    async throws
  {
    let (log, relay) = (MemoryMessageLog(), MemoryRelayStore())
    try await BackendRig.run(store: log, relay: relay) { rig in
      let client = try rig.client()
      #expect(try await client.ask("GET", "/healthz").body == #"{"status":"ok"}"#)
      let failure = StoreFailure.corrupt(detail: "/srv/secret.sqlite")
      if name == ShopServer.storeName {
        await log.failNext(1, with: failure)
      } else {
        await relay.failNext(1, with: failure)
      }
      let failing = try await client.ask("GET", "/healthz")
      #expect(failing.status == 503)
      #expect(failing.body == #"{"status":"failing","reason":"\#(name) is damaged"}"#)
      #expect(try await client.ask("GET", "/healthz").status == 200)
    }
  }

  @Test func `the health names a store that does not answer and does not check it twice`()
    async throws
  {
    let silent = SilentStore()
    let services: [any Service] = [
      SilentProbe(rules: ProbeRules(counts: ProbeStore()), store: ProbeStore(), port: silent)
    ]
    let server = try SocketServer(
      SocketServerConfiguration(),
      handler: BackendHandler(services, log: BackendLog(sink: nil), checkLimit: .milliseconds(1)))
    await server.run { handler, hub in handler.begin(on: hub) { server.inject($0) } }
    let port = try BoundPort(SocketServerConfiguration())
    let number = port.number
    try await server.start(on: port)
    let client = try BackendClient(port: number)
    for _ in 1...2 {
      let answer = try await client.ask("GET", "/healthz")
      #expect(answer.status == 503)
      #expect(
        answer.body == #"{"status":"failing","reason":"the store does not answer"}"#)
    }
    await silent.asked()
    #expect(await silent.checks == 1)
    // These do not wait for the check.
    #expect(try await client.ask("GET", "/livez").body == #"{"status":"ok"}"#)
    let ready = try await client.ask("GET", "/readyz")
    #expect(ready.status == 503)
    #expect(ready.body == #"{"status":"failing","reason":"the store does not answer"}"#)
    #expect(try await client.ask("GET", "/metrics").body.contains("\nholdfast_ready 0\n"))
    #expect(await silent.checks == 1)
    await silent.close()
    await server.stop()
    await server.run { handler, _ in handler.end() }
  }

  @Test func `counts requests per route and includes the metrics of every service`() async throws {
    try await BackendRig.run { rig in
      let client = try rig.client()
      _ = try await client.ask("GET", "/healthz")
      _ = try await client.ask("GET", "/nowhere")
      let page = try await client.ask("GET", "/metrics").body
      #expect(page.contains(#"holdfast_requests_total{route="health",status="200"} 1"#))
      #expect(page.contains(#"holdfast_requests_total{route="unknown",status="404"} 1"#))
      #expect(page.contains(#"holdfast_request_seconds_count{route="health"} 1"#))
      #expect(page.contains("\nholdfast_ready 1\n"))
      #expect(page.contains(#"holdfast_ceiling{ceiling="connections_per_address"} 256"#))
      #expect(page.contains(#"holdfast_ceiling_used{ceiling="connections_per_address"} 1"#))
      for family in ["holdfast_connections ", "holdfast_relay_phones ", "holdfast_mcp_sessions "] {
        #expect(page.contains(family))
      }
      let families = page.split(separator: "\n").filter { $0.hasPrefix("# TYPE") }
      #expect(Set(families).count == families.count)
    }
  }

  @Test func `an event of one service reads only its own deadline and wakes no other service`()
    async throws
  {
    let (left, right) = (ProbeStore(), ProbeStore())
    let services: [any Service] = [
      LeftProbe(rules: ProbeRules(counts: left), store: left),
      RightProbe(rules: ProbeRules(counts: right), store: right),
    ]
    let server = try SocketServer(
      SocketServerConfiguration(),
      handler: BackendHandler(services, log: BackendLog(sink: nil)))
    await server.run { handler, hub in handler.begin(on: hub) { server.inject($0) } }
    let port = try BoundPort(SocketServerConfiguration())
    let number = port.number
    try await server.start(on: port)
    let client = try BackendClient(port: number)
    let before = (left.all, right.all)
    for _ in 0..<10 { #expect(try await client.ask("GET", "/left").status == 200) }
    #expect(left.all == before.0 + ProbeCounts(deadlines: 10, inputs: 10, ticks: 0))
    #expect(right.all == before.1)
    #expect(try await client.ask("GET", "/left/later").status == 200)
    #expect(left.all.ticks == 1)
    #expect(right.all == before.1)
    await server.stop()
    await server.run { handler, _ in handler.end() }
  }
}

private struct ProbeCounts: Sendable, Equatable {
  var deadlines = 0
  var inputs = 0
  var ticks = 0

  static func + (left: ProbeCounts, right: ProbeCounts) -> ProbeCounts {
    ProbeCounts(
      deadlines: left.deadlines + right.deadlines, inputs: left.inputs + right.inputs,
      ticks: left.ticks + right.ticks)
  }
}

private final class ProbeStore: Sendable {
  private let counts = Mutex(ProbeCounts())

  var all: ProbeCounts { counts.withLock(\.self) }

  func count(_ change: (inout ProbeCounts) -> Void) {
    counts.withLock { change(&$0) }
  }
}

/// A store whose checks do not return until the store is closed.
private actor SilentStore: HoldfastPorts.SuspendableStore {
  private(set) var checks = 0
  private var waiting: [CheckedContinuation<Void, Never>] = []

  func check() async {
    checks += 1
    await withCheckedContinuation { waiting.append($0) }
  }

  /// Waits until a check has begun.
  func asked() async {
    while !Task.isCancelled, checks == 0 { await Task.yield() }
  }

  func close() {
    for waiter in waiting { waiter.resume() }
    waiting = []
  }
}

/// Rules that answer each request immediately, or at a deadline 5 ms later.
private struct ProbeRules: ServerRules {
  enum Input: Sendable, Hashable, Codable {
    case request(RequestID, isLater: Bool)
    case drain
  }

  enum Effect: Sendable, Hashable, Codable {
    case answer(RequestID)
  }

  let counts: ProbeStore
  private var waiting: (RequestID, Instant)?

  init(counts: ProbeStore) { self.counts = counts }

  mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
    counts.count { $0.inputs += 1 }
    switch input {
    case .request(let id, isLater: true):
      waiting = (id, now.advanced(by: .milliseconds(5)))
      return []
    case .request(let id, isLater: false): return [.answer(id)]
    case .drain: return []
    }
  }

  mutating func tick(at now: Instant) -> [Effect] {
    counts.count { $0.ticks += 1 }
    guard let (id, at) = waiting, at <= now else { return [] }
    waiting = nil
    return [.answer(id)]
  }

  var deadline: Instant? {
    counts.count { $0.deadlines += 1 }
    return waiting?.1
  }

  static func drain(within window: Duration) -> Input { .drain }
  var isFinished: Bool { true }
  var serviceHealth: ServiceHealth { .ok }
  func report(to page: inout MetricsPage) {}
}

private protocol Probe: Service
where Rules == ProbeRules, Store == ProbeStore, Write == Never, Route: ProbeRoute {
  init(rules: ProbeRules, store: ProbeStore)
}

private protocol ProbeRoute: ServiceRoute {
  var isLater: Bool { get }
}

extension Probe {
  static func maxSockets(_ configuration: BackendConfiguration) -> Int { 0 }

  static func open(_ setup: BackendSetup) async throws(BackendError) -> Self {
    let store = ProbeStore()
    return Self(rules: ProbeRules(counts: store), store: store)
  }

  var port: (any HoldfastPorts.SuspendableStore)? { nil }

  mutating func read(
    _ event: ServiceEvent<Route>, _ context: inout ServiceContext<Self>
  ) -> ProbeRules.Input? {
    switch event {
    case .request(let id, let route, _, _): .request(id, isLater: route.isLater)
    case .upgrade, .abandoned, .received, .text, .binary, .overflow, .drained, .closed, .announced,
      .cut:
      nil
    }
  }

  mutating func perform(_ effect: ProbeRules.Effect, _ context: inout ServiceContext<Self>) {
    switch effect {
    case .answer(let id): context.respond(id, 200, [], [])
    }
  }
}

private struct LeftProbe: Probe {
  enum Route: String, ProbeRoute {
    case now = "/left"
    case later = "/left/later"

    init?(path: String) { self.init(rawValue: path) }
    var name: String { rawValue }
    var isLater: Bool { self == .later }
  }

  var rules: ProbeRules
  let store: ProbeStore
}

private struct SilentProbe: Probe {
  enum Route: String, ProbeRoute {
    case now = "/silent"

    init?(path: String) { self.init(rawValue: path) }
    var name: String { rawValue }
    var isLater: Bool { false }
  }

  var rules: ProbeRules
  let store: ProbeStore
  var port: (any HoldfastPorts.SuspendableStore)?

  init(rules: ProbeRules, store: ProbeStore) { self.init(rules: rules, store: store, port: nil) }

  init(rules: ProbeRules, store: ProbeStore, port: (any HoldfastPorts.SuspendableStore)?) {
    (self.rules, self.store, self.port) = (rules, store, port)
  }
}

private struct RightProbe: Probe {
  enum Route: String, ProbeRoute {
    case now = "/right"

    init?(path: String) { self.init(rawValue: path) }
    var name: String { rawValue }
    var isLater: Bool { false }
  }

  var rules: ProbeRules
  let store: ProbeStore
}
