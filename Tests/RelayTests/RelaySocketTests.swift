import Foundation
import Holdfast
import HoldfastCore
import HoldfastDriver
import HoldfastHealth
import HoldfastHealthRelay
import HoldfastRelayData
import HoldfastRelayServer
import HoldfastServerSockets
import HoldfastTestKit
import Testing

/// Tests of a complete relay that uses real sockets and connects to a scripted backend.
@Suite(.timeLimit(.minutes(60))) struct RelaySocketTests {
  @Test func `a server down at the start causes two retries and one error, and a restart works`()
    async throws
  {
    let peer = try await RelayPeer(.say(.code()))
    await peer.stop()
    let rig = try await RelayRig(peer.url)
    rig.relay.start()
    try await rig.state(.starting)
    let problem = try await rig.next { if case .problem(let it, _) = $0 { it } else { nil } }
    #expect(problem == .connection(.refused))
    #expect(try await rig.state(.error).reason == .exhausted(.refused))
    rig.relay.start()
    try await rig.state(.starting)
    await rig.relay.close()
  }

  @Test func `an app's loop ends when no retry can help, and another start continues`()
    async throws
  {
    let peer = try await RelayPeer(.refuse(status: 403))
    let relay = try await Relay(
      RelayConfiguration(
        server: peer.url, phone: UUID128(high: 1, low: 2), zone: .utc, profile: .service,
        storage: .memory))
    relay.start()
    for await _ in relay {}
    #expect(relay.failure == .http(status: 403, retryAfter: nil, detail: "Forbidden"))
    peer.meet(.say(.code()))
    relay.start()
    var isPaired = false
    for await update in relay {
      if case .pair = update { isPaired = true }
      if isPaired { break }
    }
    #expect(isPaired)
    #expect(relay.failure == nil)
    await relay.close()
    await peer.stop()
  }

  @Test(arguments: [
    "not a URL", "ftp://backend.example", "https://", "https://me@backend.example",
    "https://backend.example?a=b", "http://backend.example",
  ])
  func `a server's URL that cannot work is refused at once`(server: String) async throws {
    let configuration = RelayConfiguration(
      server: server, phone: UUID128(high: 1, low: 2), zone: .utc, profile: .service,
      storage: .memory)
    let refused = await #expect(throws: OpenError.self) { try await Relay(configuration) }
    let refusedPull = #expect(throws: OpenError.self) {
      try HealthPull(configuration, token: Secret("token"))
    }
    for error in [refused, refusedPull] {
      guard case .configuration = error else {
        Issue.record("another error: \(String(describing: error))")
        continue
      }
    }
  }

  @Test func `a dropped session becomes an error after two retries`() async throws {
    let peer = try await RelayPeer(.say(.code()))
    let rig = try await RelayRig(peer.url)
    rig.relay.start()
    try await rig.state(.running)
    peer.meet(.refuse(status: 503))
    peer.drop()
    try await rig.state(.reconnecting)
    let status = try await rig.state(.error)
    let refusal = LinkFailure.http(status: 503, retryAfter: nil, detail: "Service Unavailable")
    #expect(status.reason == .exhausted(refusal))
    let tokens = [try await peer.came(), try await peer.came(), try await peer.came()]
    #expect(tokens == [nil, "token-of-resumption", "token-of-resumption"])
    await rig.relay.close()
    await peer.stop()
  }

  @Test func `an idle relay closes by itself and removes its notification`() async throws {
    let peer = try await RelayPeer(.say(.code()))
    let rig = try await RelayRig(peer.url, [("liveness.idle", "1s idle")])
    rig.relay.start()
    try await rig.state(.running)
    #expect(try await rig.state(.idle).reason == .ended(.idle))
    #expect(try await peer.left() == .peerClosed(code: 1000, reason: ""))
    await rig.relay.close()
    // Notifications that were replaced soon afterwards may have been skipped.
    let shown = rig.notifier.shown.takeAll()
    #expect(shown.first != .some(nil))
    #expect(shown.last == .some(nil))
    await peer.stop()
  }

  @Test func `the relay closes in the background and returns only on a start`() async throws {
    let peer = try await RelayPeer(.say(.code()))
    let rig = try await RelayRig(peer.url, profile: .foreground)
    rig.relay.start()
    try await rig.state(.running)
    rig.lifecycle.send(.background)
    #expect(try await rig.state(.idle).reason == .ended(.background))
    #expect(try await peer.left() == .peerClosed(code: 1001, reason: ""))
    // `setLifecycle` is a command, so it is handled before the start.
    rig.relay.setLifecycle(.foreground)
    rig.relay.start()
    try await rig.state(.starting)
    #expect(try await peer.came() == "token-of-resumption")
    #expect(rig.notifier.shown.takeAll() == [])
    await rig.relay.close()
    await peer.stop()
  }

  @Test func `an open socket without a code times out`() async throws {
    let peer = try await RelayPeer(.silence)
    let rig = try await RelayRig(
      peer.url, [("establish.openTimeout", "20s"), ("establish.timeout", "20s")])
    rig.relay.start()
    #expect(try await rig.state(.error).reason == .exhausted(.timeout(.establish)))
    #expect(rig.updates.takeAll().contains { if case .pair = $0 { true } else { false } } == false)
    await rig.relay.close()
    await peer.stop()
  }

  @Test func `questions are answered in order, with their ids`() async throws {
    let peer = try await RelayPeer(.say(.code()))
    let rig = try await RelayRig(peer.url)
    try await rig.addSteps(3)
    rig.relay.start()
    let pair = try await rig.next { if case .pair(let pair) = $0 { pair } else { nil } }
    #expect(pair.word.text == "harbour")
    #expect(pair.code.text == "123456")
    for id in ["a", "b"] { peer.say(.steps(id)) }
    peer.say(.steps("c", groupBy: .day))
    let answers = [try await peer.said(), try await peer.said(), try await peer.said()]
    #expect(answers.map(\.id?.text) == ["a", "b", "c"])
    let first = try await rig.receipt()
    #expect(first.outcome == .answered(points: 3, isTruncated: false))
    _ = try await rig.receipt()
    // The point is the merged value.
    #expect(try await rig.receipt().outcome == .answered(points: 1, isTruncated: false))
    #expect(rig.watched.takeAll().count == 3)
    await rig.relay.close()
    #expect(try await peer.left() == .peerClosed(code: 1000, reason: ""))
    await peer.stop()
  }

  @Test func `unknown and malformed messages are answered with their ID, and the session goes on`()
    async throws
  {
    let peer = try await RelayPeer(.say(.code()))
    let rig = try await RelayRig(peer.url)
    rig.relay.start()
    try await rig.state(.running)
    peer.say(Array(#"{"type":"weather_request","request_id":"w"}"#.utf8))
    peer.say(Array(#"{"type":"health_data_request","requestId":"x","payload":{}}"#.utf8))
    peer.say(Array("no JSON".utf8))
    peer.say(.steps("a"))
    guard case .failure(let unknown, _) = try await peer.said(),
      case .healthData(let wrong, let object) = try await peer.said(),
      case .failure(nil, _) = try await peer.said()
    else {
      Issue.record("other answers")
      return
    }
    #expect(unknown?.text == "w")
    #expect(wrong.text == "x")
    #expect(object.succeeded == false)
    #expect(try await peer.said().id?.text == "a")
    await rig.relay.close()
    await peer.stop()
  }

  @Test func `a long answer comes in parts that make the whole`() async throws {
    let peer = try await RelayPeer(.say(.code()))
    let rig = try await RelayRig(peer.url)
    try await rig.addSteps(5_000)
    rig.relay.start()
    try await rig.state(.running)
    peer.say(.steps("long", maxBytes: 1 << 20))
    var assembly = HealthAssembly()
    var whole: HealthObject?
    var parts = 0
    while whole == nil, case .part(let id, let part) = try await peer.said() {
      parts += 1
      whole = try assembly.take(part, of: id)
    }
    #expect(parts > 2)
    #expect(whole == rig.watched.takeAll().first)
    #expect(try await rig.receipt().outcome == .answered(points: 5_000, isTruncated: false))
    await rig.relay.close()
    await peer.stop()
  }

  @Test func `an answer that is too long for a plain backend is truncated and marked so`()
    async throws
  {
    let peer = try await RelayPeer(
      .say(.connectionCode(ConnectionCode(code: "1", word: "w", message: ""))))
    let rig = try await RelayRig(peer.url)
    try await rig.addSteps(5_000)
    rig.relay.start()
    try await rig.state(.running)
    peer.say(.steps("long", maxBytes: 1 << 20))
    guard case .healthData(_, let object) = try await peer.said() else {
      Issue.record("another answer")
      return
    }
    #expect(object.bytes.count <= 200_000)
    #expect(String(decoding: object.bytes, as: UTF8.self).contains(#""truncated":true"#))
    guard case .answered(let points, isTruncated: true) = try await rig.receipt().outcome else {
      Issue.record("another outcome")
      return
    }
    #expect((1..<5_000).contains(points))
    await rig.relay.close()
    await peer.stop()
  }

  @Test func `a question whose answer was cut off is answered on the resumed session`()
    async throws
  {
    let peer = try await RelayPeer(.say(.code()))
    let rig = try await RelayRig(peer.url)
    try await rig.addSteps(5_000)
    rig.relay.start()
    try await rig.state(.running)
    peer.meet(.say(.code("meadow", resumed: true)))
    peer.dropAtPart()
    peer.say(.steps("long", maxBytes: 1 << 20))
    _ = try await peer.left()
    #expect(try await rig.receipt().outcome == .answered(points: 5_000, isTruncated: false))
    await rig.relay.close()
    await peer.stop()
  }

  @Test func `a store failure causes an error answer and a reported problem`() async throws {
    let peer = try await RelayPeer(.say(.code()))
    let rig = try await RelayRig(peer.url)
    await rig.store.failNext(2, with: .locked(detail: "elsewhere"))
    rig.relay.start()
    try await rig.state(.running)
    peer.say(.steps("a"))
    guard case .healthData(_, let object) = try await peer.said() else {
      Issue.record("another answer")
      return
    }
    #expect(object.succeeded == false)
    let problem = try await rig.next { if case .problem(let it, _) = $0 { it } else { nil } }
    guard case .unreadable = problem else {
      Issue.record("another problem: \(problem)")
      return
    }
    await rig.relay.close()
    await peer.stop()
  }

  @Test(arguments: ["two words", "line\r\nX-Other: 1"])
  func `a resume token that a header field cannot contain is not stored`(token: String) async throws
  {
    let peer = try await RelayPeer(.say(.code(resume: token)))
    let rig = try await RelayRig(peer.url)
    rig.relay.start()
    try await rig.state(.running)
    peer.drop()
    try await rig.state(.running)
    #expect([try await peer.came(), try await peer.came()] == [nil, nil])
    await rig.relay.close()
    await peer.stop()
  }

  @Test func `a phone replaced by another reports an error and does not reconnect`() async throws {
    let peer = try await RelayPeer(.say(.code()))
    let rig = try await RelayRig(peer.url)
    rig.relay.start()
    try await rig.state(.running)
    peer.close(code: 4409)
    #expect(try await rig.state(.error).reason == .failure(.closed(code: 4409, reason: "")))
    await rig.relay.close()
    await peer.stop()
  }

  @Test func `a journal replays, and holds neither codes nor tokens nor health data`() async throws
  {
    let path = NSTemporaryDirectory() + "holdfast-\(UUID().uuidString).jsonl"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let peer = try await RelayPeer(.say(.code()))
    let rig = try await RelayRig(peer.url, journal: path)
    try await rig.addSteps(3)
    rig.relay.start()
    try await rig.state(.running)
    peer.say(.steps("a"))
    _ = try await rig.receipt()
    peer.meet(.say(.code("meadow", resumed: true)))
    peer.drop()
    try await rig.state(.running)
    await rig.relay.close()
    await peer.stop()
    let text = try String(contentsOfFile: path, encoding: .utf8)
    #expect(text.contains("STEPS"))
    for secret in ["harbour", "meadow", "123456", "token-of-resumption"] {
      #expect(!text.contains(secret))
    }
    let result = try Replay<RelayModel>.run(journal: path)
    #expect(result.steps > 5)
    #expect(result.diverged == 0)
  }
}
