import HoldfastCore
import HoldfastSessionData
import Testing

@testable import HoldfastSession

@Suite struct ConnectingTests {
  @Test func `hello is answered by connect with the client's id and all features`() {
    var harness = SessionHarness.opened()
    #expect(harness.connects.isEmpty)
    harness.say(.hello(SessionHello(message: "")))
    #expect(
      harness.connects.map(\.connect) == [
        SessionConnect(
          session: SessionHarness.client.description,
          features: Set(SessionFeature.allCases).subtracting([.boundProof]), received: 0)
      ])
    #expect(harness.connects.map(\.challenge) == [nil])
    #expect(!harness.model.isConnected)
  }

  @Test func `a second hello changes nothing`() {
    var harness = SessionHarness.opened()
    harness.say(.hello(SessionHello(message: "")))
    harness.say(.hello(SessionHello(message: "", challenge: "ab")))
    #expect(harness.connects.count == 1)
  }

  @Test func `answers each challenge, and never sends the key instead`() {
    var harness = SessionHarness.opening()
    for challenge in ["ab", "cd"] {
      harness.give(.opened(harness.attempt))
      harness.say(.hello(SessionHello(message: "", challenge: challenge)))
      harness.say(.authError(message: "no"))
    }
    harness.pass(.seconds(600))
    #expect(harness.connects.map(\.challenge) == ["ab", "cd"])
    #expect(harness.opens == 2)
    #expect(harness.model.link.status.phase == .failed)
    #expect(harness.model.link.status.reason == .signIn)
    harness.give(.start)
    harness.give(.opened(harness.attempt))
    harness.say(.hello(SessionHello(message: "", challenge: "ef")))
    #expect(harness.connects.last?.challenge == "ef")
  }

  @Test func `signs the whole handshake for a server that supports it`() throws {
    var harness = SessionHarness.opened()
    harness.say(.hello(SessionHello(message: "", challenge: "ab", features: [.boundProof])))
    #expect(try #require(harness.connects.first).connect.features.contains(.boundProof))
  }

  @Test func `answers a challenge with the server's time, or else with the device's`() throws {
    for ahead in [Duration.seconds(3_600), nil] {
      var harness = SessionHarness.opened()
      let time = ahead.map { harness.wall.advanced(by: $0) }
      harness.say(.hello(SessionHello(message: "", challenge: "ab", timestamp: time)))
      #expect(try #require(harness.connects.first).connect.timestamp == time ?? harness.wall)
    }
  }

  @Test(arguments: [
    LinkFailure.closed(code: 4401, reason: ""), .http(status: 401, retryAfter: nil, detail: ""),
  ])
  func `a wrong key ends the session after two connections`(failure: LinkFailure) {
    var harness = SessionHarness.opening()
    for _ in 1...5 {
      harness.give(.link(.lost(harness.attempt, failure), at: harness.wall))
    }
    #expect(harness.opens == 2)
    #expect(harness.model.link.status.reason == .signIn)
  }

  @Test func `a version that the server refuses ends the session`() {
    var harness = SessionHarness.opened()
    harness.say(.hello(SessionHello(message: "")))
    harness.say(.error(SessionError(message: "old", code: SessionError.unsupportedVersion)))
    harness.pass(.seconds(600))
    #expect(harness.opens == 1)
    #expect(
      harness.model.link.status.reason == .failure(.closed(code: 4403, reason: "old")))
  }

  @Test(arguments: [
    SessionServerMessage.error(
      SessionError(message: "old", code: SessionError.unsupportedVersion)),
    .authError(message: "no"),
  ])
  func `closes the socket of a server that refuses the handshake`(
    refusal: SessionServerMessage
  ) {
    var harness = SessionHarness.opening()
    let attempt = harness.attempt
    harness.give(.opened(attempt))
    harness.say(.hello(SessionHello(message: "")))
    harness.log = []
    harness.say(refusal)
    let closes = harness.log.filter { if case .close = $0 { true } else { false } }
    #expect(closes == [.close(attempt, .rejected)])
  }

  @Test func `an attempt without connected is lost after 15 s`() {
    var harness = SessionHarness.opened()
    harness.say(.hello(SessionHello(message: "")))
    harness.pass(.milliseconds(14_999))
    #expect(harness.opens == 1)
    harness.pass(.seconds(3))
    #expect(harness.opens == 2)
    #expect(!harness.model.isConnected)
  }

  @Test func `ignores connected before connect`() {
    var harness = SessionHarness.opened()
    harness.say(
      .connected(SessionConnected(message: "", session: "", version: .newest)))
    #expect(!harness.model.isConnected)
  }

  @Test func `connects without a preparation`() throws {
    let policy = try LinkPolicy.session.setting([("establish.prepare", "5s")])
    #expect(SessionHarness.opening(policy).opens == 1)
  }

  @Test func `pings begin after connected, every 30 s`() {
    var harness = SessionHarness.opened()
    harness.pass(.seconds(14))
    #expect(!harness.sent.contains(.ping))
    harness.say(.hello(SessionHello(message: "")))
    harness.say(.connected(SessionConnected(message: "", session: "", version: .newest)))
    harness.pass(.seconds(91))
    #expect(harness.sent.count { $0 == .ping } == 3)
  }

  @Test func `keeps a connection without heartbeats while the server answers pings`() {
    var harness = SessionHarness.connected()
    harness.pass(.seconds(600))
    #expect(harness.model.isConnected)
    harness.answersPings = false
    // The next ping follows within 30 s, and three time-outs of 5, 10 and 15 s follow it.
    harness.pass(.seconds(29))
    #expect(harness.model.isConnected)
    harness.pass(.seconds(31))
    #expect(!harness.model.isConnected)
  }

  @Test func `a large prompt that is sent again does not keep a dead connection`() {
    var harness = SessionHarness.connected()
    harness.answersPings = false
    harness.prompt(String(repeating: "x", count: 20 * 16_384))
    // The upload takes 20 s. The next ping follows within 30 s, and three time-outs of 5, 10 and 15
    // s follow it.
    harness.pass(.seconds(49))
    #expect(harness.model.isConnected)
    harness.pass(.seconds(31))
    #expect(!harness.model.isConnected)
  }

  @Test func `control frames keep a connection during the upload of a large prompt, for 300 s`() {
    var harness = SessionHarness.connected()
    harness.answersPings = false
    harness.prompt(String(repeating: "x", count: 100 * 1_024))
    let attempt = harness.attempt
    for _ in 0..<29 {
      harness.pass(.seconds(10))
      harness.give(.link(.ping(attempt), at: harness.wall))
    }
    #expect(harness.attempt == attempt && harness.model.isConnected)
    let copies = harness.prompts.count
    #expect(copies == 3, "after 130 s and 260 s it is sent again")
    for _ in 0..<7 {
      harness.pass(.seconds(10))
      harness.give(.link(.ping(attempt), at: harness.wall))
    }
    #expect(harness.attempt != attempt)
  }

  @Test func `control frames do not keep the connection of a server that answers nothing`() {
    var harness = SessionHarness.connected()
    harness.answersPings = false
    harness.prompt("small")
    let attempt = harness.attempt
    for _ in 0..<6 {
      harness.pass(.seconds(10))
      harness.give(.link(.ping(attempt), at: harness.wall))
    }
    #expect(harness.attempt != attempt)
  }

  @Test func `control frames do not keep a connection once the large prompt was accepted`() {
    var harness = SessionHarness.connected()
    harness.answersPings = false
    let text = String(repeating: "x", count: 100 * 1_024)
    harness.prompt(text)
    harness.ack(harness.key(text))
    let attempt = harness.attempt
    for _ in 0..<6 {
      harness.pass(.seconds(10))
      harness.give(.link(.ping(attempt), at: harness.wall))
    }
    #expect(harness.attempt != attempt)
  }

  @Test func `a silence of 90 s ends the connection, and a heartbeat is a sign of life`() throws {
    let policy = try LinkPolicy.session.setting([("liveness.ping", "off")])
    var harness = SessionHarness.connected(policy: policy)
    harness.pass(.seconds(89))
    harness.say(.heartbeat(nil))
    harness.pass(.milliseconds(89_999))
    #expect(harness.model.isConnected)
    harness.pass(.milliseconds(1))
    #expect(!harness.model.isConnected)
  }

  @Test func `measures silence from the end of a pause in reading`() throws {
    let policy = try LinkPolicy.session.setting([("liveness.ping", "off")])
    var harness = SessionHarness.connected(policy: policy)
    harness.give(.reading(harness.attempt, isPaused: true))
    harness.pass(.seconds(170))
    harness.give(.reading(harness.attempt, isPaused: false))
    harness.pass(.milliseconds(89_999))
    #expect(harness.model.isConnected)
    harness.pass(.milliseconds(1))
    #expect(!harness.model.isConnected)
  }

  @Test func `the fifth malformed message ends the connection`() {
    var harness = SessionHarness.connected()
    for _ in 1...4 { harness.give(.malformed(harness.attempt, detail: "x")) }
    #expect(harness.model.isConnected)
    let closed = harness.give(.malformed(harness.attempt, detail: "x")).contains {
      if case .close = $0 { true } else { false }
    }
    #expect(closed)
    #expect(!harness.model.isConnected)
    #expect(harness.notices == Array(repeating: .malformed("x"), count: 5))
  }

  @Test func `counts malformed messages per connection`() {
    var harness = SessionHarness.connected()
    for _ in 1...4 { harness.give(.malformed(harness.attempt, detail: "x")) }
    harness.lose()
    harness.connect()
    for _ in 1...4 { harness.give(.malformed(harness.attempt, detail: "x")) }
    #expect(harness.model.isConnected)
    harness.give(.malformed(harness.attempt, detail: "x"))
    #expect(!harness.model.isConnected)
  }

  @Test(arguments: [
    (Duration.milliseconds(29_999), false), (.seconds(30), false), (.milliseconds(30_001), true),
    (.seconds(-30), false), (.milliseconds(-30_001), true),
  ])
  func `clocks that differ by more than 30 s cause one notice`(skew: Duration, isReported: Bool) {
    var harness = SessionHarness.connected()
    harness.say(.heartbeat(harness.wall.advanced(by: skew)))
    harness.say(.heartbeat(harness.wall.advanced(by: skew)))
    #expect(harness.notices == (isReported ? [.clockSkew(skew)] : []))
  }

  @Test func `sends no new prompt to a draining server, but to the next one`() {
    var harness = SessionHarness.connected()
    harness.say(.draining(message: "", retryAfter: .seconds(5), window: .seconds(2)))
    harness.prompt("a")
    #expect(harness.prompts.isEmpty)
    #expect(harness.notices == [.draining(retryAfter: .seconds(5))])
    harness.lose(.closed(code: 1001, reason: ""))
    harness.connect()
    #expect(harness.prompts.map(\.text) == ["a"])
  }

  @Test func `reconnects at once after a change of network`() {
    var harness = SessionHarness.connected()
    let change = { (name: String) in
      SessionModel.Input.link(
        .device(.reachability(.reachable(path: PathID(name)))),
        at: Timestamp(nanoseconds: 0))
    }
    harness.give(change("a"))
    let before = harness.opens
    harness.give(change("b"))
    #expect(!harness.model.isConnected)
    #expect(harness.opens == before + 1)
  }

  @Test func `a new connection measures its round trips from the start`() {
    var harness = SessionHarness.connected()
    harness.answersPings = false
    let trip = { (harness: inout SessionHarness, time: Duration) in
      harness.pass(.seconds(30))
      harness.pass(time)
      harness.say(.pong)
    }
    trip(&harness, .seconds(3))
    harness.lose()
    harness.connect()
    trip(&harness, .milliseconds(20))
    let shown = harness.updates.compactMap { update -> (LinkQuality, Duration?)? in
      if case .quality(let quality, let trip) = update { (quality, trip) } else { nil }
    }
    #expect(shown.first?.0 == .poor && shown.first?.1 == .seconds(3))
    #expect(shown.last?.0 == .good && shown.last?.1 == .milliseconds(20))
  }

  @Test func `ignores unknown messages without a notice`() {
    var harness = SessionHarness.connected()
    harness.say(.unknown(type: "session_list"))
    harness.say(.error(SessionError(message: "Unknown message type: message_ack")))
    #expect(harness.log == [])
  }

  @Test func `sends the maximum message size once, and again when it changes`() {
    var harness = SessionHarness.opening()
    harness.connect()
    #expect(harness.sent == [.setMaxMessageSize(kilobytes: 200)])
    for _ in 1...10 { harness.say(.heartbeat(nil), bytes: 150_000) }
    #expect(harness.sent.last == .setMaxMessageSize(kilobytes: 220))
    #expect(harness.notices == [.payload(kilobytes: 220)])
  }
}
