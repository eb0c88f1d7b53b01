import LinkCore
import Testing

@testable import HeldSocket

struct ConnectionTests {
  @Test func `greets first, is connected when open, and shows received messages`() {
    var bench = SocketBench()
    let one = AttemptID(1)
    #expect(
      bench.give(.start) == [
        .open(one), .update(.status(LinkStatus(phase: .connecting, attempt: 1))),
      ])
    #expect(
      bench.give(.opened(one, subprotocol: "feed.v2")) == [
        .greet(one, subprotocol: "feed.v2", after: nil), .update(.status(.connected)),
      ])
    #expect(bench.say("hello") == [.update(.message(.text("hello")))])
    #expect(
      bench.give(.message(one, SocketMessage(binary: [0, 255]), SocketMarks())) == [
        .update(.message(SocketMessage(binary: [0, 255])))
      ])
  }

  @Test func `is connected only once the greeting is confirmed`() {
    var bench = SocketBench(SocketSettings.confirmed)
    let one = AttemptID(1)
    bench.give(.start)
    #expect(
      bench.give(.opened(one, subprotocol: nil)) == [.greet(one, subprotocol: nil, after: nil)])
    #expect(bench.say("news") == [.update(.message(.text("news")))])
    #expect(
      bench.say("welcome", SocketMarks.confirming()) == [
        .update(.status(.connected)),
        .update(.message(.text("welcome"))),
      ])
  }

  @Test(arguments: [14_999, 15_000])
  func `a greeting not confirmed within 15 s ends the attempt`(milliseconds: Int) {
    var bench = SocketBench(SocketSettings.confirmed)
    bench.give(.start)
    bench.give(.opened(bench.attempt, subprotocol: nil))
    let effects = bench.pass(.milliseconds(milliseconds))
    let isOver = milliseconds == 15_000
    #expect(effects.contains(.close(AttemptID(1), code: 1001)) == isOver)
    #expect(bench.model.link.currentAttempt == (isOver ? nil : AttemptID(1)))
  }

  @Test(arguments: [
    LinkFailure.closed(code: 1000, reason: ""), .closed(code: 1001, reason: ""),
    .closed(code: 1011, reason: ""), .closed(code: 1012, reason: ""),
    .closed(code: 4000, reason: ""), .closed(code: 4401, reason: ""),
    .closed(code: 4403, reason: ""), .closed(code: 4999, reason: ""),
    .http(status: 503, retryAfter: nil, detail: ""),
    .http(status: 429, retryAfter: nil, detail: ""),
    .http(status: 404, retryAfter: nil, detail: ""), .refused, .reset, .ended, .timeout(.pong),
    .protocolError(detail: ""), .dns(detail: ""), .unreachable(detail: ""),
  ])
  func `comes back after`(failure: LinkFailure) {
    var bench = SocketBench.connected()
    bench.give(.lost(bench.attempt, failure))
    #expect(bench.model.link.status.phase == .reconnecting)
    bench.pass(.seconds(7))
    #expect(bench.opens == [AttemptID(2)])
    #expect(
      bench.give(.opened(AttemptID(2), subprotocol: nil)).first
        == .greet(AttemptID(2), subprotocol: nil, after: nil))
  }

  @Test(arguments: [
    (LinkFailure.http(status: 403, retryAfter: nil, detail: ""), true),
    (.http(status: 400, retryAfter: nil, detail: ""), true),
    (.tls(.expired, detail: ""), true), (.http(status: 401, retryAfter: nil, detail: ""), false),
  ])
  func `ends after a response that no retry changes`(failure: LinkFailure, isAtOnce: Bool) {
    var bench = SocketBench()
    bench.give(.start)
    bench.give(.lost(bench.attempt, failure))
    if !isAtOnce {
      #expect(bench.log.last { $0 == .refreshCredentials } != nil)
      bench.give(.credentials(.rejected))
    }
    #expect(bench.model.link.status.phase == .failed)
    #expect(bench.pass(.seconds(86_400)) == [])
    #expect(bench.give(.start).first == .open(AttemptID(2)))
  }

  @Test func `401 requests one new token for each cause`() throws {
    let policy = try LinkPolicy.socket.setting([("gate.credentials", "true")])
    var bench = SocketBench(SocketSettings(policy: policy))
    let refused = LinkFailure.http(status: 401, retryAfter: nil, detail: "")
    #expect(bench.give(.start).first == .refreshCredentials)
    bench.give(.credentials(.available(expiresIn: nil)))
    bench.give(.lost(bench.attempt, refused))
    bench.give(.credentials(.available(expiresIn: nil)))
    bench.give(.lost(bench.attempt, refused))
    #expect(bench.log.count { $0 == .refreshCredentials } == 2)
    #expect(bench.opens == [AttemptID(1), AttemptID(2)])
    #expect(bench.model.link.status == LinkStatus(phase: .failed, reason: .signIn))
  }

  @Test func `nothing reconnects without a cause`() {
    var bench = SocketBench.connected()
    for _ in 0..<100 {
      let effects = bench.pass(.seconds(25))
      for case .ping(let attempt, let id) in effects { bench.give(.pong(attempt, id)) }
    }
    #expect(bench.opens == [])
    #expect(bench.statuses == [])
  }

  @Test(arguments: [34_999, 35_000])
  func `silence of 35 s ends a connection`(milliseconds: Int) {
    var bench = SocketBench.connected()
    let effects = bench.pass(.milliseconds(milliseconds))
    #expect(effects.contains(.close(AttemptID(1), code: 1001)) == (milliseconds == 35_000))
  }

  @Test func `late input of an older connection changes nothing`() {
    var bench = SocketBench.connected()
    bench.reconnect()
    bench.log = []
    let one = AttemptID(1)
    let late: [SocketModel.Input] = [
      .opened(one, subprotocol: "late"), .message(one, .text("late"), SocketMarks.confirming()),
      .ping(one), .pong(one, 1), .oversized(one, bytes: 1), .lost(one, .reset), .unsent(one),
      .reading(one, isPaused: false),
    ]
    let before = bench.model
    for input in late { #expect(bench.give(input) == []) }
    #expect(bench.model.link == before.link)
  }

  @Test func `reports a message over the limit as a notice, and stays connected`() {
    var bench = SocketBench.connected()
    #expect(
      bench.give(.oversized(bench.attempt, bytes: 9_000_000)) == [
        .update(.notice(.oversized(bytes: 9_000_000)))
      ])
    #expect(bench.model.isConnected)
  }

  @Test func `disconnects in the background and reconnects in the foreground`() {
    var bench = SocketBench.connected()
    bench.give(.lifecycle(.background))
    #expect(bench.pass(.seconds(25)).contains(.close(AttemptID(1), code: 1001)))
    #expect(bench.pass(.seconds(3600)) == [])
    #expect(bench.give(.lifecycle(.foreground)).first == .open(AttemptID(2)))
  }

  @Test(arguments: [SocketModel.Input.start, .link(.device(.again))])
  func `a start does not wait for the next attempt`(start: SocketModel.Input) {
    var bench = SocketBench.connected()
    bench.give(.lost(bench.attempt, .reset))
    #expect(bench.opens == [])
    #expect(bench.give(start).contains(.open(AttemptID(2))))
  }

  @Test(arguments: [SocketModel.Input.start, .link(.device(.again))])
  func `a request of the user is tried at once and resets the back-off`(
    request: SocketModel.Input
  ) throws {
    var bench = SocketBench.connected()
    var failed = 0
    while failed < 9 {
      if bench.attempt.number > 0 {
        bench.give(.lost(bench.attempt, .refused))
        failed += 1
      } else {
        bench.pass(.milliseconds(100))
      }
    }
    bench.log = []
    bench.give(request)
    #expect(bench.opens.count == 1)
    bench.give(.lost(bench.attempt, .refused))
    let retryAt = try #require(bench.model.link.status.retryAt)
    // The wait is 1 s, a quarter either way; the ninth wait would be 30 s.
    #expect((0.75...1.25).contains(bench.now.duration(to: retryAt) / .seconds(1)))
  }

  @Test func `closes with 1000 on a stop and stays stopped`() {
    var bench = SocketBench.connected()
    #expect(
      bench.give(.stop) == [
        .close(AttemptID(1), code: 1000), .update(.status(LinkStatus(phase: .disconnected))),
      ])
    #expect(bench.model.isStopped)
    #expect(bench.pass(.seconds(86_400)) == [])
  }
}
