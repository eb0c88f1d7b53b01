import Foundation
import HealthRelay
import Holdfast
import HoldfastBackend
import HoldfastTestKit
import LinkCore
import LinkHealth
import LinkRuntime
import LinkServerCore
import LinkWire
import Testing

/// A complete phone and a complete backend, connected through a fault-injecting proxy.
@Suite(.timeLimit(.minutes(10))) struct RelayBackendTests {
  @Test func `an assistant pairs, asks, and need not pair again after the link was cut`()
    async throws
  {
    let bench = try await Bench()
    try await bench.rig.addSteps(3)
    bench.rig.relay.start()
    let token = try await bench.login()
    #expect(try await bench.ask(token) == 3)
    try await bench.proxy.set(.cut)
    try await bench.rig.state(.reconnecting)
    try await bench.proxy.set(.pass)
    try await bench.rig.state(.running)
    #expect(try await bench.ask(token) == 3)
    await bench.end()
  }

  @Test func `a question interrupted by a cut link is answered once the link is back`() async throws
  {
    let bench = try await Bench()
    try await bench.rig.addSteps(5_000)
    bench.rig.relay.start()
    let token = try await bench.login()
    // The answer needs several parts, and the network transmits almost none of them.
    try await bench.proxy.set(.blackhole())
    let asked = Task { try await bench.ask(token) }
    try await bench.proxy.set(.cut)
    try await bench.rig.state(.reconnecting)
    try await bench.proxy.set(.pass)
    #expect(try await asked.value == 5_000)
    await bench.end()
  }

  @Test func `a phone whose user stopped it has no pairing left`() async throws {
    let bench = try await Bench()
    bench.rig.relay.start()
    let token = try await bench.login()
    bench.rig.relay.stop()
    try await bench.rig.state(.idle)
    bench.rig.relay.start()
    try await bench.rig.state(.running)
    let outcome = try await bench.backend.ask(.question(Bench.question), bearer: token)
    guard case .refused = outcome else {
      Issue.record("answered: \(outcome)")
      return
    }
    await bench.end()
  }

  private struct Bench {
    let backend: Backend
    let proxy: FaultProxy
    let rig: RelayRig
    let scratch: Scratch

    static var question: HealthQuestion {
      guard case .question(_, let question) = BackendMessage.steps("x", maxBytes: 1 << 20)
      else {
        preconditionFailure("it is a question")
      }
      return question
    }

    init() async throws {
      scratch = try Scratch()
      backend = Backend(BackendConfiguration(dataDirectory: scratch("server")))
      let address = try await backend.start()
      proxy = try FaultProxy(upstream: address.port)
      rig = try await RelayRig(
        "http://127.0.0.1:\(proxy.port)",
        [("retry.reconnect", "0s,200ms,500ms,1s,2s,5s"), ("retry.windows", "100/1m")])
    }

    func login() async throws -> String {
      let pair = try await rig.next { if case .pair(let pair) = $0 { pair } else { nil } }
      try await rig.state(.running)
      let outcome = try await backend.ask(.login(word: pair.word.text, code: pair.code.text))
      guard case .loggedIn(let grant) = outcome else { throw NoAnswer(outcome: outcome) }
      return grant.accessToken
    }

    /// Asks a question and returns the number of points in the answer.
    func ask(_ token: String) async throws -> Int? {
      let outcome = try await backend.ask(.question(Self.question), bearer: token)
      guard case .data(let object) = outcome else { throw NoAnswer(outcome: outcome) }
      let json = try JSONSerialization.jsonObject(with: Data(object.bytes)) as? [String: Any]
      return json?["count"] as? Int
    }

    func end() async {
      await rig.relay.close()
      await backend.kill()
    }
  }

  private struct NoAnswer: Error {
    var outcome: RelayOutcome
  }
}
