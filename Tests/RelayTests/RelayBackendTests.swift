import Foundation
import Holdfast
import HoldfastBackend
import HoldfastCore
import HoldfastHealth
import HoldfastHealthRelay
import HoldfastRelayData
import HoldfastRelayServer
import HoldfastTestKit
import Testing

/// Tests of a complete phone and a complete backend that are connected through a fault-injecting
/// proxy.
@Suite(.timeLimit(.minutes(60))) struct RelayBackendTests {
  @Test func `an assistant pairs, asks, and need not pair again after the link was cut`()
    async throws
  {
    let harness = try await Harness()
    try await harness.rig.addSteps(3)
    harness.rig.relay.start()
    let token = try await harness.login()
    #expect(try await harness.ask(token) == 3)
    try await harness.proxy.set(.cut)
    try await harness.rig.state(.reconnecting)
    try await harness.proxy.set(.pass)
    try await harness.rig.state(.running)
    #expect(try await harness.ask(token) == 3)
    await harness.end()
  }

  @Test func `a question interrupted by a cut link is answered once the link is back`() async throws
  {
    let harness = try await Harness()
    try await harness.rig.addSteps(5_000)
    harness.rig.relay.start()
    let token = try await harness.login()
    // The answer needs several parts, almost none of which arrive.
    try await harness.proxy.set(.blackhole())
    let asked = Task { try await harness.ask(token) }
    try await harness.proxy.set(.cut)
    try await harness.rig.state(.reconnecting)
    try await harness.proxy.set(.pass)
    #expect(try await asked.value == 5_000)
    await harness.end()
  }

  @Test func `a phone whose user stopped it has no pairing left`() async throws {
    let harness = try await Harness()
    harness.rig.relay.start()
    let token = try await harness.login()
    harness.rig.relay.stop()
    try await harness.rig.state(.idle)
    harness.rig.relay.start()
    try await harness.rig.state(.running)
    let outcome = try await harness.backend.ask(.question(Harness.question), bearer: token)
    guard case .refused = outcome else {
      Issue.record("answered: \(outcome)")
      return
    }
    await harness.end()
  }

  private struct Harness {
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
      var configuration = BackendConfiguration(dataDirectory: scratch("server"))
      // The phone has time to return on a busy machine.
      configuration.relay.returnWait = .seconds(3_600)
      configuration.relay.callLimit = .seconds(3_600)
      backend = Backend(configuration)
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
