import HoldfastCore
import Testing

@testable import HoldfastHeldSocket

struct ConnectionTests {
  @Test func `greets first, is connected when open, and shows received messages`() {
    var harness = SocketHarness()
    let one = AttemptID(1)
    #expect(
      harness.give(.start) == [
        .open(one), .update(.status(LinkStatus(phase: .connecting, attempt: 1))),
      ])
    #expect(
      harness.give(.opened(one, subprotocol: "feed.v2")) == [
        .greet(one, subprotocol: "feed.v2", after: nil), .resume(one, after: nil),
        .update(.status(.connected)),
      ])
    #expect(harness.say("hello") == [.update(.message(.text("hello")))])
    #expect(
      harness.give(.message(one, SocketMessage(binary: [0, 255]), SocketReading())) == [
        .update(.message(SocketMessage(binary: [0, 255])))
      ])
  }

  @Test func `is connected only once the greeting is confirmed`() {
    var harness = SocketHarness(SocketSettings.confirmed)
    let one = AttemptID(1)
    harness.give(.start)
    #expect(
      harness.give(.opened(one, subprotocol: nil)) == [.greet(one, subprotocol: nil, after: nil)])
    #expect(harness.say("news") == [.update(.message(.text("news")))])
    #expect(
      harness.say("welcome", SocketReading.confirming()) == [
        .resume(one, after: nil), .update(.status(.connected)),
        .update(.message(.text("welcome"))),
      ])
  }

  @Test(arguments: [14_999, 15_000])
  func `a greeting not confirmed within 15 s ends the attempt`(milliseconds: Int) {
    var harness = SocketHarness(SocketSettings.confirmed)
    harness.give(.start)
    harness.give(.opened(harness.attempt, subprotocol: nil))
    let effects = harness.pass(.milliseconds(milliseconds))
    let isOver = milliseconds == 15_000
    #expect(effects.contains(.close(AttemptID(1), .timeout)) == isOver)
    #expect(harness.model.link.currentAttempt == (isOver ? nil : AttemptID(1)))
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
    var harness = SocketHarness.connected()
    harness.give(.lost(harness.attempt, failure))
    #expect(harness.model.link.status.phase == .reconnecting)
    harness.pass(.seconds(7))
    #expect(harness.opens == [AttemptID(2)])
    #expect(
      harness.give(.opened(AttemptID(2), subprotocol: nil)).first
        == .greet(AttemptID(2), subprotocol: nil, after: nil))
  }

  @Test(arguments: [
    (LinkFailure.http(status: 403, retryAfter: nil, detail: ""), true),
    (.http(status: 400, retryAfter: nil, detail: ""), true),
    (.tls(.expired, detail: ""), true), (.http(status: 401, retryAfter: nil, detail: ""), false),
  ])
  func `ends after a response that no retry changes`(failure: LinkFailure, isAtOnce: Bool) {
    var harness = SocketHarness()
    harness.give(.start)
    harness.give(.lost(harness.attempt, failure))
    if !isAtOnce {
      #expect(harness.log.last { $0 == .refreshCredentials } != nil)
      harness.give(.credentials(.rejected))
    }
    #expect(harness.model.link.status.phase == .failed)
    #expect(harness.pass(.seconds(86_400)) == [])
    #expect(harness.give(.start).first == .open(AttemptID(2)))
  }

  @Test func `401 requests one new token for each cause`() throws {
    let policy = try LinkPolicy.socket.setting([("gate.credentials", "true")])
    var harness = SocketHarness(SocketSettings(policy: policy))
    let refused = LinkFailure.http(status: 401, retryAfter: nil, detail: "")
    #expect(harness.give(.start).first == .refreshCredentials)
    harness.give(.credentials(.available(expiresIn: nil)))
    harness.give(.lost(harness.attempt, refused))
    harness.give(.credentials(.available(expiresIn: nil)))
    harness.give(.lost(harness.attempt, refused))
    #expect(harness.log.count { $0 == .refreshCredentials } == 2)
    #expect(harness.opens == [AttemptID(1), AttemptID(2)])
    #expect(harness.model.link.status == LinkStatus(phase: .failed, reason: .signIn))
  }

  @Test func `a refusal in a message closes the connection and renews the token once`() throws {
    let policy = try LinkPolicy.socket.setting([("gate.credentials", "true")])
    var settings = SocketSettings(policy: policy)
    settings.awaitsConfirmation = true
    var harness = SocketHarness(settings)
    harness.give(.start)
    harness.give(.credentials(.available(expiresIn: nil)))
    for attempt in [AttemptID(1), AttemptID(2)] {
      harness.give(.opened(attempt, subprotocol: nil))
      let effects = harness.say("denied", SocketReading.refusing(.token))
      #expect(
        effects.prefix(2) == [.update(.message(.text("denied"))), .close(attempt, .leaving)])
      #expect(effects.contains(.refreshCredentials) == (attempt.number == 1))
      harness.give(.credentials(.available(expiresIn: nil)))
    }
    #expect(harness.statuses.contains(LinkStatus(phase: .failed, reason: .signIn)))
  }

  @Test func `a refusal of access in a message is final`() {
    var harness = SocketHarness.connected()
    harness.say("banned", SocketReading.refusing(.forbidden))
    let status = harness.model.link.status
    #expect(status.phase == .failed)
    guard case .failure(.http(403, _, _)) = status.reason else {
      Issue.record("\(status)")
      return
    }
    #expect(harness.pass(.seconds(86_400)) == [])
  }

  @Test func `nothing reconnects without a cause`() {
    var harness = SocketHarness.connected()
    for _ in 0..<100 {
      let effects = harness.pass(.seconds(25))
      for case .ping(let attempt, let id) in effects { harness.give(.pong(attempt, id)) }
    }
    #expect(harness.opens == [])
    #expect(harness.statuses == [])
  }

  @Test(arguments: [34_999, 35_000])
  func `silence of 35 s ends a connection`(milliseconds: Int) {
    var harness = SocketHarness.connected()
    let effects = harness.pass(.milliseconds(milliseconds))
    #expect(effects.contains(.close(AttemptID(1), .silent)) == (milliseconds == 35_000))
  }

  @Test func `late input of an older connection changes nothing`() {
    var harness = SocketHarness.connected()
    harness.reconnect()
    harness.log = []
    let one = AttemptID(1)
    let late: [SocketModel.Input] = [
      .opened(one, subprotocol: "late"), .message(one, .text("late"), SocketReading.confirming()),
      .ping(one), .pong(one, 1), .oversized(one, bytes: 1), .lost(one, .reset), .unsent(one),
      .reading(one, isPaused: false),
    ]
    let before = harness.model
    for input in late { #expect(harness.give(input) == []) }
    #expect(harness.model.link == before.link)
  }

  @Test func `reports a message over the limit as a notice, and stays connected`() {
    var harness = SocketHarness.connected()
    #expect(
      harness.give(.oversized(harness.attempt, bytes: 9_000_000)) == [
        .update(.notice(.oversized(bytes: 9_000_000)))
      ])
    #expect(harness.model.isConnected)
  }

  @Test func `disconnects in the background and reconnects in the foreground`() {
    var harness = SocketHarness.connected()
    harness.give(.lifecycle(.background))
    #expect(harness.pass(.seconds(25)).contains(.close(AttemptID(1), .background)))
    #expect(harness.pass(.seconds(3600)) == [])
    #expect(harness.give(.lifecycle(.foreground)).first == .open(AttemptID(2)))
  }

  @Test(arguments: [SocketModel.Input.start, .link(.device(.again))])
  func `a start does not wait for the next attempt`(start: SocketModel.Input) {
    var harness = SocketHarness.connected()
    harness.give(.lost(harness.attempt, .reset))
    #expect(harness.opens == [])
    #expect(harness.give(start).contains(.open(AttemptID(2))))
  }

  @Test(arguments: [SocketModel.Input.start, .link(.device(.again))])
  func `a request of the user is tried at once and resets the back-off`(
    request: SocketModel.Input
  ) throws {
    var harness = SocketHarness.connected()
    var failed = 0
    while failed < 9 {
      if harness.attempt.number > 0 {
        harness.give(.lost(harness.attempt, .refused))
        failed += 1
      } else {
        harness.pass(.milliseconds(100))
      }
    }
    harness.log = []
    harness.give(request)
    #expect(harness.opens.count == 1)
    harness.give(.lost(harness.attempt, .refused))
    let retryAt = try #require(harness.model.link.status.retryAt)
    // The wait is 1 s, plus or minus a quarter. The ninth wait would be 30 s.
    #expect((0.75...1.25).contains(harness.now.duration(to: retryAt) / .seconds(1)))
  }

  @Test func `closes with 1000 on a stop and stays stopped`() {
    var harness = SocketHarness.connected()
    #expect(
      harness.give(.stop) == [
        .close(AttemptID(1), .leaving), .update(.status(LinkStatus(phase: .disconnected))),
      ])
    #expect(harness.model.isStopped)
    #expect(harness.pass(.seconds(86_400)) == [])
  }
}
