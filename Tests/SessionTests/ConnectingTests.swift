import LinkCore
import LinkWire
import Testing

@testable import Session

@Suite struct ConnectingTests {
  @Test func `hello is answered by connect with the client's id and all features`() {
    var bench = SessionBench.opened()
    #expect(bench.connects.isEmpty)
    bench.say(.hello(SessionHello(message: "")))
    #expect(
      bench.connects.map(\.connect) == [
        SessionConnect(
          session: SessionBench.client.description,
          features: Set(SessionFeature.allCases).subtracting([.boundProof]), received: 0)
      ])
    #expect(bench.connects.map(\.challenge) == [nil])
    #expect(!bench.model.isConnected)
  }

  @Test func `a second hello changes nothing`() {
    var bench = SessionBench.opened()
    bench.say(.hello(SessionHello(message: "")))
    bench.say(.hello(SessionHello(message: "", challenge: "ab")))
    #expect(bench.connects.count == 1)
  }

  @Test func `answers each challenge, and never sends the key instead`() {
    var bench = SessionBench.opening()
    for challenge in ["ab", "cd"] {
      bench.give(.opened(bench.attempt))
      bench.say(.hello(SessionHello(message: "", challenge: challenge)))
      bench.say(.authError(message: "no"))
    }
    bench.pass(.seconds(600))
    #expect(bench.connects.map(\.challenge) == ["ab", "cd"])
    #expect(bench.opens == 2)
    #expect(bench.model.link.status.phase == .failed)
    #expect(bench.model.link.status.reason == .signIn)
    bench.give(.start)
    bench.give(.opened(bench.attempt))
    bench.say(.hello(SessionHello(message: "", challenge: "ef")))
    #expect(bench.connects.last?.challenge == "ef")
  }

  @Test func `signs the whole handshake for a server that supports it`() throws {
    var bench = SessionBench.opened()
    bench.say(.hello(SessionHello(message: "", challenge: "ab", features: [.boundProof])))
    #expect(try #require(bench.connects.first).connect.features.contains(.boundProof))
  }

  @Test func `answers a challenge with the server's time, or else with the device's`() throws {
    for ahead in [Duration.seconds(3_600), nil] {
      var bench = SessionBench.opened()
      let time = ahead.map { bench.wall.advanced(by: $0) }
      bench.say(.hello(SessionHello(message: "", challenge: "ab", timestamp: time)))
      #expect(try #require(bench.connects.first).connect.timestamp == time ?? bench.wall)
    }
  }

  @Test(arguments: [
    LinkFailure.closed(code: 4401, reason: ""), .http(status: 401, retryAfter: nil, detail: ""),
  ])
  func `a wrong key ends the session after two connections`(failure: LinkFailure) {
    var bench = SessionBench.opening()
    for _ in 1...5 {
      bench.give(.link(.lost(bench.attempt, failure), at: bench.wall))
    }
    #expect(bench.opens == 2)
    #expect(bench.model.link.status.reason == .signIn)
  }

  @Test func `a version that the server refuses ends the session`() {
    var bench = SessionBench.opened()
    bench.say(.hello(SessionHello(message: "")))
    bench.say(.error(SessionError(message: "old", code: SessionError.unsupportedVersion)))
    bench.pass(.seconds(600))
    #expect(bench.opens == 1)
    #expect(
      bench.model.link.status.reason == .failure(.closed(code: 4403, reason: "old")))
  }

  @Test(arguments: [
    SessionServerMessage.error(
      SessionError(message: "old", code: SessionError.unsupportedVersion)),
    .authError(message: "no"),
  ])
  func `closes the socket of a server that refuses the handshake`(
    refusal: SessionServerMessage
  ) {
    var bench = SessionBench.opening()
    let attempt = bench.attempt
    bench.give(.opened(attempt))
    bench.say(.hello(SessionHello(message: "")))
    bench.log = []
    bench.say(refusal)
    let closes = bench.log.filter { if case .close = $0 { true } else { false } }
    #expect(closes == [.close(attempt, code: 1002)])
  }

  @Test func `an attempt without connected is lost after 15 s`() {
    var bench = SessionBench.opened()
    bench.say(.hello(SessionHello(message: "")))
    bench.pass(.milliseconds(14_999))
    #expect(bench.opens == 1)
    bench.pass(.seconds(3))
    #expect(bench.opens == 2)
    #expect(!bench.model.isConnected)
  }

  @Test func `ignores connected before connect`() {
    var bench = SessionBench.opened()
    bench.say(
      .connected(SessionConnected(message: "", session: "", version: .newest)))
    #expect(!bench.model.isConnected)
  }

  @Test func `connects without a preparation`() throws {
    let policy = try LinkPolicy.session.setting([("establish.prepare", "5s")])
    #expect(SessionBench.opening(policy).opens == 1)
  }

  @Test func `pings begin after connected, every 30 s`() {
    var bench = SessionBench.opened()
    bench.pass(.seconds(14))
    #expect(!bench.sent.contains(.ping))
    bench.say(.hello(SessionHello(message: "")))
    bench.say(.connected(SessionConnected(message: "", session: "", version: .newest)))
    bench.pass(.seconds(91))
    #expect(bench.sent.count { $0 == .ping } == 3)
  }

  @Test func `keeps a connection without heartbeats while the server answers pings`() {
    var bench = SessionBench.connected()
    bench.pass(.seconds(600))
    #expect(bench.model.isConnected)
    bench.answersPings = false
    // At most 30 s pass until the next ping, then 5, 10 and 15 s.
    bench.pass(.seconds(29))
    #expect(bench.model.isConnected)
    bench.pass(.seconds(31))
    #expect(!bench.model.isConnected)
  }

  @Test func `a large prompt that is sent again does not keep a dead connection`() {
    var bench = SessionBench.connected()
    bench.answersPings = false
    bench.prompt(String(repeating: "x", count: 20 * 16_384))
    // The upload takes 20 s; at most 30 s pass until the next ping, then 5, 10 and 15 s.
    bench.pass(.seconds(49))
    #expect(bench.model.isConnected)
    bench.pass(.seconds(31))
    #expect(!bench.model.isConnected)
  }

  @Test func `control frames keep a connection during the upload of a large prompt, for 300 s`() {
    var bench = SessionBench.connected()
    bench.answersPings = false
    bench.prompt(String(repeating: "x", count: 100 * 1_024))
    let attempt = bench.attempt
    for _ in 0..<29 {
      bench.pass(.seconds(10))
      bench.give(.link(.ping(attempt), at: bench.wall))
    }
    #expect(bench.attempt == attempt && bench.model.isConnected)
    let copies = bench.prompts.count
    #expect(copies == 3, "after 130 s and 260 s it is sent again")
    for _ in 0..<7 {
      bench.pass(.seconds(10))
      bench.give(.link(.ping(attempt), at: bench.wall))
    }
    #expect(bench.attempt != attempt)
  }

  @Test func `control frames do not keep the connection of a server that answers nothing`() {
    var bench = SessionBench.connected()
    bench.answersPings = false
    bench.prompt("small")
    let attempt = bench.attempt
    for _ in 0..<6 {
      bench.pass(.seconds(10))
      bench.give(.link(.ping(attempt), at: bench.wall))
    }
    #expect(bench.attempt != attempt)
  }

  @Test func `control frames do not keep a connection once the large prompt was accepted`() {
    var bench = SessionBench.connected()
    bench.answersPings = false
    let text = String(repeating: "x", count: 100 * 1_024)
    bench.prompt(text)
    bench.ack(bench.key(text))
    let attempt = bench.attempt
    for _ in 0..<6 {
      bench.pass(.seconds(10))
      bench.give(.link(.ping(attempt), at: bench.wall))
    }
    #expect(bench.attempt != attempt)
  }

  @Test func `a silence of 90 s ends the connection, and a heartbeat is a sign of life`() throws {
    let policy = try LinkPolicy.session.setting([("liveness.ping", "off")])
    var bench = SessionBench.connected(policy: policy)
    bench.pass(.seconds(89))
    bench.say(.heartbeat(nil))
    bench.pass(.milliseconds(89_999))
    #expect(bench.model.isConnected)
    bench.pass(.milliseconds(1))
    #expect(!bench.model.isConnected)
  }

  @Test func `measures silence from the end of a pause in reading`() throws {
    let policy = try LinkPolicy.session.setting([("liveness.ping", "off")])
    var bench = SessionBench.connected(policy: policy)
    bench.give(.reading(bench.attempt, isPaused: true))
    bench.pass(.seconds(170))
    bench.give(.reading(bench.attempt, isPaused: false))
    bench.pass(.milliseconds(89_999))
    #expect(bench.model.isConnected)
    bench.pass(.milliseconds(1))
    #expect(!bench.model.isConnected)
  }

  @Test func `the fifth malformed message ends the connection`() {
    var bench = SessionBench.connected()
    for _ in 1...4 { bench.give(.malformed(bench.attempt, detail: "x")) }
    #expect(bench.model.isConnected)
    let closed = bench.give(.malformed(bench.attempt, detail: "x")).contains {
      if case .close = $0 { true } else { false }
    }
    #expect(closed)
    #expect(!bench.model.isConnected)
    #expect(bench.notices == Array(repeating: .malformed("x"), count: 5))
  }

  @Test func `counts malformed messages per connection`() {
    var bench = SessionBench.connected()
    for _ in 1...4 { bench.give(.malformed(bench.attempt, detail: "x")) }
    bench.lose()
    bench.connect()
    for _ in 1...4 { bench.give(.malformed(bench.attempt, detail: "x")) }
    #expect(bench.model.isConnected)
    bench.give(.malformed(bench.attempt, detail: "x"))
    #expect(!bench.model.isConnected)
  }

  @Test(arguments: [
    (Duration.milliseconds(29_999), false), (.seconds(30), false), (.milliseconds(30_001), true),
    (.seconds(-30), false), (.milliseconds(-30_001), true),
  ])
  func `clocks that differ by more than 30 s cause one notice`(skew: Duration, isTold: Bool) {
    var bench = SessionBench.connected()
    bench.say(.heartbeat(bench.wall.advanced(by: skew)))
    bench.say(.heartbeat(bench.wall.advanced(by: skew)))
    #expect(bench.notices == (isTold ? [.clockSkew(skew)] : []))
  }

  @Test func `sends no new prompt to a draining server, but to the next one`() {
    var bench = SessionBench.connected()
    bench.say(.draining(message: "", retryAfter: .seconds(5), window: .seconds(2)))
    bench.prompt("a")
    #expect(bench.prompts.isEmpty)
    #expect(bench.notices == [.draining(retryAfter: .seconds(5))])
    bench.lose(.closed(code: 1001, reason: ""))
    bench.connect()
    #expect(bench.prompts.map(\.text) == ["a"])
  }

  @Test func `reconnects at once after a change of network`() {
    var bench = SessionBench.connected()
    let change = { (name: String) in
      SessionModel.Input.link(
        .device(.reachability(.reachable(path: PathID(name)))),
        at: Timestamp(nanoseconds: 0))
    }
    bench.give(change("a"))
    let before = bench.opens
    bench.give(change("b"))
    #expect(!bench.model.isConnected)
    #expect(bench.opens == before + 1)
  }

  @Test func `a new connection measures its round trips from the start`() {
    var bench = SessionBench.connected()
    bench.answersPings = false
    let trip = { (bench: inout SessionBench, time: Duration) in
      bench.pass(.seconds(30))
      bench.pass(time)
      bench.say(.pong)
    }
    trip(&bench, .seconds(3))
    bench.lose()
    bench.connect()
    trip(&bench, .milliseconds(20))
    let shown = bench.updates.compactMap { update -> (LinkQuality, Duration?)? in
      if case .quality(let quality, let trip) = update { (quality, trip) } else { nil }
    }
    #expect(shown.first?.0 == .poor && shown.first?.1 == .seconds(3))
    #expect(shown.last?.0 == .good && shown.last?.1 == .milliseconds(20))
  }

  @Test func `ignores unknown messages without a notice`() {
    var bench = SessionBench.connected()
    bench.say(.unknown(type: "session_list"))
    bench.say(.error(SessionError(message: "Unknown message type: message_ack")))
    #expect(bench.log == [])
  }

  @Test func `sends the maximum message size once, and again when it changes`() {
    var bench = SessionBench.opening()
    bench.connect()
    #expect(bench.sent == [.setMaxMessageSize(kilobytes: 200)])
    for _ in 1...10 { bench.say(.heartbeat(nil), bytes: 150_000) }
    #expect(bench.sent.last == .setMaxMessageSize(kilobytes: 220))
    #expect(bench.notices == [.payload(kilobytes: 220)])
  }
}
